"""Mantissas beyond the format that a node declares: a fault, although numpy computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, op, rule
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.rewriting.rule.outcome import decline
from graphrewrite.testing import assert_preserves, check, prove
from graphrewrite.testing.comparison import difference
from graphrewrite.testing.failure.formats import out_of_format
from graphrewrite.types import out_of_range


def rounded_sum(element: FixedPoint):
    """A rule: a sum of mantissas is computed in another format before it is rounded."""

    @rule
    def sum_in(x, y):
        total = op.integer_add(x, y)
        rounded = op.requantise(total)
        yield rounded
        if total.element == element:
            return decline("as it is to be")
        return op.requantise(op.integer_add(x, y, like=total, element=element), like=rounded)

    return sum_in


SUM = Graph.parse(
    """graph sum
    x = input() : s4f0[N]
    x1 = input() : s4f0[N]
    t = integer_add(x, x1, element=s5f0) : s5f0[N]
    r = requantise(t, shift=1, element=s4f0) : s4f0[N]
    y = output(r)"""
)
"""Its values need five bits."""
INPUTS = {"x": np.int8([1, 7]), "x1": np.int8([2, 7])}


def test_the_first_row_that_leaves_its_format_is_told_though_the_outputs_are_equal():
    after = rounded_sum(FixedPoint(True, 4))(SUM)
    assert evaluate(after, INPUTS)["y"].tolist() == evaluate(SUM, INPUTS)["y"].tolist()
    found = difference(SUM, after, INPUTS, keeps="exact", tolerance=None)
    assert found is not None
    assert "holds 14, but s4f0 ranges from -8 to 7" in found.reason
    assert difference(SUM, rounded_sum(FixedPoint(True, 6))(SUM), INPUTS, keeps="exact", tolerance=None) is None


def test_what_leaves_its_format_before_may_do_so_afterwards():
    narrow = rounded_sum(FixedPoint(True, 4))(SUM)
    assert difference(narrow, narrow.copy(), INPUTS, keeps="exact", tolerance=None) is None


def test_a_rule_with_too_narrow_a_format_is_refuted_with_a_test_that_fails_until_it_is_repaired():
    @rule
    def lower(x, y):
        total = op.integer_add(x, y)
        rounded = op.requantise(total)
        yield rounded
        if total.element.width == 3:
            return decline("narrow enough")
        element = FixedPoint(total.element.signed, 3, total.element.fraction)
        return op.requantise(op.integer_add(x, y, like=total, element=element), like=rounded)

    report = check(lower, seed=3)  # with others the values show it
    assert report.verdict == "refuted"
    found = report.counterexample
    assert " holds " in found.reason
    assert " ranges from " in found.reason
    assert found.culprit.name == "lower"
    assert len(found.before) <= 5
    names = {"lower": lower}
    code = "\n".join(line for line in found.code.splitlines() if not line.startswith("# "))
    exec(compile(code, "pasted", "exec"), names)
    with pytest.raises(AssertionError):
        names["test_lower"]()
    names["lower"] = Graph.copy
    names["rewrite"] = lambda graph, rules, verify: graph.copy()
    names["test_lower"]()


def test_a_proof_asks_for_room_as_well():
    @rule
    def narrower(x, y):
        total = op.integer_add(x, y)
        yield total
        narrow = FixedPoint(True, total.element.width - 1, total.element.fraction)
        return op.requantise(op.integer_add(x, y, like=total, element=narrow), shift=0, element=total.element)

    proof = prove(narrower, on=SUM)
    assert proof.verdict == "refuted"
    assert "s4f0 ranges from -8 to 7" in str(proof.counterexample)
    inputs = proof.counterexample.inputs
    assert any(not -8 <= total <= 7 for total in (inputs["x"] + inputs["x1"]).tolist())


def test_what_has_room_is_preserved():
    @rule
    def wider(x, y):
        total = op.integer_add(x, y)
        rounded = op.requantise(total)
        yield rounded
        if total.element.width > 60 or total.element.width % 2:
            return decline("wide enough")
        element = FixedPoint(True, total.element.width + 1, total.element.fraction)
        return op.requantise(op.integer_add(x, y, like=total, element=element), like=rounded)

    assert_preserves(wider)


def test_of_several_nodes_the_first_in_order_is_told():
    values = {"t": np.int8([16]), "r": np.int8([8])}
    assert out_of_format(SUM, values) == f"node 't' {out_of_range(FixedPoint(True, 5), values['t'])}"
    assert out_of_format(SUM, {"t": np.int8([15])}) is None
