"""The public names of the package, all in one place; `graphrewrite` loads them when the first of them is asked for."""

from typing import Any

from graphrewrite import op
from graphrewrite.data import IrData
from graphrewrite.diff import diff
from graphrewrite.errors import GraphRewriteError
from graphrewrite.evaluate import evaluate
from graphrewrite.evaluation import evaluation
from graphrewrite.graph import Graph
from graphrewrite.module import Module
from graphrewrite.op import define_op
from graphrewrite.passes import Pass, Pipeline, pass_
from graphrewrite.pattern import Constant
from graphrewrite.replacement import decline
from graphrewrite.rewrite import rewrite
from graphrewrite.rule import Match, Rule, rule
from graphrewrite.trace import trace
from graphrewrite.types import FixedPoint, Stream, Tensor
from graphrewrite.verify import verify

__all__ = [
    "Constant",
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
    "Tensor",
    "decline",
    "define_op",
    "diff",
    "evaluate",
    "evaluation",
    "op",
    "pass_",
    "rewrite",
    "rule",
    "show",
    "trace",
    "verify",
]


def show(graph: Any, **options: Any) -> Any:
    """Return a picture of a graph for a notebook; see `graphrewrite.view.show`."""
    from graphrewrite.view import show as draw  # pictures need pydot, which the engine does not

    return draw(graph, **options)
