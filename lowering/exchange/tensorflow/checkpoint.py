"""Read a checkpoint of TensorFlow: an index, sorted by name, of tensors in files of bytes.

The index is a table of blocks as LevelDB has them (table format of LevelDB; tensorflow/core/util/tensor_bundle).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.rulesets.messages import new_message
from graphrewrite.lowering.exchange.tensorflow.node import dtype_of_element

__all__ = ["Checkpoint"]

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The name of the text that says which objects were saved."""
_CHECKSUM = 4
"""Bytes between the length of a text and the text."""
_TRAILER = 5
"""Bytes after a block: how it is compressed, and a checksum."""


@dataclass(frozen=True)
class Checkpoint:
    """The tensors of a checkpoint.

    Parameters
    ----------
    prefix : Path
        The name of its files without ``.index`` and ``.data-00000-of-00001``.
    entries : dict
        Where each tensor is.
    shards : int
        Number of its files of bytes.
    """

    prefix: Path
    entries: dict[str, Any]
    shards: int

    @classmethod
    def read(cls, prefix: Path) -> Checkpoint:
        """Read the index.

        Raises
        ------
        ModelError
            If there is none, or it is damaged.
        """
        path = prefix.with_name(f"{prefix.name}.index")
        try:
            table = path.read_bytes()
        except OSError as error:
            raise ModelError(
                f"the variables cannot be read: {path.name!r}: {error.strerror}; copy the whole folder"
            ) from None
        try:
            rows = dict(_rows(table))
            header = new_message("BundleHeader")
            header.MergeFromString(rows.pop(b""))
            entries = {}
            for key, value in rows.items():
                entry = new_message("BundleEntry")
                entry.MergeFromString(value)
                entries[key.decode("utf-8")] = entry
        except ModelError:
            raise
        except Exception as error:  # a corrupt file breaks any assumption
            raise ModelError(
                f"{path.name!r} is damaged ({str(error)[:80] or type(error).__name__}); save it again"
            ) from None
        if header.endianness:
            raise ModelError(f"{path.name!r} was written on a machine with big-endian numbers, which is not supported")
        return cls(prefix, entries, header.num_shards)

    def tensor(self, name: str) -> tuple[np.ndarray, str]:
        """Return a tensor, bfloat16 as its bits, and its element type.

        Raises
        ------
        ModelError
            If it is not there, or its size contradicts the file.
        """
        if name not in self.entries:
            raise ModelError(f"the checkpoint has no tensor {name!r}{did_you_mean(name, self.entries)}")
        entry = self.entries[name]
        if len(entry.slices):
            raise ModelError(f"the tensor {name!r} is stored in slices, which is not supported; save it in one piece")
        words = entry.DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_number
        element = element_of_type(words[entry.dtype].name)
        shape = tuple(dim.size for dim in entry.shape.dim)
        dtype = dtype_of_element(element)
        count = int(np.prod(shape, dtype=object))
        path, size = self.shard(entry)
        ends = entry.offset + entry.size
        if min(shape, default=0) < 0 or count * dtype.itemsize != entry.size or entry.offset < 0 or ends > size:
            raise ModelError(
                f"the tensor {name!r} {list(shape)} of {element} has {entry.size} bytes at {entry.offset} of "
                f"{path.name!r}, which has {size}"
            )
        return np.fromfile(path, dtype, count, offset=entry.offset).reshape(shape), element

    def shard(self, entry: Any) -> tuple[Path, int]:
        """Return the file with the bytes of a tensor, and its size."""
        path = self.prefix.with_name(f"{self.prefix.name}.data-{entry.shard_id:05d}-of-{self.shards:05d}")
        size = path.stat().st_size if path.is_file() else -1
        if size < 0:
            raise ModelError(f"the variables cannot be read: there is no file {path.name!r}; copy the whole folder")
        return path, size

    def objects(self) -> list[dict[str, str]]:
        """Return, for each object that was saved, the full names of its variables with the names of their tensors."""
        entry = self.entries.get(_OBJECTS)
        if entry is None:
            return []
        path, size = self.shard(entry)
        if not 0 <= entry.offset <= entry.offset + entry.size <= size:
            raise ModelError(f"{path.name!r} is truncated; copy the whole folder")
        with path.open("rb") as file:
            file.seek(entry.offset)
            stored = file.read(entry.size)
        length, at = _number(stored, 0)
        message = new_message("TrackableObjectGraph")
        message.MergeFromString(stored[at + _CHECKSUM : at + _CHECKSUM + length])
        return [{each.full_name: each.checkpoint_key for each in node.attributes} for node in message.nodes]


def _rows(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table."""
    if len(table) < _FOOTER or struct.unpack("<Q", table[-8:])[0] != _MAGIC:
        raise ModelError("the index of the variables is truncated, or no index; save the model again")
    at = _handle(table, len(table) - _FOOTER)[2]
    offset, size, _ = _handle(table, at)
    for _, value in _entries(_block(table, offset, size)):
        offset, size, _ = _handle(value, 0)
        yield from _entries(_block(table, offset, size))


def _handle(data: bytes, at: int) -> tuple[int, int, int]:
    """Return offset and size of a block, and where the next thing begins."""
    offset, at = _number(data, at)
    size, at = _number(data, at)
    return offset, size, at


def _block(table: bytes, offset: int, size: int) -> bytes:
    if offset + size + _TRAILER > len(table):
        raise ModelError("the index of the variables names a block beyond its end; save the model again")
    if table[offset + size]:
        raise ModelError("the index of the variables is compressed, which is not supported; save the model again")
    return table[offset : offset + size]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values; each key says how much it shares with the one before."""
    (restarts,) = struct.unpack("<I", block[-4:])
    end, at, key = len(block) - 4 * (restarts + 1), 0, b""
    while at < end:
        shared, at = _number(block, at)
        own, at = _number(block, at)
        length, at = _number(block, at)
        if shared > len(key) or at + own + length > end:
            raise ModelError("the index of the variables contradicts itself; save the model again")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where the next thing begins."""
    number = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ModelError("the index of the variables has a number without an end; save the model again")
