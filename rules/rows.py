"""Layers of all rows at once: products of more axes than two as layers of matrices.

A reshape makes rows of all axes but the last, which are put on their axes again behind. These reshapes sink below what
treats rows alike, until two meet: between attention and attention, a transformer computes with matrices only.
"""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.sinking import reshape_after, reshape_after_in_order
from graphrewrite.types import product as product_of
from graphrewrite.types import symbols

__all__ = [
    "ROWS",
    "rows_as_layer",
    "sink_rows_below_norm",
    "sink_rows_below_pair",
    "sink_rows_below_rms_norm",
]


@rule(keeps="rounding")
def rows_as_layer(x, w: Constant):
    """A product of more axes than two with constant weights is a fully-connected layer of all rows."""
    product = op.matmul(x, w)
    yield product
    if len(x.shape) < 3 or w.value.ndim != 2 or 0 in (*x.shape, *product.shape):
        return decline("an operand is a matrix already, or there are no rows", at=product)
    if x.type.layout is not None or w.type.layout is not None:
        return decline("the axes of its operands have names, which a layer reads in another way", at=product)
    if x.op_name == "dequantize_linear":
        return decline("its operand is quantised: runtimes multiply the integers, on all axes", at=x)
    if any(len(symbols(size)) > 1 for size in product.shape if isinstance(size, str)):
        return decline("a size has several names", at=product)
    rows = op.reshape(x, shape=(product_of(x.shape[:-1]), x.shape[-1]))
    return op.reshape(op.linear(rows, np.ascontiguousarray(w.value.T)), shape=product.shape)


def _rows(y, shaped):
    """The reason why a reshape does more than put rows on several axes, or an empty text."""
    if len(y.shape) != 2 or len(shaped.shape) < 3 or y.shape[-1] != shaped.shape[-1] or 0 in shaped.shape:
        return "its reshape does more than put rows on several axes"
    return "its axes have names" if y.type.layout is not None or shaped.type.layout is not None else ""


@rule(keeps="rounding")
def sink_rows_below_norm(y, gain, shift=None):
    """A norm of each row may come before rows are put on several axes."""
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


ROWS = (
    rows_as_layer,
    reshape_after,
    reshape_after_in_order,
    sink_rows_below_norm,
    sink_rows_below_rms_norm,
    sink_rows_below_pair,
)
"""Layers of all rows at once; opt-in, since the batch is no axis of its own then."""
