"""Means over windows: exact sums, then one product a channel."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.binary_points import Mantissas

__all__ = ["scale_sums"]

_WIDEST = 48
"""Bits that a lane has at most."""


@rule(kind="lowering")
def scale_sums(x: Mantissas, w: Constant, b: Constant):
    """A convolution of each channel whose weights are equal is a sum times that weight: one product a window."""
    conv = op.integer_conv(x, w, b)
    narrow = op.requantise(conv)
    yield narrow
    rows = w.value.reshape(len(w.value), -1)
    if conv.groups != len(w.value) or w.shape[1] != 1 or x.shape[1] != conv.groups:
        return decline("its channels are joined", at=conv)
    if (x.type.layout or "NC")[:2] != "NC" or np.min(narrow.shift) < 0:
        return decline("its channels are not the second axis, or its sums are shifted up", at=conv)
    count = rows.shape[1]
    if count == 1 or (rows != rows[:, :1]).any() or ((rows == 1).all() and not b.value.any()):
        return decline("the weights of a window differ, or it is a plain sum", at=w)
    given, gains = x.type.element, rows[:, 0]
    sums = FixedPoint.holding(min(0, count * given.minimum), max(0, count * given.maximum))
    if sums.width + FixedPoint.holding(int(gains.min()), int(gains.max())).width >= _WIDEST:
        return decline(f"its products may need more than {_WIDEST} bits", at=conv)
    total = op.integer_conv(x, np.ones_like(w.value), np.zeros_like(b.value), like=conv, element=sums)
    once = len(set(gains.tolist())) == len(set(b.value.tolist())) == 1
    return op.rescale(
        total,
        multiplier=int(gains[0]) if once else tuple(gains.tolist()),
        addend=int(b.value[0]) if once else tuple(b.value.tolist()),
        shift=narrow.shift,
        element=narrow.element,
        low=narrow.low,
        high=narrow.high,
    )
