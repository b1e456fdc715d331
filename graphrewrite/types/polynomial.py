"""Polynomials with whole coefficients over symbols, rounded quotients, minima and maxima, in a normal form.

Every function here and in `rounding` returns a normal form: two polynomials with equal texts have equal values wherever
both are defined. The converse holds for sums and products of symbols, and for what the laws in
``tests/types/test_sizes.py`` say. Symbols stand for whole numbers from 0, and denominators are taken not to be 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from graphrewrite.errors import TypeMismatchError

__all__ = [
    "Atom",
    "Monomial",
    "Polynomial",
    "Terms",
    "division",
    "normal_form",
    "rounded_quotient",
    "summed",
    "with_positive_quotients",
    "without",
    "written_order",
]

_MOST_TERMS = 64
_MOST_FACTORS = 16
_LONGEST = 1000
_LARGEST = (1 << 63) - 1


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
        return normal_form({(): value})

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
        ordered = sorted(self.terms, key=written_order)
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
        return normal_form(summed(self.terms, other.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return normal_form(summed(self.terms, other.terms, -1))

    def __neg__(self) -> Polynomial:
        return normal_form({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        result: Terms = {}
        for monomial, coefficient in other.terms.items():
            result = _bounded(summed(result, self.terms, coefficient, monomial))
        return normal_form(result)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))


def summed(terms: Terms, added: Terms, factor: int = 1, monomial: Monomial = ()) -> Terms:
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


def written_order(monomial: Monomial) -> tuple[int, list[str]]:
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


def normal_form(terms: Terms) -> Polynomial:
    """Return the normal form of a sum.

    Quotients by a number come in pairs, such as H//2 and (H + 1)//2, whose sum needs no quotient. Of each pair one is
    written: with a factor that is not negative, unless the other makes the sum shorter.
    """
    terms = with_positive_quotients(
        _bounded({monomial: coefficient for monomial, coefficient in terms.items() if coefficient})
    )
    for monomial in sorted(filter(_paired, terms), key=written_order):
        quotient = _paired(monomial)
        if quotient is not None and monomial in terms:
            trial = _exchanged(terms, monomial, quotient, terms[monomial])
            if len(trial) <= len(terms) and _length(trial) < _length(terms):
                terms = trial
    return Polynomial(_bounded(terms))


def with_positive_quotients(terms: Terms) -> Terms:
    """Return an equal sum in which no quotient of a pair is subtracted, and of each pair there is one."""
    for monomial in sorted(filter(_paired, terms), key=written_order):
        quotient = _paired(monomial)
        if quotient is not None and monomial in terms:
            twin = _product(without(monomial, (quotient,)) or (), (_twin(quotient)[0],))
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
    whole, rest = division(summed(opposite, {(): bottom.terms[()] - 1}), bottom.terms)
    return rounded_quotient(Polynomial(rest), bottom), whole


def _exchanged(terms: Terms, monomial: Monomial, quotient: Atom, count: int) -> Terms:
    """Return an equal sum that has a monomial so many times fewer, and its twin instead."""
    twin, others = _twin(quotient)
    left = without(monomial, (quotient,)) or ()
    return summed(summed(terms, {monomial: -count}), summed(others, {(twin,): 1}), -count, left)


def rounded_quotient(numerator: Polynomial, denominator: Polynomial) -> Atom:
    """Return a quotient of which nothing can be taken out."""
    plain = all(len(m) == 1 and m[0].kind == "symbol" and c == 1 for m, c in denominator.terms.items())
    simple = denominator.value is not None or (plain and len(denominator.terms) == 1)
    below = denominator.text if simple else f"({denominator.text})"
    (monomial, coefficient), *more = numerator.terms.items()
    whole = more or coefficient != 1 or len(monomial) != 1 or monomial[0].kind == "quotient"
    return Atom(
        f"({numerator.text})//{below}" if whole else f"{numerator.text}//{below}", "quotient", (numerator, denominator)
    )


def division(terms: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """Return quotient and rest; of the rest, nothing can be taken that the divisor's first term divides."""
    lead = min(divisor, key=written_order)
    by = divisor[lead]
    quotient: Terms = {}
    pending = sorted(terms, key=written_order)
    while pending:
        monomial = pending.pop(0)
        factor = without(monomial, lead)
        times = terms.get(monomial, 0) // by if factor is not None else 0
        if factor is None or not times:
            continue
        quotient = summed(quotient, {factor: times})
        terms = _bounded(summed(terms, divisor, -times, factor))
        pending = sorted((m for m in terms if written_order(m) > written_order(monomial)), key=written_order)
    return quotient, terms


def without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """Return a monomial divided by another; None if it is no multiple."""
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
