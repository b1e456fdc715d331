"""An array of exact, perhaps unknown numbers that numpy's own functions accept."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphrewrite.op.symbolic import Symbolic
from graphrewrite.testing.proof.decisions import SYMBOLS, decided, pinned
from graphrewrite.testing.proof.floating import converted_float
from graphrewrite.testing.proof.holding import converted
from graphrewrite.testing.proof.integer import SymbolicInt, whole
from graphrewrite.testing.proof.messages import is_for_a_message, is_of_engine
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable, is_watched

__all__ = ["SymbolicArray", "entries_of", "known"]

_OF = np.frompyfunc(Number.of, 1, 1)
_PROTOCOL = frozenset(
    f"__array_{name}__" for name in ("interface", "struct", "priority", "wrap", "prepare", "finalize", "namespace")
)
"""What numpy itself looks for in an object that may be an array."""


class _Flags:
    """Flags of an array, of which only one is known."""

    def __init__(self, *, writeable: bool) -> None:
        self.writeable = writeable

    def __getattr__(self, name: str) -> Any:
        raise Untranslatable(f"the flag {name} of an array that is not known is asked for")


class SymbolicArray(np.lib.mixins.NDArrayOperatorsMixin, Symbolic):
    """An array whose entries are `Number`s, as an array of a numpy dtype holds them.

    An op's own numpy function runs on it unchanged: ufuncs and array functions come here (numpy's NEP 13 and NEP 18).

    Parameters
    ----------
    entries : ndarray of object
        Numbers, each of which the dtype holds.

    Examples
    --------
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> x = SymbolicArray(np.array([unknown_number("a", -8, 7), Number(-2, -2)], object), np.int8)
    >>> y = np.maximum(x, 0) << 1
    >>> y
    <int8[2] of numbers that are not known>
    >>> y.entries[0].low, y.entries[0].high, y.entries[1].value
    (0, 14, 0)
    """

    __slots__ = ("_entries", "dtype")

    def __init__(self, entries: Any, dtype: Any) -> None:
        if not isinstance(entries, np.ndarray):
            alone = np.empty((), object)
            alone[()] = entries
            entries = alone
        self._entries: np.ndarray = entries
        self.dtype = np.dtype(dtype)

    @property  # type: ignore[misc]  # `isinstance` asks for it
    def __class__(self) -> Any:
        """What a rule takes it for; of no axes, it may be an array or a number of numpy."""
        return SymbolicArray if is_of_engine(sys._getframe(1)) else self.stands_for()

    def stands_for(self) -> type:
        """Return the type of what it stands for."""
        if not self.ndim:
            raise Untranslatable("the type of an entry that is not known is asked for")
        return np.ndarray

    @classmethod
    def of(cls, array: Any) -> SymbolicArray:
        """Return an array of known numbers; one that is symbolic already as it is."""
        if isinstance(array, SymbolicArray):
            return array
        if isinstance(array, SymbolicInt):
            return cls(array.number, np.int64)
        array = np.asarray(array)
        return cls(_OF(array), array.dtype)

    # ------------------------------------------------------------------ properties

    @property
    def entries(self) -> np.ndarray:
        """Its numbers."""
        if is_watched() and not is_of_engine(sys._getframe(1)):
            raise AttributeError("entries")  # as of an array
        return self._entries

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes."""
        return self._entries.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._entries.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self._entries.size

    @property
    def itemsize(self) -> int:
        """Bytes of an entry."""
        return int(self.dtype.itemsize)

    @property
    def T(self) -> SymbolicArray:  # numpy's name
        """With its axes in reverse order."""
        return SymbolicArray(self.entries.T, self.dtype)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[SymbolicArray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if is_watched() and not is_for_a_message():
            raise Untranslatable("the text of an array that is not known is asked for")
        return f"<{self.dtype}{list(self.shape)} of numbers that are not known>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __copy__(self) -> SymbolicArray:
        return SymbolicArray(self.entries.copy(), self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolicArray:
        return SymbolicArray(self.entries.copy(), self.dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise Untranslatable("an array that is not known is pickled")

    def __getitem__(self, index: Any) -> SymbolicArray:
        return SymbolicArray(self.entries[plain(index)], self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        values = cast_to(value, self.dtype)
        self.entries[plain(index)] = values.entries if values.ndim else values.entries[()]

    @property
    def flags(self) -> _Flags:
        """Whether one may write to it, which one may not to arrays of a graph."""
        return _Flags(writeable=self.entries.flags.writeable)

    # ------------------------------------------------------------------ conversions, which need known numbers

    def _sole(self) -> Number:
        if self.size != 1:
            raise ValueError("it has not one entry alone")
        number: Number = self.entries.reshape(-1)[0]
        return number

    def __bool__(self) -> bool:
        return decided(self._sole().truth)

    def __int__(self) -> int:
        return pinned(self._sole())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")  # numpy's words
        return int(self)

    def item(self, *index: Any) -> Any:
        """Return an entry as a Python number."""
        number = (self[index] if index else self)._sole()
        if not number.is_known:
            return bool(self[index] if index else self) if self.dtype.kind == "b" else whole(number)
        return self.dtype.type(number.value).item()

    def tolist(self) -> Any:
        """Return nested lists of Python numbers."""
        return [part.tolist() for part in self] if self.ndim else self.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        numbers = known(self)
        if numbers is None and SYMBOLS.get() is not None and self.dtype.kind in "iub":
            flat = [pinned(number) for number in self.entries.reshape(-1)]
            numbers = np.array(flat, self.dtype).reshape(self.shape)
        if numbers is None:
            raise Untranslatable("a function that arrays cannot override needs numbers that depend on the input")
        return numbers if dtype is None else numbers.astype(dtype)

    # ------------------------------------------------------------------ numpy's protocols

    def __array_ufunc__(  # type: ignore[override]  # values of a graph leave ufuncs to operators
        self, ufunc: Any, method: str, *inputs: Any, **keywords: Any
    ) -> Any:
        from graphrewrite.testing.proof.ufuncs import applied

        return applied(ufunc, method, inputs, keywords)

    def apply_op(self, op: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Apply an op: to values of a rule as these do, and else to arrays."""
        from graphrewrite.testing.proof.rebinding import Rebinding

        for operand in operands:
            if isinstance(operand, Symbolic) and not isinstance(operand, SymbolicArray | SymbolicInt):
                return operand.apply_op(op, operands, attributes)
        return Rebinding()(op.function)(*operands, **op.as_attributes(attributes))

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        from graphrewrite.testing.proof.functions import called

        return called(function, args, keywords)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A method of arrays is the function of that name."""
        from graphrewrite.testing.proof.functions import METHODS

        if name not in METHODS:
            if name not in _PROTOCOL and (hasattr(np.ndarray, name) or hasattr(self.dtype.type, name)):
                raise Untranslatable(f"{name} of an array that is not known is asked for")
            raise AttributeError(f"an array has no attribute {name!r}")
        method = METHODS[name]
        return lambda *args, **keywords: method(self, *args, **keywords)


def entries_of(array: Any) -> np.ndarray:
    """Return the numbers of an array, symbolic or not, as an object array."""
    return SymbolicArray.of(array).entries


def known(array: SymbolicArray) -> np.ndarray | None:
    """Return the array itself if all of its numbers are known, else None."""
    flat = array.entries.reshape(-1)
    if not all(n.is_known and (n.low != 0 or isinstance(n.negative_zero, bool)) for n in flat):
        return None
    values = [-0.0 if n.negative_zero and n.low == 0 else n.value for n in flat]
    kind = float if array.dtype.kind == "f" else int
    return np.array([kind(v) for v in values], array.dtype).reshape(array.shape)


def plain(index: Any) -> Any:
    """Return an index as plain arrays and numbers; a symbolic one must be known."""
    if isinstance(index, tuple):
        return tuple(map(plain, index))
    if isinstance(index, SymbolicInt):
        return operator.index(index)
    if isinstance(index, SymbolicArray):
        numbers = known(index)
        if numbers is None and SYMBOLS.get() is not None:
            numbers = np.asarray(index)
        if numbers is None:
            raise Untranslatable("an index depends on the input")
        return numbers if numbers.ndim else numbers.item()
    return index


def cast_to(array: Any, dtype: Any) -> SymbolicArray:
    """Return the result of ``astype``."""
    source, target = SymbolicArray.of(array), np.dtype(dtype)
    if target == source.dtype:
        return source

    def change(number: Number) -> Number:
        of = converted_float if number.opaque else converted
        return of(number, source.dtype, target)

    convert = np.frompyfunc(change, 1, 1)
    return SymbolicArray(convert(source.entries), target)
