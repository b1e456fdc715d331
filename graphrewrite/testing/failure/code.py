"""Code that rebuilds a counterexample: a test function that fails, ready to paste."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text import to_text
from graphrewrite.formats.text.array_printer import shortest
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_graphs
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.engine.entry import GraphRewriting
from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.failure.origin import Origin, origin_of
from graphrewrite.types import unboxed
from graphrewrite.view.plain import plain

__all__ = ["array_code", "failing_test", "graph_code", "own_origins", "parse_arguments"]

_WIDTH = 100
_LETTERS = 100_000
"""Maximum length of a comment."""
_MARKS = frozenset({"backend", "implementation"})
_ELSEWHERE = {
    "evaluate_sequence": "from graphrewrite.execution import evaluate_sequence",
    "evaluate_nodes": "from graphrewrite.execution.evaluator import evaluate_nodes",
    "out_of_range": "from graphrewrite.types import out_of_range",
    "insert_fifos": "from graphrewrite.hdl.buffering import insert_fifos",
    "insert_forks": "from graphrewrite.hdl.buffering import insert_forks",
    "predict": "from graphrewrite.hdl import predict",
    "same_data": "from graphrewrite.schema.equality import same_data",
    "to_text": "from graphrewrite.formats.text import to_text",
    "nx": "import networkx as nx",
    "np": "import numpy as np",
}


def failing_test(
    before: Any,
    inputs: Mapping[str, np.ndarray],
    rules: Any,
    claim: str,
    *,
    comments: Iterable[str] = (),
    bound: float | None = None,
    cycles: int | None = None,
    needs: Iterable[Origin] = (),
) -> str:
    r"""Return a failing test of a counterexample, with its imports and definitions.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> code = failing_test(g, {}, drop_identity, "assert {made} == before")
    >>> print(code.partition("Graph.parse")[0])
    from graphrewrite import Graph, rewrite
    from graphrewrite.rules.identities import drop_identity
    <BLANKLINE>
    <BLANKLINE>
    def test_drop_identity():
        before =
    >>> print(code.splitlines()[-1])
        assert rewrite(before, drop_identity, verify=True) == before
    """
    tested = Origin("transformation", ("# transformation: import here what is tested",))
    tested = tested if rules is None else origin_of(rules)
    own = own_origins(before)
    is_function = rules is None or (callable(rules) and not isinstance(rules, Rule | GraphRewriting | Pass))
    checked = ", verify=True" if isinstance(before, Graph) else ""
    made = f"{tested.name}(before)" if is_function else f"rewrite(before, {tested.name}{checked})"
    body = ["before = " + graph_code(before, [op.name for op in own])]
    if "inputs" in _names(claim):
        body.append(_inputs(inputs))
    for comment in comments:
        shown = plain(" ".join(comment.split()), _LETTERS)
        body += textwrap.wrap(shown, _WIDTH, initial_indent="# ", subsequent_indent="# ")
    body.append(claim.strip().replace("{made}", made).replace("{rules}", tested.name).replace("{bound}", repr(bound)))
    code = "\n".join(body)
    if "evaluate" in _names(code) and _is_marked(before):
        code = re.sub(r"\bevaluate\((\w+), inputs\)", r"evaluate(\1, inputs, implementations=None)", code)
    if cycles is not None:
        code = re.sub(r"\bevaluate\((\w+), inputs\b.*?\)", rf"evaluate_sequence(\1, inputs, cycles={cycles})", code)
        code = re.sub(r"\bevaluate_nodes\((.*)\)\.", rf"evaluate_sequence(\1, cycles={cycles}).", code)
    # Overflow and NaN are legitimate here, but a test run may turn their warnings into errors.
    decorator = (
        '@np.errstate(all="ignore")\n' if {"evaluate", "evaluate_nodes", "evaluate_sequence"} & _names(code) else ""
    )
    name = re.sub(r"\W", "_", tested.name.lower())
    function = f"{decorator}def test_{name}():\n{textwrap.indent(code, '    ')}"
    return "\n".join([*_head(decorator + code, [tested, *own, *needs]), "", "", function])


def _is_marked(graph: Any) -> bool:
    """Tell whether nodes ask for backends or implementations, which are none of a claim's business."""
    graphs = nested_graphs(graph) if isinstance(graph, Graph) else ()
    return any(_MARKS & data.keys() for each in graphs for data in each._node.values())


def _head(code: str, origins: Iterable[Origin]) -> list[str]:
    """Return the imports, and the definitions that use them."""
    used = _names(code.removeprefix('@np.errstate(all="ignore")\n')) | ({"np"} if code.startswith("@np") else set())
    front = sorted(used & _offered("graphrewrite"), key=lambda name: (not name[0].isupper(), name))
    lines = [line for name, line in _ELSEWHERE.items() if name in used]
    kit = sorted(used & _offered("graphrewrite.testing"))
    lines += [f"from graphrewrite import {', '.join(front)}"] if front else []
    lines += [f"from graphrewrite.testing import {', '.join(kit)}"] if kit else []
    own = list(dict.fromkeys(line for origin in origins for line in origin.lines))
    imports = sorted(
        _together(line for line in (*lines, *own) if line.startswith(("import ", "from "))),
        key=lambda line: (not line.startswith("import "), "graphrewrite" in line, line),
    )
    return [*imports, *(line for line in own if not line.startswith(("import ", "from ")))]


def _together(imports: Iterable[str]) -> Iterator[str]:
    """Yield imports, those from one module as one."""
    names: dict[str, list[str]] = {}
    for line in imports:
        if line.startswith("from "):
            module, _, name = line.partition(" import ")
            names.setdefault(module, []).append(name)
        else:
            yield line
    for module, imported in names.items():
        yield f"{module} import {', '.join(imported)}"


def _offered(front: str) -> set[str]:
    """Return the public names of a package; imported late, since packages import this module."""
    return set(import_module(front).__all__)


def _names(code: str) -> set[str]:
    """Return the names in code, outside of strings and comments."""
    tree = ast.parse(code.replace("{made}", "made").replace("{rules}", "rules").replace("{bound}", "bound"))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def own_origins(graph: Any) -> list[Origin]:
    """Return the imports of the ops of a graph's nodes that are not in the library, or of their dialects."""
    ops = getattr(graph, "ops", {})
    kinds = sorted({data.get("type") for _, data in graph.nodes(data=True) if isinstance(data.get("type"), str)})
    own = [ops[kind] for kind in kinds if kind in ops and ops[kind] is not LIBRARY.get(kind)]
    return [origin_of(op) for op in dict.fromkeys(op.dialect or op for op in own if not isinstance(op, GraphOp))]


def graph_code(graph: Any, ops: Iterable[str] = (), *, name: str = "before") -> str:
    r"""Return the code after ``before =`` that rebuilds a graph; a plain digraph is filled by further lines.

    Examples
    --------
    >>> code = graph_code(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"))
    >>> eval(code).inputs
    ('x',)
    """
    if not isinstance(graph, Graph):
        nodes = _value_code([(node, dict(data)) for node, data in graph.nodes(data=True)])
        edges = _value_code([(source, reader, dict(data)) for source, reader, data in graph.edges(data=True)])
        keywords = f"**{_value_code(dict(graph.graph))}" if graph.graph else ""
        return f"nx.DiGraph({keywords})\n{name}.add_nodes_from({nodes})\n{name}.add_edges_from({edges})"
    try:
        return f"Graph.parse({parse_arguments(graph, ops)})"
    except GraphRewriteError as error:
        return f"None  # this graph has no text form: {' '.join(str(error).split())}"


def parse_arguments(graph: Graph, ops: Iterable[str] = ()) -> str:
    """Return what stands between the parentheses of ``Graph.parse(…)``; raise an error of a graph without text form."""
    text = to_text(graph, whole=True)
    mark = '"""' if '"""' not in text else "'''"
    if mark in text:  # names contain both quotes
        quoted = repr(text)
    else:
        raw = "r" if "\\" in text else ""
        quoted = f"{raw}{mark}\n{textwrap.indent(text, '    ')}\n{mark}"
    names = ", ".join(ops)
    return f"{quoted}, ops=[{names}]" if names else quoted


def _value_code(value: Any) -> str:
    """Return an attribute's value, or a list or mapping of them, as an expression."""
    if isinstance(value, np.ndarray):
        try:
            return array_code(value)
        except TypeError:  # of texts, dates, or bytes in another order: no values of graphs that compute
            return repr(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_value_code(key)}: {_value_code(each)}' for key, each in value.items())}}}"
    if isinstance(value, tuple | list):
        inside = ", ".join(map(_value_code, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'  # as formatters write it
    return re.sub(r"\b(nan|inf)\b", r"np.\1", text) if isinstance(value, float) else text


def _inputs(inputs: Mapping[str, np.ndarray]) -> str:
    quoted = [f'"{name}"' if name.isidentifier() else repr(name) for name in inputs]
    entries = [f"{name}: {array_code(array)}" for name, array in zip(quoted, inputs.values(), strict=True)]
    line = f"inputs = {{{', '.join(entries)}}}"
    return line if len(line) <= _WIDTH else "\n".join(["inputs = {", *(f"    {entry}," for entry in entries), "}"])


def array_code(array: np.ndarray) -> str:
    """Return an expression whose value is an array, bit for bit; of an object that is no tensor, what it prints.

    Examples
    --------
    >>> array_code(np.float32([0.1, -0.0, np.nan, -np.inf])), array_code(np.zeros((0, 2), np.int8))
    ('np.array([0.1, -0.0, np.nan, -np.inf], np.float32)', 'np.empty((0, 2), np.int8)')
    >>> array_code(np.ones((40, 40)))
    'np.full((40, 40), 1.0, np.float64)'
    """
    if array.dtype == object:
        return repr(unboxed(array))
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    named = getattr(np, array.dtype.name, None)
    dtype = f"np.{array.dtype.name}" if isinstance(named, type) and array.dtype == np.dtype(named) else None
    dtype = "np.bool_" if array.dtype == np.bool_ else dtype
    if array.dtype.kind == "U":
        text = f"np.array({array.tolist()!r}, {array.dtype.str!r})"
        return text if array.size else f"np.zeros({array.shape!r}, {array.dtype.str!r})"
    if dtype is None or array.dtype.kind not in "biufc":
        raise TypeError(f"no code makes an array of {array.dtype}")
    digits = shortest(array)
    if array.dtype.kind == "f":
        # All NaNs have the same text: one with other bits is written as bytes.
        plain = np.where(np.isnan(digits), np.nan, digits).astype(array.dtype)
        if plain.tobytes() != array.tobytes():
            code = f'np.frombuffer(bytes.fromhex("{array.tobytes().hex()}"), {dtype})'
            return code if array.ndim == 1 else f"{code}.reshape{array.shape!r}"
    if array.size > 16 and all(entry.tobytes() == array.flat[0].tobytes() for entry in array.flat):
        return f"np.full({array.shape!r}, {_value_code(digits.flat[0].item())}, {dtype})"
    code = f"np.array({_value_code(digits.tolist())}, {dtype})"
    # Nested lists do not determine the sizes of an empty array of several axes.
    return code if array.size or array.ndim == 1 else f"np.empty({array.shape!r}, {dtype})"
