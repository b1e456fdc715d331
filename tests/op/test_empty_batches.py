"""A batch without frames is a batch: ops give results without frames, of the right shapes."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import FixedPoint, op

WINDOWS = {"strides": (1,), "pads": (0, 0), "dilations": (1,)}
X = np.zeros((0, 2, 3))


@pytest.mark.parametrize(
    ("result", "shape"),
    [
        (lambda: op.conv(X, np.ones((4, 2, 2))), (0, 4, 2)),
        (lambda: op.conv(X.astype(int), np.ones((4, 1, 2), int), groups=2), (0, 4, 2)),
        (
            lambda: op.integer_conv(
                X.astype(np.int8), np.ones((4, 2, 2), np.int8), np.ones(4), element=FixedPoint(True, 8)
            ),
            (0, 4, 2),
        ),
        (lambda: op.grid_sample(X, np.zeros((0, 5, 1))), (0, 2, 5)),
        (lambda: op.fold(X, size=(4,), kernel=(2,), **WINDOWS), (0, 1, 4)),
        (lambda: op.deform_conv(X, np.ones((4, 2, 2)), np.zeros((0, 2, 2)), **WINDOWS), (0, 4, 2)),
        (lambda: op.linear_attention(X, X, X, heads=3, kv_heads=1, update_rule="linear")[0], (0, 2, 9)),
    ],
    ids=["conv", "groups", "integer_conv", "grid_sample", "fold", "deform_conv", "linear_attention"],
)
def test_a_batch_may_be_empty(result, shape):
    assert result().shape == shape


U8 = FixedPoint(False, 8, 8)
GRAMS = {"mode": "TF", "pool": (0, 1), "starts": (0,), "indexes": (0, 1), "weights": None, "longest": 1, "skips": 0}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: op.conv(np.ones((2, 0, 3)), np.ones((1, 0, 2)), np.ones(1)), np.ones((2, 1, 2))),
        (lambda: op.conv(np.ones((2, 0, 3)), np.ones((1, 0, 2))), np.zeros((2, 1, 2))),
        (lambda: op.integer_softmax(np.ones((2, 0), int), table=(2,), shift=0, element=U8), np.ones((2, 0))),
        (lambda: op.global_average_pool(np.ones((1, 2, 0))), np.full((1, 2, 1), np.nan)),
        (lambda: op.global_average_pool(np.ones((1, 1, 0, 2), np.int8)), np.zeros((1, 1, 1, 1))),
        (lambda: op.tfidf_vectorize(np.ones((0,), int), **GRAMS), np.zeros(2)),
    ],
    ids=["conv with a bias", "conv", "integer_softmax", "mean", "mean of integers", "tfidf_vectorize"],
)
def test_an_axis_may_be_empty(result, expected):
    np.testing.assert_array_equal(result(), expected)
