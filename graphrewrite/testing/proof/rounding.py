"""Rounding to floats, for the solver: first only that it is monotone and exact for short numbers, then bit for bit.

Most rules need no more of it than that: rectifying a rounded number is rounding a rectified one. So rounding is a
function with a few facts and no definition at first; the definition is added where the facts do not suffice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import z3

from graphrewrite.testing.proof.number import Number

__all__ = ["Rounding", "facts", "nearest_float", "roundings", "subterms"]

_NAME = re.compile(r"nearest (\d+) digits, point (-?\d+), (\d+) bits")


def nearest_float(number: Number, digits: int) -> Number:
    """Return the nearest number of so many digits, half to even (IEEE 754-2019, 4.3.1)."""
    width = number.width + 1  # rounding up may carry into one more bit
    sort = z3.BitVecSort(width)
    function = z3.Function(f"nearest {digits} digits, point {number.point}, {width} bits", sort, sort)
    most = 1 << (number.width - 1)  # numbers just below round up to it
    low, high = (-most if number.low < 0 else 0), (most if number.high > 0 else 0)
    rounded = Number.of_term(function(number.resized(width)), low, high, number.point, number.negative_zero)
    return replace(rounded, digits=digits)


class Rounding(NamedTuple):
    """The rounding of one number.

    Attributes
    ----------
    digits, point, width : int
        Digits of the float, and of the number.
    argument, result : z3.BitVecRef
        The mantissas before and after.
    """

    digits: int
    point: int
    width: int
    argument: Any
    result: Any

    def definition(self) -> Any:
        """Return its definition: bits beyond its digits are rounded off, half to even."""
        context = self.argument.ctx
        zero, size = z3.BitVecVal(0, self.width, context), z3.If(self.argument < 0, -self.argument, self.argument)
        shift = zero
        for extra in range(1, self.width - self.digits):
            shift = z3.If(size >= 1 << (self.digits + extra - 1), z3.BitVecVal(extra, self.width, context), shift)
        step = z3.BitVecVal(1, self.width, context) << shift
        odd = (self.argument >> shift) & 1
        # Just below half of the last digit, and half of it if that digit is odd: so that a half rounds to even.
        half = z3.If(shift == 0, zero, z3.LShR(step, 1) - 1 + odd)
        return self.result == (self.argument + half) & ~(step - 1)

    def facts(self) -> Iterator[Any]:
        """Yield facts: it keeps the sign, and short numbers."""
        short = z3.And(self.argument <= 1 << self.digits, self.argument >= -(1 << self.digits))
        yield z3.Implies(short, self.result == self.argument)
        yield z3.Implies(self.argument >= 0, self.result >= 0)
        yield z3.Implies(self.argument <= 0, self.result <= 0)

    def order(self, other: Rounding) -> Iterator[Any]:
        """Yield the fact that it is monotone."""
        if (self.digits, self.point) == (other.digits, other.point):
            (a, x), (b, y) = (_wider(r, max(self.width, other.width)) for r in (self, other))
            yield z3.Implies(a <= b, x <= y)
            yield z3.Implies(b <= a, y <= x)


def _wider(rounding: Rounding, width: int) -> tuple[Any, Any]:
    by = width - rounding.width
    return z3.SignExt(by, rounding.argument), z3.SignExt(by, rounding.result)


def subterms(terms: Iterable[Any]) -> Iterator[Any]:
    """Yield the terms of a formula, each once, though many may share one.

    Examples
    --------
    >>> a, b = z3.Bools("a b")
    >>> list(subterms([z3.And(a, b), z3.Not(a)]))
    [Not(a), a, And(a, b), b]
    """
    work, seen = list(terms), set[int]()
    while work:
        term = work.pop()
        if (number := term.get_id()) in seen:
            continue
        seen.add(number)
        yield term
        work += term.children()


def roundings(terms: Iterable[Any]) -> list[Rounding]:
    """Return the roundings among some terms."""
    all_roundings: list[Rounding] = []
    for term in terms:
        if term.num_args() == 1 and (match := _NAME.fullmatch(term.decl().name())):
            digits, point, width = map(int, match.groups())
            all_roundings.append(Rounding(digits, point, width, term.arg(0), term))
    return all_roundings


def facts(all_roundings: list[Rounding]) -> list[Any]:
    """Return facts about some roundings, without their definitions."""
    alone = [fact for rounding in all_roundings for fact in rounding.facts()]
    return alone + [fact for a, b in combinations(all_roundings, 2) for fact in a.order(b)]
