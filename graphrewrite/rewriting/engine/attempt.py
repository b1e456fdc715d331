"""One rule at one node on the general path: its matches, each with its edit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
from graphrewrite.rewriting.pattern import Every, Repeated, top_of
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["Attempt", "Change", "attempt_of", "has_unknown_ops"]

Attempt = Callable[[Any], Iterable[tuple[Any, Edit | Declined]]]
"""From a node to its matches, each with the edit that would apply it, or the reason why it is declined.

Where there is certainly none, as at most nodes, it is an empty tuple.
"""


class Change(NamedTuple):
    """A step: a match, and the edit that was applied."""

    match: Any
    edit: Edit


def attempt_of(entry: Entry, graph: Any, candidates: Candidates, patience: int = 0) -> Attempt:
    """Return a function that tries a rule at the nodes of a graph, which may change between two tries.

    So many searches are worth the time that it takes to generate a function that finds matches.
    """
    member = entry.member
    if not isinstance(member, PatternRule):
        return _planned(member, graph)
    matches = _searched(member, graph, entry.root, candidates, patience)

    def attempt(node: str) -> Iterable[Any]:
        try:
            found = matches(node)
        except GraphRewriteError as error:
            raise member.named(error, at=node) from error
        return planned(node, found) if found else ()

    def planned(node: str, found: Iterable[Match]) -> Iterator[Any]:
        try:
            for match in found:
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


def _searched(
    rule: PatternRule, graph: Graph, root: int, candidates: Candidates, patience: int
) -> Callable[[str], Iterable[Match]]:
    screen = screen_of(top_of(rule.pattern.roots[root]), pattern=rule.pattern if _keeps_to_itself(rule) else None)
    options: dict[str, Any] = {"shared": rule.shared, "entry": root, "leader": False, "candidates": candidates}
    count = 0
    found: Callable[[str], Iterable[Match]] | None = None  # by a generated function

    def matches(node: str) -> Iterable[Match]:
        nonlocal count, found
        if found is not None:
            return found(node)
        if not screen.admits(node, graph):
            return ()
        count += 1
        if count > patience or rule.definition.has_finder(root):
            finder = None if has_unknown_ops(rule, graph) else rule.definition.finder(root)
            found = screened if finder is None else _found(rule, graph, finder, candidates, search)
            return found(node)
        return search(node)

    def screened(node: str) -> Iterable[Match]:
        return search(node) if screen.admits(node, graph) else ()

    def search(node: str) -> Iterator[Match]:
        for embedding in find_at(rule.pattern, graph, node, **options):
            yield Match(rule, embedding.images, embedding.values)

    return matches


def _keeps_to_itself(rule: PatternRule) -> bool:
    """Tell whether all readers of a matched node that is no root are matched, each by a node of the pattern."""
    pattern = rule.pattern
    is_counted = len(pattern.roots) == 1 and not any(isinstance(t, Repeated | Every) for t in pattern.terms)
    return is_counted and rule.shared == "refuse"


def _found(
    rule: PatternRule,
    graph: Graph,
    finder: Finder,
    candidates: Candidates,
    searched: Callable[[str], Iterable[Match]],
) -> Callable[[str], Iterable[Match]]:
    found: list[tuple[Any, ...]] = []
    # A function that returns nothing is handed all matches; at an unusual node, the search finds them.
    step = finder.bind(graph, candidates, lambda *match: found.append(match), lambda _: True)

    def matches(node: str) -> Iterable[Match]:
        found.clear()
        if step(node):
            return searched(node)
        return map(match_of, found[:]) if found else ()

    match_of = partial(finder.match_of, rule)
    return matches
