"""Values as their types hold them: against ml_dtypes, and against two's complement."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from graphrewrite import Tensor
from graphrewrite.testing import types
from graphrewrite.types import NAMES, contradiction, element_dtype, hold

arrays_of = {
    np.dtype(kind): npst.arrays(kind, npst.array_shapes(min_dims=0, max_dims=2, min_side=0))
    for kind in (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.uint64)
}


@given(st.one_of(list(arrays_of.values())))
def test_bfloat16_is_rounded_once_to_the_nearest_even(array):
    held = hold("bf16", array)
    assert held.dtype == np.float32
    assert held.shape == array.shape
    assert contradiction(Tensor("bf16", array.shape), held) is None
    if array.dtype in (np.float16, np.float32):
        with np.errstate(all="ignore"):
            wanted = array.astype(ml_dtypes.bfloat16).astype(np.float32)
        np.testing.assert_array_equal(held, wanted)
        np.testing.assert_array_equal(np.signbit(held), np.signbit(wanted))
    assert hold("bf16", held) is held


@given(st.floats() | st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**64 - 1))
def test_no_bfloat16_is_nearer(number):
    given_array = np.asarray(number)
    held = hold("bf16", given_array)
    if not np.isfinite(held):
        return
    exact = number if isinstance(number, int) else float(number)
    bits = int(held.view(np.uint32)) >> 16
    distance = _distance(held, exact)
    for other in (bits - 1, bits + 1):
        near = np.array(other << 16 & 0xFFFFFFFF, np.uint32).view(np.float32)
        if np.isfinite(near) and other >= 0:
            assert distance < _distance(near, exact) or (distance == _distance(near, exact) and bits % 2 == 0)


def _distance(held, exact):
    from fractions import Fraction

    return abs(Fraction(float(held)) - Fraction(exact))


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_four_bits_are_the_lowest_four(numbers):
    array = np.array(numbers, np.int64)
    assert hold("u4", array).tolist() == [n % 16 for n in numbers]
    assert hold("i4", array).tolist() == [(n + 8) % 16 - 8 for n in numbers]
    assert hold("i4", array).dtype == np.int8
    assert hold("u4", array).dtype == np.uint8


@given(types(classes=[Tensor], shapes=[()]).map(lambda kind: kind.element), st.integers(-8, 7))
def test_what_is_held_contradicts_nothing_and_is_held_as_it_is(element, number):
    held = hold(element, np.full((2, 3), abs(number) % 2))
    kind = Tensor(element, (2, 3))
    assert held.dtype == element_dtype(element)
    if not str(element).startswith("s1f"):  # one signed bit holds no 1
        assert contradiction(kind, held) is None
    assert hold(element, held) is held


@pytest.mark.parametrize(
    ("kind", "array", "said"),
    [
        (Tensor("f32", (2,)), np.zeros(3, np.float32), "shape [3]"),
        (Tensor("f32", ("N",)), np.zeros(3, np.float32), "declared f32[N]"),
        (Tensor("f32", (2,)), np.zeros(2), "an array of float64"),
        (Tensor("i4", (2,)), np.array([0, -9], np.int8), "holds -9, but i4 ranges from -8 to 7"),
        (Tensor("u4", (2,)), np.array([16, 0], np.uint8), "holds 16"),
        (Tensor("bf16", (1,)), np.array([1.001], np.float32), "not a bfloat16 number"),
    ],
)
def test_a_contradiction_is_named(kind, array, said):
    assert said in (contradiction(kind, array) or "")


def test_every_name_has_a_dtype():
    for name in NAMES:
        assert hold(name, [0, 1]).dtype == element_dtype(name)
