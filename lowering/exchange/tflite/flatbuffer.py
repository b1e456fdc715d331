"""A reader of flatbuffers that trusts no offset and no length (flatbuffers, internals of the format)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite.lowering.exchange.tflite.schema import Field, fields_of

__all__ = ["FlatbufferError", "read_flatbuffer"]

_SCALARS: Mapping[str, struct.Struct] = {
    name: struct.Struct(f"<{code}")
    for name, code in {
        "bool": "?",
        "i8": "b",
        "u8": "B",
        "i16": "h",
        "u16": "H",
        "i32": "i",
        "u32": "I",
        "i64": "q",
        "u64": "Q",
        "f32": "f",
    }.items()
}
_ARRAYS: Mapping[str, np.dtype[Any]] = {
    "u8": np.dtype("u1"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "f32": np.dtype("<f4"),
}
_COST = 16
"""Fields and entries for each byte of a file: what is read more often than it can say is refused."""
_OFFSET = _SCALARS["u32"]
_SLOT = _SCALARS["u16"]


class FlatbufferError(ValueError):
    """An offset or length points outside of the file, or the same bytes are used too often."""


def read_flatbuffer(data: bytes, root: str) -> dict[str, Any]:
    """Return the root table of a flatbuffer as nested dictionaries; fields that it lacks have their defaults.

    Raises
    ------
    FlatbufferError
        If it is damaged.
    """
    return _Reader(data).table(_Reader(data).offset(0), root)


class _Reader:
    """Reading of one file; every entry costs, so that shared parts cannot make more of it than it has bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.left = _COST * len(data)
        self.tables: dict[tuple[int, str], tuple[dict[str, Any], int]] = {}
        """Tables that were read, with what they cost."""

    def number(self, kind: struct.Struct, at: int) -> Any:
        """Return the number at a place."""
        if not 0 <= at <= len(self.data) - kind.size:
            raise FlatbufferError(f"it refers to byte {at}, and has {len(self.data)}")
        return kind.unpack_from(self.data, at)[0]

    def offset(self, at: int) -> int:
        """Return the place that the offset at a place leads to."""
        return at + int(self.number(_OFFSET, at))

    def table(self, at: int, name: str) -> dict[str, Any]:
        """Return the table at a place."""
        if (at, name) in self.tables:
            known, cost = self.tables[at, name]
            self.pay(cost)
            return known
        before = self.left
        slots = at - self.number(_SCALARS["i32"], at)
        size, room = self.number(_SLOT, slots), self.number(_SLOT, slots + 2)
        fields = fields_of(name)
        self.pay(len(fields))
        read: dict[str, Any] = {}
        for slot, field in enumerate(fields):
            place = 4 + 2 * slot
            start = self.number(_SLOT, slots + place) if place + 2 <= size else 0
            if start >= max(room, 1):
                raise FlatbufferError(f"{name}.{field.name} lies outside of its table")
            read[field.name] = self.value(at + start, field, read) if start else field.default
        self.tables[at, name] = read, before - self.left
        return read

    def value(self, at: int, field: Field, before: Mapping[str, Any]) -> Any:
        """Return the value of a field at a place; that of a union is of the table that the field before it says."""
        if field.kind in _SCALARS and not field.is_vector:
            return self.number(_SCALARS[field.kind], at)
        place = self.offset(at)
        if field.union is not None:
            name = field.union.get(before[f"{field.name}_type"])
            return None if name is None else self.table(place, name)
        if field.kind == "str":
            return self.array("u8", place).tobytes().decode("utf-8", "backslashreplace")
        if not field.is_vector:
            return self.table(place, field.kind)
        if field.kind in _ARRAYS:
            return self.array(field.kind, place)
        count = self.count(place, _OFFSET.size)
        self.pay(count)
        return [self.table(self.offset(place + 4 + 4 * index), field.kind) for index in range(count)]

    def count(self, at: int, size: int) -> int:
        """Return the number of entries of the vector at a place."""
        count = int(self.number(_OFFSET, at))
        if count * size > len(self.data) - at - 4:
            raise FlatbufferError(f"a vector of {count} entries reaches beyond the end of the file")
        return count

    def array(self, kind: str, at: int) -> np.ndarray:
        """Return a vector of numbers, not copied."""
        dtype = _ARRAYS[kind]
        count = self.count(at, dtype.itemsize)
        self.pay(count)
        return np.frombuffer(self.data, dtype, count, at + 4)

    def pay(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise FlatbufferError("its tables are used more often than a file of its size can say")
