"""Matrix products with constants: fewer of them, with factors and sums in their weights."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.concats import concat_before_layer
from graphrewrite.rules.operands import again

__all__ = [
    "PRODUCTS",
    "add_layers",
    "add_products",
    "constant_behind_reshape",
    "drop_repeated_matrix",
    "factor_after_addend",
    "factor_after_product",
    "factor_before_product",
    "factor_behind_movement",
    "factor_of_scores",
    "gemm_takes_other_transpose",
    "gemm_takes_transpose",
    "merge_products",
    "multiply_equal_matrices_once",
    "one_factor_of_product",
    "sum_as_gemm",
    "transpose_product",
]


def _columns(c, count):
    """One entry for each entry of the last axis, or None where a constant has others."""
    if c.value.ndim == 0 or set(c.value.shape[:-1]) <= {1}:
        entries = c.value.reshape(-1)
        return np.broadcast_to(entries, (count,)) if entries.size in (1, count) else None
    return None


@rule(keeps="rounding")
def factor_after_product(x, w: Constant, c: Constant):
    """A factor of each column of a product belongs to the columns of its weights."""
    product = op.matmul(x, w)
    scaled = op.mul(product, c)
    yield scaled
    factors = _columns(c, w.shape[-1]) if w.value.ndim > 1 else None
    if factors is None or scaled.type != product.type:
        return decline("the factor is not one number a column", at=c)
    return op.matmul(x, w.value * factors)


@rule(keeps="rounding")
def factor_after_addend(x, w: Constant, b: Constant, c: Constant):
    """A factor of each column of a product with an addend belongs to the weights and to the addend."""
    product = op.matmul(x, w)
    total = op.add(product, b)
    scaled = op.mul(total, c)
    yield scaled
    columns = w.shape[-1] if w.value.ndim > 1 else 0
    factors, addends = (_columns(each, columns) if columns else None for each in (c, b))
    if factors is None or addends is None or not product.type == total.type == scaled.type:
        return decline("the factor or the addend is not one number a column", at=scaled)
    return op.add(op.matmul(x, w.value * factors), addends * factors)


@rule(keeps="rounding")
def factor_before_product(x, w: Constant, c: Constant):
    """A factor of each column of what is multiplied belongs to the rows of the weights."""
    scaled = op.mul(x, c)
    yield op.matmul(scaled, w)
    factors = _columns(c, w.shape[-2]) if w.value.ndim > 1 else None
    if factors is None or scaled.type != x.type:
        return decline("the factor is not one number a row", at=c)
    return op.matmul(x, w.value * factors.reshape(-1, 1))


def _moved(layer, *, least):
    """A layer whose results are put on other axes."""
    return rule.repeated(layer, _rearranged, least=least)


def _rearranged(below):
    """A reshape or a transpose of one operand."""
    return (op.reshape | op.transpose)(below)


def _with_factor(x, w, b, c, linear, moved):
    """The same, times a number."""
    number = c.value.reshape(())
    if linear:
        result = op.linear(x, w.value * number, b.value * number)
    else:
        result = op.add(op.matmul(x, w.value * number), b.value * number)
    return again(moved, result)


@rule(keeps="rounding")
def factor_behind_movement(x, w: Constant, b: Constant, c: Constant):
    """A factor of results that were put on other axes belongs to the weights of their layer."""
    linear = op.linear(x, w, b)
    moved = _moved(linear | op.add(op.matmul(x, w), b), least=1)
    product = op.mul(moved, c)
    yield product
    if c.value.size != 1 or product.type != moved.links[-1].type:
        return decline("the factor is not one number", at=c)
    return _with_factor(x, w, b, c, linear, moved)


@rule(keeps="rounding")
def factor_of_scores(x, w: Constant, b: Constant, c: Constant, y):
    """So does that of their products with others, such as of queries with keys (Vaswani et al. 2017)."""
    linear = op.linear(x, w, b)
    moved = _moved(linear | op.add(op.matmul(x, w), b), least=0)
    left = op.matmul(moved, y)
    scores = left | op.matmul(y, moved)
    scaled = op.mul(scores, c)
    yield scaled
    if c.value.size != 1 or scaled.type != scores.type:
        return decline("the factor is not one number", at=c)
    new = _with_factor(x, w, b, c, linear, moved)
    return op.matmul(new, y) if left else op.matmul(y, new)


@rule(keeps="rounding")
def one_factor_of_product(x, y, c: Constant, d: Constant):
    """Factors of both operands of a product are one of the product, such as the roots that PyTorch scales scores by."""
    first, second = op.mul(x, c), op.mul(y, d)
    product = op.matmul(first, second)
    yield product
    if c.value.size != 1 or d.value.size != 1 or x.type != first.type or y.type != second.type:
        return decline("a factor is not one number", at=product)
    if x.type.element not in ("f32", "f64"):
        return decline("without the factors, sums of half precision overflow sooner", at=product)
    return op.mul(op.matmul(x, y), (c.value * d.value).reshape(()))


@rule(keeps="rounding")
def merge_products(x, v: Constant, w: Constant):
    """Of two products in a row one is enough, where its weights are no more than theirs."""
    yield op.matmul(op.matmul(x, v), w)
    if v.value.ndim != 2 or w.value.ndim != 2:
        return decline("the weights are no matrices", at=w)
    if v.shape[0] * w.shape[1] > v.value.size + w.value.size:
        return decline("the product of the weights has more entries than they have", at=w)
    return op.matmul(x, v.value @ w.value)


@rule(keeps="rounding")
def add_products(x, v: Constant, w: Constant):
    """A sum of two products of one operand is its product with the sum of their weights."""
    total = op.add(op.matmul(x, v), op.matmul(x, w))
    yield total
    if v.shape != w.shape:
        return decline("the weights have different shapes", at=total)
    return op.matmul(x, v.value + w.value)


@rule(keeps="rounding")
def add_layers(x, v: Constant, w: Constant, b: Constant, c: Constant):
    """So is a sum of two fully-connected layers of one operand, or of two like convolutions."""
    first, second = (op.linear | op.conv)(x, v, b), (op.linear | op.conv)(x, w, c)
    total = op.add(first, second)
    yield total
    if v.shape != w.shape or first.op is not second.op or not _alike(first, second):
        return decline("the layers differ in more than their weights", at=total)
    return first.op(x, v.value + w.value, b.value + c.value, like=first)


def _alike(first, second):
    return first.graph.attributes(first.node) == second.graph.attributes(second.node)


@rule(keeps="rounding")
def constant_behind_reshape(x, w: Constant, b: Constant, c: Constant):
    """A constant after a layer whose results were put on several axes belongs to its weights and bias."""
    layer = op.linear(x, w, b)
    shaped = op.reshape(layer)
    result = (op.add | op.mul)(shaped, c)
    yield result
    if (layer.type.layout or "NC")[-1] != "C":
        return decline("the outputs of its layer are not the last axis", at=layer)
    entries = _outputs(c, shaped.shape, w.shape[0])
    if entries is None or result.type != shaped.type:
        return decline("the constant is not one number an output", at=c)
    if result.op is op.add:
        return op.reshape(op.linear(x, w, b.value + entries), like=shaped)
    return op.reshape(op.linear(x, w.value * entries.reshape(-1, 1), b.value * entries), like=shaped)


def _outputs(c, shape, count):
    """One entry for each output of a layer that is put on the last axes of a shape; None where there are others."""
    for first in range(len(shape) - 1, -1, -1):
        last = shape[first:]
        if any(isinstance(size, str) for size in last):
            return None
        if math.prod(last) == count:
            more = max(c.value.ndim - len(last), 0)
            entries = c.value.reshape(c.value.shape[more:]) if set(c.value.shape[:more]) <= {1} else c.value
            fits = entries.ndim <= len(last) and all(
                own in (1, size) for own, size in zip(entries.shape[::-1], last[::-1], strict=False)
            )
            return np.broadcast_to(entries, last).reshape(-1) if fits else None
    return None


@rule(keeps="rounding")
def multiply_equal_matrices_once(x, w: Constant):
    """Equal matrices of constant weights are one, which meets every matrix of the other operand."""
    product = op.matmul(x, w)
    yield product
    if w.value.ndim < 3 or not w.value.size or len(x.shape) < 2:
        return decline("an operand is one matrix, or a vector", at=product)
    first = w.value.reshape(-1, *w.shape[-2:])[0]
    if product.shape[:-2] != x.shape[:-2] or not np.array_equal(w.value, np.broadcast_to(first, w.shape)):
        return decline("the matrices differ, or broadcast the other operand", at=w)
    return op.matmul(x, first)


@rule(keeps="rounding")
def drop_repeated_matrix(x, y):
    """A matrix need not be repeated to meet every matrix of the other operand."""
    repeated = (op.expand | op.tile)(y)
    product = op.matmul(x, repeated)
    yield product
    if len(y.shape) < 2 or len(x.shape) < 2 or set(y.shape[:-2]) - {1} or product.shape[:-2] != x.shape[:-2]:
        return decline("it is not one matrix, or broadcasts the other operand", at=repeated)
    if len(repeated.shape) == 2:
        return decline("it is repeated within the matrix only", at=repeated)
    matrix = y if len(y.shape) == 2 else op.squeeze(y, axes=tuple(range(len(y.shape) - 2)))
    if repeated.shape[-2:] == y.shape[-2:]:
        return op.matmul(x, matrix)
    if repeated.op is not op.expand:
        return decline("rows or columns are repeated as well", at=repeated)
    return op.matmul(x, op.expand(matrix, shape=repeated.shape[-2:]))


@rule(keeps="rounding")
def gemm_takes_transpose(x, w, b=None):
    """A transpose of its first operand is an attribute of a general matrix product."""
    gemm = op.gemm(op.transpose(x, perm=(1, 0)), w, b)
    yield gemm
    return op.gemm(x, w, *_given(b), like=gemm, trans_a=not gemm.trans_a)


@rule(keeps="rounding")
def gemm_takes_other_transpose(x, w, b=None):
    """So is one of its second."""
    gemm = op.gemm(x, op.transpose(w, perm=(1, 0)), b)
    yield gemm
    return op.gemm(x, w, *_given(b), like=gemm, trans_b=not gemm.trans_b)


@rule(keeps="rounding")
def sum_as_gemm(x, w, b):
    """A product of two matrices and an addend are a general matrix product."""
    total = op.add(op.matmul(x, w), b)
    yield total
    if len(x.shape) != 2 or len(w.shape) != 2 or w.is_constant:
        return decline("an operand is no matrix, or its weights are constant, which makes a layer", at=total)
    if total.shape != (x.shape[0], w.shape[1]):
        return decline("the addend broadcasts the product", at=total)
    if any(value.type.layout is not None for value in (x, w, b)):
        return decline("the axes of an operand have names, which the product loses", at=total)
    return op.gemm(x, w, b)


def _given(b):
    return () if b is None else (b,)


@rule(keeps="rounding")
def transpose_product(x, y):
    """A transposed product of two transposed matrices is the other product."""
    first, second = op.transpose(x), op.transpose(y)
    whole = op.transpose(op.matmul(first, second))
    yield whole
    rank = len(x.shape)
    if {x.type.layout, y.type.layout} != {None} or len(y.shape) != rank:
        return decline("their axes have names, or they have different numbers of them", at=first)
    if {tuple(each.perm) for each in (first, second, whole)} != {(*range(rank - 2), rank - 1, rank - 2)}:
        return decline("they swap other axes than those of the matrix", at=second)
    return op.matmul(y, x)


PRODUCTS = (
    sum_as_gemm,
    gemm_takes_transpose,
    gemm_takes_other_transpose,
    merge_products,
    add_products,
    add_layers,
    factor_behind_movement,
    factor_of_scores,
    one_factor_of_product,
    multiply_equal_matrices_once,
    drop_repeated_matrix,
    transpose_product,
    concat_before_layer,
)
"""Fewer products of matrices: with what is around them, and with each other's weights."""
