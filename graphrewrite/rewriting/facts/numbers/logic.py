"""Facts of comparisons, of logic on truth values, and of the bits of integers."""

from __future__ import annotations

import math
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers import bits, ranges
from graphrewrite.rewriting.facts.numbers.arithmetic import within
from graphrewrite.rewriting.facts.numbers.fact import Fact, integers, of_element

__all__ = ["LOGIC"]

_TRUE, _FALSE, _EITHER = integers(1, 1), integers(0, 0), integers(0, 1)


def _decided(always: bool, never: bool) -> Fact:
    return _TRUE if always else _FALSE if never else _EITHER


def _comparison(strict: bool, turned: bool) -> OpFunction:
    """Return the function of ``x < y``, not strict of ``x <= y``, turned of ``y < x``; false where either is NaN."""

    def compared(node: AppliedOp) -> Fact:
        x, y = reversed(node.facts) if turned else node.facts
        known = not x.nan and not y.nan
        if node.reads_one_value():
            return _decided(known and not strict, strict)
        if strict:
            return _decided(known and x.high < y.low, x.low >= y.high)
        return _decided(known and x.high <= y.low, x.low > y.high)

    return compared


def _equal(node: AppliedOp) -> Fact:
    if not isinstance(node.types[0].element, str) or node.types[0].element != "string":
        x, y = node.facts
        known = not x.nan and not y.nan
        apart = x.high < y.low or y.high < x.low or bool((x.ones & y.zeros) | (x.zeros & y.ones))
        same = node.reads_one_value() or x.low == x.high == y.low == y.high
        return _decided(known and same, apart)
    return _EITHER


def _is_nan(node: AppliedOp) -> Fact:
    return _decided(False, not node.facts[0].nan)


def _is_inf(node: AppliedOp) -> Fact:
    (x,), attributes = node.facts, node.attributes
    below = x.low == -math.inf and attributes["detect_negative"]
    above = x.high == math.inf and attributes["detect_positive"]
    return _decided(False, not below and not above)


def _limits(node: AppliedOp) -> tuple[Any, Any]:
    """Return a range for the bits of two numbers: what the longer of them needs."""
    count = max((int(limit) + (limit < 0)).bit_length() for fact in node.facts for limit in (fact.low, fact.high))
    is_signed = any(fact.low < 0 for fact in node.facts)
    return -(1 << count) if is_signed else 0, (1 << count) - 1


def _and(node: AppliedOp) -> Fact:
    x, y = node.facts
    low, high = _limits(node)
    known = bits.conjunction((x.zeros, x.ones), (y.zeros, y.ones))
    # What is not negative limits the result.
    tops = [fact.high for fact in node.facts if fact.low >= 0]
    return integers(0 if tops else low, min([high, *tops]), *known)


def _or(node: AppliedOp) -> Fact:
    x, y = node.facts
    low, high = _limits(node)
    known = bits.disjunction((x.zeros, x.ones), (y.zeros, y.ones))
    return integers(max(x.low, y.low) if x.low >= 0 and y.low >= 0 else low, high, *known)


def _not(node: AppliedOp) -> Fact:
    (x,) = node.facts
    if x.low >= 0 and str(node.element)[0] == "u":
        top = (1 << int(str(node.element)[1:])) - 1
        return integers(top - x.high, top - x.low, *_of_unsigned(x, top))
    return within(node.element, (~x.high, ~x.low), bits.negated((x.zeros, x.ones)))


def _of_unsigned(x: Fact, top: int) -> bits.Bits:
    return (x.ones & top) | ~top, x.zeros & top


def _xor(node: AppliedOp) -> Fact:
    if node.reads_one_value():
        return _FALSE
    x, y = node.facts
    return integers(*_limits(node), *bits.exclusion((x.zeros, x.ones), (y.zeros, y.ones)))


def _logical_not(node: AppliedOp) -> Fact:
    (x,) = node.facts
    return integers(1 - x.high, 1 - x.low)


def _bit_shift(node: AppliedOp) -> Fact:
    x, y = node.facts
    element = node.element
    width = int(str(element)[1:])
    # Numbers of bits that there are not, negative ones among them, leave nothing but the sign.
    most = max(8, width)
    by = (most, most) if y.high < 0 else (max(min(y.low, most), 0), most if y.low < 0 else min(y.high, most))
    if node.attributes["direction"] == "right":
        known = bits.shifted_right((x.zeros, x.ones), by[0]) if by[0] == by[1] else (0, 0)
        return integers(*ranges.shifted_right((x.low, x.high), by), *known)
    if by[1] == most:
        return integers(0, 0) if by[0] == most else of_element(element)
    known = bits.shifted_left((x.zeros, x.ones), by[0]) if by[0] == by[1] else ((1 << by[0]) - 1, 0)
    return within(element, ranges.product((x.low, x.high), (1 << by[0], 1 << by[1])), known)


LOGIC: dict[Any, OpFunction] = {
    LIBRARY[name]: function
    for name, function in {
        "bit_shift": _bit_shift,
        "bitwise_and": _and,
        "bitwise_not": _not,
        "bitwise_or": _or,
        "bitwise_xor": _xor,
        "equal": _equal,
        "greater": _comparison(strict=True, turned=True),
        "greater_or_equal": _comparison(strict=False, turned=True),
        "is_inf": _is_inf,
        "is_nan": _is_nan,
        "less": _comparison(strict=True, turned=False),
        "less_or_equal": _comparison(strict=False, turned=False),
        "logical_and": _and,
        "logical_not": _logical_not,
        "logical_or": _or,
        "logical_xor": _xor,
    }.items()
}
"""The functions of ops of logic."""
