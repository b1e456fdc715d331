"""Constants are found on the coarsest grid, for all rows or one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.execution.constant_grids import grid_of, multiples_of


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 127, 255, 256, 2000, 32767]), st.booleans())
def test_weights_are_found_on_the_coarsest_grid(seed, most, by_row):
    random = np.random.default_rng(seed)
    whole = random.integers(-most, most + 1, (int(random.integers(1, 90)), 2, 4))
    whole[:, 0, :2] = [-1, most]  # with which no coarser grid has them
    scales = (2.0 ** random.uniform(-30, 10, len(whole) if by_row else 1)).astype(np.float32)
    weights = whole.astype(np.float32) * scales.reshape(-1, 1, 1)
    found = grid_of(weights)
    assert len(found.scales) in (1, len(whole) if by_row else 1)
    np.testing.assert_array_equal(
        found.whole.astype(np.float32) * found.scales.astype(np.float32).reshape(-1, 1, 1), weights
    )
    if len(found.scales) == len(scales):
        np.testing.assert_array_equal(found.whole, whole)
        np.testing.assert_allclose(found.scales, scales, rtol=2.0**-22)


def test_a_common_divisor_belongs_to_the_scale():
    found = grid_of(np.float32(0.1) * np.array([[6, -4], [2, 0]], np.float32))
    assert found.whole.tolist() == [[3, -2], [1, 0]]
    assert math.isclose(found.scales[0], 0.2, rel_tol=1e-6)


def test_rows_of_zeros_have_any_scale():
    found = grid_of(np.array([[0.0, 0.0], [0.3, 0.1], [np.pi, 0.0]], np.float32))
    assert found.whole.tolist() == [[0, 0], [3, 1], [1, 0]]
    assert grid_of(np.zeros((2, 0), np.float32)).whole.shape == (2, 0)


@pytest.mark.parametrize("entry", [np.nan, np.inf, np.pi])
def test_what_is_on_no_grid(entry):
    rows = np.float32(0.1) * np.ones((70, 3), np.float32)
    rows[66] = [entry, np.e, 1]
    assert grid_of(rows) is None


def test_a_bias_is_a_multiple_up_to_rounding():
    assert multiples_of(np.array([0.3, -0.1], np.float32), np.array([0.1])).tolist() == [3, -1]
    assert multiples_of(np.array([0.3, 0.15]), np.array([0.1])) is None
