"""Cards: the description of a rule, or of a pass among rules."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.passes import Pass
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.levels import level_of
from graphrewrite.view.layout.drawing import Drawing, drawings
from graphrewrite.view.rules.conditions import conditions_of, declines_of
from graphrewrite.view.rules.graph_sketch import graph_sketch_of, requirements_of
from graphrewrite.view.rules.sketch import sketch_of
from graphrewrite.view.scene import Scene
from graphrewrite.view.source import place_of, written_source

__all__ = ["KEEPS", "Card", "cards_of"]

KEEPS = {
    "exact": "keeps every bit",
    "rounding": "keeps values up to the rounding of floats",
    "assumes": "keeps values under the assumption that its text states",
}
"""Texts for the levels of preservation of rules."""
_SHARED = {
    "keep": "an inner node that something else reads stays for that reader",
    "duplicate": "an inner node that something else reads stays, and its copy goes on",
}


@dataclass(frozen=True)
class Card:
    """Data of a member of a rule set.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        ``"transformation"``, ``"lowering"``, ``"rule over digraphs"``, ``"pass"`` or ``"function"``.
    doc : tuple of str
        Its docstring in paragraphs.
    keeps, level, family : str
        Its preservation of values; the level of its pattern; its module. Empty where unknown.
    place : str
        File and line.
    notes : tuple of str
        Its requirements and reasons to decline.
    source : str
        Its source.
    drawing : Drawing or None
        Its pattern and its replacement.
    computed : str
        Lines of the source, where the replacement cannot be drawn.
    matches : str
        The number of matches in a graph, if there is one.
    """

    name: str
    kind: str
    doc: tuple[str, ...]
    keeps: str
    level: str
    family: str
    place: str
    notes: tuple[str, ...]
    source: str
    drawing: Drawing | None
    computed: str = ""
    matches: str = ""

    @property
    def kept(self) -> str:
        """Its level of preservation as text."""
        return KEEPS.get(self.keeps, "")


def cards_of(members: Iterable[Any], direction: str = "TB") -> tuple[Card, ...]:
    """Return cards of rules, passes and functions, whose pictures one process lays out together.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> card, = cards_of([drop_identity])
    >>> card.kind, card.keeps, card.level, card.family
    ('transformation', 'exact', 'nn', 'identities')
    """
    listed = list(members)
    # Scenes first, for all members, then one process lays them out.
    sketched = {
        index: graph_sketch_of(member, words=False) if isinstance(member, GraphRule) else sketch_of(member, words=False)
        for index, member in enumerate(listed)
        if isinstance(member, Rule | GraphRule)
    }
    # A replacement that cannot be drawn is shown as lines of source.
    code = {index: "\n".join(scenes[1].boxes[0].code) for index, scenes in sketched.items() if _is_code(scenes[1])}
    pictures = (scenes[:1] if index in code else scenes for index, scenes in sketched.items())
    drawn = dict(zip(sketched, drawings(pictures, direction), strict=True))
    return tuple(
        replace(_card(member), drawing=drawn.get(index), computed=code.get(index, ""))
        for index, member in enumerate(listed)
    )


def _is_code(scene: Scene) -> bool:
    return len(scene.boxes) == 1 and bool(scene.boxes[0].code)


def _card(member: Any) -> Card:
    function = getattr(member, "function", member)
    module = getattr(function, "__module__", None)  # None of what `exec` made
    return Card(
        name=str(getattr(member, "name", None) or getattr(member, "__name__", None) or type(member).__name__),
        kind=_kind(member),
        doc=_paragraphs(member),
        keeps=str(getattr(member, "keeps", "")),
        level=_level(member),
        family="" if isinstance(member, GraphRule) or module in (None, "__main__") else module.rpartition(".")[2],
        place=place_of(member),
        notes=_notes(member),
        source=written_source(member),
        drawing=None,
    )


def _kind(member: Any) -> str:
    if isinstance(member, GraphRule):
        return "rule over digraphs"
    if isinstance(member, Pass):
        return "pass" if member.kind == "transformation" else f"pass, {member.kind}"
    return str(getattr(member, "kind", "rule" if hasattr(member, "matches_at") else "function"))


def _paragraphs(member: Any) -> tuple[str, ...]:
    if isinstance(member, GraphRule):
        return ()
    text = inspect.cleandoc(getattr(member, "__doc__", None) or "")
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def _level(member: Any) -> str:
    if not isinstance(member, Rule):
        return ""
    levels = {level_of(op) for node in member.pattern.nodes for op in node.ops}
    known = [level for level in levels if level is not None]
    return " and ".join(map(str, sorted(known, key=lambda level: (level.dialect, level.index))))


def _notes(member: Any) -> tuple[str, ...]:
    if isinstance(member, Rule):
        shared = (_SHARED[member.shared],) if member.shared in _SHARED else ()
        return (*conditions_of(member), *shared)
    if isinstance(member, GraphRule):
        declined = declines_of(member.replacement) if callable(member.replacement) else ()
        return (
            *(f"requires: {word}" for word in requirements_of(member.pattern)),
            *(f"declines: {reason}" for reason in declined),
        )
    return ()
