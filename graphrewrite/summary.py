"""A table of a graph: what each node is, what it holds and what it costs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.module import Module
from graphrewrite.nested import GraphOp
from graphrewrite.op import find_op

__all__ = ["COLUMNS", "GraphSummary", "Summary", "SummaryLine", "multiply_accumulates", "parameters", "summary"]

_WIDEST = 40
COLUMNS = ("node", "op", "operands", "result", "parameters", "multiply-accumulates")
"""Of the table."""


@dataclass(frozen=True)
class SummaryLine:
    """What a summary says of a node.

    Attributes
    ----------
    node, op : str
        Its name and its type.
    operands : tuple of str
        What it reads, constants left out.
    result : str
        The types of its results.
    parameters, multiply_accumulates : int
        What it holds and no node above it, and what it costs for one sample.
    """

    node: str
    op: str
    operands: tuple[str, ...]
    result: str
    parameters: int
    multiply_accumulates: int


@dataclass(frozen=True)
class GraphSummary:
    """What a summary says of a graph: its name, a line a node in order, and how many of them are operations."""

    name: str
    lines: tuple[SummaryLine, ...]
    operations: int

    @property
    def parameters(self) -> int:
        """Of the whole graph."""
        return sum(line.parameters for line in self.lines)

    @property
    def multiply_accumulates(self) -> int:
        """Of the whole graph, for one sample."""
        return sum(line.multiply_accumulates for line in self.lines)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of each line, and those of the total, as text."""
        found = [
            (
                _plain(line.node),
                _plain(line.op),
                _cut(", ".join(map(_plain, line.operands))),
                _cut(line.result),
                f"{line.parameters:,}",
                f"{line.multiply_accumulates:,}",
            )
            for line in self.lines
        ]
        told = f"{self.operations} operation{'s' if self.operations != 1 else ''}"
        return [*found, ("total", told, "", "", f"{self.parameters:,}", f"{self.multiply_accumulates:,}")]

    def __str__(self) -> str:
        rows = [COLUMNS, *self.rows()]
        widths = [max(len(row[i]) for row in (rows if i > 3 else rows[:-1])) for i in range(len(COLUMNS))]
        return "\n".join([_plain(self.name) or "graph", *(_line(row, widths) for row in rows)])


class Summary(str):
    """A table as text, and what it says as data; a notebook shows it as a table.

    Attributes
    ----------
    graphs : tuple of GraphSummary
        One; of a module, one a graph.
    """

    graphs: tuple[GraphSummary, ...]

    def __new__(cls, graphs: Iterable[GraphSummary]) -> Summary:
        """Return the summary of some graphs."""
        found = tuple(graphs)
        made = super().__new__(cls, "\n\n".join(map(str, found)))
        made.graphs = found
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # a str's are its text
        return (self.graphs,)

    def show(self) -> Any:
        """Return it as a table for a notebook and for files; see `graphrewrite.view.graphs.summary_table`."""
        from graphrewrite.view.graphs.summary_table import show_summary  # the view is a leaf, loaded when asked for

        return show_summary(self)

    def _repr_html_(self) -> str:
        """Let Jupyter show the table."""
        return str(self.show()._repr_html_())

    def __repr__(self) -> str:
        return str.__str__(self)


def summary(graph: nx.DiGraph | Module) -> Summary:
    """Return a table of a graph: a line a node, and the totals.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        Any graph, or a module of them: then one table a graph. Constants have no line of their own: they are the
        parameters of their first reader.

    Returns
    -------
    Summary
        A `str`, whose ``graphs`` hold the same as data. Multiply-accumulates are those of one sample: a size that run
        time decides counts once.

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
    return Summary([_summary(each) for each in (graph.values() if isinstance(graph, Module) else (graph,))])


def _summary(graph: nx.DiGraph) -> GraphSummary:
    given = as_graph(graph, "that has a summary")
    counted: set[Any] = set()
    lines = []
    for node in _ordered(given):
        data = given.nodes[node]
        if data.get("type") == "constant" and given.succ[node]:
            continue
        operands = (source for source in _sources(given, node) if given.nodes[source].get("type") != "constant")
        result = data.get("result")
        lines.append(
            SummaryLine(
                str(node),
                str(data.get("type", "")),
                tuple(map(str, operands)),
                "" if result is None else ", ".join(map(str, result if isinstance(result, tuple) else (result,))),
                parameters(given, node, counted),
                multiply_accumulates(given, node),
            )
        )
    operations = sum(line.op not in ("input", "output", "constant") for line in lines)
    return GraphSummary(str(given.name), tuple(lines), operations)


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
