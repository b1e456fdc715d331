"""What differs between two graphs or modules, as data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["Diff", "Entry", "ModuleDiff", "NodeDiff"]


@dataclass(frozen=True)
class NodeDiff:
    """A node before and after.

    Attributes
    ----------
    name : str
        What it is called; of a removed node, what it was called.
    was : str or None
        What it was called; None of an inserted one.
    before, after : str or None
        Its line in the text form; None where it is not there.
    keys : tuple of str
        The keys of its data that say something else.
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
        Which one.
    before, after : str or None
        What it says, as text; None where there is none.
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
class Diff:
    """What differs between two graphs; every node of both is in exactly one of its lists. Empty diffs are false.

    Attributes
    ----------
    kept : tuple of NodeDiff
        Same name, same data, same operands.
    inserted, removed : tuple of NodeDiff
        Only after, only before.
    changed : tuple of NodeDiff
        Other type, attributes, result types or marks; possibly elsewhere, too.
    moved : tuple of NodeDiff
        Same data, but it reads something else, or is called otherwise.
    attributes : tuple of Entry
        Attributes of the graph that differ.
    ports : tuple of Entry
        ``inputs`` and ``outputs``, where others are there or in another order.
    """

    kept: tuple[NodeDiff, ...] = ()
    inserted: tuple[NodeDiff, ...] = ()
    removed: tuple[NodeDiff, ...] = ()
    changed: tuple[NodeDiff, ...] = ()
    moved: tuple[NodeDiff, ...] = ()
    attributes: tuple[Entry, ...] = ()
    ports: tuple[Entry, ...] = ()
    order: tuple[tuple[str, NodeDiff], ...] = field(default=(), compare=False)
    """All nodes but those that are kept, each with its mark, in the order in which they are shown."""
    graphs: tuple[Any, Any] | None = field(default=None, compare=False)
    """The two graphs, as they were given; for a picture."""

    def __bool__(self) -> bool:
        return bool(self.inserted or self.removed or self.changed or self.moved or self.attributes or self.ports)

    def __str__(self) -> str:
        """Return a line for each difference: ``-`` removed, ``+`` inserted, ``~`` changed, ``>`` moved."""
        if not self:
            return "no difference"
        lines = [*map(str, self.attributes), *map(str, self.ports)]
        for mark, node in self.order:
            lines += _lines(mark, node)
        counts = ", ".join(f"{count} {word}" for word, count in self.counts)
        return "\n".join([*lines, f"({counts})"] if counts else lines)

    def __repr__(self) -> str:
        told = [f"{count} {word}" for word, count in self.counts if word != "kept"]
        entries = len(self.attributes) + len(self.ports)
        told += [f"{entries} of the graph itself"] if entries else []
        return f"<diff: {', '.join(told) or 'no difference'}>"

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many nodes are kept, inserted, removed, changed and moved; what is none is left out."""
        words = ("kept", "inserted", "removed", "changed", "moved")
        return tuple((word, len(getattr(self, word))) for word in words if getattr(self, word))

    def show(self, **options: Any) -> Any:
        """Return the display: both graphs, what differs marked; see `graphrewrite.view.show_diff`."""
        from graphrewrite.view import show_diff  # the view is a leaf that knows comparisons, loaded when asked for

        return show_diff(self, **options)

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        html: str = self.show()._repr_html_()
        return html


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
class ModuleDiff:
    """What differs between two modules. Empty diffs are false.

    Attributes
    ----------
    graphs : mapping of str to Diff
        What differs in each graph that both have, and that does differ.
    kept, inserted, removed : tuple of str
        Names of graphs.
    attributes : tuple of Entry
        The name and attributes of the module, and what it shares, that differ.
    """

    graphs: Mapping[str, Diff]
    kept: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    attributes: tuple[Entry, ...] = ()

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Names of the graphs that both have and that differ."""
        return tuple(self.graphs)

    def __bool__(self) -> bool:
        return bool(self.graphs or self.inserted or self.removed or self.attributes)

    def __str__(self) -> str:
        if not self:
            return "no difference"
        lines = [*map(str, self.attributes)]
        lines += [f"- graph {name}" for name in self.removed]
        lines += [f"+ graph {name}" for name in self.inserted]
        for name, found in self.graphs.items():
            lines += [f"~ graph {name}", *(f"  {line}" for line in str(found).splitlines())]
        return "\n".join(lines)

    def __repr__(self) -> str:
        words = (("changed", self.graphs), ("inserted", self.inserted), ("removed", self.removed))
        told = [f"{len(names)} {word}" for word, names in words if names]
        told += [f"{len(self.attributes)} of the module itself"] if self.attributes else []
        return f"<diff of modules: {', '.join(told) or 'no difference'}>"

    def show(self, **options: Any) -> Any:
        """Return the display: a comparison for each graph that differs; see `graphrewrite.view.show_diff`."""
        from graphrewrite.view import show_diff  # see above

        return show_diff(self, **options)

    def _repr_html_(self) -> str:
        """Let Jupyter show it."""
        html: str = self.show()._repr_html_()
        return html
