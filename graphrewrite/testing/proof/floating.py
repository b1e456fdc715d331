"""IEEE arithmetic on floats that are not known: bits where a function moves or turns them, z3's theory where it rounds.

Of all NaN there is one, as in comparisons of `graphrewrite.testing`. Of two zeros of different signs numpy may take
either for the greater one: measured, `maximum` and `minimum` of one dtype take the first one, or the second one, at all
places of arrays of all lengths, whichever the processor has; `fmax` and `fmin` not, of which it is only said that they
take the same one for the same numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import z3

from graphrewrite.testing.proof.choice import FLOATS, common_type, of_truth
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.rounding import subterms

__all__ = ["FLOATING", "as_float", "bits_of_float", "converted_float", "rounded_to", "same_float"]

_SORTS = {2: (5, 11), 4: (8, 24), 8: (11, 53)}
"""Bits of the exponent and of the significand by bytes of a dtype (IEEE 754-2019, 3.6)."""
_BRAIN = (8, 8)
_NEAREST, _DOWN, _UP, _TO_ZERO = z3.RNE, z3.RTN, z3.RTP, z3.RTZ


def _sort(dtype: np.dtype[Any]) -> Any:
    return z3.FPSort(*_SORTS[dtype.itemsize])


def as_float(number: Number, dtype: np.dtype[Any]) -> Any:
    """Return a number that a dtype holds as a term of z3's floats.

    Examples
    --------
    >>> as_float(Number.of(-0.5), np.dtype(np.float32))
    -1*(2**-1)
    """
    sort = _sort(dtype)
    if number.opaque:
        inner = number.term
        if inner.decl().kind() == z3.Z3_OP_FPA_TO_IEEE_BV and inner.arg(0).sort() == sort:
            return inner.arg(0)
        return z3.fpBVToFP(inner, sort)
    if number.is_infinite:
        return z3.fpInfinity(sort, number.low < 0)
    if number.is_known:
        return z3.fpMinusZero(sort) if number.low == 0 and number.negative_zero else z3.FPVal(float(number.value), sort)
    least = 1 - int(np.finfo(dtype).minexp)
    if number.negative_zero is not False or number.significant > sort.sbits() or not 0 <= number.point < least:
        raise Untranslatable(f"a number of a bounded format meets any number of {dtype}")
    whole = z3.fpSignedToFP(_NEAREST(), number.term, sort)
    return whole if not number.point else z3.fpMul(_NEAREST(), whole, z3.FPVal(2.0**-number.point, sort))


def bits_of_float(number: Number, dtype: np.dtype[Any]) -> Any:
    """Return the bits of a number in a dtype."""
    if number.opaque:
        return number.term
    size = 8 * dtype.itemsize
    if number.is_known:
        value = -0.0 if number.low == 0 and number.negative_zero else float(number.value)
        return z3.BitVecVal(int(np.asarray(value, dtype).view(f"u{dtype.itemsize}")), size)
    return z3.fpToIEEEBV(as_float(number, dtype))


def _of_bits(bits: Any, dtype: np.dtype[Any], name: str = "") -> Number:
    return Number(0, 0, z3.simplify(bits), opaque=name or FLOATS[8 * dtype.itemsize])


def _of_float(term: Any, dtype: np.dtype[Any]) -> Number:
    return Number(0, 0, z3.fpToIEEEBV(term), opaque=FLOATS[8 * dtype.itemsize])


def same_float(a: Number, b: Number, dtype: np.dtype[Any]) -> Any:
    """Return whether two floats are the same: they have the same bits, or both are NaN."""
    left, right = bits_of_float(a, dtype), bits_of_float(b, dtype)
    if left.eq(right):
        return True
    x, y = as_float(a, dtype), as_float(b, dtype)
    return True if x.eq(y) else x == y


def rounded_to(element: str, number: Number) -> Number:
    """Return a float as an element type holds it, which may be stored in a wider dtype."""
    if FLOATS[number.term.size()] == element:
        return Number(0, 0, number.term, opaque=element)
    if number.opaque in (element, "f32") and element == "bf16":
        if number.opaque == element:
            return number
        narrow = z3.fpFPToFP(_NEAREST(), as_float(number, np.dtype(np.float32)), z3.FPSort(*_BRAIN))
        return Number(0, 0, z3.Concat(z3.fpToIEEEBV(narrow), z3.BitVecVal(0, 16)), opaque=element)
    raise Untranslatable(f"rounding to {element} is not translated")


def converted_float(number: Number, source: np.dtype[Any], target: np.dtype[Any]) -> Number:
    """Return the result of ``astype`` for a float."""
    if target.kind == "b":
        return of_truth(z3.Not(z3.fpIsZero(as_float(number, source))))
    if target.kind != "f":
        raise Untranslatable(f"any float has no {target}, which numpy leaves open")
    if source == target:
        return number
    return _of_float(z3.fpFPToFP(_NEAREST(), as_float(number, source), _sort(target)), target)


def _sign_bit(dtype: np.dtype[Any]) -> Any:
    return z3.BitVecVal(1 << (8 * dtype.itemsize - 1), 8 * dtype.itemsize)


def _negative(a: Number, dtype: np.dtype[Any]) -> Number:
    return _of_bits(bits_of_float(a, dtype) ^ _sign_bit(dtype), dtype, a.opaque)


def _absolute(a: Number, dtype: np.dtype[Any]) -> Number:
    return _of_bits(bits_of_float(a, dtype) & ~_sign_bit(dtype), dtype, a.opaque)


def _compared(relation: Callable[[Any, Any], Any]) -> Callable[..., Number]:
    return lambda a, b, dtype: of_truth(z3.simplify(relation(as_float(a, dtype), as_float(b, dtype))))


def _extreme(is_first: Callable[[Any, Any], Any], name: str, *, keeps_nan: bool) -> Callable[..., Number]:
    """Return the greater or lesser of two floats, of which NaN is the one, or the other."""

    def pick(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
        x, y = as_float(a, dtype), as_float(b, dtype)
        left, right = bits_of_float(a, dtype), bits_of_float(b, dtype)
        if left.eq(right):
            return a if a.opaque else b
        either = _taken_zero(f"{name} of {dtype}", left) if keeps_nan else _some_zero(name, left, right)
        zeros = z3.And(z3.fpIsZero(x), z3.fpIsZero(y))
        first = z3.If(zeros, z3.If(either, left, right), z3.If(is_first(x, y), left, right))
        nan = z3.fpIsNaN(x), z3.fpIsNaN(y)
        ends = (left, right) if keeps_nan else (right, left)
        return _of_bits(z3.If(nan[0], ends[0], z3.If(nan[1], ends[1], first)), dtype, common_type(a, b))

    return pick


def _taken_zero(name: str, left: Any) -> Any:
    """Return whether of two zeros of different signs the first is taken: one answer for each order of the signs."""
    sign = z3.Extract(left.size() - 1, left.size() - 1, left)
    return z3.If(sign == 1, z3.Bool(f"{name} takes -0 before +0"), z3.Bool(f"{name} takes +0 before -0"))


def _some_zero(name: str, left: Any, right: Any) -> Any:
    text = f"{left.sexpr()} {right.sexpr()}"
    return z3.Bool(f"{name} zero {hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]}")


def _in_order(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two operands of a commutative function in one order, so that both orders are one term."""
    return (a, b) if a.sexpr() <= b.sexpr() else (b, a)


def _sum(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
    return _of_float(z3.fpAdd(_NEAREST(), *_in_order(as_float(a, dtype), as_float(b, dtype))), dtype)


def _power_of_two(number: Number) -> bool:
    size = abs(number.low) if number.is_known and not number.is_infinite else 0
    return bool(size) and not size & (size - 1)


def _product(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
    for one, other in ((a, b), (b, a)):
        if _power_of_two(one) and abs(one.value) == 1:
            return other if one.value > 0 else _negative(other, dtype)
    return _of_float(z3.fpMul(_NEAREST(), *_in_order(as_float(a, dtype), as_float(b, dtype))), dtype)


def _quotient(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
    if _power_of_two(b) and abs(b.point) < -int(np.finfo(dtype).minexp):  # whose reciprocal is a float, too
        return _product(a, Number.of(1 / float(b.value)), dtype)
    return _of_float(z3.fpDiv(_NEAREST(), as_float(a, dtype), as_float(b, dtype)), dtype)


def _whole(mode: Callable[[], Any]) -> Callable[..., Number]:
    return lambda a, dtype: _of_float(z3.fpRoundToIntegral(mode(), as_float(a, dtype)), dtype)


def _sign_of(a: Number, dtype: np.dtype[Any]) -> Number:
    if any(term.decl().kind() == z3.Z3_OP_FPA_TO_IEEE_BV for term in subterms([a.term])):
        raise Untranslatable("signbit asks for the sign of a NaN, which numpy leaves open")
    size = 8 * dtype.itemsize
    return of_truth(z3.Extract(size - 1, size - 1, a.term) == 1)


def _asked(predicate: Callable[[Any], Any]) -> Callable[..., Number]:
    return lambda a, dtype: of_truth(predicate(as_float(a, dtype)))


FLOATING: Mapping[Any, Callable[..., Number]] = {
    np.negative: _negative,
    np.positive: lambda a, dtype: a,
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.add: _sum,
    np.subtract: lambda a, b, dtype: _sum(a, _negative(b, dtype), dtype),
    np.multiply: _product,
    np.square: lambda a, dtype: _product(a, a, dtype),
    np.true_divide: _quotient,
    np.sqrt: lambda a, dtype: _of_float(z3.fpSqrt(_NEAREST(), as_float(a, dtype)), dtype),
    np.maximum: _extreme(z3.fpGT, "maximum", keeps_nan=True),
    np.minimum: _extreme(z3.fpLT, "minimum", keeps_nan=True),
    np.fmax: _extreme(z3.fpGT, "fmax", keeps_nan=False),
    np.fmin: _extreme(z3.fpLT, "fmin", keeps_nan=False),
    np.rint: _whole(_NEAREST),
    np.floor: _whole(_DOWN),
    np.ceil: _whole(_UP),
    np.trunc: _whole(_TO_ZERO),
    np.less: _compared(z3.fpLT),
    np.greater: _compared(z3.fpGT),
    np.less_equal: _compared(z3.fpLEQ),
    np.greater_equal: _compared(z3.fpGEQ),
    np.equal: _compared(z3.fpEQ),
    np.not_equal: _compared(lambda a, b: z3.Not(z3.fpEQ(a, b))),
    np.isnan: _asked(z3.fpIsNaN),
    np.isinf: _asked(z3.fpIsInf),
    np.isfinite: _asked(lambda a: z3.Not(z3.Or(z3.fpIsInf(a), z3.fpIsNaN(a)))),
    np.signbit: _sign_of,
}
"""The meaning of each ufunc for floats with any bits: a function of the operands, and of the dtype in which numpy
computes."""
