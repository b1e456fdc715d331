"""Small ranges of attributes: every value is decided."""

from __future__ import annotations

import pytest

from graphrewrite import FixedPoint, Graph, op, rule
from graphrewrite.errors import RuleError
from graphrewrite.testing import prove
from graphrewrite.testing.proof.ranges import Ranges

pytest.importorskip("z3")

TWO = """graph g
x = input() : s8f4[N]
a = requantise(x, shift=0, element=s8f4)
b = requantise(a, shift=0, element=s8f4)
y = output(b)"""


@rule
def requantised_in_one_step(x):
    """Wrong: to round twice is not to round once."""
    inner = op.requantise(x)
    outer = op.requantise(inner)
    yield outer
    return op.requantise(x, shift=inner.shift + outer.shift, element=outer.element)


@rule
def shifted_back(x):
    """What is shifted to the left, in a format that holds it, and back again is what it was."""
    left = op.requantise(x, element=FixedPoint(True, 24, 4))
    back = op.requantise(left, element=FixedPoint(True, 8, 4))
    yield back
    if x.type.element != FixedPoint(True, 8, 4) or left.shift != -back.shift or not 0 <= back.shift <= 8:
        return rule.decline("another shift")
    if {left.low, left.high, back.low, back.high} != {None}:
        return rule.decline("limits")
    return x


def test_every_combination_is_made_once():
    graph = Graph.parse(TWO)
    made = list(Ranges({"shift": (0, 1, 1, -2)}).over(graph))
    shifts = {(g.nodes["a"]["shift"], g.nodes["b"]["shift"]) for g in made}
    assert len(made) == len(shifts) == 9
    assert graph.nodes["a"]["shift"] == 0


def test_one_op_of_several():
    graph = Graph.parse(TWO.replace("b = requantise(a, shift=0, element=s8f4)", "b = relu(a)"))
    assert len(list(Ranges({"requantise.shift": range(5)}).over(graph))) == 5


def test_a_range_is_proved_as_a_whole():
    graph = Graph.parse(TWO.replace("element=s8f4)\nb", "element=s24f4)\nb"))
    proof = prove(shifted_back, [graph], attributes={"shift": range(-4, 5)})
    assert proof.verdict == "proved", str(proof)
    assert len(proof.instances) == 5
    assert "where it is looked at, shift takes every one of these values: -4 to 4" in proof.assumed


def test_the_value_that_refutes_is_found():
    proof = prove(requantised_in_one_step, [Graph.parse(TWO)], attributes={"shift": range(3)})
    assert proof.verdict == "refuted"
    assert {proof.counterexample.before.nodes[name]["shift"] for name in ("a", "b")} - {0}


def test_an_attribute_that_is_not_there():
    with pytest.raises(RuleError, match=r"no node of the graphs has an attribute 'shft'.*did you mean 'shift'"):
        prove(requantised_in_one_step, [Graph.parse(TWO)], attributes={"shft": range(3)})


def test_too_many_combinations():
    with pytest.raises(RuleError, match="a graph with 2 such attributes has 10,000 combinations"):
        prove(requantised_in_one_step, [Graph.parse(TWO)], attributes={"shift": range(100)})
