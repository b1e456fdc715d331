"""Where a search looks, for how long, and that it finds the same again."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from functools import reduce

import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op, pass_, rule
from graphrewrite.errors import GraphError, RuleError
from graphrewrite.testing import check, graphs, properties
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.comparison import difference
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.evidence import Evidence
from graphrewrite.testing.findings import Findings
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.testing.search import Rounds, search
from graphrewrite.testing.snapshot import snapshot
from graphrewrite.testing.strategies.picking import made_by_choices, making
from graphrewrite.testing.subject import Subject


@rule
def double_negation(x):
    yield op.neg(op.neg(x))
    return x


@rule
def forget_sign(x):
    yield op.neg(x)
    return op.relu(x)


@rule
def never(x):
    yield op.relu(op.relu(x))
    return op.relu(x) if x.type is None else rule.decline("never")


def told(found):
    return found.reason, snapshot(found.before), {n: a.tolist() for n, a in found.inputs.items()}, found.code


def test_a_seed_says_what_is_tried_and_found():
    for seed in range(3):
        first, again = check(forget_sign, seed=seed), check(forget_sign, seed=seed)
        assert told(first.counterexample) == told(again.counterexample)
        assert (first.graphs, first.ops, first.sizes) == (again.graphs, again.ops, again.sizes)
        assert first.counterexample.seed == first.seed == seed
    assert check(double_negation, seed=1).ops != check(double_negation, seed=2).ops


def test_without_a_seed_it_is_that_of_the_profile():
    derandomised = settings().derandomize
    seeds = {check(forget_sign).seed for _ in range(3)}
    assert seeds == {0} if derandomised else len(seeds) == 3


def test_the_budget_is_that_of_the_profile():
    before = settings.get_current_profile_name()
    settings.register_profile("few", max_examples=30, derandomize=True)
    try:
        settings.load_profile("few")
        assert check(double_negation).graphs == 60
        assert check(never).graphs == 30 * 8, "more for what does not fire"
    finally:
        settings.load_profile(before)


def test_it_does_not_matter_where_and_when_rounds_run():
    holds = properties.Preserving(Subject(forget_sign), "exact", None)
    rounds = Rounds(Subject(forget_sign), None, holds, moderate=False, seed=5, least=25)
    learnt = Findings(fired=Counter(forget_sign=1))
    first = [rounds.run(number, learnt) for number in range(4)]
    again = [pickle.loads(pickle.dumps(rounds.run(number, learnt))) for number in reversed(range(4))][::-1]
    one, other = (reduce(Findings.then, found, learnt) for found in (first, again))
    assert (one.graphs, one.ops, one.sizes, one.fired) == (other.graphs, other.ops, other.sizes, other.fired)
    assert told(one.failure.counterexample) == told(other.failure.counterexample)
    assert told(one.failure.counterexample) == told(first[0].failure.counterexample), "the first failure counts"
    assert learnt == Findings(fired=Counter(forget_sign=1)), "nothing is changed that others read"


def test_graphs_come_from_where_they_are_asked_for():
    report = check(double_negation, on=graphs(ops=["neg", "exp"]), seed=0)
    assert set(report.ops) <= {"neg", "exp", "input", "output", "constant"}


def test_what_is_no_graph_is_refused():
    with pytest.raises(RuleError, match="on gave no graph at all"):
        check(double_negation, on=st.just(Graph("g")).filter(lambda graph: False))
    with pytest.raises(RuleError, match=r"on gives int; pass a strategy of graphs"):
        check(double_negation, on=st.just(3))


@pytest.mark.parametrize(
    ("graph", "advice"),
    [
        (nx.MultiDiGraph([("a", "b"), ("a", "b")]), "MultiDiGraph .* several edges .* such as 'a' -> 'b'"),
        (nx.Graph([("a", "b")]), r"Graph is .* graph.to_directed\(\)"),
    ],
    ids=["several edges", "no direction"],
)
def test_graphs_of_another_kind_are_named_and_refute_nothing(graph, advice):
    for on in (graph, st.just(graph)):
        with pytest.raises(GraphError, match=f"networkx.{advice}"):
            check(double_negation, on=on)


def test_moderate_inputs_stay_between_the_limits():
    seen = []

    def holds(found, graph, inputs):
        seen.extend(inputs.values())
        found.fired["double_negation"] += 1

    on = graphs(
        ops=["neg", "add"],
    )
    search(Subject(double_negation), on, holds, moderate=True, seed=0)
    floats = [a for a in seen if np.issubdtype(a.dtype, np.floating)]
    assert floats
    assert all(np.isfinite(a).all() and (np.abs(a) <= 8).all() for a in floats)
    seen.clear()
    search(Subject(double_negation), on, holds, moderate=False, seed=0)
    assert any(not np.isfinite(a).all() for a in seen if np.issubdtype(a.dtype, np.floating))


def test_plain_digraphs_have_no_inputs():
    given = nx.DiGraph([(1, 2)])

    def holds(found, graph, inputs):
        assert inputs == {}
        raise Refuted(Counterexample(graph, None, "it is there"), "there")

    report = search(Subject(double_negation), st.just(given), holds, moderate=False, seed=0)
    assert report.counterexample.reason == "it is there"
    assert len(report.counterexample.before) == 0, "nothing of it was needed"


def test_the_failure_stays_of_its_kind():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    graph.output("y", op.neg(op.relu(x)))

    def holds(found, given, inputs):
        if len(given) == 4:
            raise Refuted(Counterexample(given, given, "four"), "four")
        raise Refuted(Counterexample(given, given, "fewer"), "fewer")

    report = search(Subject(double_negation), st.just(graph), holds, moderate=False, seed=0)
    assert report.counterexample.reason == "four"


def test_numbers_are_shown_before_signs_of_zeros_and_what_is_no_number():
    before = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    after = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\ny = output(n)")
    batch = np.float32([np.inf, 0.0, 1.0])

    def found(*entries):
        return difference(before, after, {"x": np.float32(entries)}, keeps="exact", tolerance=None)

    shown = found(*batch)
    assert (shown.reason, shown.inputs["x"].tolist()) == ("output y was 1.0 and became -1.0", [1.0])
    assert found(np.inf, 0.0).reason == "output y was 0.0 and became -0.0"
    assert found(np.inf).reason == "output y was inf and became -inf"
    assert found(np.nan) is None


def test_a_rule_that_is_wrong_of_numbers_is_refuted_by_numbers():
    for seed in range(5):
        reason = check(forget_sign, seed=seed).counterexample.reason
        _, old, new = reason.replace(" and became ", " was ").split(" was ")
        assert float(old) != float(new)


def test_a_pass_that_never_ends_is_refuted():
    @pass_
    def round_and_round(graph):
        """Wrong: swaps operands for ever."""
        for name, data in graph.nodes.items():
            if data["type"] == "add":
                data["round"] = data.get("round", 0) + 1
                return [name]
        return []

    report = check(round_and_round, on=graphs(ops=["add"]), seed=0)
    assert report.verdict == "refuted"
    assert "round_and_round" in report.counterexample.reason


@rule
def negate_by_chance(x):
    yield op.relu(x)
    return op.relu(op.neg(op.neg(x))) if random.random() < 0.5 else op.relu(x)


def test_what_a_search_draws_changes_nothing_for_others():
    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # what others may use
    first, again = check(negate_by_chance, seed=0), check(negate_by_chance, seed=0)
    assert first.verdict == "refuted"
    assert told(first.counterexample) == told(again.counterexample)
    assert random.getstate() == state
    assert str(np.random.get_state()) == str(of_numpy)  # noqa: NPY002


def test_what_leads_to_no_graph_is_begun_again_and_not_for_ever():
    begun: list[int] = []

    def seldom(pick):
        begun.append(1)
        if len(begun) % 3:
            raise Unfit("nothing fits")
        return Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")

    graphs_tried = check(double_negation, on=made_by_choices(st.nothing(), seldom), seed=0).graphs
    assert len(begun) == 3 * graphs_tried > 0

    def never_one(pick):
        raise Unfit("nothing fits")

    with pytest.raises(RuleError, match="no graph at all"):
        check(double_negation, on=made_by_choices(st.nothing(), never_one), seed=0)


def test_a_strategy_that_was_changed_is_drawn_by_hypothesis():
    some = graphs(ops=["neg"])
    assert making(some) is not None
    assert making(some.filter(bool)) is making(some.map(lambda graph: graph)) is None
    report = check(double_negation, on=some.filter(lambda graph: len(graph) < 12), seed=0)
    assert max(report.sizes) < 12


def test_beyond_the_usual_number_graphs_are_for_members_that_still_do_something_new():
    @rule
    def drop_abs_of_few(x):
        yield op.abs(x)
        return x if len(x.shape) > 3 else rule.decline("few axes")

    subject = Subject([double_negation, drop_abs_of_few])
    assert subject.running(_ran(subject, op.abs)) == ("drop_abs_of_few",)
    assert subject.running(()) == ()
    rounds = Rounds(subject, None, lambda *_: None, moderate=False, seed=1, least=25)
    learnt = Findings(
        graphs=50,
        fired=Counter(double_negation=50, drop_abs_of_few=50),
        evidence={name: Evidence(compared=50) for name in subject.names},
    )
    usual = rounds.run(2, learnt).ops
    growing = rounds.run(2, learnt, ("drop_abs_of_few",)).ops
    assert usual["neg"] > 10
    assert growing["abs"] > usual["abs"] > 10
    assert growing["neg"] < usual["neg"] // 2


def _ran(subject, make):
    g = Graph("g")
    g.output("y", make(g.input("x", Tensor("f32", (2,)))))
    subject.branches.take()
    subject.apply(g)
    return subject.branches.take()
