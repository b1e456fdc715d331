"""Rules that keep values but for rounding: nothing is said of what steps and NaN behind them make of it."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, op, rule
from graphrewrite.testing import check


@rule(keeps="rounding")
def mean_as_product(x):
    """Right but for rounding."""
    mean = op.reduce_mean(x, axes=(1,))
    yield mean
    return op.matmul(x, np.full((3, 1), 1 / 3))


@rule(keeps="rounding")
def mean_of_two(x):
    """Wrong: the last entry is left out."""
    mean = op.reduce_mean(x, axes=(1,))
    yield mean
    return op.matmul(x, np.array([[0.5], [0.5], [0.0]]))


@rule(keeps="rounding")
def scale_by_matrix(x):
    """Right for numbers; one that is none spoils its row."""
    yield op.mul(x, np.array([2.0, 3.0, 4.0]))
    return op.matmul(x, np.diag([2.0, 3.0, 4.0]))


@rule(keeps="rounding")
def exponential_of_logarithm(x):
    """Wrong: a negative number has none."""
    yield op.exp(op.log(x))
    return x


STEPS = {
    "ceil": "b = ceil(a)",
    "comparison": "c = constant(value=2.0) : f64[]\nb = less(a, c)",
    "several": "d = floor(a)\ne = cast(d, element='i32')\nb = neg(e)",
    "two in a row": "k = constant(value=0.3) : f64[]\nd = floor(a)\ne = mul(d, k)\nb = round(e)",
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_what_a_step_makes_of_a_rounding_is_no_fault_of_the_rule(step):
    graph = Graph.parse(
        f"graph g\nx = input() : f64[N,3]\ni = round(x)\na = reduce_mean(i, axes=[1])\n{step}\ny = output(b)"
    )
    assert check(mean_as_product, on=graph, seed=1).verdict == "preserved"
    assert check(mean_of_two, on=graph, seed=1).verdict == "refuted"


def test_what_becomes_of_nan_inside_of_a_graph_is_not_compared():
    """Rows that have none are."""
    text = "graph g\nx = input() : f64[N,3]\ns = {}(x)\nc = constant(value=[2.0, 3.0, 4.0]) : f64[3]\na = mul(s, c)\n"
    for before in ("sqrt", "identity"):
        graph = Graph.parse(text.format(before) + "y = output(a)")
        assert check(scale_by_matrix, on=graph, seed=1).verdict == "preserved"
    report = check(scale_by_matrix, on=Graph.parse(text.format("log") + "b = exp(a)\ny = output(b)"), seed=1)
    assert report.verdict == "preserved"


def test_nan_that_arises_in_what_is_replaced_is_part_of_its_values():
    graph = Graph.parse("graph g\nx = input() : f64[N,3]\nl = log(x)\na = exp(l)\ny = output(a)")
    assert check(exponential_of_logarithm, on=graph, seed=1).verdict == "refuted"
    assert check(exponential_of_logarithm, seed=1).verdict == "refuted"
