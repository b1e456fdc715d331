"""Values and conditions in a pattern, and the equality of attribute values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.errors import RuleError
from graphrewrite.op.op import Op
from graphrewrite.op.operators import Operators
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.types import Type

__all__ = ["Application", "Literal", "Where", "identical", "same"]

_GLANCE = 64
"""So many entries of a constant are compared before all of them."""
_TOLD_BY_BITS = {("f", "f"), ("i", "f"), ("i", "i"), ("i", "u")}
"""Kinds of a literal and a constant of which equal numbers have the same bits: 0 is not -0."""
_EXACT = 1 << 53
"""Up to here numpy compares integers with all others exactly (IEEE 754-2019, 3.6)."""


@dataclass(frozen=True, eq=False, repr=False)
class Literal:
    """Values in a pattern: a constant matches if each of its entries is one of them.

    Attributes
    ----------
    value : ndarray
        A number, or an array that is compared entry by entry; of a set, its members. 0 is not -0, and 0.1 is the float
        next to it in the type of the constant, as in a graph.
    members : bool
        Whether any of the values matches.
    """

    value: np.ndarray
    members: bool = False

    @classmethod
    def of(cls, value: Any) -> Literal:
        """Make a literal of a number, an array, a set or a range."""
        if isinstance(value, set | frozenset | range):
            return cls(np.asarray(sorted(value)), members=True)
        return cls(np.asarray(value))

    def admits(self, array: np.ndarray) -> bool:
        """Tell whether every entry of an array matches the literal."""
        size, bits = array.size, self._bits_in(array)
        if bits is not None and size <= _GLANCE:
            return size > 0 and array.tobytes() == bits * size
        if size > _GLANCE and (not self.value.ndim or self.members):  # which stands for one entry
            head = array.flat[:_GLANCE]
            if not (self._equals(head) if bits is None else head.tobytes() == bits * _GLANCE):
                return False
        return size > 0 and self._equals(array)

    def _bits_in(self, array: np.ndarray) -> bytes | None:
        """Return the bits of each entry of an array that matches; None if they do not tell."""
        if self.members or self.value.ndim or array.__class__ is not np.ndarray:
            return None
        dtype = array.dtype
        if dtype not in self._bits:
            self._bits[dtype] = _bits_of(self.value, dtype)
        return self._bits[dtype]

    @cached_property
    def _bits(self) -> dict[np.dtype[Any], bytes | None]:
        return {}

    def _equals(self, array: np.ndarray) -> bool:
        """Tell, entry by entry, whether an array matches."""
        value = self.value
        if value.dtype.kind == "f" and array.dtype.kind == "f":
            with np.errstate(over="ignore", under="ignore"):
                value = value.astype(array.dtype)
        if self.members:
            return bool(np.isin(array, value).all()) and self._has_signs_of(array)
        try:
            return bool(np.all(array == value)) and self._has_signs_of(array)
        except ValueError:  # shapes that do not broadcast are not equal
            return False

    def _has_signs_of(self, array: np.ndarray) -> bool:
        """Whether zeros have the sign of the literal's: x - 0 is x, and x - -0 is not (IEEE 754-2019, 6.3)."""
        if array.dtype.kind != "f" or array.all():
            return True
        negative = np.any(np.signbit(self.value) & (self.value == 0)) if self.members else np.signbit(self.value)
        return bool(np.all((array != 0) | (np.signbit(array) == negative)))

    def __repr__(self) -> str:
        shown = repr(self.value.tolist())
        return "{" + shown[1:-1] + "}" if self.members else shown


def _bits_of(value: np.ndarray, dtype: np.dtype[Any]) -> bytes | None:
    """Return the bits that every entry equal to a number has, none where there is no such; None if bits do not tell."""
    kinds = value.dtype.kind, dtype.kind
    if kinds not in _TOLD_BY_BITS or (kinds[0] == "i" and abs(int(value)) > _EXACT):
        return None
    with np.errstate(over="ignore", under="ignore"):
        held = value.astype(dtype)
    is_held = held == held if kinds[0] == "f" else held.item() == value.item()
    return held.tobytes() if is_held else b""


class Application(NamedTuple):
    """An op on operands of some types, with all of its attributes."""

    op: Op
    types: tuple[Type, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Where(Operators):
    """A condition on an attribute or a value, and its text.

    Made by `graphrewrite.rewriting.rule.declaration.where`.

    Attributes
    ----------
    predicate : callable
        Tells whether it holds for an attribute's value, or for a matched value.
    reason : str
        The text.
    of_node : bool
        Whether the predicate of an attribute takes an `Application` instead, since operands decide, too.
    """

    predicate: Callable[[Any], Any]
    reason: str
    of_node: bool = False

    def lacking(self, value: Any) -> str:
        """Return what is missing of a value that does not meet it; a predicate may know more than the text."""
        told = getattr(self.predicate, "lacking", None)
        return f"does not meet: {self.reason}" if told is None else str(told(value))

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Make a pattern node, or return the matched one."""
        current = CURRENT.get()
        if current is None:
            raise RuleError(f"a condition is no operand of {op.name} below the yield; it belongs to a pattern")
        return current.apply_op(op, operands, attributes)

    def __invert__(self) -> Any:
        raise RuleError(f"the condition {self.reason!r} cannot be negated; negate inside its predicate, and say so")

    def __repr__(self) -> str:
        return f"<{self.reason}>"


def same(a: Any, b: Any) -> bool:
    """Tell whether two attribute values are equal, arrays and sequences included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def identical(a: Any, b: Any) -> bool:
    """Tell whether two attribute values are one: equal, and zeros of one sign.

    Examples
    --------
    >>> identical((0, 1), (0.0, 1.0)), identical(0.0, -0.0)
    (True, False)
    """
    return same(a, b) and _signs_of_zeros(a) == _signs_of_zeros(b)


def _signs_of_zeros(value: Any) -> Any:
    """What tells values that are equal apart: which of their zeros are negative."""
    if isinstance(value, np.ndarray):
        return np.signbit(value).tolist() if value.dtype.kind == "f" and not value.all() else []
    if isinstance(value, list | tuple):
        return [_signs_of_zeros(entry) for entry in value]
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0
