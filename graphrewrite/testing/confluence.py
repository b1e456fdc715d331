"""Confluence of rules: independence of the order of application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.testing.comparison import compare
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.failure.first_difference import FirstDifference
from graphrewrite.testing.orders import Orders
from graphrewrite.testing.overlapping import Inputs, Overlapping, check_orders
from graphrewrite.testing.search import Graphs, demand
from graphrewrite.testing.snapshot import interface
from graphrewrite.testing.steps import Step, in_words
from graphrewrite.testing.subject import Transformation

__all__ = ["Divergence", "assert_confluent"]


@dataclass(frozen=True, eq=False)
class Divergence(Counterexample):
    """A graph that rules rewrite to two different graphs, depending on the order.

    Attributes
    ----------
    paths : tuple of sequence of Step
        Two orders.
    """

    paths: tuple[Sequence[Step], ...] = ()

    @property
    def sides(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        """The two ends, each with the steps that lead to it."""
        one, other = ((in_words(path, most=3), path[-1].graph) for path in self.paths)
        return one, other

    @property
    def notes(self) -> tuple[str, ...]:
        """The two orders, and the usual notes."""
        one, other = (in_words(path, most=20) for path in self.paths)
        return (f"one order: {one}", f"the other: {other}", *super().notes)

    @cached_property
    def first_difference(self) -> FirstDifference | None:
        """The first node of one end whose value differs from that of its counterpart in the other, if there is one."""
        (_, one), (_, other) = self.sides
        return self._difference(one, other) if self.inputs else None

    @property
    def culprit(self) -> None:
        """None: each of the rules may be right."""
        return


def assert_confluent(
    rules: Transformation, on: Graphs = None, *, up_to: str = "values", seed: int | None = None
) -> None:
    """Raise unless it does not matter in which order rules are applied.

    All orders are tried on graphs in which the patterns of two rules share nodes: every step from a graph, and every
    step from its results, to the end. Large graphs have too many orders: there, all steps near the beginning are tried,
    and some ways to the end. Rules that do not end are confluent if there is always a way to a common graph.

    Parameters
    ----------
    rules : Rule, Pass, Pipeline, or iterable of rules and passes
        Rules to test; each phase of a pipeline on the result of the phases before.
    on : SearchStrategy of Graph, or Graph, optional
        Graphs to test on; by default graphs that contain patterns of two of the rules.
    up_to : {"values", "ops", "names"}
        Permitted differences of the ends: in ``"names"`` of nodes only, or in all that leaves the ``"values"`` equal;
        and, of ``"ops"``, as many nodes of each op, so that no order leaves more to compute than another.
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.

    Raises
    ------
    AssertionError
        With a graph, two results of rewriting it, and the steps that led there; or with the rules that never fired.
    RuleError
        If there are no rules whose order could matter.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> assert_confluent(drop_double_negation, up_to="names")
    >>> @rule
    ... def absolute_of_negation(x):
    ...     "Wrong where x is above zero."
    ...     yield op.abs(op.neg(x))
    ...     return op.neg(x)
    >>> try:
    ...     assert_confluent([drop_double_negation, absolute_of_negation])
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    2 rules: refuted: two orders end in graphs that compute different values: output y... is ... or ...
    """
    if up_to not in ("values", "ops", "names"):
        raise RuleError(f"ends are equal up to 'values', 'ops' or 'names', not {up_to!r}")
    subject = Overlapping(rules)
    if not subject.members:
        raise RuleError(f"{subject.name} is a function, which has one order; give the rules that it applies")

    examine = partial(_divergence, keeps=subject.keeps, up_to=up_to)
    demand(check_orders(subject, on, examine, asked="confluent", moderate=subject.keeps != "exact", seed=seed))


def _divergence(orders: Orders, inputs: Inputs, *, keeps: str, up_to: str) -> Divergence | None:
    """Return the graph from which two orders lead to different ends, if there is one."""
    kinds: dict[str, int] = {}
    firsts: list[str] = []
    for end in orders.ends:
        graph = orders.graphs[end]
        same = (
            kind
            for kind, first in enumerate(firsts)
            if up_to != "names"
            and (up_to == "values" or not _unequal_ops(orders.graphs[first], graph))
            and _difference(orders.graphs[first], graph, inputs, keeps) is None
        )
        kinds[end] = next(same, len(firsts))
        if kinds[end] == len(firsts):
            firsts.append(end)
    if len(firsts) < 2:
        return None
    start, (one, other, *_) = orders.parting(kinds)
    paths = orders.path(start, one), orders.path(start, other)
    reason, row = "two orders end in different graphs", {}
    different = None
    if up_to != "names" and isinstance(orders.graphs[one], Graph):
        different = _difference(orders.graphs[one], orders.graphs[other], inputs, keeps)
    if different is None and up_to == "ops":
        reason = f"two orders end in graphs of different ops: {_unequal_ops(orders.graphs[one], orders.graphs[other])}"
    elif different is not None:
        where, _, values = different.reason.partition(" was ")
        difference = f"{where} is {values.replace(' and became ', ' or ')}" if values else different.reason
        reason = f"two orders end in graphs that compute different values: {difference}"
        row = dict(different.inputs)
    claim = f"assert_confluent({{rules}}, on=before{'' if up_to == 'values' else ', up_to=' + repr(up_to)})\n"
    return Divergence(orders.graphs[start], paths[0][-1].graph, reason, row, claim=claim, paths=paths)


def _unequal_ops(one: Any, other: Any) -> str:
    """Return the numbers of nodes of ops that two graphs have differently, in words; constants cost nothing."""
    ours, theirs = (Counter(data.get("type") for _, data in graph.nodes(data=True)) for graph in (one, other))
    found = sorted(kind for kind in ours.keys() | theirs.keys() if ours[kind] != theirs[kind] and kind != "constant")
    counts = [", ".join(f"{counts[kind]} {kind}" for kind in found) for counts in (ours, theirs)]
    return " or ".join(counts) if found else ""


def _difference(one: Any, other: Any, inputs: Inputs, keeps: str) -> Counterexample | None:
    """Return the first difference of the values of two graphs, if there is one."""
    if not isinstance(one, Graph) or not isinstance(other, Graph):
        return Counterexample(one, other, "a digraph computes nothing")
    if interface(one) != interface(other):
        return Counterexample(one, other, "they have different inputs or outputs")
    return compare(one, other, inputs, keeps=keeps, tolerance=None)
