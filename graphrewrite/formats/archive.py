"""Archives of arrays: an uncompressed `.npz`, written reproducibly and read without trust."""

from __future__ import annotations

import io
import math
import mmap
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.formats.files import beside, contents, digest_of, opened
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.text.array_printer import check_storable
from graphrewrite.formats.text.raw_arrays import array_from
from graphrewrite.types import handed_over

__all__ = ["Archive", "Collected", "arrays_beside", "write_archive"]

_HEADER = 10_000
"""Maximum size of the header of an array, in bytes."""
_NPY = ".npy"
_DOCUMENT = "graph.json"
"""The name of a document among arrays."""
_LOCAL = 30
"""Size of what stands before an entry of a zip, without its name and its further fields."""
_ZIP64 = 20
"""Size of the field for long files, which is always written."""
_PADDING = struct.Struct("<HH")
"""A field of zeros: its kind, as Android's zipalign has it, and its size."""
_ALIGNED = 64
"""Multiple of bytes at which numbers begin, so that they can be used where they are."""


class Collected:
    """Arrays to be written to a file, each once, named in the order in which they were added.

    Examples
    --------
    >>> collected = Collected()
    >>> w = np.float32([1, 2])
    >>> collected.add(w), collected.add(np.int8([3])), collected.add(w)
    ('array_1', 'array_2', 'array_1')
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[int, str] = {}

    def add(self, array: np.ndarray) -> str:
        """Add an array and return its name in the file."""
        check_storable(array)
        if id(array) not in self._names:
            name = self._names[id(array)] = f"array_{len(self.arrays) + 1}"
            self.arrays[name] = array
        return self._names[id(array)]

    def put(self, array: np.ndarray, path: JsonPath) -> dict[str, str]:
        """Add an array and return its JSON reference."""
        with path.reporting():
            return {"$array": self.add(array)}


def write_archive(stream: BinaryIO, arrays: Mapping[str, np.ndarray], document: str | None = None) -> None:
    """Write an `.npz`; equal arrays give equal bytes, and each can be mapped to memory.

    A document that refers to the arrays may be in it, too.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> write_archive(stream, {"w": np.int8([1, 2])})
    >>> np.load(io.BytesIO(stream.getvalue()))["w"].tolist()
    [1, 2]
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        if document is not None:
            archive.writestr(zipfile.ZipInfo(_DOCUMENT), document)  # its date is fixed
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name + _NPY)  # its date is fixed
            start = stream.tell() + _LOCAL + len(entry.filename) + _PADDING.size + _ZIP64
            entry.extra = _PADDING.pack(0xD935, -start % _ALIGNED) + bytes(-start % _ALIGNED)
            with archive.open(entry, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)


@contextmanager
def arrays_beside(source: Path, digest: str, path: JsonPath, *, limit: int) -> Iterator[Archive]:
    """Open the file of arrays that was written together with a file; errors start with a path."""
    found = beside(source, digest)
    with opened(found, limit=limit, follow=False) as (stream, size):
        if digest_of(stream) != digest:
            path.fail(f"{found.name} is not the file that was written with {source.name}")
        yield Archive(stream, contents(stream, size), path)


class Archive:
    """The arrays of an untrusted `.npz`.

    Entries must be stored uncompressed, so that an array is never larger than the file. Large arrays are views of its
    contents, if these are mapped to memory; all are read-only.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> write_archive(stream, {"w": np.int8([1, 2])})
    >>> Archive(stream, stream.getvalue(), JsonPath() / "arrays").get("w", JsonPath()).tolist()
    [1, 2]
    """

    def __init__(self, stream: IO[bytes], data: bytes | mmap.mmap, path: JsonPath) -> None:
        self._found: dict[str, np.ndarray] = {}
        self._data = memoryview(data)
        try:
            self._archive = zipfile.ZipFile(stream)
        except Exception as error:  # zipfile raises many kinds of errors on malformed files
            path.fail(f"expected an .npz file of arrays: {type(error).__name__}: {error}", error)
        self._entries = {entry.filename: entry for entry in self._archive.infolist()}
        if len(self._entries) < len(self._archive.infolist()):
            path.fail("two arrays have the same name")
        if sum(entry.file_size for entry in self._entries.values()) > len(data):
            path.fail("the declared sizes of its arrays exceed the file size; store them uncompressed")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arrays, in the order in which they are stored."""
        return tuple(name.removesuffix(_NPY) for name in self._entries)

    def __contains__(self, name: object) -> bool:
        return f"{name}{_NPY}" in self._entries

    def document(self, path: JsonPath) -> bytes:
        """Return the document that stands beside the arrays."""
        if _DOCUMENT not in self._entries:
            path.fail(f"holds arrays, but no graph: {_DOCUMENT} is missing")
        return bytes(self._stored(self._entries[_DOCUMENT], path))

    def get(self, name: str, path: JsonPath) -> np.ndarray:
        """Return an array, the same object each time."""
        if name not in self._found:
            if name not in self:
                path.fail(f"the file of arrays has no array {name!r:.60}")
            self._found[name] = _array(self._stored(self._entries[name + _NPY], path), path)
        return self._found[name]

    def _stored(self, entry: zipfile.ZipInfo, path: JsonPath) -> memoryview:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            path.fail("it is compressed or encrypted; store it as numpy.savez does")
        start = entry.header_offset + _LOCAL
        if bytes(self._data[start - _LOCAL : start][:4]) != b"PK\3\4":
            path.fail("it is not where the file says")
        # The name and the further fields, whose sizes the last four bytes say, stand before the data.
        start += sum(struct.unpack("<HH", self._data[start - 4 : start]))
        return self._data[start : start + entry.file_size]


def _array(data: memoryview, path: JsonPath) -> np.ndarray:
    """Return the array of an `.npy`."""
    stream = io.BytesIO(data[: _HEADER + 20])
    form = np.lib.format
    try:
        version = form.read_magic(stream)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if read is None:
            path.fail(f"version {version} of .npy is not supported; write the file with numpy.savez")
        shape, in_columns, dtype = read(stream, max_header_size=_HEADER)
    except GraphRewriteError:
        raise
    except Exception as error:  # numpy parses the header as a Python literal, with many kinds of errors
        path.fail(f"the array has no valid .npy header: {type(error).__name__}: {error}", error)
    return _shaped(shape, in_columns, dtype, data[stream.tell() :], path)


def _shaped(shape: Any, in_columns: Any, dtype: np.dtype[Any], data: memoryview, path: JsonPath) -> np.ndarray:
    sizes = tuple(shape)
    array = array_from(dtype.str, sizes[::-1] if in_columns else sizes, data)
    if isinstance(array, str) or np.dtype(dtype.str) != dtype:
        path.fail(array if isinstance(array, str) else f"the dtype {dtype} is not supported")
    assert array.size == math.prod(sizes)
    return handed_over(np.ascontiguousarray(array.T)) if in_columns else array
