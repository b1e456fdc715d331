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
