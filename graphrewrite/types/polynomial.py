"""Polynomials with whole coefficients over symbols, floor divisions, minima and maxima, in a normal form.

Every function returns a normal form: two polynomials with equal texts have equal values wherever both are defined. The
converse holds for sums and products of symbols, and for what the laws in ``tests/types/test_sizes.py`` say. Symbols
stand for whole numbers from 0, and denominators are taken not to be 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from operator import and_

from graphrewrite.errors import TypeMismatchError

__all__ = ["Atom", "Polynomial", "divided", "extreme", "is_nonnegative", "names_in", "substituted", "value_at"]

_MOST_TERMS = 64
_MOST_FACTORS = 16
_MOST_PARTS = 8
_LONGEST = 1000
_LARGEST = (1 << 63) - 1
_MOST_DIVISIONS = 4
_DEPTH = 3
"""Atoms, one after the other, that are replaced by their bounds in a proof that something is not negative."""


@dataclass(frozen=True)
class Atom:
    """A factor that has no parts which could be multiplied out: a symbol, a quotient, a minimum or a maximum.

    Parameters
    ----------
    text : str
        Its normal form, by which atoms are compared.
    kind : str
        ``"symbol"``, ``"quotient"`` (rounded down), ``"min"`` or ``"max"``.
    parts : tuple of Polynomial
        Numerator and denominator, or what the extreme is of.
    """

    text: str
    kind: str = field(default="symbol", compare=False)
    parts: tuple[Polynomial, ...] = field(default=(), compare=False)


Monomial = tuple[Atom, ...]
"""A product of atoms, ordered by their texts."""
Terms = dict[Monomial, int]


class Polynomial:
    """A sum of monomials with whole coefficients; immutable.

    Parameters
    ----------
    terms : dict of Monomial to int
        In normal form, no coefficient 0.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @classmethod
    def constant(cls, value: int) -> Polynomial:
        """Return a number."""
        return _normal({(): value})

    @classmethod
    def symbol(cls, name: str) -> Polynomial:
        """Return a symbol."""
        return cls({(Atom(name),): 1})

    @property
    def value(self) -> int | None:
        """The number that it is, if it is one."""
        return self.terms.get((), 0) if not self.terms.keys() - {()} else None

    @cached_property
    def text(self) -> str:
        """The text that is parsed to an equal polynomial."""
        ordered = sorted(self.terms, key=_order)
        first = next((i for i, monomial in enumerate(ordered) if self.terms[monomial] > 0), 0)
        written = ""
        for monomial in (*ordered[first : first + 1], *ordered[:first], *ordered[first + 1 :]):
            coefficient = self.terms[monomial]
            text = _product_text(monomial, abs(coefficient))
            if written:
                written += f" - {text}" if coefficient < 0 else f" + {text}"
            else:  # a sign before H//2 would be that of H
                written = text if coefficient > 0 else f"-({text})" if "//" in text else f"-{text}"
        return written or "0"

    def __add__(self, other: Polynomial) -> Polynomial:
        return _normal(_sum(self.terms, other.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return _normal(_sum(self.terms, other.terms, -1))

    def __neg__(self) -> Polynomial:
        return _normal({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        result: Terms = {}
        for monomial, coefficient in other.terms.items():
            result = _bounded(_sum(result, self.terms, coefficient, monomial))
        return _normal(result)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


def _sum(terms: Terms, added: Terms, factor: int = 1, monomial: Monomial = ()) -> Terms:
    """Return terms plus a multiple of others, a factor and a monomial times them."""
    result = dict(terms)
    for own, coefficient in added.items():
        key = _product(own, monomial)
        total = result.get(key, 0) + factor * coefficient
        if total:
            result[key] = total
        else:
            result.pop(key, None)
    return result


def _product(one: Monomial, other: Monomial) -> Monomial:
    return tuple(sorted(one + other, key=_by_text)) if one and other else one or other


def _by_text(atom: Atom) -> str:
    return atom.text


def _order(monomial: Monomial) -> tuple[int, list[str]]:
    """Order in which terms are written; products keep it, which division needs."""
    return -len(monomial), [atom.text for atom in monomial]


def _product_text(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    factors = [f"({a.text})" if a.kind == "quotient" and len(monomial) + coefficient > 2 else a.text for a in monomial]
    return "*".join(factors if coefficient == 1 else [str(coefficient), *factors])


def _bounded(terms: Terms) -> Terms:
    """Return terms that are few and small: whoever writes `N*N*…` into a file shall not stop the program."""
    if (
        len(terms) > _MOST_TERMS
        or any(len(monomial) > _MOST_FACTORS for monomial in terms)
        or any(abs(coefficient) > _LARGEST for coefficient in terms.values())
        or sum(len(atom.text) + 3 for monomial in terms for atom in monomial) > _LONGEST
    ):
        raise TypeMismatchError(
            f"a symbolic size has at most {_MOST_TERMS} terms of {_MOST_FACTORS} factors, {_LONGEST} characters and "
            f"coefficients below 2**63; give a name to a part of it"
        )
    return terms


def _normal(terms: Terms) -> Polynomial:
    """Return the normal form of a sum.

    Quotients by a number come in pairs, such as H//2 and (H + 1)//2, whose sum needs no quotient. Of each pair one is
    written: with a factor that is not negative, unless the other makes the sum shorter.
    """
    terms = _positive(_bounded({monomial: coefficient for monomial, coefficient in terms.items() if coefficient}))
    for monomial in sorted(filter(_paired, terms), key=_order):
        quotient = _paired(monomial)
        if quotient is not None and monomial in terms:
            trial = _exchanged(terms, monomial, quotient, terms[monomial])
            if len(trial) <= len(terms) and _length(trial) < _length(terms):
                terms = trial
    return Polynomial(_bounded(terms))


def _positive(terms: Terms) -> Terms:
    """Return an equal sum in which no quotient of a pair is subtracted, and of each pair there is one."""
    for monomial in sorted(filter(_paired, terms), key=_order):
        quotient = _paired(monomial)
        if quotient is not None and monomial in terms:
            twin = _product(_without(monomial, (quotient,)) or (), (_twin(quotient)[0],))
            own = terms[monomial]
            if surplus := min(own, terms.get(twin, 0)) if own > 0 else own:
                terms = _bounded(_exchanged(terms, monomial, quotient, surplus))
    return terms


def _length(terms: Terms) -> tuple[int, int]:
    return len(terms), sum(len(atom.text) for monomial in terms for atom in monomial)


def _paired(monomial: Monomial) -> Atom | None:
    """Return the quotient of a sum of symbols by a number in a monomial, if there is exactly one."""
    found = [atom for atom in monomial if atom.kind == "quotient" and _is_plain(atom)]
    return found[0] if len(found) == 1 else None


def _is_plain(quotient: Atom) -> bool:
    top, bottom = quotient.parts
    return bottom.value is not None and all(atom.kind == "symbol" for monomial in top.terms for atom in monomial)


@lru_cache(maxsize=1024)
def _twin(quotient: Atom) -> tuple[Atom, Terms]:
    """Return another quotient and a sum which together are minus a quotient: -(H//2) is (H + 1)//2 - H."""
    top, bottom = quotient.parts
    opposite = {monomial: -coefficient for monomial, coefficient in top.terms.items()}
    whole, rest = _division(_sum(opposite, {(): bottom.terms[()] - 1}), bottom.terms)
    return _quotient(Polynomial(rest), bottom), whole


def _exchanged(terms: Terms, monomial: Monomial, quotient: Atom, count: int) -> Terms:
    """Return an equal sum that has a monomial so many times fewer, and its twin instead."""
    twin, others = _twin(quotient)
    left = _without(monomial, (quotient,)) or ()
    return _sum(_sum(terms, {monomial: -count}), _sum(others, {(twin,): 1}), -count, left)


def _quotient(numerator: Polynomial, denominator: Polynomial) -> Atom:
    plain = all(len(m) == 1 and m[0].kind == "symbol" and c == 1 for m, c in denominator.terms.items())
    simple = denominator.value is not None or (plain and len(denominator.terms) == 1)
    below = denominator.text if simple else f"({denominator.text})"
    (monomial, coefficient), *more = numerator.terms.items()
    whole = more or coefficient != 1 or len(monomial) != 1 or monomial[0].kind == "quotient"
    return Atom(
        f"({numerator.text})//{below}" if whole else f"{numerator.text}//{below}", "quotient", (numerator, denominator)
    )


def _division(terms: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """Return quotient and rest; of the rest, nothing can be taken that the divisor's first term divides."""
    lead = min(divisor, key=_order)
    by = divisor[lead]
    quotient: Terms = {}
    pending = sorted(terms, key=_order)
    while pending:
        monomial = pending.pop(0)
        factor = _without(monomial, lead)
        times = terms.get(monomial, 0) // by if factor is not None else 0
        if factor is None or not times:
            continue
        quotient = _sum(quotient, {factor: times})
        terms = _bounded(_sum(terms, divisor, -times, factor))
        pending = sorted((m for m in terms if _order(m) > _order(monomial)), key=_order)
    return quotient, terms


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Return a monomial divided by another; None if it is no multiple."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def divided(numerator: Polynomial, denominator: Polynomial) -> Polynomial:
    """Return a quotient, rounded down: multiples are taken out, and quotients of quotients become one.

    Raises
    ------
    TypeMismatchError
        If the denominator is 0.
    """
    if not denominator.terms:
        raise TypeMismatchError(f"{numerator.text} is divided by 0")
    if denominator.terms[min(denominator.terms, key=_order)] < 0:
        opposite = -denominator
        if opposite.terms[min(opposite.terms, key=_order)] > 0 or opposite.text < denominator.text:
            numerator, denominator = -numerator, opposite
    smaller = _without_common_factors(numerator, denominator)
    if smaller is not None:
        return divided(*smaller)
    whole, over = Polynomial({}), numerator
    for _ in range(_MOST_DIVISIONS):  # what is left of a sum of quotients may be divided once more
        quotient, rest = _division(_positive(over.terms), _positive(denominator.terms))
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
        return whole + _merged(over.terms, min(inner, key=_order), denominator)
    return _normal(_sum(whole.terms, {(_quotient(over, denominator),): 1}))


def _merged(terms: Terms, quotient: Monomial, denominator: Polynomial) -> Polynomial:
    """Return a quotient whose numerator has another one, as one of both: (H//2 + 1)//3 is (H + 2)//6."""
    top, bottom = quotient[0].parts
    others = Polynomial(_sum(terms, {quotient: -1}))
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
    top = {_without(m, shared) or (): c // factor for m, c in numerator.terms.items()}
    bottom = {_without(m, shared) or (): c // factor for m, c in denominator.terms.items()}
    return _normal(top), _normal(bottom)


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
    shift = _normal(common)
    if shift.terms:
        return extreme(kind, [part - shift for part in left]) + shift
    factor = math.gcd(*(c for part in left for c in part.terms.values()))
    if factor > 1:
        smaller = [_normal({m: c // factor for m, c in part.terms.items()}) for part in left]
        return extreme(kind, smaller) * Polynomial.constant(factor)
    left.sort(key=lambda part: (part.value is None, part.text))
    return _normal({(Atom(f"{kind}({', '.join(part.text for part in left)})", kind, tuple(left)),): 1})


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
    return any(_is_bounded_by_0(polynomial, monomial, depth - 1) for monomial in sorted(bounded, key=_order))


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
