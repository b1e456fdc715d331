"""Whether the order of rules counts: every planted set in which it does is refuted by a small graph, and no other."""

from __future__ import annotations

import random
import re

import networkx as nx
import pytest

from graphrewrite import Graph, op, rule, rules
from graphrewrite.compare.equality import equals
from graphrewrite.errors import RuleError
from graphrewrite.rules.layer_pairs import merge_layers
from graphrewrite.testing import assert_confluent
from graphrewrite.testing.generation.overlap import plan_overlap
from graphrewrite.testing.orders import Orders
from graphrewrite.testing.steps import steps_from
from tests.support.profiles import fewer_examples, some_of, some_seeds
from tests.support.rule_endings import (
    NOT_CONFLUENT,
    NOT_CONFLUENT_UP_TO_NAMES,
    PIPELINE,
    RIGHT,
    absolute_of_negation,
    absolute_of_negation_as_negation,
    drop_double_negation,
    message_of,
    negation_out_of_sum,
    size_in,
    sum_with_negation_as_difference,
)

pytestmark = pytest.mark.slow

WRONG = {**{k: (*v, {}) for k, v in NOT_CONFLUENT.items()}}
WRONG |= {k: (*v, {"up_to": "names"}) for k, v in NOT_CONFLUENT_UP_TO_NAMES.items()}


@pytest.mark.parametrize("case", WRONG)
def test_rules_whose_order_counts_are_refuted_by_a_small_graph(case):
    tested, smallest, options = WRONG[case]
    for seed in some_seeds():
        message = message_of(assert_confluent, tested, seed=seed, **options)
        assert "refuted: two orders end in " in message
        assert size_in(message) <= smallest + 1, message


@pytest.mark.parametrize("case", RIGHT)
def test_rules_whose_order_does_not_count_are_left_alone(case):
    tested, options = RIGHT[case]
    assert_confluent(tested, up_to="names", **options)


def test_each_phase_of_a_pipeline_is_tested():
    assert_confluent(PIPELINE)
    lines = ["x = input() : i64[N]", "c = constant(value=0) : i64[]", "a = sub(c, c)", "b = sub(x, a)", "y = output(b)"]
    with pytest.raises(AssertionError, match="simplify: refuted: two orders end in different graphs"):
        assert_confluent(PIPELINE, on=Graph.parse("\n".join(["graph g", *lines])), up_to="names")


@pytest.mark.slow(cases=0)
@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # few graphs for each rule
def test_the_rules_of_the_library_end_alike():
    # Choices between graphs are drawn for the pass alone, and slices that fit each other seldom among many rules.
    with fewer_examples():
        assert_confluent(
            some_of([each for each in rules.RULES if each not in (rules.choose_branch, rules.concat_of_slices)], 4),
            seed=1,
        )


def test_the_library_writes_a_reshape_in_several_ways():
    # What is merged is written anew, what is alone stays as it was written: both mean the same.
    message = message_of(assert_confluent, [rules.drop_reshape, rules.merge_reshapes], up_to="names")
    assert "two orders end in different graphs" in message
    assert len(set(re.findall(r"shape=\[[^]]*\]", message.partition("a test that fails")[0]))) > 1


def test_a_failure_tells_both_orders_and_holds_a_test():
    message = message_of(assert_confluent, [drop_double_negation, absolute_of_negation_as_negation], seed=0)
    assert re.search(r"^one order: drop_double_negation at 'neg_\d'$", message, re.MULTILINE)
    assert re.search(
        r"^the other: absolute_of_negation_as_negation at 'abs_\d', drop_double_negation", message, re.MULTILINE
    )
    assert "compute different values: output y" in message
    code = message.partition("a test that fails:")[2]
    names: dict[str, object] = {}
    exec(code, names)
    with pytest.raises(AssertionError, match="two orders end in"):
        names["test_rules"]()


def test_digraphs_may_end_otherwise():
    message = message_of(assert_confluent, NOT_CONFLUENT["one or two"][0], seed=0)
    assert "the other: contract at 'x', contract at 'y'" in message or "contract" in message
    code = message.partition("a test that fails:")[2]
    names: dict[str, object] = {}
    exec(code, names)
    with pytest.raises(AssertionError, match="two orders end in different graphs"):
        names["test_rules"]()


def test_values_or_names():
    # Up to signs of zeros these are equal, and so in integers, which have one zero.
    tested = [sum_with_negation_as_difference, negation_out_of_sum]
    on = Graph.parse("graph g\nx = input() : i64[N]\na = neg(x)\nb = neg(x)\nc = add(a, b)\ny = output(c)")
    assert_confluent(tested, on=on)
    with pytest.raises(AssertionError, match="different graphs"):
        assert_confluent(tested, on=on, up_to="names")
    with pytest.raises(RuleError, match="up to 'values', 'ops' or 'names', not 'graphs'"):
        assert_confluent(tested, up_to="graphs")


def test_what_is_left_may_count():
    tested = [rules.fold_batch_norm, rules.batch_norm_as_layer, rules.eliminate_independent_nodes]
    message = message_of(assert_confluent, tested, seed=0, up_to="ops")
    assert re.search("two orders end in graphs of different ops: [12] (conv|linear|conv_transpose)", message)
    assert "up_to='ops'" in message
    computed = Graph.parse("""graph g
        x = input() : f32[N,2,4]
        v = constant(value=[[[1.0],[2.0]],[[3.0],[4.0]]]) : f32[2,2,1]
        w = neg(v)
        b = constant(value=[1.0,2.0]) : f32[2]
        c = conv(x, w, b)
        n = batch_norm(c, b, b, b, b)
        y = output(n)""")
    message_of(assert_confluent, tested, on=computed, up_to="ops")
    assert_confluent([*tested, merge_layers], on=computed, up_to="ops")


def test_what_never_fires_fails():
    quiet = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    with pytest.raises(AssertionError, match="drop_double_negation, absolute_of_negation never fired"):
        assert_confluent([drop_double_negation, absolute_of_negation], on=quiet)


def test_functions_have_one_order():
    with pytest.raises(RuleError, match="is a function, which has one order"):
        assert_confluent(lambda graph: graph)


def test_rules_that_fail_are_named():
    @rule
    def fails(x):
        yield op.neg(x)
        return op.reshape(x, shape=(17, 19))

    with pytest.raises(AssertionError, match=r"fails failed: rule 'fails' .*: failed at 'neg_1'"):
        assert_confluent(fails)


# ---------------------------------------------------------------------- orders


def chain(count: int) -> Graph:
    lines = [f"n{i} = neg({'x' if not i else f'n{i - 1}'})" for i in range(count)]
    return Graph.parse("\n".join(["graph g", "x = input() : f32[N]", *lines, f"y = output(n{count - 1})"]))


def test_all_orders_are_tried():
    orders = Orders(chain(5), [drop_double_negation])
    assert orders.is_whole
    assert [len(graph) for graph in orders.graphs.values()] == [7, 5, 3]
    assert [len(orders.graphs[end]) for end in orders.ends] == [3]
    assert len(orders.path(orders.start, orders.ends[0])) == 2
    assert orders.rounds == []
    assert orders.fired == {"drop_double_negation"}


def test_too_many_orders_are_tried_in_part_and_end():
    lines = [f"a{i} = neg(x)\nb{i} = neg(a{i})\ny{i} = output(b{i})" for i in range(9)]
    orders = Orders(
        Graph.parse("\n".join(["graph g", "x = input() : f32[N]", *lines])), [drop_double_negation], most=10
    )
    assert not orders.is_whole
    assert [len(orders.graphs[end]) for end in orders.ends] == [10]


def test_every_single_step_is_a_step():
    steps = list(steps_from(chain(4), [drop_double_negation, rules.eliminate_dead_nodes]))
    assert [str(step) for step in steps] == [f"drop_double_negation at 'n{i}'" for i in (1, 2, 3)]
    assert all(equals(step.graph, chain(2), names=False) for step in steps)
    dead = chain(2)
    dead.remove_node("y")
    assert [str(step) for step in steps_from(dead, [rules.eliminate_dead_nodes])] == ["eliminate_dead_nodes"]


def test_patterns_overlap():
    met = {"share a node": 0, "read the other": 0}
    for seed in range(200):
        rng = random.Random(seed)
        plan = plan_overlap(drop_double_negation.pattern, absolute_of_negation.pattern, rng.choice)
        names = [node.op.name for node in plan.reading.nodes]
        met["share a node"] += sorted(names) == ["abs", "neg", "neg"]
        met["read the other"] += sorted(names) == ["abs", "neg", "neg", "neg"]
    assert min(met.values()) > 10, met
    assert met["share a node"] > 100


def test_a_plain_digraph_may_be_given_as_it_is():
    path = nx.path_graph(5, nx.DiGraph)
    nx.set_node_attributes(path, "mid", "type")
    with pytest.raises(AssertionError, match="different graphs"):
        assert_confluent(NOT_CONFLUENT["one or two"][0], on=path)
