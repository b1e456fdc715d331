"""Results of a comparison, as data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphrewrite.runtime.display import Displayed

__all__ = ["Diff", "Entry", "ModuleDiff", "NodeDiff"]


@dataclass(frozen=True)
class NodeDiff:
    """A node before and after.

    Attributes
    ----------
    name : str
        Its name; the old name of a removed node.
    was : str or None
        Its old name; None for an inserted node.
    before, after : str or None
        Its line in the text form; None if it is not in that graph.
    keys : tuple of str
        The keys of its data that differ.
    """

    name: Any
    was: Any = None
    before: str | None = None
    after: str | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """An attribute of a graph or a module, or the order of its inputs or outputs, before and after.

    Attributes
    ----------
    name : str
        Name of the attribute, or ``inputs`` or ``outputs``.
    before, after : str or None
        Its value as text; None if there is none.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.name}: {self.after}"
        return (
            f"- {self.name}: {self.before}" if self.after is None else f"~ {self.name}: {self.before} -> {self.after}"
        )


@dataclass(frozen=True, repr=False)
class Diff(Displayed, shown_by="graphs.difference.show_diff"):
    """The differences between two graphs; each node of both is in exactly one of its lists. Empty diffs are false.

    Attributes
    ----------
    kept : tuple of NodeDiff
        Same name, same data, same operands.
    inserted, removed : tuple of NodeDiff
        Only in the second graph, only in the first.
    changed : tuple of NodeDiff
        Other type, attributes, result types or annotations; operands may differ, too.
    moved : tuple of NodeDiff
        Same data, but other operands or another name.
    attributes : tuple of Entry
        Attributes of the graph that differ.
    ports : tuple of Entry
        ``inputs`` and ``outputs``, if they or their order differ.
    nested : mapping of str to Diff
        The graphs within both, at any depth, that differ; by the name of the op, or by node and attribute.
    """

    kept: tuple[NodeDiff, ...] = ()
    inserted: tuple[NodeDiff, ...] = ()
    removed: tuple[NodeDiff, ...] = ()
    changed: tuple[NodeDiff, ...] = ()
    moved: tuple[NodeDiff, ...] = ()
    attributes: tuple[Entry, ...] = ()
    ports: tuple[Entry, ...] = ()
    nested: Mapping[str, Diff] = field(default_factory=dict)
    order: tuple[tuple[str, NodeDiff], ...] = field(default=(), compare=False)
    """All nodes except kept ones, each with its mark, in the order of printing."""
    graphs: tuple[Any, Any] | None = field(default=None, compare=False)
    """The two graphs, for pictures."""

    def __bool__(self) -> bool:
        return bool(self.inserted or self.removed or self.changed or self.moved or self.attributes or self.ports)

    def __str__(self) -> str:
        """Return a line for each difference: ``-`` removed, ``+`` inserted, ``~`` changed, ``>`` moved; then within."""
        if not self:
            return "no difference"
        lines = [*map(str, self.attributes), *map(str, self.ports)]
        for mark, node in self.order:
            lines += _lines(mark, node)
        for name, inner in self.nested.items():
            lines += _of_graph(name, inner)
        counts = ", ".join(f"{count} {word}" for word, count in self.counts)
        return "\n".join([*lines, f"({counts})"] if counts else lines)

    def __repr__(self) -> str:
        parts = [f"{count} {word}" for word, count in self.counts if word != "kept"]
        entries = len(self.attributes) + len(self.ports)
        parts += [f"{entries} of the graph itself"] if entries else []
        return f"<diff: {', '.join(parts) or 'no difference'}>"

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """The numbers of kept, inserted, removed, changed and moved nodes, without zeros."""
        words = ("kept", "inserted", "removed", "changed", "moved")
        return tuple((word, len(getattr(self, word))) for word in words if getattr(self, word))


def _of_graph(name: str, change: Diff) -> list[str]:
    return [f"~ graph {name}", *(f"  {line}" for line in str(change).splitlines())]


def _lines(mark: str, node: NodeDiff) -> Iterator[str]:
    if mark == "-":
        yield f"- {node.before}"
    elif mark == "+":
        yield f"+ {node.after}"
    else:
        why = f"    ({', '.join(node.keys)})" if node.keys else ""
        yield f"{mark} {node.before}"
        yield f"{mark}   -> {node.after}{why}"


@dataclass(frozen=True, repr=False)
class ModuleDiff(Displayed, shown_by="graphs.difference.show_diff"):
    """The differences between two modules. Empty diffs are false.

    Attributes
    ----------
    graphs : mapping of str to Diff
        The graphs of both modules that differ.
    kept, inserted, removed : tuple of str
        Names of graphs.
    attributes : tuple of Entry
        The name, attributes, constants and placeholders that differ.
    """

    graphs: Mapping[str, Diff]
    kept: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    attributes: tuple[Entry, ...] = ()

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Names of the graphs of both modules that differ."""
        return tuple(self.graphs)

    def __bool__(self) -> bool:
        return bool(self.graphs or self.inserted or self.removed or self.attributes)

    def __str__(self) -> str:
        if not self:
            return "no difference"
        lines = [*map(str, self.attributes)]
        lines += [f"- graph {name}" for name in self.removed]
        lines += [f"+ graph {name}" for name in self.inserted]
        for name, change in self.graphs.items():
            lines += _of_graph(name, change)
        return "\n".join(lines)

    def __repr__(self) -> str:
        words = (("changed", self.graphs), ("inserted", self.inserted), ("removed", self.removed))
        parts = [f"{len(names)} {word}" for word, names in words if names]
        parts += [f"{len(self.attributes)} of the module itself"] if self.attributes else []
        return f"<diff of modules: {', '.join(parts) or 'no difference'}>"
