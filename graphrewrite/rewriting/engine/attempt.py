"""One rule at one node on the general path: its matches, each with its edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.engine.rule_index import Entry
from graphrewrite.rewriting.match import Candidates, Match, find_at
from graphrewrite.rewriting.rule.replacement import Declined

__all__ = ["Attempt", "Change", "attempt_of", "is_left_to_search"]

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
    compiled = None if is_left_to_search(entry) else member.definition.matcher
    if compiled is None:
        matches = _searched(member, graph, entry.root, candidates)
    else:
        matches = _compiled(member, compiled(graph))

    def attempt(node: str) -> Iterator[Any]:
        try:
            for match in matches(node):
                yield match, member.edit(graph, match, fresh=graph.fresh)
        except GraphRewriteError as error:
            raise member.named(error, at=node) from error

    return attempt


def is_left_to_search(entry: Entry) -> bool:
    """Tell whether there is no compiled matcher for a rule: it starts at the first root of a conjunctive pattern."""
    return entry.root != 0 or entry.member.definition.matcher is None


def _planned(member: Any, graph: Any) -> Attempt:
    def attempt(node: Any) -> Iterator[Any]:
        for match in member.matches_at(graph, node):
            yield match, member.edit(graph, match)

    return attempt


def _searched(rule: PatternRule, graph: Graph, root: int, candidates: Candidates) -> Callable[[str], Iterator[Match]]:
    def matches(node: str) -> Iterator[Match]:
        options: dict[str, Any] = {"shared": rule.shared, "entry": root, "leader": False, "candidates": candidates}
        for embedding in find_at(rule.pattern, graph, node, **options):
            yield Match(rule, embedding.images, embedding.values)

    return matches


def _compiled(rule: PatternRule, find: Callable[[str], Iterator[tuple[Any, ...]]]) -> Callable[[str], Iterator[Match]]:
    count = len(rule.pattern.terms)
    operand = [kind == "value" for kind in rule.pattern.kinds]

    def matches(node: str) -> Iterator[Match]:
        for images in find(node):
            values = [Operand(*v) if is_operand else v for v, is_operand in zip(images[count:], operand, strict=True)]
            yield Match(rule, images[:count], tuple(values))

    return matches
