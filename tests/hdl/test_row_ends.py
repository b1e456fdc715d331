"""The ends of rows of adders: what hardware makes of a sum by them is the sum rounded, moved and limited."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from graphrewrite.hdl.arithmetic.adder_results import Finish, RowEnd, row_ends

ROUNDED = {"half_even": round, "half_up": lambda x: (2 * x + 1) // 2, "down": lambda x: x // 1}
LOW, HIGH = -4, 3


def ended(total: int, end: RowEnd) -> int:
    """What the template makes of a sum, by its own means."""
    total += end.added
    assert total >= 0 or end.signed
    assert -(1 << end.bits) >> end.signed <= total < 1 << end.bits - end.signed
    quotient, rest = divmod(total, 1 << end.places)
    if end.tie == 1 and rest == 0:
        quotient &= ~1
    if end.tie == 2 and rest == (1 << end.places) - 1:
        quotient |= 1
    if end.limits:
        quotient = max(quotient, 0) + LOW
    return min(quotient, HIGH) if end.limits == 2 else quotient


@pytest.mark.parametrize("rounding", ROUNDED)
@pytest.mark.parametrize(("least", "most"), [(-40, 37), (-3, 37), (-40, 5), (-5, 4), (0, 6)])
def test_a_sum_becomes_what_is_asked_for(rounding: str, least: int, most: int) -> None:
    for places in range(4):
        for offset in range(-2, 3):
            results = {s: int(ROUNDED[rounding](Fraction(s, 1 << places))) + offset for s in range(least, most + 1)}
            sums, ends = (
                [np.array([each]) for each in pair] for pair in ((least, most), (results[least], results[most]))
            )
            (end,) = row_ends((sums[0], sums[1]), (ends[0], ends[1]), Finish([places], LOW, HIGH, offset, rounding))
            limits = 2 if results[most] > HIGH else int(results[least] < LOW)
            assert (end.places, end.limits) == (places, limits)
            for total, result in results.items():
                assert ended(total, end) == min(max(result, LOW), HIGH), (total, end)


def test_sums_that_are_not_divided_are_left_as_they_are() -> None:
    sums = np.array([-3, 0]), np.array([4, 7])
    assert row_ends(sums, sums, None) == [RowEnd(0, 4, True, 0, 0, 0), RowEnd(0, 3, False, 0, 0, 0)]
