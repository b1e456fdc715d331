"""Rule sets, passes and pipelines as galleries: counts by kind, and a card for each rule."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError, GraphRewriteError
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.view.display import Display
from graphrewrite.view.plain import plain
from graphrewrite.view.rules.card import Card, cards_of
from graphrewrite.view.rules.illustrated import Illustrated
from graphrewrite.view.rules.sketch import rule_picture

__all__ = ["Gallery", "Phase", "show_rule", "show_rules"]


@dataclass(frozen=True)
class Phase:
    """A part of a gallery: the members that a pipeline applies together; or all of them.

    Attributes
    ----------
    title : str
        Its heading; empty where there is only one part.
    entries : tuple of tuple of str and Card
        Each card with the anchor that leads to it.
    """

    title: str
    entries: tuple[tuple[str, Card], ...]


@dataclass(frozen=True)
class Gallery:
    """Data of the display of a rule set.

    Attributes
    ----------
    title : str
        Kind, name and size of the rule set.
    counts : tuple of (str, tuple of (str, int))
        Ways to group the members, each with the sizes of its groups.
    phases : tuple of Phase
        The members.
    graph : str
        The graph in which matches were counted; empty where there was none.
    """

    title: str
    counts: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    phases: tuple[Phase, ...]
    graph: str = ""

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards of all phases."""
        return tuple(card for phase in self.phases for _, card in phase.entries)

    def text(self) -> str:
        """Return the gallery for a terminal."""
        lines = [self.title, *(f"  {way}: {_listed(counted)}" for way, counted in self.counts)]
        width = max((len(plain(card.name, 60)) for card in self.cards), default=0)
        for phase in self.phases:
            lines += ["", phase.title] if phase.title else [""]
            for _, card in phase.entries:
                count = f"{card.matches}  " if card.matches else ""
                summary = plain(card.doc[0], 200) if card.doc else ""
                lines.append(f"  {plain(card.name, 60).ljust(width)}  {count}{summary}".rstrip())
        return "\n".join(lines)


def _is_member(thing: Any) -> bool:
    return hasattr(thing, "matches_at") or (callable(thing) and not isinstance(thing, type))


def show_rule(rule: Rule | GraphRule, *, on: nx.DiGraph | None = None, direction: str = "TB") -> Illustrated:
    """Return the display of a rule: pattern and replacement side by side, and its card."""
    (card,) = _counted(cards_of([rule], direction), [rule], on)
    picture = rule_picture(rule, direction=direction)
    return Illustrated(card, picture.text, template="rule.html", title=card.name, picture=picture)


def show_rules(rules: Any, *, on: nx.DiGraph | None = None, direction: str = "TB") -> Display:
    r"""Return the display of a rule set: counts by kind, and a card for each rule.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.rules import drop_identity, merge_clips
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\na = identity(x)\ny = output(a)")
    >>> shown = show_rules((drop_identity, merge_clips), on=graph)
    >>> [(card.name, card.matches) for card in shown.data.cards]
    [('drop_identity', '1 match'), ('merge_clips', 'no match')]
    >>> dict(shown.data.counts)["keeps"]
    (('exact', 2),)
    """
    parts = list(_phases(rules))
    members = [member for _, inside in parts for member in inside]
    if not members:
        raise GraphError("the rule set is empty, so that there is nothing to show")
    for member in members:
        if not _is_member(member):
            raise GraphError(
                f"{plain(repr(member), 80)} is no rule, pass or function on graphs; show what is by itself"
            )
    cards = _counted(cards_of(members, direction), members, on)
    # Anchors follow from the names, so that two galleries in a notebook do not clash.
    anchor = f"rule-{hashlib.sha256(repr([c.name for c in cards]).encode()).hexdigest()[:6]}"
    entries = ((f"{anchor}-{index}", card) for index, card in enumerate(cards))
    # The cards were made in one go, for one layout process: now they go back to their phases.
    phases = tuple(Phase(title, tuple(islice(entries, len(inside)))) for title, inside in parts)
    data = Gallery(_title(rules, cards, parts), _counts(cards), phases, plain(on.name, 120) if on is not None else "")
    return Display(data, data.text(), template="gallery.html", title=data.title)


def _phases(rules: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the members that are applied together, with a title where there are several such groups."""
    if not isinstance(rules, Pipeline):
        yield "", list(_flat(rules))
        return
    for index, phase in enumerate(rules.phases, start=1):
        inside = list(_flat(phase))
        called = f": {phase.name}" if isinstance(phase, Pipeline) else ""
        until = ", until none of them matches" if any(hasattr(m, "matches_at") for m in inside) else ""
        yield f"phase {index} of {len(rules.phases)}{called}{until}", inside


def _flat(rules: Any) -> Iterator[Any]:
    if isinstance(rules, Pipeline):
        rules = rules.phases
    if isinstance(rules, Iterable) and not isinstance(rules, str | nx.Graph):
        for member in rules:
            yield from _flat(member)
    else:
        yield rules


def _title(rules: Any, cards: tuple[Card, ...], parts: list[Any]) -> str:
    if isinstance(rules, Pass):
        return f"pass {rules.name}"
    count = f"{len(cards)} {'rule' if len(cards) == 1 else 'rules'}"
    if any("pass" in card.kind or card.kind == "function" for card in cards):
        count += " and passes"
    if isinstance(rules, Pipeline):
        return f"pipeline {rules.name}: {count} in {len(parts)} {'phase' if len(parts) == 1 else 'phases'}"
    return count


def _counts(cards: Sequence[Card]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    counts = []
    for way in ("kind", "keeps", "level", "family"):
        counted = Counter(filter(None, (getattr(card, way) for card in cards)))
        if counted:
            counts.append((way, tuple(sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))))
    return tuple(counts)


def _listed(counted: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counted)


def _counted(cards: tuple[Card, ...], members: list[Any], graph: nx.DiGraph | None) -> tuple[Card, ...]:
    if graph is None:
        return cards
    return tuple(replace(card, matches=_matches(member, graph)) for card, member in zip(cards, members, strict=True))


def _matches(member: Any, graph: nx.DiGraph) -> str:
    if not hasattr(member, "find"):
        return ""
    try:
        count = len(member.find(graph))
    except GraphRewriteError as error:
        return f"failed: {error}"
    return "no match" if not count else f"{count} {'match' if count == 1 else 'matches'}"
