"""Rule sets, tested on graphs in which patterns of two rules overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.comparison import NoVerdictError, undefined
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.findings import Findings
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.instance import NoInstanceError, feasible_kinds
from graphrewrite.testing.generation.overlap import plan_overlap
from graphrewrite.testing.generation.tables import CONTINUOUS
from graphrewrite.testing.orders import Orders
from graphrewrite.testing.report import Report
from graphrewrite.testing.search import Graphs, search
from graphrewrite.testing.strategies.digraph_strategy import digraphs
from graphrewrite.testing.strategies.graph_strategy import graphs
from graphrewrite.testing.strategies.picking import picking
from graphrewrite.testing.subject import Single, Subject

__all__ = ["Inputs", "Overlapping", "check_orders"]

Inputs = Mapping[str, np.ndarray]


class Overlapping(Subject):
    """A transformation whose members meet in pairs."""

    @property
    def at_once(self) -> int:
        """How many members count as one: a graph has one pair."""
        return 1

    def graphs(self, names: Iterable[str]) -> st.SearchStrategy[Any]:
        """Return a strategy of graphs in which the patterns of two members share nodes, or one reads the other."""
        wanted = set(names)
        kinds: list[st.SearchStrategy[Any]] = []
        of_ops = [m for m in self.members if isinstance(m, Rule)]
        of_graphs = [m for m in self.members if isinstance(m, GraphRule)]
        if chosen := [m for m in of_ops if m.name in wanted]:
            kinds.append(_graphs_around(chosen, of_ops))
            if len(of_ops) < len(self.members):  # a pass may compute what is constant, before a rule or after it
                kinds.append(_graphs_around(chosen, of_ops).map(_with_computed_constants))
        if drawn := [m for m in of_graphs if m.name in wanted]:
            kinds.append(_digraphs_around(drawn, of_graphs))
        if wanted - {m.name for m in of_ops} - {m.name for m in of_graphs}:
            kinds.append(graphs())
        return st.one_of(kinds)


def _rule_sets(subject: Subject, graph: Any) -> Iterator[tuple[Any, tuple[Single, ...]]]:
    """Yield every rule set of a transformation, with the graph that it is applied to.

    Parameters
    ----------
    subject : Subject
        The transformation; each phase of a pipeline gets the result of the phases before.
    """
    for number, stage in enumerate(subject.stages, start=1):
        if isinstance(stage, tuple):
            yield graph, stage
        if number < len(subject.stages):
            graph = rewrite(graph, stage) if isinstance(stage, tuple) else stage(graph)


@st.composite
def _digraphs_around(draw: Any, chosen: list[GraphRule], everything: list[GraphRule]) -> Any:
    pair = draw(st.tuples(st.sampled_from(chosen), st.sampled_from(everything)))
    return draw(digraphs(containing=pair[: draw(st.sampled_from((2, 1)))]))


@st.composite
def _graphs_around(draw: Any, chosen: list[Rule], everything: list[Rule]) -> Graph:
    pick = picking(draw)
    first, second = pick(chosen), pick(everything)
    if pick((False, True)):
        first, second = second, first
    try:
        return _pair(first, second, pick)
    except (Unfit, NoInstanceError):
        assume(False)
    raise AssertionError("assume(False) raises")


def _pair(first: Rule, second: Rule, pick: Pick) -> Graph:
    """Return a graph with an instance of two patterns at once, and sometimes readers beside them."""
    for each in (first, second):
        feasible_kinds(each.pattern)
    builder = Builder(pick, [LIBRARY[name] for name in CONTINUOUS])
    wanted = []
    for root in builder.build(plan_overlap(first.pattern, second.pattern, pick), spoiled=False):
        builder.offer(root)
        if not builder.graph.succ[root.node] or pick((False, False, True)):
            wanted.append(builder.read(root) if pick((False, False, True)) else root)
    return builder.finish(wanted)


def _with_computed_constants(graph: Graph) -> Graph:
    """Return a graph whose constants of floats are computed from their negatives."""
    new = graph.copy()
    for node in graph:
        data = graph.nodes[node]
        if data["type"] == "constant" and np.asarray(data["value"]).dtype.kind == "f":
            negative = new.constant(-np.asarray(data["value"]), type=graph.result_type(node))
            rewire(new, node, Operand(new.add(LIBRARY["neg"], [negative]).node))
            new.remove_node(node)
    return new


def check_orders(
    subject: Subject,
    on: Graphs,
    examine: Callable[[Orders, Inputs], Counterexample | None],
    *,
    asked: str,
    moderate: bool,
    seed: int | None,
) -> Report:
    """Return a report on whether the orders in which rules can be applied to a graph show a counterexample."""
    holds = _AnyOrder(subject, examine, asked)
    return search(subject, on, holds, moderate=moderate, seed=seed, asked=asked)


@dataclass(frozen=True)
class _AnyOrder:
    """That no counterexample is found in the orders in which rules can be applied."""

    subject: Subject
    examine: Callable[[Orders, Inputs], Counterexample | None]
    asked: str

    def __call__(self, found: Findings, graph: Any, inputs: Inputs) -> None:
        """Refute a graph whose orders show one."""
        try:
            if not self.subject.members:
                for name in self.subject.apply(graph).fired:
                    found.fired[name] += 1
                    found.of(name).compared += 1
            for current, members in _rule_sets(self.subject, graph):
                orders = Orders(current, members)
                found.fired.update(orders.fired)
                try:
                    counterexample = self.examine(orders, inputs)
                except NoVerdictError as missing:
                    for name in orders.fired:
                        found.of(name).failed[str(missing)] += 1
                    continue
                if counterexample is not None:
                    raise Refuted(counterexample, self.asked)
                for name in orders.fired:
                    found.of(name).compared += 1
        except GraphRewriteError as error:
            if reason := undefined(graph, inputs):
                for name in self.subject.named_in(str(error)):
                    found.fired[name] += 1
                    found.of(name).failed[reason] += 1
                return
            reason = f"{self.subject.name} failed: {error}"
            raise Refuted(Counterexample(graph, None, reason), f"failed {type(error).__name__}") from None
