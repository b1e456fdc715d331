"""Grids of stored numbers, made narrower than the network has them: opt-in, for all of its values change a little."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.known_values import filled
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["CHANGE_GRIDS", "limit_by_grid", "limit_by_grid_before", "read_tiny_as_zero"]


@rule(keeps="assumes")
def limit_by_grid(x, s: Constant, z: Constant):
    """Limits of numbers read from a grid are those of a finer grid; assumes that its steps are as welcome."""
    real = op.dequantize_linear(op.quantize_linear(x, s, z), s, z)
    limited = (op.relu | op.clip)(real)
    yield limited
    return _on_finer_grid(x, s, z, real, limited)


@rule(keeps="assumes")
def limit_by_grid_before(x, s: Constant, z: Constant):
    """So are those of numbers that are put on a grid; assumes the same."""
    limited = (op.relu | op.clip)(x)
    real = op.dequantize_linear(op.quantize_linear(limited, s, z), s, z)
    yield real
    return _on_finer_grid(x, s, z, real, limited)


def _on_finer_grid(x, s, z, real, limited):
    """Numbers put on the grid of as many steps between the limits, and read from it."""
    known = integer_limits(z.type.element)
    if known is None or s.value.size != 1 or z.value.size != 1 or real.block_size or x.type != real.type:
        return decline("its scale differs from entry to entry, or its type", at=real)
    step, zero = float(s.value.item()), int(z.value.item())
    ends = [(end - zero) * step for end in known]
    low, high = (0.0, None) if limited.op is op.relu else (limited.low, limited.high)
    least = ends[0] if low is None else max(low, ends[0])
    most = ends[1] if high is None else min(high, ends[1])
    if not least <= 0 <= most or not 0 < most - least < ends[1] - ends[0]:
        return decline("0 is beyond the limits, or they do not limit", at=limited)
    finer = np.asarray((most - least) / (known[1] - known[0]), s.value.dtype)
    point = np.asarray(np.clip(np.round(known[0] - least / finer), *known), z.value.dtype)
    return op.dequantize_linear(op.quantize_linear(x, finer, point), finer, point)


_TINY = 2.0**-24
"""The least positive number of half precision (IEEE 754-2019, 3.6)."""


@rule(keeps="assumes")
def read_tiny_as_zero(x, s: Constant, z: Constant | None = None):
    """Numbers of a grid whose steps half precision has not are read as 0; assumes that nothing enlarges them."""
    real = op.dequantize_linear(x, s, z)
    yield real
    if not (np.abs(s.value) < _TINY).all():
        return decline("its steps are numbers of half precision", at=s)
    if integer_limits(x.type.element) is None or element_dtype(x.type.element).itemsize > 1:
        return decline("so many steps are no small number", at=x)
    return filled(0, real)


CHANGE_GRIDS = (limit_by_grid, limit_by_grid_before, read_tiny_as_zero)
"""Limits and vanishing numbers by other scales than the network has."""
