"""Sizes that say what an op compares them with, so that a shape that does not fit can be mended instead of guessed.

An op's inference is run on types whose sizes are traced. Where it compares a size with another number and they differ,
the trace notes which size would have to be which number. Arithmetic on the way is followed as far as it is linear:
``w.shape[0] != 4 * r.shape[1]`` says what both sizes could be.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self

from graphrewrite.types import Dimension, Stream, Type

__all__ = ["OperandAxis", "Suggestion", "Trace", "Traced", "traced"]


class OperandAxis(NamedTuple):
    """An axis of an operand.

    Attributes
    ----------
    operand, axis : int
        Counted from 0.
    """

    operand: int
    axis: int


class Suggestion(NamedTuple):
    """What a size would have to be for a comparison to come out otherwise."""

    place: OperandAxis
    size: Dimension


Trace = list[Suggestion]
"""What was noted, in order: the last is the likeliest to have been what did not fit."""

_LARGEST = 64
"""No generated size is larger."""
_ONE, _NONE = Fraction(1), Fraction(0)
"""The factor and the number of a size as it is."""


def _number(other: Any) -> int:
    """Return a number, or 0 for a symbolic size, with which nothing can be traced."""
    return int(other) if isinstance(other, int) else 0


class Traced(int):
    """A number that is a size of an operand times a factor, plus a number."""

    place: Any
    factor: Fraction
    offset: Fraction
    notes: list[Any]

    @classmethod
    def of(cls, value: int, place: Any, notes: list[Any], factor: Fraction, offset: Fraction) -> Self:
        """Return a number that is so far from what is in a place."""
        made = cls(value)
        made.place, made.notes, made.factor, made.offset = place, notes, factor, offset
        return made

    def _note(self, wanted: Any) -> None:
        """Note which size would make this number equal to another one."""
        if isinstance(wanted, str):
            if self.factor == 1 and self.offset == 0:
                self.notes.append(Suggestion(self.place, wanted))
        elif isinstance(wanted, int | float) and wanted == int(wanted) and self.factor:
            size = (int(wanted) - self.offset) / self.factor
            if size.denominator == 1 and 0 < size <= _LARGEST:
                self.notes.append(Suggestion(self.place, int(size)))

    def _compared(self, other: Any, bound: int = 0) -> None:
        if isinstance(other, Traced) and other.place.operand < self.place.operand:
            other._note(int(self) - bound)  # the later operand is mended first, and the last note is tried first
            self._note(int(other) + bound)
            return
        self._note(int(other) + bound if isinstance(other, Traced) else other)
        if isinstance(other, Traced):
            other._note(int(self) - bound)

    def _made(self, value: Any, factor: Fraction, offset: Fraction) -> Any:
        if not isinstance(value, int):
            return value
        return self.of(int(value), self.place, self.notes, factor, offset)

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: object) -> bool:
        equal = int.__eq__(self, other) if isinstance(other, int) else (isinstance(other, float) and int(self) == other)
        if equal is not True:
            self._compared(other)
        return equal is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__

    def __lt__(self, other: Any) -> bool:
        self._compared(other, -1 if int(self) >= other else 0)
        return bool(int(self) < other)

    def __le__(self, other: Any) -> bool:
        self._compared(other, 0 if int(self) > other else 1)
        return bool(int(self) <= other)

    def __gt__(self, other: Any) -> bool:
        self._compared(other, 1 if int(self) <= other else 0)
        return bool(int(self) > other)

    def __ge__(self, other: Any) -> bool:
        self._compared(other, 0 if int(self) < other else -1)
        return bool(int(self) >= other)

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        return self._made(int.__add__(self, other), self.factor, self.offset + _number(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(int.__sub__(self, other), self.factor, self.offset - _number(other))

    def __rsub__(self, other: Any) -> Any:
        return self._made(int.__rsub__(self, other), -self.factor, _number(other) - self.offset)

    def __mul__(self, other: Any) -> Any:
        by = _number(other)
        return self._made(int.__mul__(self, other), self.factor * by, self.offset * by)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        by = _number(other) or 1
        return self._made(int.__floordiv__(self, other), self.factor / by, self.offset / by)

    def __truediv__(self, other: Any) -> Any:
        by = int(other)
        exact = int(self) / by
        return self // by if exact == int(exact) else exact

    def __mod__(self, other: Any) -> Any:
        left = int.__mod__(self, other)
        if isinstance(other, int) and left:  # it is a multiple that fits
            by = int(other)
            for size in (int(self) - left + by, by):
                self._note(size)
        return left


def traced(types: Sequence[Type], notes: Trace) -> tuple[Type, ...]:
    """Return types whose sizes note what they are compared with.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> from graphrewrite.errors import TypeMismatchError
    >>> notes = []
    >>> try:
    ...     _ = op.linear.infer(*traced((Tensor("f32", ("N", 3)), Tensor("f32", (2, 5))), notes))
    ... except TypeMismatchError:
    ...     notes[-1]
    Suggestion(place=OperandAxis(operand=1, axis=1), size=3)
    """
    return tuple(_traced(kind, operand, notes) for operand, kind in enumerate(types))


def _traced(kind: Type, operand: int, notes: Trace) -> Type:
    shape = tuple(
        size if isinstance(size, str) else Traced.of(size, OperandAxis(operand, axis), notes, _ONE, _NONE)
        for axis, size in enumerate(kind.shape)
    )
    made: Type = object.__new__(type(kind))
    made.__dict__.update(kind.__dict__, shape=shape)
    if isinstance(made, Stream):
        made.__dict__.pop("beats", None)  # computed of the shape, and kept
    return made
