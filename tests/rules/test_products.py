"""Products of matrices, with what is around them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphrewrite import evaluate, op
from graphrewrite.lowering import optimise
from graphrewrite.rules import FOLDING, PRODUCTS
from graphrewrite.rules.products import drop_repeated_matrix
from tests.rules.matrix_graphs import HEADS, SEQUENCES, graph_of, ops, rewritten, weights

FEWER = {
    "factor behind": ([SEQUENCES], lambda x: op.matmul(x, weights(4, 6)) * weights(6), ["matmul"]),
    "factor behind, a number": ([SEQUENCES], lambda x: 0.5 * op.matmul(x, weights(4, 6)), ["matmul"]),
    "quotient behind": ([SEQUENCES], lambda x: op.matmul(x, weights(4, 6)) / 3.0, ["matmul"]),
    "factor before": ([SEQUENCES], lambda x: op.matmul(weights(4) * x, weights(4, 6)), ["matmul"]),
    "factor of rows": ([SEQUENCES], lambda x: op.matmul(x, weights(4, 6)) * weights(5, 1), ["matmul", "mul"]),
    "two in a row": ([SEQUENCES], lambda x: op.matmul(op.matmul(x, weights(4, 9)), weights(9, 3)), ["matmul"]),
    "two through a few": ([SEQUENCES], lambda x: op.matmul(op.matmul(x, weights(4, 1)), weights(1, 4)), ["matmul"] * 2),
    "sum of two": ([SEQUENCES], lambda x: op.matmul(x, weights(4, 6)) + op.matmul(x, weights(4, 6)), ["matmul"]),
    "sum of two layers": (
        [("N", 4)],
        lambda x: op.linear(x, weights(3, 4), weights(3)) + op.linear(x, weights(3, 4), weights(3)),
        ["linear"],
    ),
    "sum of two convolutions": (
        [("N", 2, 6)],
        lambda x: op.conv(x, weights(3, 2, 3), weights(3)) + op.conv(x, weights(3, 2, 3), weights(3)),
        ["conv"],
    ),
    "of other windows": (
        [("N", 2, 5)],
        lambda x: (
            op.conv(x, weights(3, 2, 3), weights(3), pads=(1, 1))
            + op.conv(x, weights(3, 2, 3), weights(3), pads=(2, 2), dilations=(2,))
        ),
        ["conv", "conv", "add"],
    ),
    "matrix and addend": ([("N", 4), (4, 6), (6,)], lambda x, w, b: b + op.matmul(x, w), ["gemm"]),
    "transposed": (
        [(4, "N"), (6, 4), (6,)],
        lambda x, w, b: op.matmul(op.transpose(x, perm=(1, 0)), op.transpose(w, perm=(1, 0))) + b,
        ["gemm"],
    ),
    "equal matrices": ([(3, 5, 4)], lambda x: op.matmul(x, np.tile(weights(1, 4, 2), (3, 1, 1))), ["matmul"]),
    "repeated matrix": (
        [(3, 5, 4), (1, 4, 2)],
        lambda x, y: op.matmul(x, op.tile(y, repeats=(3, 1, 1))),
        ["reshape", "matmul"],
    ),
    "expanded matrix": (
        [("N", 5, 4), (4, 2)],
        lambda x, y: op.matmul(x, op.expand(y, shape=("N", 4, 2))),
        ["matmul"],
    ),
    "repeated rows": (
        [(3, 5, 4), (1, 4, 2)],
        lambda x, y: op.matmul(x, op.tile(y, repeats=(3, 1, 2))),
        ["tile", "matmul"],
    ),
    "roots of a factor": (
        [HEADS, HEADS],
        lambda x, y: op.matmul(x * 0.7, columns(y) * 0.7),
        ["transpose", "matmul", "mul"],
    ),
}


def columns(keys):
    return op.transpose(keys, perm=(0, 1, 3, 2))


@pytest.mark.parametrize("name", FEWER)
def test_products_take_up_what_is_around_them(name):
    shapes, body, wanted = FEWER[name]
    assert ops(rewritten(graph_of(body, *shapes), [*FOLDING, *PRODUCTS])) == wanted


def test_a_repeated_matrix_without_columns_is_one():
    def product(x, y):
        return op.matmul(x, op.expand(y, shape=(2, 3, 5, 0)))

    assert ops(drop_repeated_matrix(graph_of(product, (2, 3, 4, 5), (1, 5, 0)))) == ["squeeze", "matmul"]


def test_a_constant_behind_a_reshape_belongs_to_the_layer():
    def layer(x):
        heads = op.reshape(op.linear(x, weights(8, 4), weights(8)), shape=("N", 2, 4))
        return weights(2, 4) + heads * weights(2, 1)

    assert ops(rewritten(graph_of(layer, ("N", 4)), FOLDING)) == ["linear", "reshape"]


def attention_block(x, mask):
    """A block of a transformer, as PyTorch exports it."""

    def layer(x, outputs):
        return op.matmul(x, weights(x.type.shape[-1], outputs)) + weights(outputs)

    def norm(x):
        centred = x - op.reduce_mean(x, axes=(-1,))
        root = op.sqrt(op.reduce_mean(op.pow(centred, 2.0), axes=(-1,)) + 1e-5)
        return centred / root * weights(8) + weights(8)

    heads = [op.transpose(op.reshape(layer(x, 8), shape=(0, 5, 2, 4)), perm=(0, 2, 1, 3)) for _ in range(3)]
    shares = op.softmax(op.matmul(heads[0], columns(heads[1])) / 2.0 + mask, axis=-1)
    joined = op.reshape(op.transpose(op.matmul(shares, heads[2]), perm=(0, 2, 1, 3)), shape=(0, 5, 8))
    between = norm(layer(joined, 8) + x)
    inner = layer(between, 16)
    gelu = inner * (op.erf(inner / math.sqrt(2)) + 1.0) * 0.5
    return norm(layer(gelu, 8) + between)


def test_a_block_of_a_transformer():
    graph = graph_of(attention_block, ("N", 5, 8), ("N", 1, 1, 5))
    assert len(ops(graph)) == 51
    after = optimise(graph, approximate=True)
    assert len(ops(after)) <= 24
    given = {"x0": weights(2, 5, 8), "x1": weights(2, 1, 1, 5)}
    np.testing.assert_allclose(evaluate(after, given)["y0"], evaluate(graph, given)["y0"], rtol=1e-3, atol=1e-4)
