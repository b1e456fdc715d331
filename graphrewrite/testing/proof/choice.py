"""Numbers that depend on conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import z3

from graphrewrite.testing.proof.number import Number, aligned, width_of
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.sign import chosen
from graphrewrite.types import hold

__all__ = ["FLOATS", "choice", "common_type", "magnitude", "of_truth"]

FLOATS = {16: "f16", 32: "f32", 64: "f64"}
"""Types of floats by their bits."""


def choice(condition: Any, yes: Number, no: Number) -> Number:
    """Return one of two numbers by a condition."""
    if isinstance(condition, bool):
        return yes if condition else no
    if yes.opaque or no.opaque:
        return _floats(condition, yes, no)
    a, b = aligned(yes, no)
    if a.is_infinite or b.is_infinite:
        raise Untranslatable("a number may be infinite or not")
    point = a.point
    low, high = min(a.low, b.low), max(a.high, b.high)
    zero_sign = chosen(condition, *_signs(yes, no))
    if low == high:
        return Number(low, high, None, point, zero_sign)
    width = width_of(low, high)
    left, right = a.resized(width), b.resized(width)
    term, digits = left if left.eq(right) else z3.If(condition, left, right), max(yes.significant, no.significant)
    return Number(low, high, term, point, zero_sign, digits=digits)


def _floats(condition: Any, yes: Number, no: Number) -> Number:
    """Return one of two floats, of which at least one may have any bits."""
    left, right = (_bits(number, yes.opaque or no.opaque) for number in (yes, no))
    if left.size() != right.size():
        raise Untranslatable("floats of two types meet")
    term = left if left.eq(right) else z3.If(condition, left, right)
    return Number(0, 0, term, opaque=common_type(yes, no) or FLOATS[left.size()])


def common_type(a: Number, b: Number) -> str:
    """Return the type of a float that is one of two, at least one of which may have any bits; "" if they have none.

    Examples
    --------
    >>> from graphrewrite.testing.proof.number import unknown_float
    >>> x = unknown_float("x", 32, "f8e4m3fn")
    >>> common_type(x, Number.of(448.0)), common_type(x, Number.of(449.0))
    ('f8e4m3fn', '')
    """
    element = a.opaque or b.opaque
    return element if all(each.opaque == element or _is_held(each, element) for each in (a, b)) else ""


def _is_held(number: Number, element: str) -> bool:
    """Return whether a type has a number, which is known."""
    if number.opaque or not number.is_known or number.negative_zero is None:
        return False
    bits = _bits(number, element)
    size = bits.size() // 8
    value = np.asarray(bits.as_long(), f"u{size}").view(f"f{size}")
    return hold(element, value).tobytes() == value.tobytes()


def _bits(number: Number, element: str) -> Any:
    if number.opaque:
        return number.term
    if not number.is_known or number.negative_zero is None:
        raise Untranslatable("a number of a bounded format meets any float")
    value = -0.0 if number.low == 0 and number.negative_zero else float(number.value)
    size = {"f16": 2, "f64": 8}.get(element, 4)
    return z3.BitVecVal(int(np.asarray(value, f"f{size}").view(f"u{size}")), 8 * size)


def _signs(a: Number, b: Number) -> tuple[Any, Any]:
    """Return the signs of the zeros of two numbers; a number that is never zero takes the sign of the other one."""
    if not a.may_be_zero:
        return b.negative_zero, b.negative_zero
    return a.negative_zero, b.negative_zero if b.may_be_zero else a.negative_zero


def of_truth(condition: Any) -> Number:
    """Return 1 if a condition holds, else 0."""
    truth = choice(condition, Number(1, 1), Number(0, 0))
    return truth if truth.is_known else replace(truth, condition=condition)


def magnitude(number: Number) -> Number:
    """Return the absolute value of a number.

    Examples
    --------
    >>> magnitude(Number.of(-0.75)).low, magnitude(Number.of(-0.75)).point
    (3, 2)
    """
    number.check()
    if number.low >= 0:
        return number.unsigned
    positive = -number
    return positive if number.high <= 0 else choice(number.less(Number(0, 0)), positive, number).unsigned
