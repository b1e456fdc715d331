"""What ops of the integer level need, so that they give a demanded format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.testing.generation.demand import Demand, Entry, Need, Unfit, broadcasts
from graphrewrite.types import Dimension, FixedPoint, Tensor

__all__ = ["MANTISSAS"]


def _format_of(d: Demand, least: int = 1) -> FixedPoint:
    element = d.result.element
    if not isinstance(element, FixedPoint) or element.width < least:
        raise Unfit(f"{d.op.name} gives a fixed-point format, and needs {least} bits for it")
    return element


def _shape(d: Demand, operand: int) -> tuple[Dimension, ...]:
    """Of an operand that may have to be a constant, which has no symbolic size."""
    fixed = d.fixed[operand] if operand < len(d.fixed) else False
    return d.pick(broadcasts(d.result.shape)) if fixed else d.result.shape


def _pair(d: Demand, wide: FixedPoint, *formats: FixedPoint, **attributes: Any) -> Need:
    types = [Tensor(element, _shape(d, i)) for i, element in enumerate(formats)]
    return d.need(*types, element=d.choose("element", (wide,)), **attributes)


def _sum(d: Demand) -> Need:
    wide = _format_of(d, 8)
    shifts = d.choose("shifts", ((0, 0), (0, 1), (2, 0)))
    narrow = [FixedPoint(wide.signed, wide.width - 4, wide.fraction - s) for s in shifts]
    return _pair(d, wide, *narrow, shifts=shifts)


def _difference(d: Demand) -> Need:
    wide = _format_of(d, 8)
    if not wide.signed:
        raise Unfit("a difference may be negative")
    shifts = d.choose("shifts", ((0, 0), (0, 1), (2, 0)))
    return _pair(d, wide, *[FixedPoint(d.pick((True, False)), wide.width - 4, 0) for _ in shifts], shifts=shifts)


def _product(d: Demand) -> Need:
    wide = _format_of(d, 4)
    left = wide.width // 2
    return _pair(d, wide, FixedPoint(wide.signed, left), FixedPoint(wide.signed, wide.width - left))


def _threshold(d: Demand) -> Need:
    count = _format_of(d)
    if count.signed or count.width > 4 or count.fraction:
        raise Unfit("a count of a few thresholds is a small whole number")
    levels = d.size(1, 1, ((1 << count.width) - 1, 1 << (count.width - 1)))
    channels = d.result.shape[1] if len(d.result.shape) > 1 else 1
    rows = d.size(1, 0, (1, channels) if isinstance(channels, int) else (1,))
    element = FixedPoint(True, d.pick((8, 5)))
    return d.need(Tensor(element, d.result.shape), Tensor(element, (rows, levels)))


def _lookup(d: Demand) -> Need:
    entries = d.size(1, 0, (16, 5, 1))
    narrow = d.pick((FixedPoint(True, 4), FixedPoint(False, 4), FixedPoint(True, 8)))
    table = Tensor(d.result.element, (entries,))
    return d.need(Tensor(narrow, d.result.shape), table, low=d.choose("low", (0, -8, 3)))


def _requantise(d: Demand) -> Need:
    narrow = d.result.element
    if not isinstance(narrow, FixedPoint):
        raise Unfit("requantise gives a fixed-point format")
    channels = next((s for s in d.result.shape[1:2] if isinstance(s, int)), None)
    shift = d.choose("shift", [0, 2, 0, 5, -1, *([tuple(i + 1 for i in range(channels))] if channels else [])])
    wide = d.pick(
        [
            narrow,
            FixedPoint(True, 16, narrow.fraction + (shift if isinstance(shift, int) else 2)),
            FixedPoint(True, 24, narrow.fraction),
        ]
    )
    return d.need(Tensor(wide, d.result.shape), shift=shift, element=d.choose("element", (narrow,)))


def _rescale(d: Demand) -> Need:
    narrow = d.result.element
    if not isinstance(narrow, FixedPoint):
        raise Unfit("rescale gives a fixed-point format")
    channels = next((s for s in d.result.shape[1:2] if isinstance(s, int)), 1)
    each = tuple(range(3, 3 + channels))
    attributes = {
        "multiplier": d.choose("multiplier", (1, 3, 5, 8, -3, each)),
        "shift": d.choose("shift", (0, 2, 3, tuple(s - 2 for s in each))),
        "addend": d.choose("addend", (0, 0, 5, tuple(-s for s in each))),
        "offset": d.choose("offset", (0, 0, 1)),
        "rounding": d.choose("rounding", ("half_even", "half_even", "half_up", "down", "to_zero")),
        "element": d.choose("element", (narrow,)),
    }
    wide = d.pick([narrow, FixedPoint(True, 16), FixedPoint(True, 24)])
    return d.need(Tensor(wide, d.result.shape), **attributes)


def _channels(d: Demand) -> None:
    if len(d.result.shape) < 2:
        raise Unfit(f"{d.op.name} computes on channels")


def _interpolate(d: Demand) -> Need:
    _channels(d)
    element = _format_of(d, 4)
    bits = d.pick((1, 2))
    base = tuple(range(0, 4 << bits, 4)) if element.maximum >= 4 << bits else (0,) * (1 << bits)
    attributes = {
        "base": d.choose("base", (base,)),
        "slope": d.choose("slope", ((0,) * (1 << bits), (1, *(0,) * ((1 << bits) - 1)))),
        "rest": d.choose("rest", (3,)),
        "shift": d.choose("shift", (1, 2)),
        "element": d.choose("element", (element,)),
        "low": d.choose("low", (-(1 << (bits + 2)),)),
    }
    return d.need(Tensor(FixedPoint(True, bits + 3), d.result.shape), **attributes)


MANTISSAS: Mapping[str, Entry] = {
    "integer_add": _sum,
    "integer_interpolate": _interpolate,
    "integer_sub": _difference,
    "integer_mul": _product,
    "integer_threshold": _threshold,
    "lookup": _lookup,
    "requantise": _requantise,
    "rescale": _rescale,
}
"""One entry an op."""
