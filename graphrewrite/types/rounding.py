"""Quotients of polynomials rounded down, their minima and maxima, and what is certain of their signs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from operator import and_

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.polynomial import (
    Atom,
    Monomial,
    Polynomial,
    Terms,
    division,
    normal_form,
    rounded_quotient,
    summed,
    with_positive_quotients,
    without,
    written_order,
)

__all__ = ["divided", "extreme", "is_nonnegative", "names_in", "substituted", "value_at"]

_MOST_PARTS = 8
_MOST_DIVISIONS = 4
_DEPTH = 3
"""Atoms, one after the other, that are replaced by their bounds in a proof that something is not negative."""


def divided(numerator: Polynomial, denominator: Polynomial) -> Polynomial:
    """Return a quotient, rounded down: multiples are taken out, and quotients of quotients become one.

    Raises
    ------
    TypeMismatchError
        If the denominator is 0.
    """
    if not denominator.terms:
        raise TypeMismatchError(f"{numerator.text} is divided by 0")
    if denominator.terms[min(denominator.terms, key=written_order)] < 0:
        opposite = -denominator
        if opposite.terms[min(opposite.terms, key=written_order)] > 0 or opposite.text < denominator.text:
            numerator, denominator = -numerator, opposite
    smaller = _without_common_factors(numerator, denominator)
    if smaller is not None:
        return divided(*smaller)
    whole, over = Polynomial({}), numerator
    for _ in range(_MOST_DIVISIONS):  # what is left of a sum of quotients may be divided once more
        quotient, rest = division(with_positive_quotients(over.terms), with_positive_quotients(denominator.terms))
        whole, over = whole + Polynomial(quotient), Polynomial(rest)
        if not quotient:
            break
    if not over.terms or (over.value is not None and denominator.value is not None):
        return whole
    one = Polynomial.constant(1)
    if is_nonnegative(over) and is_nonnegative(denominator - over - one):
        return whole
    less = _without_common_factors(over, denominator)
    if less is not None:
        return whole + divided(*less)
    inner = [m for m, c in over.terms.items() if c == 1 and len(m) == 1 and m[0].kind == "quotient"]
    if inner and is_nonnegative(denominator):
        return whole + _merged(over.terms, min(inner, key=written_order), denominator)
    return normal_form(summed(whole.terms, {(rounded_quotient(over, denominator),): 1}))


def _merged(terms: Terms, quotient: Monomial, denominator: Polynomial) -> Polynomial:
    """Return a quotient whose numerator has another one, as one of both: (H//2 + 1)//3 is (H + 2)//6."""
    top, bottom = quotient[0].parts
    others = Polynomial(summed(terms, {quotient: -1}))
    return divided(top + others * bottom, bottom * denominator)


def _without_common_factors(numerator: Polynomial, denominator: Polynomial) -> tuple[Polynomial, Polynomial] | None:
    """Return both without the number and the atoms that divide all terms; None if there are none."""
    number = denominator.value
    if numerator.value is not None:
        return None
    # Of a number in the numerator, what a factor of the denominator leaves makes no difference.
    divisible = [c for m, c in numerator.terms.items() if m or number is None] + list(denominator.terms.values())
    factor = math.gcd(*divisible)
    monomials = (*numerator.terms, *denominator.terms)
    counts = reduce(and_, map(Counter, monomials))
    shared = tuple(counts.elements())
    if factor == 1 and not shared:
        return None
    top = {without(m, shared) or (): c // factor for m, c in numerator.terms.items()}
    bottom = {without(m, shared) or (): c // factor for m, c in denominator.terms.items()}
    return normal_form(top), normal_form(bottom)


def extreme(kind: str, parts: Iterable[Polynomial]) -> Polynomial:
    """Return the least (``"min"``) or the greatest (``"max"``) of some polynomials.

    Raises
    ------
    TypeMismatchError
        If there are none, or too many.
    """
    flat = {one.text: one for part in parts for one in _flattened(kind, part)}
    if not 1 <= len(flat) <= _MOST_PARTS:
        raise TypeMismatchError(f"{kind} takes 1 to {_MOST_PARTS} sizes, got {len(flat)}")
    left = [flat[text] for text in sorted(flat)]
    for part in list(left):
        others = [other for other in left if other is not part]
        if any(is_nonnegative(part - other if kind == "min" else other - part) for other in others):
            left = others
    if len(left) == 1:
        return left[0]
    common: Terms = {m: min(part.terms.get(m, 0) for part in left) for m in {m for part in left for m in part.terms}}
    shift = normal_form(common)
    if shift.terms:
        return extreme(kind, [part - shift for part in left]) + shift
    factor = math.gcd(*(c for part in left for c in part.terms.values()))
    if factor > 1:
        smaller = [normal_form({m: c // factor for m, c in part.terms.items()}) for part in left]
        return extreme(kind, smaller) * Polynomial.constant(factor)
    left.sort(key=lambda part: (part.value is None, part.text))
    return normal_form({(Atom(f"{kind}({', '.join(part.text for part in left)})", kind, tuple(left)),): 1})


def _flattened(kind: str, part: Polynomial) -> list[Polynomial]:
    """Return the parts of an extreme of the same kind that stands in a part alone, beside other terms."""
    inner = [m for m in part.terms if any(atom.kind == kind for atom in m)]
    if len(inner) != 1 or len(inner[0]) != 1 or part.terms[inner[0]] < 0:
        return [part]
    times = Polynomial.constant(part.terms[inner[0]])
    rest = Polynomial({m: c for m, c in part.terms.items() if m != inner[0]})
    return [one for each in inner[0][0].parts for one in _flattened(kind, each * times + rest)]


@lru_cache(maxsize=4096)
def is_nonnegative(polynomial: Polynomial, depth: int = _DEPTH) -> bool:
    """Tell whether a polynomial is provably not negative, whatever its symbols stand for."""
    negative = [m for m, c in polynomial.terms.items() if c < 0]
    if not negative and all(_is_nonnegative_atom(atom) for monomial in polynomial.terms for atom in monomial):
        return True
    if not depth or (() in negative and len(polynomial.terms) == 1):
        return False
    bounded = [m for m in polynomial.terms if len(m) == 1 and m[0].kind != "symbol"]
    return any(_is_bounded_by_0(polynomial, monomial, depth - 1) for monomial in sorted(bounded, key=written_order))


def _is_nonnegative_atom(atom: Atom) -> bool:
    if atom.kind == "symbol":
        return True
    check: Callable[[Iterable[bool]], bool] = any if atom.kind == "max" else all
    return check(is_nonnegative(part) for part in atom.parts)


def _is_bounded_by_0(polynomial: Polynomial, monomial: Monomial, depth: int) -> bool:
    """Tell whether a polynomial is not negative where one atom is replaced by a bound of it."""
    atom, coefficient = monomial[0], polynomial.terms[monomial]
    rest = Polynomial({m: c for m, c in polynomial.terms.items() if m != monomial})
    times = Polynomial.constant(coefficient)
    if atom.kind != "quotient":
        bounds = (is_nonnegative(rest + part * times, depth) for part in atom.parts)
        return any(bounds) if (atom.kind == "min") == (coefficient < 0) else all(bounds)
    top, bottom = atom.parts
    number = bottom.value
    if coefficient > 0 and _is_nonnegative_atom(atom) and is_nonnegative(rest, depth):
        return True
    if number is not None:
        low = top - Polynomial.constant(number - 1) if coefficient > 0 else top
        return is_nonnegative(rest * bottom + low * times, depth)
    return (
        coefficient < 0 and is_nonnegative(top) and is_nonnegative(bottom) and is_nonnegative(rest + top * times, depth)
    )


def substituted(polynomial: Polynomial, values: Mapping[str, Polynomial]) -> Polynomial:
    """Return a polynomial with others in place of symbols."""
    result = Polynomial({})
    for monomial, coefficient in polynomial.terms.items():
        product = Polynomial.constant(coefficient)
        for atom in monomial:
            product = product * _substituted_atom(atom, values)
        result = result + product
    return result


def _substituted_atom(atom: Atom, values: Mapping[str, Polynomial]) -> Polynomial:
    if atom.kind == "symbol":
        return values[atom.text] if atom.text in values else Polynomial({(atom,): 1})
    parts = [substituted(part, values) for part in atom.parts]
    return divided(*parts) if atom.kind == "quotient" else extreme(atom.kind, parts)


def names_in(polynomial: Polynomial) -> set[str]:
    """Return the symbols of a polynomial."""
    atoms = {atom for monomial in polynomial.terms for atom in monomial}
    return {a.text for a in atoms if a.kind == "symbol"}.union(*(names_in(part) for a in atoms for part in a.parts))


def value_at(polynomial: Polynomial, values: Mapping[str, int]) -> int:
    """Return the number that a polynomial is where every symbol has a value; ZeroDivisionError where it is none."""
    return sum(
        coefficient * math.prod(_atom_at(atom, values) for atom in monomial)
        for monomial, coefficient in polynomial.terms.items()
    )


def _atom_at(atom: Atom, values: Mapping[str, int]) -> int:
    if atom.kind == "symbol":
        return values[atom.text]
    parts = [value_at(part, values) for part in atom.parts]
    if atom.kind == "quotient":
        return parts[0] // parts[1]
    return min(parts) if atom.kind == "min" else max(parts)
