"""Inputs that are looked for along a gradient: they show what drawn ones miss."""

from __future__ import annotations

import pytest

from graphrewrite import Graph, op, rule
from graphrewrite.errors import RuleError
from graphrewrite.testing import EvidenceWarning, assert_preserves, assert_refines, check, graphs
from tests.support.profiles import fewer_graphs


@rule(keeps="rounding")
def peak(x):
    """Wrong near the root of 10.9 and its negative only."""
    yield op.softplus(x)
    apart = (x * x - 10.9) * 8.0 * 8.0 * 8.0
    return op.log(op.exp(x) + 1.0) + 0.01 / (1.0 + apart * apart)


@rule(keeps="rounding")
def swap_bits(x, y):
    """Right, of whole numbers."""
    yield op.bitwise_and(x, y)
    return op.bitwise_not(op.bitwise_or(op.bitwise_not(x), op.bitwise_not(y)))


ALONE = Graph.parse("graph g\nx = input() : f32[N]\ns = softplus(x)\ny = output(s)")


def test_a_narrow_peak_is_climbed():
    with fewer_graphs():
        assert check(peak, on=ALONE, seed=0).verdict == "preserved"
        report = check(peak, on=ALONE, seed=0, adversarial=True)
    assert report.verdict == "refuted"
    (x,) = report.counterexample.inputs.values()
    assert abs(abs(float(x.flat[0])) - 10.9**0.5) < 0.001
    assert len(report.counterexample.before) == 3


def test_a_stated_error_is_looked_for():
    with fewer_graphs(), pytest.raises(AssertionError, match="refuted"):
        assert_refines(peak, ALONE, error=0.009, adversarial=True, seed=0)


def test_where_there_is_no_gradient_the_report_says_so():
    with fewer_graphs(), pytest.warns(EvidenceWarning, match="no gradient, only drawn inputs: "):
        assert_preserves(swap_bits, on=graphs(containing=swap_bits, ops=[]), adversarial=True)


def test_what_has_no_greatest_error_is_refused():
    @rule
    def exact(x):
        yield op.neg(op.neg(x))
        return x

    with pytest.raises(RuleError, match="here every bit counts"):
        check(exact, adversarial=True)
    with pytest.raises(RuleError, match="a meaning has no gradient"):
        check(exact, adversarial=True, tolerance=1.0, meaning=len)
