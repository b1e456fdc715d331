"""Two graphs in the text form, one beside the other, with the values on the edges and a mark where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.text import lines_of
from graphrewrite.formats.text.line_printer import line_of
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.testing.failure.values import Values, is_batched, shown

__all__ = ["ListingLine", "aligned", "beside", "lines"]

_GAP = " | "
_LONG = 60
"""Longer lines are not aligned: their value follows at once."""


@dataclass(frozen=True)
class ListingLine:
    """A node in the text form, with its value.

    Attributes
    ----------
    node : str
        Its name; empty of the graph's first line.
    text : str
        Its line.
    value : str
        Its value, shortened; empty if unknown, or part of the line.
    mark : str
        ``"-"`` of a line that the other graph does not have (``"+"`` in the graph after), ``"~"`` where only the value
        differs, else a blank.
    ringed : bool
        Whether this is the first node that differs, or the one that it stands for.
    note : str
        Remark at the end of the line.
    """

    node: Any
    text: str
    value: str = ""
    mark: str = " "
    ringed: bool = False
    note: str = ""

    def __str__(self) -> str:
        return self.padded(0)

    def padded(self, width: int) -> str:
        """Return the line with its value at a column."""
        value = f"{' ' * (width - len(self.text))}  # {self.value}" if self.value else ""
        return f"{self.mark} {self.text}{value}{f'  <- {self.note}' if self.note else ''}"


def lines(graph: Any, values: Values) -> list[ListingLine]:
    r"""Return the lines of a graph with the values of its nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite.testing.failure.values import evaluated
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\ny = output(a)")
    >>> print(*lines(g, evaluated(g, {"x": np.float32([1])})), sep="\n")
      x = input() : f32[N]  # 1.0
      a = neg(x) : f32[N]  # -1.0
      y = output(a)  # -1.0
    """
    try:
        texts: list[tuple[Any, str]] = list(lines_of(graph))
    except GraphRewriteError:  # a malformed graph has no order, but its nodes can be printed one by one
        texts = [(node, _broken(graph, node)) for node in graph]
    return [ListingLine(node, text, _value(graph, node, values)) for node, text in texts]


def _broken(graph: Any, node: Any) -> str:
    try:
        return line_of(graph, node)
    except GraphRewriteError:
        return f"{node} = {graph.nodes[node].get('type')}(?)"


def _value(graph: Any, node: Any, values: Values) -> str:
    if not isinstance(graph, Graph) or graph.nodes[node].get("type") == "constant":
        return ""
    if node in values.failed:
        return "cannot be evaluated"
    results: list[str] = []
    while (at := Operand(node, len(results))) in values.arrays:
        results.append(shown(values.arrays[at], batched=is_batched(graph, at)))
    return ", ".join(results)


def aligned(
    left: Sequence[ListingLine], right: Sequence[ListingLine], ringed: tuple[Any, Any] | None = None
) -> list[tuple[ListingLine | None, ListingLine | None]]:
    """Return the lines of two graphs in pairs, marked where they differ; lines without a partner stand alone.

    Examples
    --------
    >>> old, new = ([ListingLine(name, name) for name in names] for names in ("xa", "xb"))
    >>> pairs = aligned(old, new, ("a", "b"))
    >>> [(str(a), str(b)) for a, b in pairs]
    [('  x', '  x'), ('- a', '+ b  <- first difference')]
    """
    first, second = ringed or (object(), object())
    names = [each.node for each in left]
    # Nodes of one name are paired, and the first one that differs with its counterpart.
    keys = [first if each.node == second and second not in names else each.node for each in right]
    pairs: list[tuple[ListingLine | None, ListingLine | None]] = []
    for _, a, b, c, d in SequenceMatcher(None, names, keys, autojunk=False).get_opcodes():
        for old, new in zip_longest(left[a:b], right[c:d]):
            marks = "-+"
            if old is not None and new is not None and old.text == new.text:
                marks = "  " if old.value == new.value else "~~"
            if old is not None:
                old = replace(old, mark=marks[0], ringed=old.node == first)
            if new is not None:
                note = "first difference" if new.node == second else ""
                new = replace(new, mark=marks[1], ringed=bool(note), note=note)
            pairs.append((old, new))
    return pairs


def beside(
    titles: tuple[str, str], pairs: Sequence[tuple[ListingLine | None, ListingLine | None]], width: int
) -> list[str]:
    r"""Return two graphs in two columns if they fit, else one below the other.

    Examples
    --------
    >>> pairs = aligned([ListingLine("x", "x = input()")], [ListingLine("y", "y = input()")])
    >>> print(*beside(("before", "after"), pairs, 80), sep="\n")
    before        | after
    - x = input() | + y = input()
    >>> print(*beside(("before", "after"), pairs, 20), sep="\n")
    before
    - x = input()
    <BLANKLINE>
    after
    + y = input()
    """
    columns = [_padded(column) for column in zip(*pairs, strict=True)] or [[], []]
    widths = [max(map(len, [title, *column])) for title, column in zip(titles, columns, strict=True)]
    if sum(widths) + len(_GAP) <= width:
        rows = [titles, *zip(*columns, strict=True)]
        return [f"{a.ljust(widths[0])}{_GAP}{b}".rstrip() for a, b in rows]
    blocks = [[title, *(line for line in column if line)] for title, column in zip(titles, columns, strict=True)]
    return [*blocks[0], "", *blocks[1]]


def _padded(column: Sequence[ListingLine | None]) -> list[str]:
    """Return lines whose values are aligned, except those of long lines."""
    width = max((len(line.text) for line in column if line is not None and len(line.text) <= _LONG), default=0)
    return ["" if line is None else line.padded(width) for line in column]
