"""Termination of rules, in any order of application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import networkx as nx

from graphrewrite.errors import RuleError
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.orders import Orders
from graphrewrite.testing.overlapping import Inputs, Overlapping, check_orders
from graphrewrite.testing.search import Graphs, demand
from graphrewrite.testing.steps import Step, in_words
from graphrewrite.testing.subject import Transformation

__all__ = ["Endless", "assert_terminates"]

_STRATEGIES = tuple(product(("bottom-up", "top-down"), ("place", "rule")))
"""The orders of `graphrewrite.rewrite`."""
_SHOWN = 3
"""Steps after which a graph that grows is shown."""


@dataclass(frozen=True, eq=False)
class Endless(Counterexample):
    """A graph that rules rewrite to itself, or without end.

    Attributes
    ----------
    path : sequence of Step
        The steps to the graph that is shown beside it.
    """

    path: Sequence[Step] = ()

    @property
    def sides(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """The graph before and after some steps."""
        return ("before", self.before), (f"after {in_words(self.path, most=3)}", self.after)

    @property
    def notes(self) -> tuple[str, ...]:
        """The steps, and the usual notes."""
        return (f"steps: {in_words(self.path, most=20)}", *super().notes)

    @property
    def first_difference(self) -> None:
        """None: this is not about values."""
        return

    @property
    def culprit(self) -> None:
        """None: the reason names the rules."""
        return


def assert_terminates(
    rules: Transformation, on: Graphs = None, *, steps: int | None = None, seed: int | None = None
) -> None:
    """Raise unless rules terminate, in any order of application.

    On graphs in which the patterns of two rules share nodes, all orders are tried as far as there are not too many: no
    graph may be made of itself, up to the names of nodes. Where there are too many, or they lead too far, rules are
    applied in each of the orders that `graphrewrite.rewrite` knows.

    Parameters
    ----------
    rules : Rule, Pass, Pipeline, iterable of rules and passes, or callable
        Rules to test; each phase of a pipeline on the result of the phases before.
    on : SearchStrategy of Graph, or Graph, optional
        Graphs to test on; by default graphs that contain patterns of two of the rules.
    steps : int, optional
        Maximum number of steps; by default, as for `rewrite`, 1000 and 100 for each node.
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.

    Raises
    ------
    AssertionError
        With the rules that go round and the graph that recurs, or that grows or changes without end; or with the rules
        that never fired.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def negative_first(x, y):
    ...     "A negated operand comes first."
    ...     yield op.add(x, op.neg(y))
    ...     return op.add(op.neg(y), x)
    >>> try:
    ...     assert_terminates(negative_first)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    negative_first: refuted: negative_first goes round: after 1 step the graph is as it was, up to names
    """
    if steps is not None and steps < 1:
        raise RuleError(f"some steps must be allowed, and {steps} are none")
    subject = Overlapping(rules)

    demand(check_orders(subject, on, partial(_endless, steps=steps), asked="terminating", moderate=True, seed=seed))


_CLAIM = "assert_terminates({rules}, on=before)\n"


def _endless(orders: Orders, inputs: Inputs, *, steps: int | None) -> Endless | None:
    return _round(orders) or (None if orders.is_whole else _growth(orders, steps))


def _round(orders: Orders) -> Endless | None:
    """Return a graph that is rewritten to itself, the smallest and soonest, if there is one."""
    if not orders.rounds:
        return None
    start = min(orders.rounds, key=lambda key: len(orders.graphs[key]))
    path = orders.path(start, start)
    names = list(dict.fromkeys(step.rule for step in path))
    who = f"{names[0]} goes" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} go"
    count = "1 step" if len(path) == 1 else f"{len(path)} steps"
    reason = f"{who} round: after {count} the graph is as it was, up to names"
    return Endless(orders.graphs[start], path[-1].graph, reason, claim=_CLAIM, path=path)


def _growth(orders: Orders, steps: int | None) -> Endless | None:
    """Return a graph at which rules do not end in so many steps, if they do not."""
    graph = orders.graphs[orders.start]
    limit = 1000 + 100 * len(graph) if steps is None else steps
    for order, first in _STRATEGIES:
        watcher = _Watcher(limit)
        try:
            rewrite(graph, orders.members, order=order, first=first, limit=limit + 1, watcher=watcher)
        except _Endless:
            counts = ", ".join(f"{name} {count} times" for name, count in watcher.counts.most_common(6))
            size, sizes = len(graph), watcher.sizes
            grows = sizes[-1] > max(size, sizes[len(sizes) // 2])
            how = f"grows without end, from {size} to {sizes[-1]}" if grows else f"changes without end, at {sizes[-1]}"
            reason = f"it {how} nodes: after {limit} steps rules still match; fired {counts}"
            return Endless(graph, watcher.path[-1].graph, reason, claim=_CLAIM, path=watcher.path)
    return None


class _Endless(Exception):
    """More steps than are allowed."""


class _Watcher:
    """Record the steps of a rewrite, and stop it after too many."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.counts: Counter[str] = Counter()
        self.sizes: list[int] = []
        self.path: list[Step] = []

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        pass

    def rewritten(self, graph: nx.DiGraph, member: Any, change: Any) -> None:
        self._note(graph, member.name, change.match.roots[0])

    def passing(self, graph: nx.DiGraph) -> None:
        pass

    def passed(self, graph: nx.DiGraph, name: str, removed: list[str]) -> None:
        self._note(graph, name, None)

    def _note(self, graph: nx.DiGraph, name: str, at: Any) -> None:
        self.counts[name] += 1
        self.sizes.append(len(graph))
        if len(self.path) < _SHOWN:
            self.path.append(Step(name, at, change=graph.copy()))
        if len(self.sizes) > self.limit:
            raise _Endless
