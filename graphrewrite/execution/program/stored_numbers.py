"""Translation of what stores numbers and reads stored ones: registers hold distances from the zero point."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT32, carrier
from graphrewrite.execution.program.chain import POSITIVE_ZERO, Link
from graphrewrite.execution.program.translation import KernelValue, Translation
from graphrewrite.types import element_dtype, integer_limits

__all__ = [
    "is_given",
    "is_real",
    "limits_of",
    "moved",
    "number",
    "translate_cast",
    "translate_dequantize",
    "translate_quantize",
]


def number(t: Translation, call: Call, slot: int, dtype: np.dtype | None = None) -> float | None:
    """Return an operand that is a constant number, of a dtype if one is given; 0 where it is left out."""
    if slot >= len(call.operands):
        return 0.0
    value = t.constants.get(call.operands[slot].node)
    if value is None or value.size != 1 or (dtype is not None and value.dtype != dtype):
        return None
    return float(value.reshape(()))


def is_given(t: Translation, call: Call) -> bool:
    """Tell whether the first operand comes from outside as it is."""
    return call.operands[0].node in t.entries


def is_real(x: KernelValue) -> bool:
    """Tell whether a register holds, or will hold, float32 numbers that are the values."""
    return x.low is None and x.scale is None and x.dtype == FLOAT32


def limits_of(call: Call) -> tuple[int, int] | None:
    """Return the limits of the integers in which a result is stored; None for others, and for wide ones."""
    element = call.results[0].element if call.results else None
    limits = integer_limits(element) if isinstance(element, str) else None
    return limits if limits is not None and limits[1] - limits[0] < 1 << 16 else None


def moved(t: Translation, x: KernelValue, zero: int) -> KernelValue | None:
    """Return stored numbers as their distances from another zero point."""
    if x.low is None or x.high is None or x.scale is not None or x.dtype.kind not in "iu":
        return None
    if by := x.zero - zero:
        x = t.chained(t.computed(x), Link(np.add, float(by)), low=x.low + by, high=x.high + by)
    return x._replace(zero=0) if x.bound < 1 << 17 else None


def translate_quantize(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Divide by the scale, round, limit: what is left are distances from the zero point."""
    scale, zero = number(t, call, 1, FLOAT32), number(t, call, 2)
    limits = limits_of(call)
    if len(operands) != 1 or scale is None or zero is None or limits is None or call.attributes["block_size"]:
        return None
    x = t.real(operands[0])
    if not is_real(x) or not (0 < scale < math.inf):
        return None
    return _quantised(t, x, call, scale, int(zero), limits)


def _quantised(
    t: Translation, x: KernelValue, call: Call, scale: float, zero: int, limits: tuple[int, int]
) -> KernelValue | None:
    x, chain = t.chain(x)
    chain, low, high = chain.quantised(scale, limits[0] - zero, limits[1] - zero)
    if carrier(max(-low, high)) != FLOAT32:
        return None
    return x._replace(pending=chain, low=low, high=high, zero=zero, dtype=element_dtype(call.results[0].element))


def translate_dequantize(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Read the register as floats on a grid; another zero point moves the numbers."""
    scale, zero = number(t, call, 1, FLOAT32), number(t, call, 2)
    if scale is None or zero is None or call.attributes["block_size"] or call.results[0].element != "f32":
        return None
    x = moved(t, operands[0], int(zero)) if 0 < scale < math.inf else None
    return None if x is None else x._replace(scale=scale, dtype=FLOAT32)


def translate_cast(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Read integers as float32."""
    (x,) = operands
    if x.low is None or x.scale is not None or x.zero or x.dtype != np.int32 or call.results[0].element != "f32":
        return None
    return t.chained(x, POSITIVE_ZERO, low=None, high=None, dtype=FLOAT32)
