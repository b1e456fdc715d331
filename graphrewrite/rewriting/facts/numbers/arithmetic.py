"""Facts of sums, products and the like, of integers that wrap and of floats that are rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers import bits, ranges
from graphrewrite.rewriting.facts.numbers.fact import Fact, either, integers, of_element
from graphrewrite.rewriting.facts.numbers.rounding import nearest
from graphrewrite.types import FixedPoint, element_dtype

__all__ = ["ARITHMETIC", "real", "within"]

_INFINITE = math.inf


def within(element: Any, found: tuple[Any, Any], known: bits.Bits = (0, 0)) -> Fact:
    """Return the fact of exact whole results that wrap around where their type ends."""
    unknown = of_element(element)
    if unknown.low <= found[0] and found[1] <= unknown.high:
        return integers(*found, *known)
    if isinstance(element, str) and element[0] in "iu":
        known = bits.wrapped(known, int(element[1:]), signed=element[0] == "i")
        count = unknown.high - unknown.low + 1
        turns = (found[0] - unknown.low) // count
        if turns == (found[1] - unknown.low) // count:  # all of them wrap around, equally often
            return integers(found[0] - turns * count, found[1] - turns * count, *known)
        return integers(unknown.low, unknown.high, *known)
    return unknown


def real(element: Any, found: tuple[Any, Any], *, nan: bool, minus_zero: bool, whole: bool = False) -> Fact:
    """Return the fact of float results: their exact limits are rounded as the results are."""
    low, high = found
    # Where a limit is a sum of infinities, nothing is known on that side.
    low = -_INFINITE if low != low else nearest(element, float(low))
    high = _INFINITE if high != high else nearest(element, float(high))
    return Fact(low, high, nan, minus_zero and low <= 0 <= high, whole and element != "f8e8m0")


def _is_real(fact: Fact) -> bool:
    return isinstance(fact.low, float)


def _range(x: Fact) -> tuple[Any, Any]:
    return x.low, x.high


def _bits(x: Fact) -> bits.Bits:
    return x.zeros, x.ones


def _is_negative_somewhere(x: Fact) -> bool:
    """Whether an entry may have a minus sign."""
    return x.low < 0 or x.minus_zero


def _is_positive_somewhere(x: Fact) -> bool:
    """Whether an entry may have no minus sign, +0 included."""
    return x.high >= 0


def _is_infinite_somewhere(x: Fact) -> bool:
    return x.low == -_INFINITE or x.high == _INFINITE


# ---------------------------------------------------------------------- sums and products


def _added(x: Fact, y: Fact, element: Any) -> Fact:
    found = ranges.sum_of(_range(x), _range(y))
    if not _is_real(x):
        return within(element, found, bits.sum_of(_bits(x), _bits(y)))
    opposite = (x.high == _INFINITE and y.low == -_INFINITE) or (x.low == -_INFINITE and y.high == _INFINITE)
    # x + y is -0 only of two of them (IEEE 754-2019, 6.3): a sum of floats that is not 0 is not rounded to it.
    return real(
        element,
        found,
        nan=x.nan or y.nan or opposite,
        minus_zero=x.minus_zero and y.minus_zero,
        whole=x.whole and y.whole,
    )


def _negated(x: Fact, element: Any) -> Fact:
    found = ranges.negative(_range(x))
    if not _is_real(x):
        return within(element, found, bits.difference((-1, 0), _bits(x)))
    return real(element, found, nan=x.nan, minus_zero=x.low <= 0 <= x.high, whole=x.whole)


def _multiplied(x: Fact, y: Fact, element: Any, *, is_square: bool = False) -> Fact:
    found = ranges.square(_range(x)) if is_square else ranges.product(_range(x), _range(y))
    if not _is_real(x):
        return within(element, found, bits.product(_bits(x), _bits(y)))
    nan = x.nan or y.nan
    if not is_square:
        nan = nan or (_is_infinite_somewhere(x) and y.low <= 0 <= y.high)
        nan = nan or (_is_infinite_somewhere(y) and x.low <= 0 <= x.high)
    minus_zero = not is_square and (
        (_is_negative_somewhere(x) and _is_positive_somewhere(y))
        or (_is_negative_somewhere(y) and _is_positive_somewhere(x))
    )
    return real(element, found, nan=nan, minus_zero=minus_zero, whole=x.whole and y.whole)


def _truth(node: AppliedOp) -> bool:
    """Whether a node computes with truth values, of which sums and products are others."""
    return bool(node.element == "bool")


def _add(node: AppliedOp) -> Fact:
    return integers(0, 1) if _truth(node) else _added(node.facts[0], node.facts[1], node.element)


def _sub(node: AppliedOp) -> Fact:
    x, y = node.facts
    element = node.element
    if not _is_real(x):
        found = (0, 0) if node.reads_one_value() else ranges.difference(_range(x), _range(y))
        return within(element, found, bits.difference(_bits(x), _bits(y)))
    # The negation is none of the type's: it is not rounded on its own.
    opposite = y._replace(low=-y.high, high=-y.low, minus_zero=y.low <= 0 <= y.high)
    return _added(x, opposite, element)


def _mul(node: AppliedOp) -> Fact:
    if _truth(node):
        return integers(0, 1)
    return _multiplied(node.facts[0], node.facts[1], node.element, is_square=node.reads_one_value())


def _fma(node: AppliedOp) -> Fact:
    if _truth(node):
        return integers(0, 1)
    x, y, z = node.facts
    element = node.element
    is_square = node.sources[0] == node.sources[1]
    # Floats that are stored in a wider type are rounded once, at the end.
    inner = {"f16": "f16", "f32": "f32", "f64": "f64"}.get(element, "f32") if _is_real(x) else element
    found = _added(_multiplied(x, y, inner, is_square=is_square), z, element)
    # What is not 0 in the wider type may be rounded to -0.
    return found if inner == element else found._replace(minus_zero=found.low <= 0)


def _sum(node: AppliedOp) -> Fact:
    element = node.element
    if len(node.facts) > 2 and _is_real(node.facts[0]) and element not in ("f16", "f32", "f64"):
        return of_element(element)
    found: Fact = reduce(lambda x, y: _added(x, y, element), node.facts)
    return found


def _neg(node: AppliedOp) -> Fact:
    return _negated(node.facts[0], node.element)


def _div(node: AppliedOp) -> Fact:
    x, y = node.facts
    element = node.element
    if not _is_real(x):
        return within(element, ranges.quotient(_range(x), _range(y)))
    if node.reads_one_value():
        return Fact(1.0, 1.0, not x.is_finite or x.may_be_zero, False, True)
    return _divided(x, y, element)


def _divided(x: Fact, y: Fact, element: Any) -> Fact:
    zeros = x.low <= 0 <= x.high and y.low <= 0 <= y.high
    nan = x.nan or y.nan or zeros or (_is_infinite_somewhere(x) and _is_infinite_somewhere(y))
    minus_zero = (_is_negative_somewhere(x) and _is_positive_somewhere(y)) or (
        _is_negative_somewhere(y) and _is_positive_somewhere(x)
    )
    if y.low <= 0 <= y.high:
        # Near 0 a divisor gives anything of its sign; -0 as well, the infinity of the other one.
        signs = x.low >= 0 and y.low >= 0 and not y.minus_zero and not x.minus_zero
        return Fact(0.0 if signs else -_INFINITE, _INFINITE, nan, minus_zero)
    corners = [a / b for a in _range(x) for b in _range(y) if not (math.isinf(a) and math.isinf(b))]
    if _is_infinite_somewhere(y):
        corners.append(0.0)
    if _is_infinite_somewhere(x):
        least = [c * s for c in _range(x) for s in _range(y) if math.isinf(c)]
        corners += [math.copysign(_INFINITE, c) for c in least]
    return real(element, (min(corners), max(corners)), nan=nan, minus_zero=minus_zero)


def _reciprocal(node: AppliedOp) -> Fact:
    return _divided(Fact(1.0, 1.0, False, False, True), node.facts[0], node.element)


def _mod(node: AppliedOp) -> Fact:
    x, y = node.facts
    element = node.element
    if node.attributes["fmod"]:  # the sign of the dividend
        if _is_real(x):
            return of_element(element)
        most = max(max(ranges.absolute(_range(y))) - 1, 0)
        return within(element, (max(x.low, -most) if x.low < 0 else 0, min(x.high, most) if x.high > 0 else 0))
    return of_element(element) if _is_real(x) else within(element, ranges.remainder(_range(x), _range(y)))


# ---------------------------------------------------------------------- order


def _abs(node: AppliedOp) -> Fact:
    x: Fact = node.facts[0]
    found = ranges.absolute(_range(x))
    if _is_real(x):
        return real(node.element, found, nan=x.nan, minus_zero=False, whole=x.whole)
    return x if x.low >= 0 else within(node.element, found)


def _greater(x: Fact, y: Fact) -> Fact:
    if x.low >= y.high and not _is_real(x):
        return x
    if y.low >= x.high and not _is_real(x):
        return y
    return _ordered(x, y, ranges.greater)


def _lesser(x: Fact, y: Fact) -> Fact:
    if x.high <= y.low and not _is_real(x):
        return x
    if y.high <= x.low and not _is_real(x):
        return y
    return _ordered(x, y, ranges.lesser)


def _ordered(x: Fact, y: Fact, choice: Callable[..., Any]) -> Fact:
    # Of two zeros of different signs, either may be chosen.
    low, high = choice(_range(x), _range(y))
    chosen = either(x, y)
    if not _is_real(x):
        return integers(low, high, chosen.zeros, chosen.ones, constant=chosen.constant)
    return chosen._replace(low=low, high=high, minus_zero=chosen.minus_zero and low <= 0 <= high)


def _maximum(node: AppliedOp) -> Fact:
    return _greater(*node.facts)


def _minimum(node: AppliedOp) -> Fact:
    return _lesser(*node.facts)


def _number(x: Fact, element: Any, number: Any) -> Fact:
    """Return the fact of a limit, an attribute, as an op converts it to its operand's type."""
    unknown = of_element(element)
    if not _is_real(x):
        if isinstance(element, FixedPoint):
            # Limits of mantissas are cut to what they are stored in, which is no less than the format.
            least = int(min(max(number, -(1 << 63)), (1 << 64) - 1)) if math.isfinite(number) else 0
            return integers(least, least)
        least = int(min(max(number, unknown.low), unknown.high))
        return integers(least, least)
    if number != number:
        return Fact()
    kind = element_dtype(element).type
    with np.errstate(over="ignore", under="ignore"):
        bound = float(kind(number)) + 0.0
    return Fact(bound, bound, False, bound == 0 and math.copysign(1.0, number) < 0, float(bound).is_integer())


def _clip(node: AppliedOp) -> Fact:
    x: Fact = node.facts[0]
    attributes = node.attributes
    element = node.element
    for bound, choice in ((attributes["low"], _greater), (attributes["high"], _lesser)):
        if bound is not None:
            x = choice(x, _number(x, element, bound))
    if not _is_real(x):
        return x
    # What is stored in a wider type is limited there, and rounded then.
    return real(element, _range(x), nan=x.nan, minus_zero=x.minus_zero or x.low < 0, whole=x.whole)


def _relu(node: AppliedOp) -> Fact:
    (x,) = node.facts
    return _greater(x, Fact(0.0, 0.0, False, False, True) if _is_real(x) else integers(0, 0))


ARITHMETIC: dict[Any, OpFunction] = {
    LIBRARY[name]: function
    for name, function in {
        "abs": _abs,
        "add": _add,
        "clip": _clip,
        "div": _div,
        "fma": _fma,
        "hard_tanh": _clip,
        "maximum": _maximum,
        "minimum": _minimum,
        "mod": _mod,
        "mul": _mul,
        "neg": _neg,
        "reciprocal": _reciprocal,
        "relu": _relu,
        "sub": _sub,
        "sum": _sum,
    }.items()
}
"""The functions of ops of arithmetic and order."""
