"""What a symbolic array is for given numbers: the translation is compared with numpy by it."""

from __future__ import annotations

import numpy as np
import z3

from graphrewrite.testing.proof.rounding import roundings, subterms


def values_of(array, numbers):
    """The array whose variables have given values."""
    known = [(z3.BitVec(name, width), z3.BitVecVal(value, width)) for (name, width), value in numbers.items()]
    flat = [_value(number, known) for number in array.entries.reshape(-1)]
    return np.array(flat, array.dtype).reshape(array.shape)


def _value(number, known):
    if number.is_infinite:
        return number.low
    mantissa = number.low if number.term is None else _known(number.term, known)
    return mantissa * 2.0**-number.point if number.point > 0 else mantissa << -number.point


def _known(term, known):
    while found := roundings(subterms([term])):
        first = next(r for r in found if not roundings(subterms([r.argument])))
        result = z3.simplify(z3.substitute(first.definition().arg(1), *known))
        term = z3.substitute(term, (first.result, result))
    return z3.simplify(z3.substitute(term, *known)).as_signed_long()
