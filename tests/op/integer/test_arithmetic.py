"""Integer arithmetic against Python's own, which has no limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Tensor, op
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.integer.arithmetic import exact_matmul, round_shift
from graphrewrite.op.integer.fixed_point import mantissas


def product(x, w):
    columns = list(zip(*w.tolist(), strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in x.tolist()]


@pytest.mark.parametrize("limit", [24, 31, 53])
@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("sign", [-1, 1])
def test_matrix_products_are_exact_up_to_and_across_the_limits(limit, over, sign):
    # The bound is 128 * (sum of |w|) for int8: just below, at, and just above 2**limit.
    total = (1 << limit - 7) + over
    w = np.array([[sign * (total - 5)], [sign * 3], [-sign * 2]], np.int64)
    x = np.array([[-128, -128, 127], [127, 127, -128], [1, 1, 1], [-127, 126, 125]], np.int8)
    assert exact_matmul(x, w).astype(object).tolist() == product(x, w)


@pytest.mark.parametrize(
    ("bound", "dtype"),
    [(1 << 24, np.float32), ((1 << 24) + 128, np.float64), (1 << 53, np.float64), ((1 << 53) + 128, np.int64)],
)
def test_the_cheapest_exact_dtype_is_taken(bound, dtype):
    x, w = np.zeros((1, 1), np.int8), np.array([[bound // 128]])
    assert exact_matmul(x, w).dtype == dtype


@given(
    st.integers(1, 5),
    st.integers(0, 20),
    st.integers(1, 4),
    st.sampled_from([np.int8, np.uint8, np.int16, np.int32]),
    st.integers(0, 99),
)
def test_matrix_products_are_those_of_python(rows, inner, columns, dtype, seed):
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, (rows, inner), endpoint=True).astype(dtype)
    w = rng.integers(-(2 ** rng.integers(1, 24)), 2 ** rng.integers(1, 24), (inner, columns))
    expected = product(x, w) if inner else [[0] * columns] * rows
    assert exact_matmul(x, w).astype(np.int64).tolist() == expected


@given(st.integers(-(2**40), 2**40), st.integers(-12, 40))
def test_shifts_round_half_to_even(x, shift):
    expected = round(Fraction(x) / Fraction(2) ** shift)
    assert round_shift(np.array([x]), shift).tolist() == [expected]
    assert round_shift(np.array([[x, x]]), np.array([shift, 0])).tolist() == [[expected, x]]


formats = st.builds(FixedPoint, st.booleans(), st.integers(1, 16), st.integers(-4, 12))


@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=6), st.integers(-3, 20), formats, st.booleans())
def test_requantising_rounds_then_limits(values, shift, element, limited):
    low, high = (element.minimum // 2, element.maximum // 2) if limited else (None, None)
    least, most = (low, high) if limited else (element.minimum, element.maximum)
    found = op.requantise(np.array([values]), shift=shift, element=element, low=low, high=high)
    assert found.dtype == element.dtype
    assert found.tolist() == [[min(max(round(Fraction(v) / Fraction(2) ** shift), least), most) for v in values]]


def test_a_shift_for_each_channel():
    x = np.full((1, 3, 2, 1), 24)
    found = op.requantise(x, shift=(0, 1, 4), element=FixedPoint(True, 8))
    assert found[0, :, 0, 0].tolist() == [24, 12, 2]
    with pytest.raises(TypeMismatchError, match="2 shifts do not fit"):
        op.requantise.infer(Tensor(FixedPoint(True, 8), ("N", 3)), shift=(1, 2), element=FixedPoint(True, 8))


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=8), formats)
def test_quantising_is_the_nearest_number_of_the_format_with_ties_to_even(values, element):
    x = np.array(values, np.float32)
    expected = [
        min(max(round(Fraction(float(v)) * Fraction(2) ** element.fraction), element.minimum), element.maximum)
        for v in x
    ]
    assert mantissas(x, element=element).tolist() == expected
    assert op.to_fixed(x, element=element).tolist() == expected
    real = op.quantise(x, element=element)
    assert real.dtype == np.float32
    np.testing.assert_array_equal(real, op.from_fixed(op.to_fixed(x, element=element), fraction=element.fraction))
    np.testing.assert_array_equal(np.signbit(real), [e < 0 for e in expected], err_msg="a mantissa has one zero")
    np.testing.assert_array_equal(op.quantise(real, element=element), real)


@given(st.integers(-(2**20), 2**20), st.integers(-(2**20), 2**20), st.integers(0, 8), st.integers(0, 8))
def test_sums_shift_exactly(a, b, left, right):
    element = FixedPoint(True, 40)
    found = op.integer_add(np.array([a]), np.array([b]), element=element, shifts=(left, right))
    assert found.tolist() == [(a << left) + (b << right)]


@given(st.integers(1, 30), st.integers(0, 99))
def test_layers_are_exact_with_the_widest_values(inner, seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.integers(0, 2, (3, inner)), 32767, -32768).astype(np.int16)
    w = np.where(rng.integers(0, 2, (2, inner)), 2**15 - 1, -(2**15))
    b = np.array([2**36, -(2**36)])
    found = op.integer_linear(x, w, b, element=FixedPoint(True, 40))
    assert found.tolist() == [[p + int(c) for p, c in zip(row, b, strict=True)] for row in product(x, w.T)]


def test_what_does_not_fit_is_refused():
    fixed = Tensor(FixedPoint(True, 8), ("N", 3))
    with pytest.raises(TypeMismatchError, match="need an op of the integer level"):
        op.add.infer(fixed, fixed)
    with pytest.raises(TypeMismatchError, match="one per operand and not negative"):
        op.integer_add.infer(fixed, fixed, element=FixedPoint(True, 9), shifts=(-1, 0))


def test_clip_of_mantissas_takes_limits_beyond_their_type():
    x = np.array([1, 2, 250], np.uint8)
    assert op.clip(x, low=-5, high=300).tolist() == [1, 2, 250]
    assert op.clip(x, low=2, high=9).tolist() == [2, 2, 9]


def test_nan_has_no_mantissa():
    with pytest.raises(EvaluationError, match="NaN has no mantissa"):
        op.to_fixed(np.float32([0, np.nan]), element=FixedPoint(True, 8))


@example(FixedPoint(False, 1, 56), [2.0**1000])
@given(
    st.builds(FixedPoint, st.booleans(), st.integers(1, 63), st.integers(-40, 70)),
    st.lists(
        st.floats(allow_nan=False, width=64) | st.sampled_from([2.0**62, -(2.0**63), np.inf, -np.inf]), min_size=1
    ),
)
def test_saturation_stays_in_the_format_where_its_ends_are_no_floats(element, numbers):
    whole = mantissas(np.array(numbers), element=element)
    assert all(element.minimum <= int(m) <= element.maximum for m in whole)
    held = op.to_fixed(np.array(numbers), element=element)
    assert [int(m) for m in held] == [int(m) for m in whole]
    if element.width <= 53:
        assert {int(m) for m in mantissas(np.array([np.inf, -np.inf]), element=element)} == {
            element.maximum,
            element.minimum,
        }
