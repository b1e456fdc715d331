"""Products have the same bits wherever the entries of their operands lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import op


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def scattered(x):
    """The same entries, of which those along the last axis do not lie side by side."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "product",
    [
        lambda x, count: op.conv(x, numbers(count, 37, 1, 1)),
        lambda x, count: op.conv(x, numbers(37 * count, 1, 1, 1), groups=37),
        lambda x, count: op.matmul(x, numbers(9, count)),
        lambda x, count: op.matmul(numbers(count, 5), x),
        lambda x, count: op.linear(x[0, 0], numbers(count, 9)),
        lambda x, count: op.gemm(x[0, 0], numbers(9, count)),
        lambda x, count: op.matmul(x, numbers(9)),
        lambda x, count: op.matmul(np.moveaxis(x[0], 0, -1), numbers(37, count)),
        lambda x, count: op.linear(np.moveaxis(x[0], 0, -1), numbers(count, 37)),
    ],
    ids=["conv", "groups", "matmul", "matmul of rows", "linear", "gemm", "vector", "long rows", "linear of long rows"],
)
def test_bits_do_not_depend_on_the_order_in_memory(product, count):
    x = numbers(2, 37, 5, 9)
    orders = (x, scattered(x), np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2))
    assert len({product(same, count).tobytes() for same in orders}) == 1


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_bits_do_not_depend_on_which_axis_of_few_weights_lies_in_a_row(rows):
    largest = np.finfo(np.float32).max
    x = np.resize(np.float32([0, -1e-45, 0, 1, 0, largest, -largest, 0]), (rows, 8))
    w = np.full((8, 8), 0.5, np.float32)
    for turned, plain in (
        (op.gemm(x, w, trans_b=True), op.gemm(x, w)),
        (op.linear(x, w), op.linear(x, scattered(w))),
        (op.gemm(x[:, :2], w[:2, :2], trans_b=True), op.gemm(x[:, :2], w[:2, :2])),
    ):
        assert turned.tobytes() == plain.tobytes()
