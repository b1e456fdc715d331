"""A summary as tables: a line for each op, and a line for each node."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphrewrite.summary import COLUMNS, GraphSummary, Summary
from graphrewrite.view.display import Display
from graphrewrite.view.plain import plain
from graphrewrite.view.table import Table

__all__ = ["SummaryTables", "show_summary", "summary_tables"]

_SHORT = 30
"""Graphs of no more nodes need no table of their ops."""
_MOST = 500
"""Lines of a table; more would make a notebook slow."""


@dataclass(frozen=True)
class SummaryTables:
    """Data of the display of a graph's summary.

    Attributes
    ----------
    title : str
        The graph's name and its size in words.
    ops : Table or None
        One line for each op, the most frequent first; None for a short graph.
    nodes : Table
        One line for each node.
    hint : str
        How to see the nodes that the table leaves out.
    """

    title: str
    ops: Table | None
    nodes: Table
    hint: str = ""


def summary_tables(found: GraphSummary) -> SummaryTables:
    r"""Return the tables of a summary.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> summary_tables(g.summary().graphs[0]).title
    'g: 1 operation, 3 nodes, 0 parameters, 0 multiply-accumulates'
    """
    *rows, total = found.rows()
    shown = rows if len(rows) <= _MOST else rows[:_MOST]
    hint = f"{len(rows) - _MOST:,} more nodes; print(graph.summary()) shows them all" if len(rows) > _MOST else ""
    title = f"{plain(found.name, 120) or 'graph'}: {total[1]}, {len(rows):,} nodes, {total[4]} parameters, "
    title += f"{total[5]} multiply-accumulates"
    nodes = Table(COLUMNS, (*shown, total), frozenset({4, 5}))
    return SummaryTables(title, _by_op(found) if len(rows) > _SHORT else None, nodes, hint)


def _by_op(found: GraphSummary) -> Table:
    counts = Counter(line.op for line in found.lines)
    held: Counter[str] = Counter()
    costs: Counter[str] = Counter()
    for line in found.lines:
        held[line.op] += line.parameters
        costs[line.op] += line.multiply_accumulates
    rows = [(plain(op, 60), f"{n:,}", f"{held[op]:,}", f"{costs[op]:,}") for op, n in counts.most_common()]
    return Table(("op", "nodes", "parameters", "multiply-accumulates"), tuple(rows), frozenset({1, 2, 3}))


def show_summary(found: Summary) -> Display:
    """Return a summary as a display."""
    return Display(tuple(map(summary_tables, found.graphs)), str(found), template="summary.html", title="summary")
