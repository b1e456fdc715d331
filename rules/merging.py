"""Larger products: layers of all rows at once, and products that share an operand as one.

More is computed in one product, and parts of it are moved: opt-in, for what computes with large matrices.
"""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import product as product_of
from graphrewrite.types import symbols

__all__ = [
    "MERGE_PRODUCTS",
    "merge_layers_of_one_operand",
    "merge_products_of_one_matrix",
    "merge_products_of_one_operand",
    "rows_as_layer",
    "sink_rows_below_activation",
    "sink_rows_below_norm",
    "sink_rows_below_pair",
    "sink_rows_below_rms_norm",
]


@rule(keeps="rounding")
def rows_as_layer(x, w: Constant):
    """A product of more axes than two with constant weights is a fully-connected layer of all rows."""
    product = op.matmul(x, w)
    yield product
    if len(x.shape) < 3 or w.value.ndim != 2 or 0 in product.shape:
        return decline("an operand is a matrix already, or there are no rows", at=product)
    if x.type.layout is not None or w.type.layout is not None:
        return decline("the axes of its operands have names, which a layer reads in another way", at=product)
    if any(len(symbols(size)) > 1 for size in product.shape if isinstance(size, str)):
        return decline("a size has several names", at=product)
    rows = op.reshape(x, shape=(product_of(x.shape[:-1]), x.shape[-1]))
    return op.reshape(op.linear(rows, np.ascontiguousarray(w.value.T)), shape=product.shape)


@rule(keeps="rounding")
def merge_products_of_one_operand(x):
    """Products of one operand with several weights are one with all of them, split (queries, keys and values)."""

    def product(w: Constant):
        return op.matmul(x, w)

    products = rule.every(x, product, least=2)
    yield products
    if any(w.value.ndim != 2 for w in products.w):
        return decline("the weights are no matrices", at=x)
    whole = op.matmul(x, np.concatenate([w.value for w in products.w], axis=1))
    return list(op.split(whole, axis=len(x.shape) - 1, sizes=tuple(w.shape[1] for w in products.w)))


@rule(keeps="rounding")
def merge_layers_of_one_operand(x):
    """So are fully-connected layers of one operand."""

    def layer(w: Constant, b: Constant):
        return op.linear(x, w, b)

    layers = rule.every(x, layer, least=2)
    yield layers
    w, b = (np.concatenate([each.value for each in several]) for several in (layers.w, layers.b))
    return list(op.split(op.linear(x, w, b), axis=1, sizes=tuple(each.shape[0] for each in layers.w)))


@rule(keeps="rounding")
def merge_products_of_one_matrix(w):
    """Products of several operands with one matrix are one of all their rows, split, if none of them needs another."""
    products = rule.every(w, lambda x: op.matmul(x, w), least=2)
    yield products
    if len(w.shape) != 2 or any(len(x.shape) != 2 or isinstance(x.shape[0], str) for x in products.x):
        return decline("an operand is no matrix, or its number of rows is symbolic", at=w)
    nodes = {each.node for each in products.nodes}
    graph = products.nodes[0].graph
    if any(nodes & {*graph.upstream(x.node), x.node} for x in products.x):
        return decline("one of the products needs another", at=w)
    whole = op.matmul(op.concat(*products.x, axis=0), w)
    return list(op.split(whole, axis=0, sizes=tuple(x.shape[0] for x in products.x)))


def _rows(y, shaped):
    """The reason why a reshape does more than put rows on several axes, or an empty text."""
    if len(y.shape) != 2 or len(shaped.shape) < 3 or y.shape[-1] != shaped.shape[-1] or 0 in shaped.shape:
        return "its reshape does more than put rows on several axes"
    return "its axes have names" if y.type.layout is not None or shaped.type.layout is not None else ""


@rule
def sink_rows_below_activation(y):
    """An activation of rows may come before they are put on several axes."""
    shaped = op.reshape(y)
    result = (
        op.relu | op.gelu | op.silu | op.tanh | op.sigmoid | op.leaky_relu | op.clip | op.hard_swish | op.hard_sigmoid
        | op.mish | op.softplus | op.elu
    )(shaped)  # fmt: skip
    yield result
    if reason := _rows(y, shaped):
        return decline(reason, at=shaped)
    return op.reshape(result.op(y, like=result), like=shaped)


@rule(keeps="rounding")
def sink_rows_below_norm(y, gain, shift=None):
    """So may a norm of each row."""
    shaped = op.reshape(y)
    norm = op.layer_norm(shaped, gain, shift)
    yield norm
    return _norm(y, shaped, norm, gain, shift)


@rule(keeps="rounding")
def sink_rows_below_rms_norm(y, gain):
    """So may one by the mean of squares."""
    shaped = op.reshape(y)
    norm = op.rms_norm(shaped, gain)
    yield norm
    return _norm(y, shaped, norm, gain)


def _norm(y, shaped, norm, gain, shift=None):
    if reason := _rows(y, shaped):
        return decline(reason, at=shaped)
    if norm.axis % len(shaped.shape) != len(shaped.shape) - 1:
        return decline("it normalises more than rows", at=norm)
    normalised = norm.op(y, gain, *([] if shift is None else [shift]), like=norm, axis=-1)
    return op.reshape(normalised, like=shaped)


@rule
def sink_rows_below_pair(x, y):
    """So may a sum or a product of as many entries, such as that with what bypasses a layer."""
    shaped = op.reshape(y)
    result = (op.add | op.mul)(shaped, x)
    yield result
    if reason := _rows(y, shaped):
        return decline(reason, at=shaped)
    if x.type != result.type or shaped.type != result.type:
        return decline("an operand is broadcast", at=result)
    return op.reshape(result.op(y, op.reshape(x, shape=y.shape), like=result), like=shaped)


MERGE_PRODUCTS = (
    rows_as_layer,
    merge_products_of_one_operand,
    merge_layers_of_one_operand,
    merge_products_of_one_matrix,
    sink_rows_below_activation,
    sink_rows_below_norm,
    sink_rows_below_rms_norm,
    sink_rows_below_pair,
)
"""Larger products: of all rows, and of all that share an operand."""
