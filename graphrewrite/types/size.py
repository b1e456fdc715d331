"""Symbolic sizes: expressions such as ``2*seq + 1`` over names of sizes that run time decides."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.polynomial import Polynomial
from graphrewrite.types.rounding import divided, extreme, is_nonnegative, names_in, substituted, value_at
from graphrewrite.types.size_parser import parse_polynomial

__all__ = [
    "Size",
    "as_polynomial",
    "as_size",
    "evaluate_size",
    "is_at_most",
    "of_polynomial",
    "product",
    "size_max",
    "size_min",
    "substitute",
    "symbols",
]


class Size(str):
    """A size that is no number yet: a string that holds the normal form of an expression, and does arithmetic.

    Sizes are equal exactly when their texts are; a string is equal if it says the same in any form. Names stand for
    whole numbers from 0; one such as ``?1`` for a size that only the data decides.

    Parameters
    ----------
    text : str
        Names, whole numbers, ``+ - * // %``, parentheses, ``min(a, b)`` and ``max(a, b)``.

    Raises
    ------
    TypeMismatchError
        If the text is no expression, or a number, which is an int.

    Examples
    --------
    >>> n = Size("N")
    >>> 1 + n * 2, (n - 1) // 2 + 1, n - n, Size("2*seq + 1") == "1+seq*2"
    ('2*N + 1', '(N + 1)//2', 0, True)
    """

    __slots__ = ()
    __array_ufunc__ = None  # a number of numpy times a size is the size's affair

    def __new__(cls, text: str) -> Size:
        """Return the size that a text says."""
        size = as_size(text)
        if isinstance(size, Size):
            return size
        raise TypeMismatchError(f"{str(text)!r} is the number {size}, which needs no symbol; pass {size}")

    @staticmethod
    def unknown(index: int = 0) -> Size:
        """Return an unknown size of an op's result, which a graph gives a number of its own.

        Parameters
        ----------
        index : int
            Which of the unknown sizes of one op, from 0.

        Examples
        --------
        >>> Size.unknown(), Size.unknown(1)
        ('?a', '?b')
        """
        letters = ""
        while index >= 0:
            letters = chr(ord("a") + index % 26) + letters
            index = index // 26 - 1
        return Size(f"?{letters}")

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or (type(other) is str and _means(other, self))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __add__(self, other: Any) -> Any:
        return _computed("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _computed("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _computed("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _computed("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _computed("*", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _computed("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _computed("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return _computed("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _computed("%", other, self)

    def __neg__(self) -> Any:
        return _computed("-", 0, self)

    def _order(self, other: object) -> bool:
        raise TypeMismatchError(
            f"whether {self} is less than {other} is known when the graph is evaluated; ask is_at_most(a, b) what is "
            "certain before"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _order

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (str(self),)


def as_size(size: int | str) -> int | Size:
    """Return a size in normal form: an int where it is a number.

    Parameters
    ----------
    size : int or str
        A number, or an expression of names.

    Raises
    ------
    TypeMismatchError
        If it is neither, with the place in the text.

    Examples
    --------
    >>> as_size("seq + seq + 1"), as_size("(H-1)//2 + 1"), as_size("4*2")
    ('2*seq + 1', '(H + 1)//2', 8)
    >>> as_size("2*(seq")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: '2*(seq' is not a size: a ')' is missing at its end; write ...
    """
    if type(size) is Size:
        return size
    if isinstance(size, str):
        return _parsed(str(size))
    try:
        return operator.index(size)
    except TypeError as error:
        raise TypeMismatchError(
            f"sizes are integers, or names and expressions such as '2*N + 1', got {size!r}"
        ) from error


@lru_cache(maxsize=4096)
def _parsed(text: str) -> int | Size:
    return str.__new__(Size, text) if text.isidentifier() else of_polynomial(parse_polynomial(text))


def _means(text: str, size: Size) -> bool:
    """Tell whether a text that is not in normal form says a size."""
    if text.isidentifier():
        return False
    with suppress(TypeMismatchError):
        return str.__eq__(str(_parsed(text)), size)
    return False


def of_polynomial(polynomial: Polynomial) -> int | Size:
    """Return the size that a polynomial is."""
    number = polynomial.value
    return str.__new__(Size, polynomial.text) if number is None else number


def as_polynomial(size: int | str, values: Mapping[str, Any] | None = None) -> Polynomial:
    """Return a size as a polynomial, with sizes or polynomials in place of some names."""
    whole = _polynomial(as_size(size))
    chosen = {
        name: value if isinstance(value, Polynomial) else _polynomial(as_size(value))
        for name, value in (values or {}).items()
    }
    return substituted(whole, chosen) if chosen else whole


@lru_cache(maxsize=4096)
def _polynomial(size: int | str) -> Polynomial:
    return parse_polynomial(str(size)) if isinstance(size, str) else Polynomial.constant(size)


def _remainder(a: Polynomial, b: Polynomial) -> Polynomial:
    return a - divided(a, b) * b


_OPERATIONS: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": divided,
    "%": _remainder,
    "min": lambda a, b: extreme("min", (a, b)),
    "max": lambda a, b: extreme("max", (a, b)),
}


@lru_cache(maxsize=4096)
def _result(name: str, a: int | str, b: int | str) -> int | Size:
    return of_polynomial(_OPERATIONS[name](_polynomial(a), _polynomial(b)))


def _computed(name: str, a: Any, b: Any) -> Any:
    """Return a result; text that is no size, as in ``"axis " + size``, is left to strings."""
    sizes = [one if type(one) is Size else operator.index(one) if hasattr(one, "__index__") else None for one in (a, b)]
    first, second = sizes
    return NotImplemented if first is None or second is None else _result(name, first, second)


def size_min(a: int | str, b: int | str) -> int | Size:
    """Return the lesser of two sizes.

    Parameters
    ----------
    a, b : int or str
        Sizes.

    Examples
    --------
    >>> size_min("N", "N + 1"), size_min("seq", 512)
    ('N', 'min(512, seq)')
    """
    return _result("min", as_size(a), as_size(b))


def size_max(a: int | str, b: int | str) -> int | Size:
    """Return the greater of two sizes.

    Parameters
    ----------
    a, b : int or str
        Sizes.

    Examples
    --------
    >>> size_max("N", "N + 1"), size_max("H - 3", 0)
    ('N + 1', 'max(3, H) - 3')
    """
    return _result("max", as_size(a), as_size(b))


def product(sizes: Iterable[int | str]) -> int | Size:
    """Return the product of sizes, 1 if there are none.

    Parameters
    ----------
    sizes : iterable of int or str
        Such as a shape.

    Examples
    --------
    >>> product(("N", 3, "heads")), product(())
    ('3*N*heads', 1)
    """
    result: int | Size = 1
    for size in sizes:
        result = _result("*", result, as_size(size))
    return result


@lru_cache(maxsize=4096)
def is_at_most(a: int | str, b: int | str) -> bool | None:
    """Tell whether one size is provably at most another.

    Parameters
    ----------
    a, b : int or str
        Sizes.

    Returns
    -------
    bool or None
        None if it depends on what the names stand for, or is not found out.

    Examples
    --------
    >>> is_at_most("N", "N + 1"), is_at_most("N + 1", "N"), is_at_most("N", 3)
    (True, False, None)
    """
    difference = _polynomial(as_size(b)) - _polynomial(as_size(a))
    if is_nonnegative(difference):
        return True
    return False if is_nonnegative(-difference - Polynomial.constant(1)) else None


@lru_cache(maxsize=4096)
def symbols(size: int | str) -> tuple[str, ...]:
    """Return the names in a size, sorted; an unknown one is a name as well.

    Parameters
    ----------
    size : int or str
        A size.

    Examples
    --------
    >>> symbols("2*seq + heads*?1"), symbols(3)
    (('?1', 'heads', 'seq'), ())
    """
    return tuple(sorted(names_in(_polynomial(size))))


def substitute(size: int | str, values: Mapping[str, int | str]) -> int | Size:
    """Return a size with other sizes in place of names.

    Parameters
    ----------
    size : int or str
        A size.
    values : mapping of str to int or str
        What stands for a name; names that are not in it stay.

    Examples
    --------
    >>> substitute("2*N + 1", {"N": 3}), substitute("N*M", {"N": "M + 1"})
    (7, 'M*M + M')
    """
    size = as_size(size)
    if size in values:  # the name alone
        return as_size(values[str(size)])
    chosen = {name: values[name] for name in symbols(size) if name in values}
    return of_polynomial(as_polynomial(size, chosen)) if chosen else size


def evaluate_size(size: int | str, values: Mapping[str, int]) -> int:
    """Return the number that a size is for given values of its names.

    Parameters
    ----------
    size : int or str
        A size.
    values : mapping of str to int
        A value for each name.

    Raises
    ------
    TypeMismatchError
        If a name has no value, or a denominator is 0.

    Examples
    --------
    >>> evaluate_size("(H + 1)//2", {"H": 6})
    3
    """
    size = as_size(size)
    if isinstance(size, int):
        return size
    if missing := [name for name in symbols(size) if name not in values]:
        raise TypeMismatchError(f"the size {size} needs a value of {', '.join(missing)}")
    try:
        return value_at(_polynomial(size), values)
    except ZeroDivisionError as error:
        given = ", ".join(f"{name} = {values[name]}" for name in symbols(size))
        raise TypeMismatchError(f"the size {size} divides by zero where {given}") from error
