"""Whole numbers of Python that are not known: attributes, and entries of constants, as the code of a rule sees them."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

import z3

from graphrewrite.op.symbolic import Symbolic
from graphrewrite.testing.proof.choice import choice, magnitude
from graphrewrite.testing.proof.decisions import SYMBOLS, decided, pinned, reach
from graphrewrite.testing.proof.messages import is_for_a_message, is_of_engine
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable, is_watched
from graphrewrite.testing.proof.sign import opposite

__all__ = ["SymbolicInt", "extreme", "holds_symbol"]

_MOST_SHIFTED = 128
"""Greatest shift of a number that has no width; a greater one is looked at value by value."""


class SymbolicInt(Symbolic):
    """A whole number that is not known; arithmetic makes another one, and a comparison takes one of two paths.

    Python takes it for an ``int``. Where code needs to know it, for an index say, the path goes on with one value, and
    the others are other paths.

    Parameters
    ----------
    number : Number
        Its value.
    name : str
        Of the symbol, if it is one and no result.

    Examples
    --------
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> x = SymbolicInt(unknown_number("x", 0, 7))
    >>> isinstance(x, int), (2 * x + 1).number.high, x < 8
    (True, 15, True)
    """

    __slots__ = ("_name", "_number")

    def __init__(self, number: Number, name: str = "") -> None:
        self._number, self._name = number, name

    @property  # type: ignore[misc]  # `isinstance` asks for it
    def __class__(self) -> Any:
        return int

    @property
    def number(self) -> Number:
        """Its value, between the bounds that this path has found."""
        if is_watched() and not is_of_engine(sys._getframe(1)):
            raise AttributeError("number")  # as of an ``int``
        if not self._name:
            return self._number
        low, high = reach(self._name, self._number.low, self._number.high)
        return Number.of_term(self._number.resized(self._number.width), low, high)

    def __repr__(self) -> str:
        return self._written(repr)

    def __copy__(self) -> SymbolicInt:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolicInt:
        return self

    def apply_op(self, op: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Apply an op to it as to an array."""
        from graphrewrite.testing.proof.array import SymbolicArray

        return SymbolicArray.of(self).apply_op(op, operands, attributes)

    # ------------------------------------------------------------------ where it must be known

    def __index__(self) -> int:
        return pinned(self.number)

    __int__ = __index__

    def __hash__(self) -> int:
        # A cache would keep the symbol beyond its path, so that even one value is not followed.
        if is_of_engine(sys._getframe(1)):
            raise TypeError("unhashable type")
        raise Untranslatable("a number that is not known is looked up by its hash")

    def __float__(self) -> float:
        return float(pinned(self.number))

    def _written(self, write: Callable[[int], str]) -> str:
        """Return its text: in a message, and outside of all paths, its name."""
        if not is_watched() or is_for_a_message():
            return self._name or "<computed>"
        return write(pinned(self.number))

    def __str__(self) -> str:
        return self._written(str)

    def __format__(self, spec: str) -> str:
        return self._written(lambda value: format(value, spec))

    def __bool__(self) -> bool:
        return decided(self.number.truth)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(int, name):
            raise AttributeError(name)
        if name.startswith("__"):
            raise Untranslatable(f"{name} of a number that is not known is asked for")
        return getattr(pinned(self.number), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise Untranslatable("a number that is not known is pickled")

    # ------------------------------------------------------------------ comparisons

    def __lt__(self, other: Any) -> bool:
        return _compared(self, "<", other)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, ">", other)

    def __le__(self, other: Any) -> bool:
        return _compared(self, "<=", other)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, ">=", other)

    def __eq__(self, other: object) -> bool:
        return _compared(self, "==", other)

    def __ne__(self, other: object) -> bool:
        return _compared(self, "!=", other)

    # ------------------------------------------------------------------ arithmetic

    def __neg__(self) -> Any:
        return SymbolicInt(-self.number)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return SymbolicInt(magnitude(self.number))

    def __invert__(self) -> Any:
        return SymbolicInt(-self.number - 1)

    def __lshift__(self, by: Any) -> Any:
        return _shifted(self, by, operator.lshift)

    def __rlshift__(self, other: Any) -> Any:
        return _shifted(other, self, operator.lshift)

    def __rshift__(self, by: Any) -> Any:
        return _shifted(self, by, operator.rshift)

    def __rrshift__(self, other: Any) -> Any:
        return _shifted(other, self, operator.rshift)

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is int and 0 <= exponent <= 4:
            product: Any = 1
            for _ in range(exponent):
                product = self * product
            return product
        return operator.pow(pinned(self.number), exponent)

    def __rpow__(self, base: Any) -> Any:
        return 1 << self if type(base) is int and base == 2 and self >= 0 else operator.pow(base, pinned(self.number))

    def __divmod__(self, other: Any) -> Any:
        return divmod(pinned(self.number), other)

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(other, pinned(self.number))

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None else round(pinned(self.number), digits)

    __trunc__ = __floor__ = __ceil__ = __pos__

    def __truediv__(self, other: Any) -> Any:
        return pinned(self.number) / other  # a float

    def __rtruediv__(self, other: Any) -> Any:
        return other / pinned(self.number)

    # ------------------------------------------------------------------ numpy's protocols

    def __array_ufunc__(  # type: ignore[override]  # values of a graph leave ufuncs to operators
        self, ufunc: Any, method: str, *inputs: Any, **keywords: Any
    ) -> Any:
        from graphrewrite.testing.proof.ufuncs import applied

        return applied(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        from graphrewrite.testing.proof.functions import called

        return called(function, args, keywords)


def _is_whole(value: Any) -> bool:
    return isinstance(value, SymbolicInt) or type(value) in (int, bool)


_RELATIONS: Mapping[str, Callable[[Number, Number], Any]] = {
    "<": lambda a, b: a.less(b),
    ">": lambda a, b: b.less(a),
    "<=": lambda a, b: opposite(b.less(a)),
    ">=": lambda a, b: opposite(a.less(b)),
    "==": lambda a, b: a.equals(b),
    "!=": lambda a, b: opposite(a.equals(b)),
}
_OPPOSITES = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


def _compared(a: SymbolicInt, relation: str, b: Any) -> bool:
    if not _is_whole(b) and type(b) is not float:
        return NotImplemented  # type: ignore[no-any-return]  # as all comparisons may
    if type(b) is float and math.isnan(b):
        return relation == "!="
    answer = decided(_RELATIONS[relation](a.number, Number.of(b)))
    if a._name and type(b) is int:
        _narrow(a, relation if answer else _OPPOSITES[relation], b)
    return answer


def _narrow(symbol: SymbolicInt, relation: str, bound: int) -> None:
    """Keep what a comparison says of the bounds of a symbol."""
    path = SYMBOLS.get()
    if path is None:
        return
    low, high = symbol.number.low, symbol.number.high
    if relation in ("<", "<=", "=="):
        high = min(high, bound - (relation == "<"))
    if relation in (">", ">=", "=="):
        low = max(low, bound + (relation == ">"))
    if low <= high:
        path.narrow(symbol._name, low, high)


def _arithmetic(name: str, compute: Callable[[Number, Number], Number], known: Callable[[Any, Any], Any]) -> None:
    def apply(self: SymbolicInt, other: Any) -> Any:
        if _is_whole(other):
            return _as_int(compute(self.number, Number.of(other)))
        return known(pinned(self.number), other) if isinstance(other, float) else NotImplemented

    def reflected(self: SymbolicInt, other: Any) -> Any:
        if _is_whole(other):
            return _as_int(compute(Number.of(other), self.number))
        return known(other, pinned(self.number)) if isinstance(other, float) else NotImplemented

    setattr(SymbolicInt, f"__{name}__", apply)
    setattr(SymbolicInt, f"__r{name}__", reflected)


def _as_int(number: Number) -> Any:
    return number.at_point(0).low if number.is_known else SymbolicInt(number)


def _divided(whole: Callable[[Number, Number], Number]) -> Callable[[Number, Number], Number]:
    def divide(a: Number, b: Number) -> Number:
        if not decided(b.truth):
            raise ZeroDivisionError("integer division or modulo by zero")
        return whole(a, b)

    return divide


def _floor(a: Number, b: Number) -> Number:
    from graphrewrite.testing.proof.arithmetic import floor_divided

    return floor_divided(a, b)


def _bitwise(kind: str) -> Callable[[Number, Number], Number]:
    def combine(a: Number, b: Number) -> Number:
        from graphrewrite.testing.proof.arithmetic import bitwise

        return bitwise(kind, a, b)

    return combine


for _name, _compute in {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": _divided(_floor),
    "mod": _divided(lambda a, b: a - _floor(a, b) * b),
    "and": _bitwise("and"),
    "or": _bitwise("or"),
    "xor": _bitwise("xor"),
}.items():
    _arithmetic(_name, _compute, getattr(operator, {"and": "and_", "or": "or_"}.get(_name, _name)))


def _shifted(value: Any, by: Any, shift: Callable[[Any, Any], Any]) -> Any:
    if not _is_whole(value) or not _is_whole(by):
        return NotImplemented
    if by < 0:
        raise ValueError("negative shift count")
    if isinstance(by, SymbolicInt) and by > _MOST_SHIFTED:
        by = pinned(by.number)
    a, b = Number.of(value), Number.of(by)
    if b.is_known:
        moved = a.scaled(b.low).at_point(0) if shift is operator.lshift else a.shifted_down(b.low)
        return _as_int(replaced_point(moved))
    ends = [shift(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    wide = Number(min(*ends, a.low, b.low), max(*ends, a.high, b.high)).width
    x, y = a.resized(wide), b.resized(wide)
    term = x << y if shift is operator.lshift else x >> y
    return _as_int(Number.of_term(term, min(ends), max(ends)))


def replaced_point(number: Number) -> Number:
    """Return a whole number with its binary point at 0."""
    return number if number.point == 0 else number.at_point(0)


def extreme(python: Callable[..., Any], better: Callable[[Number, Number], Any]) -> Callable[..., Any]:
    """Return ``min`` or ``max`` without a path for each order of whole numbers."""

    def pick(*numbers: Any, **keywords: Any) -> Any:
        items = list(numbers[0]) if len(numbers) == 1 and not keywords else list(numbers)
        if keywords or not any(isinstance(n, SymbolicInt) for n in items) or not all(map(_is_whole, items)):
            return python(items, **keywords) if len(numbers) == 1 and not keywords else python(*numbers, **keywords)
        best = Number.of(items[0])
        for item in items[1:]:
            other = Number.of(item)
            low, high = python(best.low, other.low), python(best.high, other.high)
            found = choice(better(other, best), other, best)
            best = found if found.is_known else Number.of_term(found.term, low, high)
        return _as_int(best)

    return pick


def holds_symbol(value: Any) -> bool:
    """Tell whether a value is a number that is not known, or holds one."""
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(holds_symbol, value))
    if isinstance(value, dict):
        return any(map(holds_symbol, value.values()))
    return isinstance(value, Symbolic)


def whole(number: Number) -> SymbolicInt:
    """Return a number of an array as a whole number of Python."""
    if number.opaque or number.is_infinite or number.point > 0:
        raise Untranslatable("it needs to know a number that depends on the input, so that it is not one formula")
    return SymbolicInt(number.at_point(0).unsigned)


def symbol(name: str, low: int, high: int) -> SymbolicInt:
    """Return a whole number between two others that is not known.

    Examples
    --------
    >>> symbol("shift", -8, 7)
    shift
    """
    width = Number(low, high).width
    return SymbolicInt(Number.of_term(z3.BitVec(name, width), low, high), name)
