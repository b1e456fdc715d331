"""A table of a graph: what each node is, what it holds and what it costs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.module import Module
from graphrewrite.nested import GraphOp
from graphrewrite.op import find_op

__all__ = ["multiply_accumulates", "parameters", "summary"]

_WIDEST = 40


def summary(graph: nx.DiGraph | Module) -> str:
    """Return a table of a graph as plain text: a line a node, and the totals.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Any graph, or a module of them: then one table a graph. Constants have no line of their own: they are the
        parameters of their first reader.

    Returns
    -------
    str
        Multiply-accumulates are those of one sample: a size that run time decides counts once.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor, op
    >>> g = Graph("tiny")
    >>> x = g.input("x", Tensor("f32", ("N", 4)))
    >>> _ = g.output("y", op.relu(op.linear(x, np.ones((2, 4), np.float32), np.ones(2, np.float32))))
    >>> print(summary(g))
    tiny
    node      op      operands  result    parameters  multiply-accumulates
    x         input             f32[N,4]           0                     0
    linear_1  linear  x         f32[N,2]          10                     8
    relu_1    relu    linear_1  f32[N,2]           0                     0
    y         output  relu_1                       0                     0
    total     2 operations                        10                     8
    """
    if isinstance(graph, Module):
        return "\n\n".join(map(summary, graph.values()))
    given = as_graph(graph, "that has a summary")
    counted: set[Any] = set()
    rows = [("node", "op", "operands", "result", "parameters", "multiply-accumulates")]
    totals = [0, 0]
    operations = 0
    for node in _ordered(given):
        data = given.nodes[node]
        sources = _sources(given, node)
        if data.get("type") == "constant" and given.succ[node]:
            continue
        held, costs = parameters(given, node, counted), multiply_accumulates(given, node)
        totals[0] += held
        totals[1] += costs
        operations += data.get("type") not in ("input", "output", "constant")
        operands = ", ".join(_plain(s) for s in sources if given.nodes[s].get("type") != "constant")
        result = data.get("result")
        shown = "" if result is None else ", ".join(map(str, result if isinstance(result, tuple) else (result,)))
        rows.append(
            (_plain(node), _plain(data.get("type", "")), _cut(operands), _cut(shown), f"{held:,}", f"{costs:,}")
        )
    rows.append(
        ("total", f"{operations} operation{'s' if operations != 1 else ''}", "", "", f"{totals[0]:,}", f"{totals[1]:,}")
    )
    widths = [max(len(row[i]) for row in rows[:-1]) for i in range(4)] + [
        max(len(row[i]) for row in rows) for i in (4, 5)
    ]
    return "\n".join([_plain(given.name) or "graph", *(_line(row, widths) for row in rows)])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    # The total's words may be longer than the column: they run into the empty one behind it.
    left = "  ".join(text.ljust(width) for text, width in zip(row[:2], widths[:2], strict=True))
    middle = "  ".join(text.ljust(width) for text, width in zip(row[2:4], widths[2:4], strict=True))
    head = f"{left}  {middle}" if row[0] != "total" else f"{left}".ljust(sum(widths[:4]) + 6)
    return f"{head}  {row[4].rjust(widths[4])}  {row[5].rjust(widths[5])}".rstrip()


def _plain(text: Any) -> str:
    return _cut(
        "".join(
            ascii(c)[1:-1] if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in str(text)[:400]
        )
    )


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _ordered(graph: Graph) -> Iterable[Any]:
    try:
        return graph.in_order()
    except GraphRewriteError:  # a graph that is broken, or one that numbers no operands
        return list(graph)


def _sources(graph: Graph, node: Any) -> list[Any]:
    try:
        return [operand.node for operand in graph.operands(node)]
    except GraphRewriteError:
        return list(graph.pred[node])


def parameters(graph: Graph, node: Any, counted: set[Any] | None = None) -> int:
    r"""Return how many numbers a node holds: in constants that it reads, in its attributes, in the graph that it is.

    Parameters
    ----------
    graph : Graph
        Any graph.
    node : str
        A node of it.
    counted : set, optional
        Keys of arrays that count no more; those of this node are added.

    Returns
    -------
    int

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=2.0) : f32[]\ny = mul(x, c)\nz = output(y)")
    >>> parameters(g, "y")
    1
    """
    seen = set() if counted is None else counted
    data, body = graph.nodes[node], _body(graph, node)
    held: dict[Any, Any] = {
        (id(graph), node, key): value for key, value in data.items() if isinstance(value, np.ndarray)
    }
    for source in _sources(graph, node):
        constant = graph.nodes[source]
        if constant.get("type") == "constant":
            # What the graphs of a module share is one array, wherever it is read.
            held[constant.get("shared") or (id(graph), source)] = constant.get("value", ())
    new = {key: value for key, value in held.items() if key not in seen}
    seen.update(new)
    own = sum(map(np.size, new.values()))
    if body is None:
        return own
    return own + sum(
        parameters(body, n, seen) for n, inside in body.nodes(data=True) if inside.get("type") != "constant"
    )


def _body(graph: Graph, node: Any) -> Graph | None:
    """The graph that a node is; None for an ordinary one."""
    op = graph.ops.get(graph.nodes[node].get("type", ""))
    return op.body if isinstance(op, GraphOp) else None


def multiply_accumulates(graph: Graph, node: Any) -> int:
    r"""Return how many multiply-accumulates a node takes for one sample.

    Parameters
    ----------
    graph : Graph
        Any graph.
    node : str
        A node of it.

    Returns
    -------
    int
        0 for ops that have none, and where the types are not known.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,4]\nw = input() : f32[3,4]\nl = linear(x, w)\ny = output(l)")
    >>> multiply_accumulates(g, "l")
    12
    """
    body = _body(graph, node)
    if body is not None:
        return sum(multiply_accumulates(body, each) for each in body)
    op = find_op(graph.nodes[node].get("type"), graph.ops)
    if op is None or op.cost is None:
        return 0
    try:
        types = [graph.result_type(o.node, o.result) for o in graph.operands(node)]
        return op.cost(types, graph.result_type(node), graph.attributes(node))
    except (GraphRewriteError, IndexError, KeyError):
        return 0
