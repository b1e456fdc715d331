"""One rule at one node on the general path: its matches, each with its edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.op import find_op
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.engine.rule_index import Entry
from graphrewrite.rewriting.fused import Finder
from graphrewrite.rewriting.match import Candidates, Match, find_at
from graphrewrite.rewriting.match.screen import screen_of
from graphrewrite.rewriting.pattern import top_of
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["Attempt", "Change", "attempt_of", "has_unknown_ops"]

Attempt = Callable[[Any], Iterator[tuple[Any, Edit | Declined]]]
"""From a node to its matches, each with the edit that would apply it, or the reason why it is declined."""


class Change(NamedTuple):
    """A step: a match, and the edit that was applied."""

    match: Any
    edit: Edit


def attempt_of(entry: Entry, graph: Any, candidates: Candidates) -> Attempt:
    """Return a function that tries a rule at the nodes of a graph, which may change between two tries."""
    member = entry.member
    if not isinstance(member, PatternRule):
        return _planned(member, graph)
    matches = _searched(member, graph, entry.root, candidates)
    finder = None if has_unknown_ops(member, graph) else member.definition.finder(entry.root)
    if finder is not None:
        matches = _found(member, graph, finder, candidates, matches)

    def attempt(node: str) -> Iterator[Any]:
        try:
            for match in matches(node):
                yield match, member.edit(graph, match, fresh=graph.fresh)
        except GraphRewriteError as error:
            raise member.named(error, at=node) from error

    return attempt


def has_unknown_ops(rule: PatternRule, graph: Any) -> bool:
    """Tell whether a graph has nodes of an op of a rule that it does not know, and should complain of."""
    kinds = {kind for term in rule.pattern.nodes for kind in term.kinds}
    unknown = {kind for kind in kinds if find_op(kind, graph.ops) is None}
    return bool(unknown) and any(data.get("type") in unknown for data in graph._node.values())


def _planned(member: Any, graph: Any) -> Attempt:
    def attempt(node: Any) -> Iterator[Any]:
        for match in member.matches_at(graph, node):
            yield match, member.edit(graph, match)

    return attempt


def _searched(rule: PatternRule, graph: Graph, root: int, candidates: Candidates) -> Callable[[str], Iterator[Match]]:
    screen = screen_of(top_of(rule.pattern.roots[root]))

    def matches(node: str) -> Iterator[Match]:
        if not screen.admits(node, graph._node, graph._pred):
            return
        options: dict[str, Any] = {"shared": rule.shared, "entry": root, "leader": False, "candidates": candidates}
        for embedding in find_at(rule.pattern, graph, node, **options):
            yield Match(rule, embedding.images, embedding.values)

    return matches


def _found(
    rule: PatternRule,
    graph: Graph,
    finder: Finder,
    candidates: Candidates,
    searched: Callable[[str], Iterator[Match]],
) -> Callable[[str], Iterator[Match]]:
    found: list[tuple[Any, ...]] = []
    # A function that returns nothing is handed all matches; at an unusual node, the search finds them.
    step = finder.bind(graph, candidates, lambda *match: found.append(match), lambda _: True)

    def matches(node: str) -> Iterator[Match]:
        found.clear()
        if step(node):
            yield from searched(node)
        else:
            for match in found[:]:
                yield finder.match_of(rule, match)

    return matches
