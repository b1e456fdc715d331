"""Facts of mantissas: exact sums and products, requantising, and the bridges from and to real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.op import LIBRARY
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.op.integer.mantissas import rescale
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers import bits, ranges
from graphrewrite.rewriting.facts.numbers.arithmetic import within
from graphrewrite.rewriting.facts.numbers.fact import Fact, either, integers, of_element
from graphrewrite.rewriting.facts.numbers.rounding import nearest
from graphrewrite.types import FixedPoint

__all__ = ["INTEGER_LEVEL"]

_WORD = 1 << 62
"""Intermediate numbers beyond it may leave their 64 bits, and then nothing is known."""
_WIDE = FixedPoint(True, 63)
"""Holds what `rescale` computes before it is limited."""


def _shifted(x: Any, count: int) -> tuple[tuple[Any, Any], bits.Bits]:
    return (x.low << count, x.high << count), bits.shifted_left((x.zeros, x.ones), count)


def _integer_add(node: AppliedOp) -> Fact:
    return _combined(node, ranges.sum_of, bits.sum_of)


def _integer_sub(node: AppliedOp) -> Fact:
    return _combined(node, ranges.difference, bits.difference)


def _combined(node: AppliedOp, of_ranges: Any, of_bits: Any) -> Fact:
    shifts = node.attributes["shifts"]
    (x, its_bits), (y, other_bits) = (_shifted(f, s) for f, s in zip(node.facts, shifts, strict=True))
    return within(node.element, of_ranges(x, y), of_bits(its_bits, other_bits))


def _integer_mul(node: AppliedOp) -> Fact:
    x, y = node.facts
    limits_of_both = (x.low, x.high), (y.low, y.high)
    found = ranges.square(limits_of_both[0]) if node.reads_one_value() else ranges.product(*limits_of_both)
    return within(node.element, found, bits.product((x.zeros, x.ones), (y.zeros, y.ones)))


def _requantise(node: AppliedOp) -> Fact:
    (x,), attributes = node.facts, node.attributes
    least, most = limits(node.element, attributes["low"], attributes["high"])
    shift = attributes["shift"]
    shifts: Sequence[int] = (shift,) if isinstance(shift, int) else shift
    if not shifts or x.high > _WORD or any(not -62 < each < 62 for each in shifts):
        return of_element(node.element)
    found: Fact | None = None
    for each in set(shifts):
        shifted = ranges.rounded_shift((x.low, x.high), each)
        if shifted[0] < -_WORD or shifted[1] > _WORD:
            return of_element(node.element)
        low, high = ranges.limited(shifted, least, most)
        one = integers(low, high)
        found = one if found is None else either(found, one)
    return of_element(node.element) if found is None else found


def _rescale(node: AppliedOp) -> Fact:
    (x,), attributes, element = node.facts, node.attributes, node.element
    # It rises or falls from one end to the other in each channel.
    scale = {name: attributes[name] for name in ("multiplier", "addend", "shift", "rounding")}
    rounded = rescale.function(np.array([[x.low], [x.high]], np.int64), element=_WIDE, **scale)
    if not rounded.size:
        return of_element(element)
    low, high = (int(end) + attributes["offset"] for end in (rounded.min(), rounded.max()))
    if attributes["saturate"]:
        return integers(*ranges.limited((low, high), *limits(element, attributes["low"], attributes["high"])))
    return within(element, (low, high))


def _lookup(node: AppliedOp) -> Fact:
    table: Fact = node.facts[1]
    return table._replace(constant=False)


def _to_fixed(node: AppliedOp) -> Fact:
    (x,), attributes, element = node.facts, node.attributes, node.element
    least, most = limits(element, attributes["low"], attributes["high"])
    if element.width > 53:
        return of_element(element)

    def mantissa(limit: float) -> int:
        scaled = float(limit) / element.step
        return int(min(max(scaled if math.isinf(scaled) else round(scaled), least), most))

    return integers(mantissa(x.low), mantissa(x.high))


def _from_fixed(node: AppliedOp) -> Fact:
    (x,), element = node.facts, node.element
    fraction = node.attributes["fraction"]
    if isinstance(of_element(element).low, int) or element not in ("f16", "f32", "f64", "bf16"):
        return of_element(element)
    low, high = (nearest(element, _scaled(limit, -fraction)) for limit in (x.low, x.high))
    return Fact(low, high, False, x.low < 0 and low <= 0 <= high, fraction <= 0)


def _scaled(number: int, exponent: int) -> float:
    try:
        return math.ldexp(float(number), exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


INTEGER_LEVEL: dict[Any, OpFunction] = {
    LIBRARY[name]: function
    for name, function in {
        "from_fixed": _from_fixed,
        "integer_add": _integer_add,
        "integer_mul": _integer_mul,
        "integer_sub": _integer_sub,
        "lookup": _lookup,
        "requantise": _requantise,
        "rescale": _rescale,
        "to_fixed": _to_fixed,
    }.items()
}
"""The functions of ops of the integer level and of the bridges to it."""
