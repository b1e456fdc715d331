"""One rule at one place, the ordinary way: a match, a plan, an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from graphrewrite.edit import Edit
from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.index import Entry
from graphrewrite.match import find_at
from graphrewrite.replacement import Declined
from graphrewrite.rule import Match, Rule

__all__ = ["Attempt", "Change", "attempt_of"]

Attempt = Callable[[Any], Iterator[tuple[Any, Edit | Declined]]]
"""From a node to its matches, and what each of them would change."""


class Change(NamedTuple):
    """A step: what was matched, and what was changed."""

    match: Any
    edit: Edit


def attempt_of(entry: Entry, graph: Any, places: dict[Any, list[str]] | None = None) -> Attempt:
    """Return how a rule is tried at the nodes of a graph.

    Parameters
    ----------
    entry : Entry
        The rule, and which root of its pattern the nodes are.
    graph : Graph or networkx.DiGraph
        Whose nodes; it may change between two tries.
    places : dict, optional
        Where nodes were looked for, to be cleared whenever the graph changes.

    Returns
    -------
    callable
    """
    member = entry.member
    if not isinstance(member, Rule):
        return _planned(member, graph)
    compiled = member.definition.matcher if entry.root == 0 else None
    matches = _searched(member, graph, entry.root, places) if compiled is None else _compiled(member, compiled(graph))

    def attempt(node: str) -> Iterator[Any]:
        try:
            for match in matches(node):
                yield match, member.edit(graph, match, fresh=graph.fresh)
        except GraphRewriteError as error:
            raise member.named(error, at=node) from error

    return attempt


def _planned(member: Any, graph: Any) -> Attempt:
    def attempt(node: Any) -> Iterator[Any]:
        for match in member.matches_at(graph, node):
            yield match, member.edit(graph, match)

    return attempt


def _searched(
    rule: Rule, graph: Graph, root: int, places: dict[Any, list[str]] | None
) -> Callable[[str], Iterator[Match]]:
    def matches(node: str) -> Iterator[Match]:
        options: dict[str, Any] = {"shared": rule.shared, "entry": root, "leader": False, "places": places}
        for found in find_at(rule.pattern, graph, node, **options):
            yield Match(rule, found.made, found.values)

    return matches


def _compiled(rule: Rule, find: Callable[[str], Iterator[tuple[Any, ...]]]) -> Callable[[str], Iterator[Match]]:
    count = len(rule.pattern.made)
    operand = [kind == "value" for kind in rule.pattern.kinds]

    def matches(node: str) -> Iterator[Match]:
        for found in find(node):
            values = [Operand(*v) if is_operand else v for v, is_operand in zip(found[count:], operand, strict=True)]
            yield Match(rule, found[:count], tuple(values))

    return matches
