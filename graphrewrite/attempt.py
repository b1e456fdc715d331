"""One rule at one place: the fastest way that finds its matches and plans their edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.index import Entry
from graphrewrite.match import find_at
from graphrewrite.replacement import Declined
from graphrewrite.rule import Match, Rule

__all__ = ["Attempt", "attempt_of"]

Attempt = Callable[[Any], Iterator[tuple[Edit | Declined, Callable[[], Any]]]]
"""From a node to its matches: for each what it would change, and a maker of the match for people to read."""


def attempt_of(entry: Entry, graph: Any) -> Attempt:
    """Return how a rule is tried at the nodes of a graph.

    Parameters
    ----------
    entry : Entry
        The rule, and which root of its pattern the nodes are.
    graph : Graph or networkx.DiGraph
        Whose nodes; it may change between two tries.

    Returns
    -------
    callable
    """
    member = entry.member
    if not isinstance(member, Rule):
        return _planned(member, graph)
    compiled = member.definition.matcher if entry.root == 0 else None
    if compiled is None:
        return _searched(member, graph, entry.root)
    return _compiled(member, graph, compiled(graph))


def _planned(member: Any, graph: Any) -> Attempt:
    def attempt(node: Any) -> Iterator[Any]:
        for match in member.matches_at(graph, node):
            yield member.edit(graph, match), lambda match=match: match

    return attempt


def _searched(rule: Rule, graph: Graph, root: int) -> Attempt:
    def attempt(node: str) -> Iterator[Any]:
        try:
            for found in find_at(rule.pattern, graph, node, shared=rule.shared, entry=root, leader=False):
                match = Match(rule, found.made, found.values)
                yield rule.edit(graph, match, fresh=graph.fresh), lambda match=match: match
        except GraphRewriteError as error:
            raise rule.named(error, at=node) from error

    return attempt


def _compiled(rule: Rule, graph: Graph, find: Callable[[str], Iterator[tuple[Any, ...]]]) -> Attempt:
    count = len(rule.pattern.made)
    operand = [kind == "value" for kind in rule.pattern.kinds]
    construct = rule.definition.constructor
    build = construct(graph) if construct is not None and rule.shared == "refuse" else None

    def match_of(found: tuple[Any, ...]) -> Match:
        values = [Operand(*v) if is_operand else v for v, is_operand in zip(found[count:], operand, strict=True)]
        return Match(rule, found[:count], tuple(values))

    def attempt(node: str) -> Iterator[Any]:
        try:
            for found in find(node):
                edit = build(*found) if build is not None else None
                if edit is None:
                    match = match_of(found)
                    yield rule.edit(graph, match, fresh=graph.fresh), lambda match=match: match
                else:
                    yield edit, lambda found=found: match_of(found)
        except GraphRewriteError as error:
            raise rule.named(error, at=node) from error

    return attempt
