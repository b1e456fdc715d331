"""The record of one step of a fused rule, from which an edit is made on access."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from graphrewrite.graph import Operand
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.match import Match
from graphrewrite.rewriting.pattern import Pattern, top_of
from graphrewrite.rewriting.rule.template import Hole, Template, TemplateResult

__all__ = ["Layout", "Record", "joined", "matched_in", "of_result"]


@dataclass(frozen=True)
class Layout:
    """Numbers of the objects that a compiled function tells of a step, one after another.

    Attributes
    ----------
    template : Template
        The replacement.
    new, matched, bound : int
        Names of the new nodes and the matched ones, and what the variables bind.
    lost : int
        Data and sources of the matched nodes, the last first, if all of them go; otherwise one list of those that do,
        each with its name.
    added : int
        Copies of the data of the new nodes, if wanted.
    moved : int
        Readers of each root, with the edges; none if they are those of the new node, until something else is done.
    old : int
        One dictionary of the edges that got more slots, if there may be any.
    gone : int
        The constants that went as well, if there may be any.
    """

    template: Template
    new: int
    matched: int
    bound: int
    lost: int
    added: int
    moved: int
    old: int
    gone: int

    @cached_property
    def size(self) -> int:
        """Number of all of them."""
        return self.new + self.matched + self.bound + self.lost + self.added + self.moved + self.old + self.gone


def matched_in(told: Sequence[Any]) -> Sequence[str]:
    """Return the matched nodes of a step, of what its function tells."""
    start = 2 + told[1].new
    return told[start : start + told[1].matched]


class Record:
    """One step of a fused rule.

    Nothing in it is the graph's any more: data and edges of nodes that went, and copies of what is new.

    Parameters
    ----------
    told : sequence
        The rule, the layout, and what that says.
    """

    __slots__ = ("_edit", "graph", "told")

    def __init__(self, told: Sequence[Any], graph: Any = None) -> None:
        self.told, self.graph = told, graph
        self._edit: Edit | None = None

    @property
    def rule(self) -> Any:
        """The rule."""
        return self.told[0]

    @property
    def match(self) -> Match:
        """The match."""
        rule, layout, *told = self.told
        start, end = layout.new, layout.new + layout.matched
        return Match(rule, tuple(told[start:end]), bindings(rule.pattern, told[end : end + layout.bound]))

    @property
    def edit(self) -> Edit:
        """The edit, as if it had been planned and applied."""
        if self._edit is None:
            self._edit = self._found()
        return self._edit

    def _found(self) -> Edit:
        layout: Layout
        rule, layout, *told = self.told
        template, objects = layout.template, iter(told)
        wanted: tuple[tuple[int, tuple[Any, ...]], ...] = (
            (layout.new, ()),
            (layout.matched, ()),
            (layout.bound, ()),
            (layout.lost, ()),
            (layout.added, ({},) * layout.new),
            (layout.moved, (None,)),
            (layout.old, ({},)),
            (layout.gone, ((),)),
        )
        found = [tuple(islice(objects, count)) or none for count, none in wanted]
        new, matched, bound, lost, added, moved, (old,), (gone,) = found
        lost = lost[0] if layout.lost == 1 else tuple(zip(reversed(matched), lost[::2], lost[1::2], strict=True))
        made = {id(term): name for term, name in zip(template.nodes, new, strict=True)}

        def name_of(value: Any) -> str:
            value = value.node if isinstance(value, TemplateResult) else value
            name: str = (
                made[id(value)]
                if not isinstance(value, Hole)
                else matched[value.place]
                if value.place >= 0
                else bound[-1 - value.place]
                if value.element is None
                else bound[-1 - value.place][value.element]
            )
            return name

        edges: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}
        for term, name in zip(template.nodes, new, strict=True):
            for slot, operand in enumerate(term.operands):
                edge = (name_of(operand), name)
                result = operand.index if isinstance(operand, TemplateResult) else 0
                edges[edge] = (*edges.get(edge, ()), (slot, result))
        linked: dict[tuple[str, str], dict[str, Any]] = {edge: {"slots": slots} for edge, slots in edges.items()}
        roots = {
            matched[place]: list(self.graph._succ[name_of(template.values[0])].items()) if readers is None else readers
            for place, readers in zip(root_places(rule.pattern), moved, strict=True)
        }
        for value, readers in zip(template.values, roots.values(), strict=True):
            target = name_of(value)
            for reader, data in readers:
                new_data = of_result(data, value.index) if isinstance(value, TemplateResult) else data
                known = linked.get((target, reader)) or old.get((target, reader))
                linked[target, reader] = new_data if known is None else joined(known, new_data)
        edit = Edit(
            list(zip(new, added, strict=True)),
            [(source, reader, data) for (source, reader), data in linked.items()],
            removed=[*(name for name, _, _ in lost), *sorted(name for name, _ in gone)],
            matched=matched,
        )
        edit.lost = [(target, reader, known) for (target, reader), known in old.items() if known is not None]
        edit.lost += [(name, data, sources, dict(roots.get(name, ()))) for name, data, sources in lost]
        edit.lost += [(name, data, {}, {}) for name, data in gone]
        return edit


def bindings(pattern: Pattern, bound: Iterable[Any]) -> tuple[Any, ...]:
    """Return what the variables of a pattern bind, from attributes and the names of nodes."""
    found = zip(pattern.kinds, bound, strict=True)
    return tuple([value if kind == "attribute" else _operands(value) for kind, value in found])


def _operands(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(Operand, value))
    return None if value is None else Operand(value)


def root_places(pattern: Pattern) -> list[int]:
    """Return which of the pattern's terms are its roots."""
    place = {id(term): i for i, term in enumerate(pattern.terms)}
    return [place[id(top_of(root))] for root in pattern.roots]


def of_result(edge: dict[str, Any], result: int) -> dict[str, Any]:
    """Return the data of an edge that reads another result."""
    return {"slots": tuple([(slot, result) for slot, _ in edge["slots"]])}


def joined(known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an edge whose reader has read the value already."""
    return {"slots": (*known["slots"], *more["slots"])}
