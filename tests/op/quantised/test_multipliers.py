"""Fixed-point rescaling against exact fractions, number by number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.quantised.softmax import quantised_multiplier

WORD = st.integers(-(2**31), 2**31 - 1)


def half_up(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def half_away(x: Fraction) -> int:
    return int(math.copysign(half_up(abs(x)), x)) if x else 0


def wrapped(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


@given(
    st.lists(WORD, min_size=1, max_size=5),
    st.one_of(WORD, st.integers(2**30, 2**31 - 1), st.sampled_from([0, 1, -(2**31)])),
    st.integers(-31, 8),
    st.integers(-200, 200),
    st.sampled_from([(0, 0), (3, 0), (-128, 20)]),
)
def test_numbers_are_multiplied_and_shifted_with_two_roundings(
    numbers: list[int], multiplier: int, exponent: int, zero: int, first: tuple[int, int]
) -> None:
    subtracted, left = first
    found = op.multiply_fixed_point(
        np.array(numbers, np.int32),
        np.array(multiplier),
        np.array(exponent),
        input_zero_point=subtracted,
        left_shift=left,
        zero_point=zero,
        element="i32",
    )
    for number, result in zip(numbers, found.tolist(), strict=True):
        moved = number - subtracted
        if up := left + max(exponent, 0):
            moved = wrapped(moved << up)
        high = min(half_up(Fraction(moved * multiplier, 2**31)), 2**31 - 1)
        expected = half_away(Fraction(high, 2 ** max(-exponent, 0))) + zero
        assert result == min(max(expected, -(2**31)), 2**31 - 1)


def test_results_are_limited_and_multipliers_are_one_or_one_a_channel() -> None:
    x = np.array([[100, -100], [3, 5]], np.int32)
    half, quarter = [1 << 30, 0], [1 << 30, -1]
    multiplier, exponent = (np.array(each).reshape(2, 1) for each in zip(half, quarter, strict=True))
    found = op.multiply_fixed_point(x, multiplier, exponent, low=-20, high=30)
    assert found.tolist() == [[30, -20], [1, 2]]
    assert found.dtype == np.int8


@given(st.floats(-300, 300), st.integers(-128, 127))
def test_numbers_are_rounded_half_away_from_zero(x: float, zero: int) -> None:
    expected = min(max(half_away(Fraction(x)) + zero, -128), 127)
    assert op.round_half_away(np.array([x]), zero_point=zero).tolist() == [expected]


def test_the_number_before_a_half_and_what_is_no_number() -> None:
    below = np.nextafter(0.5, 0)
    assert op.round_half_away(np.array([below, -below, np.nan, np.inf, -np.inf]), zero_point=1).tolist() == [
        *(1, 1, 1, 127, -128)
    ]


@given(st.floats(1e-12, 1e9))
def test_a_factor_is_the_nearest_of_31_bits(real: float) -> None:
    multiplier, exponent = quantised_multiplier(real)
    if multiplier:
        assert 2**30 <= multiplier < 2**31
        assert abs(Fraction(multiplier) * Fraction(2) ** (exponent - 31) / Fraction(real) - 1) <= Fraction(1, 2**31)
    else:
        assert real < 2.0**-31


@pytest.mark.parametrize(
    ("kinds", "attributes", "reason"),
    [
        ((Tensor("i32", (2,)), Tensor("i32", (3,)), Tensor("i32", ())), {}, "do not broadcast|does not broadcast"),
        ((Tensor("i32", ()), Tensor("i32", (3,)), Tensor("i32", ())), {}, "does not broadcast"),
        ((Tensor("f32", ()), Tensor("i32", ()), Tensor("i32", ())), {}, "does not compute with f32"),
        ((Tensor("i32", ()),) * 3, {"element": "f32"}, "not f32"),
        ((Tensor("i32", ()),) * 3, {"element": "i64"}, "not i64"),
        ((Tensor("i32", ()),) * 3, {"low": 5, "high": 4}, "low=5 and high=4"),
    ],
)
def test_what_does_not_fit_is_refused(kinds: tuple[Tensor, ...], attributes: dict[str, object], reason: str) -> None:
    with pytest.raises(TypeMismatchError, match=reason):
        op.multiply_fixed_point.infer(*kinds, **attributes)
