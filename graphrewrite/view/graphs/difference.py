"""Comparisons of two graphs or modules as displays: both graphs beside one another, counts, lines, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphrewrite.compare.result import Diff, Entry, ModuleDiff
from graphrewrite.formats.text import format_attribute
from graphrewrite.view.display import Display
from graphrewrite.view.graphs.before_after import before_after
from graphrewrite.view.layout.drawing import Drawing, drawings
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.rules.illustrated import Illustrated
from graphrewrite.view.scene.box import is_tucked
from graphrewrite.view.table import Table

__all__ = ["DiffPage", "ModuleDiffPage", "show_diff"]

_LETTERS = 2000
"""Of a line that is shown."""
_KINDS = {"+": "added", "-": "removed", "~": "differs", ">": "moved"}


@dataclass(frozen=True)
class DiffPage:
    """Data of the display of a comparison of two graphs.

    Attributes
    ----------
    counts : tuple of (str, int)
        Numbers of nodes that are kept, inserted, removed, changed and moved.
    attributes : Table or None
        Attributes of the graph, and the order of its inputs and outputs, before and after.
    changes : Table or None
        Attributes of changed nodes, before and after.
    lines : tuple of tuple of str
        The comparison line by line: ``"added"``, ``"removed"``, ``"differs"``, ``"moved"`` or nothing, and the line.
    drawing : Drawing or None
        Both graphs.
    hints : tuple of str
        Remarks about nodes that are not drawn.
    """

    counts: tuple[tuple[str, int], ...]
    attributes: Table | None
    changes: Table | None
    lines: tuple[tuple[str, str], ...]
    drawing: Drawing | None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModuleDiffPage:
    """Data of the display of a comparison of two modules.

    Attributes
    ----------
    counts : tuple of (str, int)
        Numbers of graphs that are kept, inserted, removed and changed.
    attributes : Table or None
        Attributes and shared values of the modules, before and after.
    inserted, removed : tuple of str
        Names of graphs.
    graphs : tuple of (str, DiffPage)
        Each graph that differs.
    """

    counts: tuple[tuple[str, int], ...]
    attributes: Table | None
    inserted: tuple[str, ...]
    removed: tuple[str, ...]
    graphs: tuple[tuple[str, DiffPage], ...]


def show_diff(found: Diff | ModuleDiff, *, direction: str = "TB", max_nodes: int = 200) -> Display:
    r"""Return the display of a comparison.

    Parameters
    ----------
    found : Diff or ModuleDiff
        A result of `graphrewrite.diff`.
    direction : {"TB", "LR"}
        From top to bottom, one graph beside the other, or from left to right, one above the other.
    max_nodes : int
        If more nodes differ, they are not drawn.

    Examples
    --------
    >>> from graphrewrite import Graph, diff
    >>> a = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> b = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nr = relu(n)\ny = output(r)")
    >>> shown = show_diff(diff(a, b))
    >>> shown.data.counts
    (('kept', 2), ('inserted', 1), ('moved', 1))
    >>> [(box.name, box.mark) for box in shown.picture.scenes[1].boxes if box.mark]
    [('n', 'added'), ('r', 'moved')]
    """
    if isinstance(found, Diff):
        picture = _picture(found, direction, max_nodes)
        drawing = Drawing(picture.scenes, direction) if picture.scenes else None
        page = _page(found, picture, drawing)
        return Illustrated(page, str(found), template="diff.html", title="comparison", picture=picture)
    # All drawings of a module are laid out by one process.
    pictures = [_picture(each, direction, max_nodes) for each in found.graphs.values()]
    drawn = iter(drawings((picture.scenes for picture in pictures), direction))
    graphs = tuple(
        (name, _page(each, picture, next(drawn)))
        for (name, each), picture in zip(found.graphs.items(), pictures, strict=True)
    )
    words = ("kept", "inserted", "removed", "changed")
    counts = tuple((word, len(getattr(found, word))) for word in words if getattr(found, word))
    pages = ModuleDiffPage(counts, _entries(found.attributes), found.inserted, found.removed, graphs)
    return Display(pages, str(found), template="module_diff.html", title="comparison of modules")


def _picture(found: Diff, direction: str, max_nodes: int) -> Picture:
    if found.graphs is None or not found:
        return Picture((), str(found))
    # Marks by the names that each graph has: a node that is kept may have another name in the second.
    ours = {node.was: word for word, nodes in (("changed", found.changed), ("moved", found.moved)) for node in nodes}
    theirs = {node.name: word for word, nodes in (("changed", found.changed), ("moved", found.moved)) for node in nodes}
    ours |= {node.name: "removed" for node in found.removed}
    theirs |= {node.name: "added" for node in found.inserted}
    marks = tuple(_drawn(graph, own) for graph, own in zip(found.graphs, (ours, theirs), strict=True))
    return before_after(*found.graphs, marks=(marks[0], marks[1]), direction=direction, max_nodes=max_nodes)


def _drawn(graph: Any, marks: Mapping[Any, str]) -> dict[Any, str]:
    """Return the marks of drawn nodes: where a constant is a line of its readers, they are marked as changed."""
    readers = {reader: "changed" for node in marks if is_tucked(graph, node) for reader in graph.succ[node]}
    return readers | {node: mark for node, mark in marks.items() if not is_tucked(graph, node)}


def _page(found: Diff, picture: Picture, drawing: Drawing | None) -> DiffPage:
    lines = tuple((_KINDS.get(line.lstrip()[:1], ""), plain(line, _LETTERS)) for line in str(found).split("\n"))
    hints = picture.data.hints
    return DiffPage(found.counts, _entries((*found.attributes, *found.ports)), _changes(found), lines, drawing, hints)


def _entries(entries: tuple[Entry, ...]) -> Table | None:
    rows = tuple((e.name, "" if e.before is None else e.before, "" if e.after is None else e.after) for e in entries)
    return Table(("attribute", "before", "after"), rows) if rows else None


def _changes(found: Diff) -> Table | None:
    """Return the old and new values of attributes of changed nodes."""
    if found.graphs is None:
        return None
    before, after = found.graphs
    rows = []
    for node in found.changed:
        called = plain(node.name if node.name == node.was else f"{node.was}, now {node.name}", 80)
        for key in node.keys:
            rows.append((called, key, _text(before.nodes[node.was], key), _text(after.nodes[node.name], key)))
            called = ""
    return Table(("node", "attribute", "before", "after"), tuple(rows)) if rows else None


def _text(data: Mapping[Any, Any], key: str) -> str:
    value = next((value for name, value in data.items() if str(name) == key), None)
    if value is None:
        return ""
    if key in ("type", "result"):
        return plain(", ".join(map(str, value)) if isinstance(value, tuple) else value, 400)
    return plain(format_attribute(value), 400)
