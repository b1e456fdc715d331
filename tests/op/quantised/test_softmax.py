"""The softmax of stored numbers is near the real one, and sums to one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from graphrewrite import Tensor, op
from graphrewrite.errors import TypeMismatchError


@given(npst.arrays(np.int8, st.tuples(st.integers(1, 3), st.integers(1, 9))), st.floats(1e-3, 4), st.floats(0.25, 2))
def test_a_result_is_within_a_step_of_the_real_one(x: np.ndarray, scale: float, beta: float) -> None:
    found = op.fixed_point_softmax(x, scale=scale, beta=beta).astype(int)
    exact = op.softmax(x.astype(np.float64) * scale * beta, axis=-1)
    assert np.abs(found - np.clip(exact * 256 - 128, -128, 127)).max() < 1


def test_rows_are_by_themselves_and_equal_entries_are_equal() -> None:
    x = np.array([[[5, 5, 5, 5]], [[-128, 127, 0, 0]]], np.int8)
    found = op.fixed_point_softmax(x, scale=1.0)
    assert found.tolist() == [[[-64] * 4], [[-128, 127, -128, -128]]]
    assert op.fixed_point_softmax(np.zeros((0, 3), np.int8), scale=1.0).shape == (0, 3)


@pytest.mark.parametrize(
    ("kind", "attributes", "reason"),
    [
        (Tensor("u8", (3,)), {"scale": 1.0}, "not for u8"),
        (Tensor("i8", ()), {"scale": 1.0}, "needs an axis"),
        (Tensor("i8", (3,)), {"scale": 0.0}, "above 2"),
        (Tensor("i8", (3,)), {"scale": float("nan")}, "finite"),
        (Tensor("i8", ("N", 5000)), {"scale": 1.0}, "at most 4095"),
    ],
)
def test_what_does_not_fit_is_refused(kind: Tensor, attributes: dict[str, float], reason: str) -> None:
    with pytest.raises(TypeMismatchError, match=reason):
        op.fixed_point_softmax.infer(kind, **attributes)
