"""Summary: a table of a graph's nodes with types, parameters and multiply-accumulates."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.graph_ops import GraphOp, innermost_first
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import find_op
from graphrewrite.runtime.display import Displayed
from graphrewrite.types import Tensor, element_dtype

__all__ = [
    "COLUMNS",
    "GraphSummary",
    "Summary",
    "SummaryLine",
    "multiply_accumulates",
    "nodes_in_order",
    "parameters",
    "peak_memory",
    "summary",
]

_WIDEST = 40
COLUMNS = ("node", "op", "operands", "result", "parameters", "multiply-accumulates")
"""Column titles of the table."""


@dataclass(frozen=True)
class SummaryLine:
    """A line of a summary: one node.

    Attributes
    ----------
    node, op : str
        Its name and its type.
    operands : tuple of str
        Its operands, without constants.
    result : str
        The types of its results.
    parameters, multiply_accumulates : int
        The parameters that no earlier node has, and the multiply-accumulates for one sample.
    """

    node: str
    op: str
    operands: tuple[str, ...]
    result: str
    parameters: int
    multiply_accumulates: int


@dataclass(frozen=True)
class GraphSummary:
    """The summary of one graph: its name, one line per node in order, and the number of operations."""

    name: str
    lines: tuple[SummaryLine, ...]
    operations: int

    @property
    def parameters(self) -> int:
        """The number of parameters of the graph."""
        return sum(line.parameters for line in self.lines)

    @property
    def multiply_accumulates(self) -> int:
        """The multiply-accumulates of the graph for one sample."""
        return sum(line.multiply_accumulates for line in self.lines)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of each line and of the total, as text."""
        rows = [
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
        operations = f"{self.operations} operation{'s' if self.operations != 1 else ''}"
        return [*rows, ("total", operations, "", "", f"{self.parameters:,}", f"{self.multiply_accumulates:,}")]

    def __str__(self) -> str:
        rows = [COLUMNS, *self.rows()]
        widths = [max(len(row[i]) for row in (rows if i > 3 else rows[:-1])) for i in range(len(COLUMNS))]
        return "\n".join([_plain(self.name) or "graph", *(_line(row, widths) for row in rows)])


class Summary(Displayed, str, shown_by="graphs.summary_table.show_summary"):
    """A table as text, with its data; a notebook displays it as a table.

    Attributes
    ----------
    graphs : tuple of GraphSummary
        One summary per graph.
    """

    graphs: tuple[GraphSummary, ...]

    def __new__(cls, graphs: Iterable[GraphSummary]) -> Summary:
        """Return the summary of some graphs."""
        summaries = tuple(graphs)
        text = super().__new__(cls, "\n\n".join(map(str, summaries)))
        text.graphs = summaries
        return text

    def __getnewargs__(self) -> tuple[Any, ...]:  # a str's are its text
        return (self.graphs,)

    def __repr__(self) -> str:
        return str.__str__(self)


def summary(graph: nx.DiGraph | Module) -> Summary:
    """Return a table of a graph: one line per node, and the totals.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph or Module
        A module gives one table per graph. Constants have no line: they are parameters of their first reader.

    Returns
    -------
    Summary
        A `str`, whose ``graphs`` hold the data. Multiply-accumulates are those of one sample: a symbolic size counts
        as 1.

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
    counts = _Counts()
    return Summary([_summary(each, counts) for each in (graph.values() if isinstance(graph, Module) else (graph,))])


def _summary(graph: nx.DiGraph, counts: _Counts) -> GraphSummary:
    checked = as_graph(graph, "that has a summary")
    counted: set[Any] = set()
    lines = []
    for node in nodes_in_order(checked):
        data = checked.nodes[node]
        # Constants count as parameters of their readers.
        if data.get("type") == "constant" and checked.succ[node]:
            continue
        operands = (source for source in _sources(checked, node) if checked.nodes[source].get("type") != "constant")
        result = data.get("result")
        arrays = counts.arrays(checked, node)
        new = sum(size for key, size in arrays.items() if key not in counted)
        counted.update(arrays)
        lines.append(
            SummaryLine(
                str(node),
                str(data.get("type", "")),
                tuple(map(str, operands)),
                "" if result is None else ", ".join(map(str, result if isinstance(result, tuple) else (result,))),
                new,
                counts.multiply_accumulates(checked, node),
            )
        )
    operations = sum(line.op not in ("input", "output", "constant") for line in lines)
    return GraphSummary(str(checked.name), tuple(lines), operations)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    # The total may be wider than its column: it extends into the empty one after it.
    left = "  ".join(text.ljust(width) for text, width in zip(row[:2], widths[:2], strict=True))
    middle = "  ".join(text.ljust(width) for text, width in zip(row[2:4], widths[2:4], strict=True))
    head = f"{left}  {middle}" if row[0] != "total" else f"{left}".ljust(sum(widths[:4]) + 6)
    return f"{head}  {row[4].rjust(widths[4])}  {row[5].rjust(widths[5])}".rstrip()


def _plain(text: Any) -> str:
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return _cut("".join(ascii(c)[1:-1] if unicodedata.category(c) in hidden else c for c in str(text)[:400]))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def nodes_in_order(graph: nx.DiGraph) -> list[Any]:
    """Return the nodes of any graph, operands first where the graph allows it.

    Examples
    --------
    >>> nodes_in_order(nx.DiGraph([("b", "a")]))
    ['b', 'a']
    """
    with suppress(GraphRewriteError):  # a cycle, or slots that are missing or collide
        if isinstance(graph, Graph):
            return list(graph.in_order())
    return list(graph)


def _sources(graph: Graph, node: Any) -> list[Any]:
    try:
        return [operand.node for operand in graph.operands(node)]
    except GraphRewriteError:
        return list(graph.pred[node])


def parameters(graph: Graph, node: Any) -> int:
    r"""Return the number of parameters of a node: in its constants, its attributes and its nested graph.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=2.0) : f32[]\ny = mul(x, c)\nz = output(y)")
    >>> parameters(g, "y")
    1
    """
    return sum(_Counts().arrays(graph, node).values())


def multiply_accumulates(graph: Graph, node: Any) -> int:
    r"""Return the multiply-accumulates of a node for one sample; 0 if its op has none or types are unknown.

    Of a choice they are those of the larger branch, of a loop those of one step.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,4]\nw = input() : f32[3,4]\nl = linear(x, w)\ny = output(l)")
    >>> multiply_accumulates(g, "l")
    12
    """
    return _Counts().multiply_accumulates(graph, node)


def peak_memory(graph: Graph) -> int:
    r"""Return the most bytes that values take at once, in the order of evaluation; constants are not counted.

    A symbolic size counts as 1. A value is there until its last reader has been computed.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,4]\ny = relu(x)\nz = output(y)")
    >>> peak_memory(g)
    32
    """
    order = [node for node in nodes_in_order(graph) if graph.nodes[node].get("type") != "constant"]
    last = {source: node for node in order for source in (node, *_sources(graph, node))}
    peak = alive = 0
    for node in order:
        alive += _bytes_of(graph, node)
        peak = max(peak, alive)
        alive -= sum(_bytes_of(graph, s) for s in {node, *_sources(graph, node)} if last[s] == node)
    return peak


def _bytes_of(graph: Graph, node: Any) -> int:
    """Bytes of a node's results; an output is its operand, and of an unknown type nothing is known."""
    data = graph.nodes[node]
    if data.get("type") in ("constant", "output"):
        return 0
    result = data.get("result")
    kinds = result if isinstance(result, tuple) else (result,)
    total = 0
    for kind in kinds:
        if isinstance(kind, Tensor):
            entries = math.prod(size if isinstance(size, int) else 1 for size in kind.shape)
            total += entries * element_dtype(kind.element).itemsize
    return total


class _Counts:
    """What nodes have and do, with their nested graphs; each of these is counted once, however often it is used."""

    def __init__(self) -> None:
        self.entered: set[int] = set()
        self.inner: dict[int, tuple[dict[Any, int], int]] = {}

    def arrays(self, graph: Graph, node: Any) -> dict[Any, int]:
        """Return the sizes of a node's arrays, of those in its nested graphs too, by what tells the arrays apart."""
        # Arrays are distinguished by their node, so that a constant with two readers counts once.
        sizes: dict[Any, int] = {
            (id(graph), node, key): value.size
            for key, value in graph.nodes[node].items()
            if isinstance(value, np.ndarray)
        }
        for source in _sources(graph, node):
            constant = graph.nodes[source]
            if constant.get("type") == "constant":
                # A shared constant of a module is one array, wherever it is read.
                sizes[constant.get("shared") or (id(graph), source)] = np.size(constant.get("value", ()))
        for body in _bodies(graph, node):
            sizes.update(self.whole(body)[0])
        return sizes

    def multiply_accumulates(self, graph: Graph, node: Any) -> int:
        """Return the multiply-accumulates of a node for one sample."""
        bodies = _bodies(graph, node)
        if bodies:
            return max(self.whole(body)[1] for body in bodies)
        op = find_op(graph.nodes[node].get("type"), graph.ops)
        if op is None or op.cost is None:
            return 0
        try:
            types = [graph.result_type(o.node, o.result) for o in graph.operands(node)]
            return op.cost(types, graph.result_type(node), graph.attributes(node))
        except (GraphRewriteError, IndexError, KeyError):
            return 0

    def whole(self, graph: Graph) -> tuple[dict[Any, int], int]:
        """Return the arrays and the multiply-accumulates of all nodes of a nested graph."""
        for each in innermost_first(graph, self.entered):
            arrays: dict[Any, int] = {}
            for node, data in each.nodes(data=True):
                if data.get("type") != "constant":
                    arrays.update(self.arrays(each, node))
            self.inner[id(each)] = arrays, sum(self.multiply_accumulates(each, node) for node in each)
        return self.inner.get(id(graph), ({}, 0))


def _bodies(graph: Graph, node: Any) -> list[Graph]:
    """Return the graph of a graph op's node, or the graphs among a node's attributes."""
    op = graph.ops.get(graph.nodes[node].get("type", ""))
    if isinstance(op, GraphOp):
        return [op.body]
    return [value for value in graph.nodes[node].values() if isinstance(value, Graph)]
