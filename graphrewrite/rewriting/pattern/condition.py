"""Values and conditions in a pattern, and the equality of attribute values."""

from __future__ import annotations

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

__all__ = ["Application", "Literal", "Where", "same"]


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
        if array.size == 0 or not self._admits_first(array):
            return False
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

    def _admits_first(self, array: np.ndarray) -> bool:
        """Tell whether the first entry may be one of the values, which decides of most constants."""
        if (self.value.ndim and not self.members) or array.__class__ is not np.ndarray:  # but stands for one
            return True
        if array.dtype not in self._numbers:
            kinds = {self.value.dtype.kind, array.dtype.kind}
            with np.errstate(over="ignore", under="ignore"):
                values = self.value.astype(array.dtype) if kinds == {"f"} else self.value
            # Numbers of other kinds are compared as numpy does: of integers and floats perhaps after a rounding.
            self._numbers[array.dtype] = frozenset(values.ravel().tolist()) if len(kinds) == 1 else None
        known = self._numbers[array.dtype]
        return known is None or array.item(0) in known

    @cached_property
    def _numbers(self) -> dict[np.dtype[Any], frozenset[Any] | None]:
        return {}

    def _has_signs_of(self, array: np.ndarray) -> bool:
        """Whether zeros have the sign of the literal's: x - 0 is x, and x - -0 is not (IEEE 754-2019, 6.3)."""
        if array.dtype.kind != "f" or array.all():
            return True
        negative = np.any(np.signbit(self.value) & (self.value == 0)) if self.members else np.signbit(self.value)
        return bool(np.all((array != 0) | (np.signbit(array) == negative)))

    def __repr__(self) -> str:
        shown = repr(self.value.tolist())
        return "{" + shown[1:-1] + "}" if self.members else shown


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
