"""Sort out the nodes that cannot be part of any match, for all of a pattern's nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from graphrewrite.graph_rule.fits import DataTest, PredicateError
from graphrewrite.graph_rule.plan import Plan

if TYPE_CHECKING:
    from graphrewrite.graph_rule.search import Search

__all__ = ["domains_of"]


def domains_of(search: Search, plan: Plan, firsts: Iterable[Any]) -> dict[Hashable, set[Any]]:
    """Return, for each node of a pattern, nodes of the graph that hold every match's.

    Each has an edge, as the pattern wants it, to a node that stays for its neighbour in the pattern. Where the pattern
    is a tree, a search among them never has to go back but for a node that is used twice. It takes time in proportion
    to the edges of the graph and of the pattern.

    Parameters
    ----------
    search : Search
        Whose graph.
    plan : Plan
        The steps; each but the first with an edge to an earlier one.
    firsts : iterable of node
        Where the first node of the pattern can be.

    Returns
    -------
    dict of name to set of node
    """
    domains: dict[Hashable, set[Any]] = {}
    for step in plan.steps:
        if not step.backs:
            pool = set(firsts)
        else:
            pool = None
            for other, forward, test in step.backs:
                reached = _reached(search, domains[other], forward, test)
                pool = reached if pool is None else pool & reached
        domains[step.name] = {node for node in pool or () if search.is_possible(step, node)}
    for step in reversed(plan.steps):
        for other, forward, test in step.backs:
            domains[other] &= _reached(search, domains[step.name], not forward, test)
    return domains


def _reached(search: Search, nodes: set[Any], forward: bool, test: DataTest) -> set[Any]:
    """Return the nodes at the other end of fitting edges that go out of some nodes, or come in."""
    near = search.succ if forward else search.pred
    found = set()
    for node in nodes:
        for other, data in near[node].items():
            try:
                if test.failing(data, (node, other) if forward else (other, node)) is None:
                    found.add(other)
            except PredicateError:  # a search may never ask it
                found.add(other)
    return found
