"""Rewrite graphs, watch it happen, test and prove it, and take a trained network down to VHDL.

Examples
--------
>>> from graphrewrite import Graph, Tensor, op, rewrite, rule
>>> @rule
... def drop_double_negation(x):
...     "Minus minus x is x."
...     yield op.neg(op.neg(x))
...     return x
>>> g = Graph("g")
>>> x = g.input("x", Tensor("f32", ("N",)))
>>> _ = g.output("y", -(-x))
>>> print(rewrite(g, [drop_double_negation]))
graph g
x = input() : f32[N]
y = output(x)
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphrewrite import op
    from graphrewrite.compare.difference import diff
    from graphrewrite.errors import GraphRewriteError
    from graphrewrite.execution.evaluator import evaluate
    from graphrewrite.execution.statistics import evaluation
    from graphrewrite.formats.documents import save
    from graphrewrite.graph import Graph
    from graphrewrite.hierarchy.module import Module
    from graphrewrite.lowering.exchange.file_formats import load
    from graphrewrite.lowering.optimisation import Target, optimise
    from graphrewrite.memory import place
    from graphrewrite.op.define import define_op
    from graphrewrite.op.dialect import Dialect
    from graphrewrite.rewriting.engine.entry import rewrite
    from graphrewrite.rewriting.match import Match
    from graphrewrite.rewriting.passes import Pass, Pipeline, pass_
    from graphrewrite.rewriting.pattern import Constant
    from graphrewrite.rewriting.rule.declaration import Rule
    from graphrewrite.rewriting.rule.language import rule
    from graphrewrite.rewriting.rule.outcome import decline
    from graphrewrite.rewriting.traces import trace
    from graphrewrite.rewriting.verification.verifier import verify
    from graphrewrite.runtime.plugins import plugin
    from graphrewrite.schema import IrData
    from graphrewrite.types import EdgeType, ElementType, FixedPoint, Stream, Tensor
    from graphrewrite.view.dispatch import show

    # They stand above the rules, which import this package: a type checker that followed them would go in a circle.
    differentiate: Callable[..., Graph]
    fit: Callable[..., Any]

if not Path(__path__[0], "rules").is_dir():  # a checkout without symbolic links: the folders stand beside this one
    __path__.append(str(Path(__path__[0]).parent))

__version__ = "0.1.0"

__all__ = [
    "Constant",
    "Dialect",
    "EdgeType",
    "ElementType",
    "FixedPoint",
    "Graph",
    "GraphRewriteError",
    "IrData",
    "Match",
    "Module",
    "Pass",
    "Pipeline",
    "Rule",
    "Stream",
    "Target",
    "Tensor",
    "decline",
    "define_op",
    "diff",
    "differentiate",
    "evaluate",
    "evaluation",
    "fit",
    "load",
    "op",
    "optimise",
    "pass_",
    "place",
    "plugin",
    "rewrite",
    "rule",
    "save",
    "show",
    "trace",
    "verify",
]

_HOMES = {
    "Constant": "rewriting.pattern",
    "Dialect": "op.dialect",
    "EdgeType": "types",
    "ElementType": "types",
    "FixedPoint": "types",
    "Graph": "graph",
    "GraphRewriteError": "errors",
    "IrData": "schema",
    "Match": "rewriting.match",
    "Module": "hierarchy.module",
    "Pass": "rewriting.passes",
    "Pipeline": "rewriting.passes",
    "Rule": "rewriting.rule.declaration",
    "Stream": "types",
    "Target": "lowering.optimisation",
    "Tensor": "types",
    "decline": "rewriting.rule.outcome",
    "define_op": "op.define",
    "diff": "compare.difference",
    "differentiate": "learning.differentiation",
    "evaluate": "execution.evaluator",
    "evaluation": "execution.statistics",
    "fit": "learning.training",
    "load": "lowering.exchange.file_formats",
    "optimise": "lowering.optimisation",
    "pass_": "rewriting.passes",
    "place": "memory",
    "plugin": "runtime.plugins",
    "rewrite": "rewriting.engine.entry",
    "rule": "rewriting.rule.language",
    "save": "formats.documents",
    "show": "view.dispatch",
    "trace": "rewriting.traces",
    "verify": "rewriting.verification.verifier",
}
"""The module of each public name, loaded when it is asked for: pytest imports the package for its plugin."""

_PACKAGES = frozenset(
    {
        "compare",
        "formats",
        "hdl",
        "hierarchy",
        "learning",
        "lowering",
        "memory",
        "models",
        "op",
        "rules",
        "schema",
        "testing",
        "types",
        "view",
    }
)
"""Documented packages that are attributes without an import of their own: ``graphrewrite.op``."""

_ELSEWHERE = {
    "RULES": "graphrewrite.rules.RULES",
    "check": "graphrewrite.testing.check",
    "emit": "graphrewrite.hdl.emit",
    "from_onnx": "graphrewrite.lowering.from_onnx",
    "parse": "Graph.parse",
    "quantise": "graphrewrite.lowering.quantise",
    "simulate": "graphrewrite.hdl.simulate",
    "to_integer": "graphrewrite.lowering.to_integer",
    "to_onnx": "graphrewrite.lowering.to_onnx",
    "to_stream": "graphrewrite.lowering.to_stream",
}
"""What is looked for here and stands elsewhere, or goes by another word."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _PACKAGES:
        found = import_module(f"{__name__}.{name}")
    else:
        from graphrewrite.errors import no_attribute

        raise no_attribute(__name__, name, __dir__(), _ELSEWHERE)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
