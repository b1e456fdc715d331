"""Signs of sums whose weights are as plain as they can be."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

__all__ = ["scale_rows_before_sign"]

_ALIKE = 1e-5
"""Relative difference up to which weights of a row are one number and its negative."""


@rule(keeps="assumes")
def scale_rows_before_sign(x, w: Constant, b: Constant):
    """A sign does not depend on the scale of a sum; assumes that none is so near to 0 that its rounding decides.

    Weights of a row that are one number and its negative become 1 and -1; others less than 1, by a power of two.
    """
    layer = (op.linear | op.conv)(x, w, b)
    yield op.sign(layer)
    if w.value.dtype.kind != "f" or not np.isfinite(w.value).all():
        return decline("its weights are not all finite floats", at=w)
    rows = np.abs(w.value.reshape(len(w.value), -1)).astype(np.float64)
    largest = rows.max(axis=1, initial=0.0)
    is_alike = ((rows == 0) | (rows >= largest[:, None] * (1 - _ALIKE))).all(axis=1) & (largest > 0)
    scales = np.where(is_alike, largest, np.exp2(np.frexp(largest)[1]))
    if (scales == 1).all():
        return decline("its weights are near 1 already", at=w)
    column = scales.reshape(-1, *[1] * (w.value.ndim - 1))
    plain = np.where(is_alike.reshape(column.shape), np.sign(w.value), w.value / column)
    return op.sign(layer.op(x, plain.astype(w.value.dtype), (b.value / scales).astype(b.value.dtype), like=layer))
