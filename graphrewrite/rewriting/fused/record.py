"""The record of one step of a fused rule, from which an edit is made on access."""

from __future__ import annotations

from typing import Any

from graphrewrite.graph import Operand
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.match import Match
from graphrewrite.rewriting.rule.template import Hole

__all__ = ["Record", "joined"]


class Record:
    """One step of a fused rule.

    Nothing in it is the graph's any more: data and edges of nodes that went, and copies of what is new.
    """

    __slots__ = ("_edit", "graph", "parts")

    def __init__(self, parts: tuple[Any, ...], graph: Any = None) -> None:
        self.parts, self.graph = parts, graph
        self._edit: Edit | None = None

    @property
    def rule(self) -> Any:
        """The rule."""
        return self.parts[0]

    @property
    def match(self) -> Match:
        """The match."""
        kinds = self.rule.pattern.kinds
        values = [
            Operand(value) if kind == "value" else value for kind, value in zip(kinds, self.parts[9], strict=True)
        ]
        return Match(self.rule, self.parts[3], tuple(values))

    @property
    def edit(self) -> Edit:
        """The edit, as if it had been planned and applied."""
        if self._edit is None:
            self._edit = self._found()
        return self._edit

    def _found(self) -> Edit:
        _, template, new, matched, lost, added, moved, old, gone, bound = self.parts
        made = {id(term): name for term, name in zip(template.nodes, new, strict=True)}

        def name_of(value: Any) -> str:
            name: str = (
                made[id(value)]
                if not isinstance(value, Hole)
                else matched[value.place]
                if value.place >= 0
                else bound[-1 - value.place]
            )
            return name

        edges: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}
        for term, name in zip(template.nodes, new, strict=True):
            for slot, operand in enumerate(term.operands):
                edge = (name_of(operand), name)
                edges[edge] = (*edges.get(edge, ()), (slot, 0))
        linked: list[tuple[Any, Any, dict[str, Any]]] = [(a, b, {"slots": slots}) for (a, b), slots in edges.items()]
        (value,) = template.values
        target = name_of(value)
        if moved is None:
            moved = list(self.graph._succ[target].items())
        for reader, edge_data in moved:
            known = old.get(reader) if old else None
            linked.append((target, reader, edge_data if known is None else joined(known, edge_data)))
        edit = Edit(
            list(zip(new, added or [{}] * len(new), strict=True)),
            linked,
            removed=[*(name for name, _, _ in lost), *sorted(name for name, _ in gone)],
            matched=matched,
        )
        edit.lost = [(target, reader, known) for reader, known in (old or {}).items()]
        (root, *_), *_ = lost  # the first that went, whose readers have moved
        edit.lost += [(name, data, sources, dict(moved) if name == root else {}) for name, data, sources in lost]
        edit.lost += [(name, data, {}, {}) for name, data in gone]
        return edit


def joined(known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an edge whose reader has read the value already."""
    return {"slots": (*known["slots"], *more["slots"])}
