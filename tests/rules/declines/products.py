"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Rule, op
from graphrewrite.rules import merging, products
from tests.rules.declines.parts import COLUMN, Case, layer, ones

__all__ = ["DECLINES"]

SEVERAL = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
"""Two matrices."""


def _turned_product(x: Any, y: Any, first: tuple[int, ...], second: tuple[int, ...]) -> Any:
    """A product of two transposed values, transposed."""
    return op.transpose(op.matmul(op.transpose(x, perm=first), op.transpose(y, perm=second)), perm=(0, 2, 1))


DECLINES: dict[Rule, tuple[Case, ...]] = {
    products.factor_after_addend: (
        (lambda x: op.mul(op.add(op.matmul(x, ones(4, 3)), ones(3)), COLUMN), "f32[2,4]"),
        (lambda x: op.mul(op.add(op.matmul(x, ones(4, 3)), COLUMN), ones(3)), "f32[2,4]"),
    ),
    products.factor_after_product: ((lambda x: op.mul(op.matmul(x, ones(4, 3)), COLUMN), "f32[2,4]"),),
    products.factor_before_product: ((lambda x: op.matmul(op.mul(x, COLUMN), ones(4, 3)), "f32[2,4]"),),
    products.constant_behind_reshape: (
        (lambda x: op.add(op.reshape(layer(x, 6), shape=(5, 2, 3)), ones(5, 1, 1)), "f32[5,4]"),
        (lambda x: op.add(op.reshape(op.linear(x, ones(2, 4), ones(2)), shape=("N", 2)), ones(2)), "f32[4,N] CN"),
    ),
    products.factor_behind_movement: (
        (lambda x: op.mul(op.reshape(layer(x), shape=("N", 3, 1)), ones(3, 1)), "f32[N,4]"),
    ),
    products.factor_of_scores: ((lambda x, y: op.mul(op.matmul(layer(x), y), ones(2)), "f32[N,4]", "f32[3,2]"),),
    products.one_factor_of_product: (
        (lambda x, y: op.matmul(op.mul(x, ones(4)), op.mul(y, 2.0)), "f32[N,4]", "f32[4,3]"),
        (lambda x, y: op.matmul(op.mul(x, 0.5), op.mul(y, 0.5)), "f16[N,4]", "f16[4,3]"),  # sums would overflow
    ),
    products.transpose_product: (
        (lambda x, y: _turned_product(x, y, (1, 0), (0, 2, 1)), "f32[3,2]", "f32[5,4,3]"),
        (lambda x, y: _turned_product(x, y, (2, 1, 0), (0, 2, 1)), "f32[3,2,5]", "f32[5,4,3]"),
    ),
    products.merge_products: (
        (lambda x: op.matmul(op.matmul(x, ones(8, 1)), ones(1, 8)), "f32[N,8]"),
        (lambda x: op.matmul(op.matmul(x, SEVERAL), ones(3, 1)), "f32[2,5,4]"),
    ),
    products.add_products: ((lambda x: op.add(op.matmul(x, ones(4, 3)), op.matmul(x, ones(4, 1))), "f32[N,4]"),),
    products.add_layers: ((lambda x: op.add(layer(x), layer(x, 1)), "f32[N,4]"),),
    products.multiply_equal_matrices_once: (
        (lambda x: op.matmul(x, SEVERAL), "f32[2,5,4]"),
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N,4]"),
    ),
    products.drop_repeated_matrix: (
        (lambda x, y: op.matmul(x, op.tile(y, repeats=(1, 2))), "f32[N,4]", "f32[4,3]"),
        (lambda x, y: op.matmul(x, op.tile(y, repeats=(2, 1, 2))), "f32[2,5,4]", "f32[1,4,3]"),
        (lambda x, y: op.matmul(x, op.expand(y, shape=(2, 4, 3))), "f32[5,4]", "f32[4,3]"),
    ),
    products.sum_as_gemm: (
        (lambda x, w, b: op.add(op.matmul(x, w), b), "f32[1,4]", "f32[4,3]", "f32[5,3]"),
        (lambda x, b: op.add(op.matmul(x, ones(4, 3)), b), "f32[N,4]", "f32[3]"),
        (lambda x, w, b: op.add(op.matmul(x, w), b), "f32[2,4] NC", "f32[4,3]", "f32[3]"),
    ),
    merging.merge_sums_of_one_operand: (
        (lambda x: op.mul(*(op.add(op.matmul(x, ones(4, 3)), each) for each in (ones(1), ones(3)))), "f32[N,4]"),
    ),
    merging.merge_products_of_one_operand: (
        (lambda x: op.add(op.matmul(x, SEVERAL), op.matmul(x, -SEVERAL)), "f32[2,5,4]"),
        (lambda x: op.mul(*(op.add(op.matmul(x, ones(4, 3)), each) for each in (ones(3), -ones(3)))), "f32[N,4]"),
    ),
    merging.merge_products_of_one_factor: (
        (lambda x, y: op.mul(op.matmul(x, y), op.matmul(x, ones(4, 3))), "f32[N,4]", "f32[4,3]"),
        (lambda x, v, w: op.add(op.matmul(x, v), op.matmul(x, w)), "f32[4]", "f32[4,3]", "f32[4,3]"),
        (lambda x, w: op.matmul(x, op.matmul(x, w)), "f32[4,4]", "f32[4,4]"),
    ),
    merging.merge_products_of_one_matrix: (
        (lambda x, w: op.matmul(op.matmul(x, w), w), "f32[3,4]", "f32[4,4]"),
        (lambda x, y, w: op.concat(op.matmul(x, w), op.matmul(y, w), axis=0), "f32[N,4]", "f32[M,4]", "f32[4,4]"),
        (lambda x, y, w: op.concat(op.matmul(x, w), op.matmul(y, w), axis=0), "f32[3,4] NC", "f32[2,4] CN", "f32[4,4]"),
    ),
}
