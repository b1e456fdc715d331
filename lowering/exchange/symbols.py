"""Numbers that follow from symbolic sizes, as entries of arrays of objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from graphrewrite.types import Size, is_at_most, size_max, size_min

__all__ = ["Symbol", "UndecidedError", "as_number", "greater", "holds_symbols", "lesser", "settled"]

_GREATEST_DIVISOR = 1 << 16
"""Fractions of larger denominators are rounded numbers, with which sizes are not computed."""


class UndecidedError(ArithmeticError):
    """What is asked of a number depends on what its symbols stand for."""


class Symbol:
    """A symbolic size divided by a whole number; it does the arithmetic of exporters' sizes.

    Parameters
    ----------
    size : Size
        The size.
    divisor : int
        What it is divided by.
    """

    __slots__ = ("divisor", "size")
    __hash__ = None  # type: ignore[assignment]  # whether two are equal may be undecided

    def __init__(self, size: Size, divisor: int = 1) -> None:
        self.size, self.divisor = size, divisor

    @property
    def whole(self) -> Size:
        """The size that it is; ValueError if it is a fraction of one."""
        if self.divisor != 1:
            raise ValueError(f"{self} is no whole number")
        return self.size

    def __add__(self, other: Any) -> Any:
        (a, b), divisor = _common(self, other)
        return _number(a + b, divisor)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return _number(-self.size, self.divisor)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        top, bottom = _fraction(other)
        return _number(self.size * top, self.divisor * bottom)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        (a, b), _ = _common(self, other)
        return _quotient(a, b)

    def __rtruediv__(self, other: Any) -> Any:
        (a, b), _ = _common(self, other)
        return _quotient(b, a)

    def __floor__(self) -> Any:
        return _number(self.size // self.divisor, 1)

    def __ceil__(self) -> Any:
        return _number(-(-self.size // self.divisor), 1)

    __trunc__ = __floor__  # sizes are not negative

    def __int__(self) -> int:
        raise TypeError(f"it needs a number, and {self} is open")

    def __mod__(self, other: Any) -> Any:
        (a, b), divisor = _common(self, other)
        return _number(a % b, divisor)

    def __rmod__(self, other: Any) -> Any:
        (a, b), divisor = _common(self, other)
        return _number(b % a, divisor)

    def __le__(self, other: Any) -> bool:
        (a, b), _ = _common(self, other)
        return _at_most(a, b)

    def __lt__(self, other: Any) -> bool:
        (a, b), _ = _common(self, other)
        return not _at_most(b, a)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __eq__(self, other: object) -> bool:
        (a, b), _ = _common(self, other)
        if a == b:
            return True
        if is_at_most(a + 1, b) or is_at_most(b + 1, a):
            return False
        raise UndecidedError(f"whether {a} is {b} depends on their values")

    def __str__(self) -> str:
        return str(self.size) if self.divisor == 1 else f"({self.size})/{self.divisor}"


def as_number(size: int | str) -> Any:
    """Return a size as an entry of an array."""
    return Symbol(size) if isinstance(size, Size) else size


def _fraction(number: Any) -> tuple[Any, int]:
    """Numerator and denominator of a number."""
    if isinstance(number, Symbol):
        return number.size, number.divisor
    exact = Fraction(float(number)) if isinstance(number, float | np.floating) else Fraction(int(number))
    if exact.denominator > _GREATEST_DIVISOR:
        raise UndecidedError(f"{number} is a rounded number")
    return exact.numerator, exact.denominator


def _common(one: Any, other: Any) -> tuple[tuple[Any, Any], int]:
    """Numerators of two numbers over one denominator."""
    (a, below_a), (b, below_b) = _fraction(one), _fraction(other)
    if below_a == below_b:
        return (a, b), below_a
    return (a * below_b, b * below_a), below_a * below_b


def _number(size: int | Size, divisor: int) -> Any:
    if isinstance(size, int):
        return size / divisor if size % divisor else size // divisor
    reduced = size // divisor
    if divisor == 1 or reduced * divisor == size:
        return Symbol(reduced) if isinstance(reduced, Size) else reduced
    if divisor > _GREATEST_DIVISOR:
        raise UndecidedError(f"{size} is divided by {divisor}")
    return Symbol(size, divisor)


def _quotient(a: int | Size, b: int | Size) -> Any:
    """A quotient of sizes; what is divided by a symbol must have it as a factor."""
    if isinstance(b, int) and b:
        return _number(a, b) if b > 0 else _number(-a, -b)
    whole = a // b
    if whole * b != a:
        raise UndecidedError(f"{a} is divided by {b}")
    return _number(whole, 1)


def _at_most(a: int | Size, b: int | Size) -> bool:
    known = is_at_most(a, b)
    if known is None:
        raise UndecidedError(f"whether {a} is at most {b} depends on their values")
    return known


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def extreme(one: Any, other: Any) -> Any:
        (a, b), divisor = _common(one, other)
        return _number(choose(a, b), divisor)

    return extreme


lesser = np.frompyfunc(_extreme(size_min), 2, 1)
greater = np.frompyfunc(_extreme(size_max), 2, 1)


def holds_symbols(value: Any) -> bool:
    """Tell whether a converted value still has symbols where only numbers can stand."""
    return isinstance(value, Symbol) or (isinstance(value, tuple) and any(map(holds_symbols, value)))


def settled(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array of objects as numbers of a dtype where none is symbolic; whole ones in an integer dtype."""
    if array.dtype != object:
        return array
    if dtype.kind in "iu":
        array = _whole(array)
    return array if any(isinstance(entry, Symbol) for entry in array.flat) else array.astype(dtype)


def _whole(array: np.ndarray) -> np.ndarray:
    result = np.empty(array.shape, object)
    for index, entry in np.ndenumerate(array):
        result[index] = math.trunc(entry) if isinstance(entry, Symbol) else int(entry)
    return result
