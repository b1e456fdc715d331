"""Kinds: conversion of values of one Python type to JSON-able data and back; here those without parts."""

from __future__ import annotations

import enum
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import copysign
from typing import Any

import numpy as np

from graphrewrite.errors import DataError
from graphrewrite.schema.backing import Backing
from graphrewrite.types import owned, read_only

__all__ = [
    "BOOL",
    "FLOAT",
    "INT",
    "NONE",
    "NUMBER",
    "STR",
    "Array",
    "Choice",
    "DType",
    "Instance",
    "Kind",
    "Scalar",
    "describe",
]


def describe(value: Any) -> str:
    """Return a value with its type, as messages show it.

    Examples
    --------
    >>> describe("x"), describe(None), describe(np.zeros((2, 3)))
    ("str 'x'", 'None', 'array float64[2,3]')
    """
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype}[{','.join(map(str, value.shape))}]"
    return f"{type(value).__name__} {reprlib.repr(value)}"


class Kind(ABC):
    """A Python type, and the stored form of its values."""

    name: str
    """As it is written in an annotation."""

    @abstractmethod
    def store(self, value: Any, path: str) -> Any:
        """Return the stored form of a value.

        Returns
        -------
        object
            A primitive, a fresh container of them, an array, a type of this library, or the data of an `IrData`.
        """

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        """Return the value of a stored form: here the same; views of containers write through."""
        return self.store(stored, path)

    def check(self, stored: Any, path: str) -> None:
        """Raise unless a stored form is one of this kind, with all its parts."""
        self.load(stored, path)

    def missing(self, stored: Any, path: str) -> Iterator[tuple[str, str]]:
        """Yield path and type of each required field that a stored form lacks."""
        return iter(())

    def wrong(self, value: Any, path: str, advice: str = "") -> DataError:
        """Return the error that a value is not of this kind."""
        return DataError(f"expected {self.name}, got {describe(value)}{advice and '; ' + advice}", path=path)


@dataclass(frozen=True)
class Scalar(Kind):
    """A primitive; numpy's scalars become Python's."""

    name: str
    accepted: tuple[type, ...]
    refused: tuple[type, ...]
    convert: Callable[[Any], Any]

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, self.accepted) or isinstance(value, self.refused):
            raise self.wrong(value, path)
        try:
            return self.convert(value)
        except OverflowError:
            raise self.wrong(value, path, "it is too large") from None


def _number(value: Any) -> int | float:
    plain: int | float = value.item() if isinstance(value, np.generic) else value
    is_whole = isinstance(plain, int) or (
        plain.is_integer() and abs(plain) < 2**53 and (plain or copysign(1, plain) > 0)
    )
    return int(plain) if is_whole else plain


NONE = Scalar("None", (type(None),), (), lambda value: None)
BOOL = Scalar("bool", (bool, np.bool_), (), bool)
# A bool is an int in Python, and a timedelta64 an integer in numpy: both are refused as numbers.
INT = Scalar("int", (int, np.integer), (bool, np.timedelta64), int)
FLOAT = Scalar("float", (int, float, np.integer, np.floating), (bool, np.timedelta64), float)
NUMBER = Scalar("int | float", FLOAT.accepted, FLOAT.refused, _number)
"""A number in one form: an int where it is whole. Those that floats round to, and a negative zero, are floats."""
STR = Scalar("str", (str,), (), str.__str__)  # plain strings, also of subclasses of str


class Choice(Kind):
    """One of some values, each stored as a primitive: a `Literal` or an enum."""

    def __init__(self, name: str, options: list[tuple[Any, Any]]) -> None:
        self.name, self.options = name, options

    def store(self, value: Any, path: str) -> Any:
        for option, stored in self.options:
            if _is_same(value, option):
                return stored
        raise self._wrong(value, path, [option for option, _ in self.options])

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        # By identity or exact type: True is not 1, and a member of an enum not its value.
        for option, form in self.options:
            if _is_same(_as_tuple(stored), form):
                return option
        raise self._wrong(stored, path, [form for _, form in self.options])

    def _wrong(self, value: Any, path: str, options: list[Any]) -> DataError:
        return self.wrong(value, path, f"it is one of {', '.join(map(_shown, options))}")


def _shown(option: Any) -> str:
    """Return an option as it is written in a program, members of an enum by name: one of IntEnum prints like an int."""
    return f"{type(option).__name__}.{option.name}" if isinstance(option, enum.Enum) else repr(option)


def _is_same(value: Any, option: Any) -> bool:
    return value is option or (type(value) is type(option) and not isinstance(value, enum.Enum) and value == option)


def _as_tuple(stored: Any) -> Any:
    """Return lists, in which JSON has tuples, as tuples."""
    return tuple(map(_as_tuple, stored)) if isinstance(stored, list | tuple) else stored


@dataclass(frozen=True)
class Instance(Kind):
    """An object of a class, stored as it is."""

    name: str
    kind: type

    def store(self, value: Any, path: str) -> Any:
        if not isinstance(value, self.kind):
            raise self.wrong(value, path)
        return value


@dataclass(frozen=True)
class Array(Kind):
    """A numpy array that nobody can change: whoever writes the data to a file has a form for arrays."""

    name: str
    dtype: Any = np.generic

    def store(self, value: Any, path: str) -> np.ndarray:
        return owned(self._checked(value, path))

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> np.ndarray:
        return read_only(self._checked(stored, path))

    def _checked(self, value: Any, path: str) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise self.wrong(value, path, "np.asarray makes an array of it")
        if value.dtype.hasobject:
            raise self.wrong(value, path, "arrays of Python objects cannot be stored")
        if self.dtype is not np.generic and not np.issubdtype(value.dtype, self.dtype):
            raise self.wrong(value, path, "convert it with astype")
        return value


class DType(Kind):
    """A numpy dtype, stored as its name."""

    name = "numpy.dtype"

    def store(self, value: Any, path: str) -> Any:
        if isinstance(value, type) and issubclass(value, np.generic):  # np.float32 passes for a dtype everywhere
            value = np.dtype(value)
        if not isinstance(value, np.dtype) or value.hasobject or value.names or value.subdtype:
            raise self.wrong(value, path, "np.dtype('float32'), for instance")
        return value.name if _named(value.name) == value else value.str

    def load(self, stored: Any, path: str, parent: Backing | None = None, key: str | None = None) -> Any:
        dtype = _named(stored) if isinstance(stored, str) else None
        if dtype is None:
            raise self.wrong(stored, path, "dtypes are stored by name")
        return dtype


def _named(name: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        return None
