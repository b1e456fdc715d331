"""Rules of ops with state are compared over sequences of cycles, from the initial state on."""

from __future__ import annotations

from typing import Any

import pytest

from graphrewrite import Graph, Rule, Tensor, define_op, op, rewrite, rule
from graphrewrite.hierarchy import graph_op
from graphrewrite.testing import check
from tests.quality.right_rules.timing import delays_joined
from tests.quality.wrong_rules.timing import delay_of_constant, delays_added
from tests.support.profiles import fewer_examples


@pytest.mark.parametrize("wrong", [delays_added, delay_of_constant], ids=lambda each: each.name)
def test_a_wrong_cycle_is_found(wrong: Rule):
    report = check(wrong, seed=0)
    assert report.verdict == "refuted"
    assert " in cycle " in report.counterexample.reason
    assert "first difference" in str(report)
    pasted: dict[str, Any] = {}
    exec(report.counterexample.code, pasted)
    assert "evaluate_sequence" in pasted
    with pytest.raises(AssertionError):
        pasted[f"test_{wrong.name}"]()


def test_a_right_one_is_preserved():
    assert check(delays_joined, seed=0).verdict == "preserved"


@rule
def difference_of_counts(x):
    """What is no number is none either way; the counters are nodes, though no input reaches them."""
    yield op.sub(x, x)
    return op.sub(op.counter(element=x.type.element), op.counter(element=x.type.element))


def test_a_counter_that_a_rule_makes_is_no_constant():
    graph = Graph.parse("graph g\nx = input() : i32[]\ns = sub(x, x)\ny = output(s)")
    after = rewrite(graph, difference_of_counts, verify=True)
    assert sorted(data["type"] for data in after.nodes.values()) == ["counter", "counter", "input", "output", "sub"]
    assert check(difference_of_counts, on=graph, seed=0).verdict == "preserved"

    @rule
    def counted(x):
        yield op.sub(x, x)
        return op.counter(element="i32")

    assert "in cycle 1 was 0 and became 1" in str(check(counted, on=graph, seed=0).counterexample)


@define_op(stateful=True)
def noise(x):
    """The operand, as far as anybody knows."""
    return x


@rule
def without_noise(x):
    yield noise(x)
    return x


@rule
def through_noise(x):
    yield op.relu(op.relu(noise(x)))
    return op.relu(noise(x))


@pytest.mark.parametrize("member", [without_noise, through_noise], ids=lambda each: each.name)
def test_a_state_without_a_step_is_not_compared(member: Rule):
    with fewer_examples():
        report = check(member, seed=0)
    assert (report.verdict, bool(report)) == ("not compared", False)
    assert "the op 'noise' keeps a state without a step; give it one: define_op(step=...)" in str(report)


def test_a_state_inside_of_a_nested_graph_is_not_compared_either():
    inner = Graph("inner")
    inner.output("y", noise(inner.input("x", Tensor("f32", (3,)))))
    graph = Graph("g")
    graph.output("y", op.relu(op.relu(graph_op(inner)(graph.input("x", Tensor("f32", (3,)))))))

    @rule
    def one_relu(x):
        yield op.relu(op.relu(x))
        return op.relu(x)

    assert check(one_relu, on=graph, seed=0).verdict == "not compared"
