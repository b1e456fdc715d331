"""Facts of quantising and dequantising by scales and zero points."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers.fact import Fact, integers, of_element
from graphrewrite.rewriting.facts.numbers.rounding import nearest
from graphrewrite.types import integer_limits

__all__ = ["QUANTISED"]

_EXACT = 1 << 24
"""Whole numbers below it are exact in float32."""
_NARROW = 30_000
"""Quotients below it are finite in float16."""


def _dequantize_linear(node: AppliedOp) -> Fact:
    x, scale, *others = node.facts
    zero = others[0] if others else integers(0, 0)
    element = node.element
    if element not in ("f16", "f32", "f64") or node.attributes["element"] is not None:
        return of_element(element)
    if not isinstance(x.low, int) or not (0 < scale.low <= scale.high < math.inf) or scale.nan:
        return of_element(element)
    steps = x.low - zero.high, x.high - zero.low
    if max(map(abs, steps)) >= _EXACT:
        return of_element(element)
    inner = "f64" if element == "f64" else "f32"
    ends = [nearest(element, nearest(inner, count * step)) for count, step in product(steps, (scale.low, scale.high))]
    # A step is a number of the result's type, so that no product but that of 0 is 0, which has no sign.
    return Fact(min(ends), max(ends), False, False, False)


def _quantize_linear(node: AppliedOp) -> Fact:
    x, scale, *others = node.facts
    known = integer_limits(node.element)
    if known is None or not (0 < scale.low <= scale.high < math.inf) or scale.nan or isinstance(x.low, int):
        return of_element(node.element)
    least, most = known
    zero = others[0] if others else integers(0, 0)
    quotients = [end / step for end, step in product((x.low, x.high), (scale.low, scale.high))]
    if x.nan:
        quotients.append(0.0)  # as which NaN is stored
    # A step more at each end, and 2**-8 of it: how the op rounds the quotient is a matter of its element type.
    low, high = min(*quotients, _NARROW), max(*quotients, -_NARROW)
    lowest = math.floor(low - abs(low) * 2.0**-8 - 1) + zero.low if low > -_NARROW else least
    highest = math.ceil(high + abs(high) * 2.0**-8 + 1) + zero.high if high < _NARROW else most
    return integers(*(min(max(end, least), most) for end in (lowest, highest)))


QUANTISED: dict[Any, OpFunction] = {
    LIBRARY["dequantize_linear"]: _dequantize_linear,
    LIBRARY["quantize_linear"]: _quantize_linear,
}
"""The functions of ops with scales and zero points."""
