"""Translation of pointwise ops (conversions, requantisation, limits, sums) and of arg-max."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT64, Map, carrier
from graphrewrite.execution.program.instruction import Index, Sum
from graphrewrite.execution.program.translation import KernelValue, Translation
from graphrewrite.types import HELD_WIDER, FixedPoint, element_dtype

__all__ = [
    "translate_add",
    "translate_arg_max",
    "translate_clip",
    "translate_from_fixed",
    "translate_relu",
    "translate_requantise",
    "translate_to_fixed",
]

_FARTHEST = 60
"""Maximum shift: far within the exponents of float32, and within int64, in which the ops shift."""


def translate_requantise(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Multiply by a power of two, which is exact, then round and limit: one map."""
    (x,) = operands
    element = call.attributes["element"]
    shift = np.asarray(call.attributes["shift"])
    limits = _limits(element, call.attributes["low"], call.attributes["high"])
    per_channel = shift.ndim == 1 and len(x.shape) > 0 and len(shift) == x.shape[0]
    if (
        x.low is None
        or x.high is None
        or limits is None
        or not np.issubdtype(shift.dtype, np.integer)
        or not (shift.ndim == 0 or per_channel)
    ):
        return None
    shifts = {int(s) for s in shift.ravel()}
    if max(map(abs, shifts)) > _FARTHEST or x.bound << max(0, -min(shifts)) >= 1 << 62:
        return None
    low = min(x.low >> s if s >= 0 else x.low << -s for s in shifts)
    high = max(-(-x.high >> s) if s >= 0 else x.high << -s for s in shifts)
    scale = np.ldexp(1.0, -shift).reshape(-1, 1) if len(shifts) > 1 else math.ldexp(1.0, -next(iter(shifts)))
    return _limited(t, x, Map(scale, rounded=max(shifts) > 0), (low, high), limits, element.dtype)


def _limits(element: FixedPoint, low: Any, high: Any) -> tuple[int, int] | None:
    """Return the limits of a format and of two attributes; None if they are empty or no integers."""
    if any(bound is not None and (not math.isfinite(bound) or bound != int(bound)) for bound in (low, high)):
        return None
    least = element.minimum if low is None else max(int(low), element.minimum)
    most = element.maximum if high is None else min(int(high), element.maximum)
    return (least, most) if least <= most else None


def _limited(
    t: Translation, x: KernelValue, by: Map, reach: tuple[int, int], limits: tuple[int, int], dtype: np.dtype
) -> KernelValue | None:
    """Add a map with those limits that its results, bounded by `reach`, can exceed."""
    (low, high), (least, most) = reach, limits
    by = Map(by.scale, by.offset, by.rounded, -math.inf if low >= least else least, math.inf if high <= most else most)
    low, high = (min(max(bound, least), most) for bound in reach)
    kind = carrier(max(abs(low), abs(high)))
    if kind is None:
        return None
    if kind.itemsize > t.registers[x.register].dtype.itemsize:
        x = t.carried(x, kind)
    return t.mapped(x, by, low=low, high=high, dtype=dtype)


def translate_relu(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit to non-negative numbers."""
    (x,) = operands
    if x.low is None or x.high is None:
        return None
    return _limited(t, x, Map(), (x.low, x.high), (0, max(0, x.high)), x.dtype)


def translate_clip(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit, if the operand's type represents the limits."""
    (x,) = operands
    if x.low is None or x.high is None:
        return None
    limits = np.iinfo(x.dtype)
    bounds = []
    for bound, outside in ((call.attributes["low"], min(x.low, x.high)), (call.attributes["high"], x.high)):
        if bound is not None and (
            not math.isfinite(bound) or bound != int(bound) or not limits.min <= bound <= limits.max
        ):
            return None
        bounds.append(outside if bound is None else int(bound))
    low, high = bounds
    if call.attributes["high"] is None:
        high = max(high, low)
    return None if low > high else _limited(t, x, Map(), (x.low, x.high), (low, high), x.dtype)


def translate_to_fixed(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Scale, round, limit: real numbers become integers of the carrier."""
    (x,) = operands
    element = call.attributes["element"]
    limits = _limits(element, call.attributes["low"], call.attributes["high"])
    if (
        limits is None
        or call.operands[0].node not in t.entries
        or x.low is not None
        or abs(element.fraction) > _FARTHEST
    ):
        return None
    kind = carrier(max(map(abs, limits)))
    if kind is None or kind.itemsize > t.registers[x.register].dtype.itemsize:
        return None
    low, high = limits
    by = Map(math.ldexp(1.0, element.fraction), None, True, low, high)
    return t.mapped(x, by, low=low, high=high, dtype=element.dtype)


def translate_from_fixed(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Scale: exact in the carrier, and rounded at most once, when the result is stored."""
    (x,) = operands
    fraction, name = call.attributes["fraction"], call.attributes["element"]
    if x.low is None or x.high is None or name in HELD_WIDER:
        return None
    dtype = element_dtype(name)
    if dtype.kind in "iu":
        holds = np.iinfo(dtype)
        if fraction or x.low < holds.min or x.high > holds.max:
            return None
    elif dtype.itemsize < 4 or dtype.kind != "f" or abs(fraction) > _FARTHEST:
        return None
    # Adding 0.0 makes zeros positive, as those of mantissas are.
    return t.mapped(x, Map(math.ldexp(1.0, -fraction), 0.0), dtype=dtype)


def translate_add(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Multiply two operands by powers of two and add them."""
    element, shifts = call.attributes["element"], [int(s) for s in call.attributes["shifts"]]
    if (
        len(operands) != 2
        or operands[0].shape != operands[1].shape
        or len(shifts) != 2
        or min(shifts) < 0
        or max(shifts) > _FARTHEST
    ):
        return None
    bounds = [
        (0 if x.low is None else x.low << s, 0 if x.high is None else x.high << s)
        for x, s in zip(operands, shifts, strict=True)
    ]
    low, high = bounds[0][0] + bounds[1][0], bounds[0][1] + bounds[1][1]
    kind = carrier(sum(max(abs(a), abs(b)) for a, b in bounds))
    if any(x.low is None for x in operands) or kind is None or low < element.minimum or high > element.maximum:
        return None
    terms = []
    for x, s, (least, most) in zip(operands, shifts, bounds, strict=True):
        if s:
            x = t.mapped(x, Map(math.ldexp(1.0, s)), low=least, high=most, dtype=x.dtype)
        terms.append(t.computed(x))
    register = t.emit(Sum((terms[0].register, terms[1].register), t.register(terms[0].shape, kind)))
    return KernelValue(register, terms[0].shape, element.dtype, low, high)


def translate_arg_max(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Find the index along any axis except the batch."""
    if call.attributes["select_last_index"]:
        return None
    (x,) = operands
    rank, axis = len(x.shape) + 1, call.attributes["axis"]
    if x.low is None or not -rank <= axis < rank or axis % rank == 0:
        return None
    at = axis % rank - 1  # in the shape without the batch
    if call.attributes["keep_dims"]:
        shape = (*x.shape[:at], 1, *x.shape[at + 1 :])
    elif at == 0 and rank > 3:
        return None  # positions would become channels
    else:
        shape = (*x.shape[:at], *x.shape[at + 1 :])
    x = t.computed(x)
    target = t.register(shape, carrier(x.shape[at]) or FLOAT64)
    register = t.emit(Index((x.register,), target, (at - 1) % (rank - 1)))
    return KernelValue(register, shape, np.dtype(np.intp), 0, x.shape[at] - 1)
