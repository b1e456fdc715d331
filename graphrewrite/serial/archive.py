"""Arrays in a file of their own: an uncompressed `.npz`, written in one way, read without trust."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.serial.place import Place
from graphrewrite.text.array import check_storable
from graphrewrite.text.raw import array_from

__all__ = ["Archive", "Collected", "archive_of"]

_HEADER = 10_000
"""Bytes of the header of an array, at most."""
_NPY = ".npy"


class Collected:
    """Arrays on their way into a file, each once, named in the order in which they came.

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
        """Take an array, and return its name in the file."""
        check_storable(array)
        if id(array) not in self._names:
            name = self._names[id(array)] = f"array_{len(self.arrays) + 1}"
            self.arrays[name] = array
        return self._names[id(array)]

    def put(self, array: np.ndarray, place: Place) -> dict[str, str]:
        """Return what stands for an array in JSON."""
        try:
            return {"$array": self.add(array)}
        except GraphRewriteError as error:
            place.fail(str(error), error)


def archive_of(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the bytes of an `.npz`; the same arrays give the same bytes.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        By name.

    Returns
    -------
    bytes

    Examples
    --------
    >>> np.load(io.BytesIO(archive_of({"w": np.int8([1, 2])})))["w"].tolist()
    [1, 2]
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name + _NPY)  # its date is fixed
            with archive.open(entry, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


class Archive:
    """The arrays of an `.npz` that may come from anywhere.

    Nothing is unpacked: entries are taken as they are stored, so that an array is never larger than the file.

    Parameters
    ----------
    stream : binary file
        Open for reading.
    size : int
        Of the file, in bytes.
    place : Place
        What the file is called in errors.

    Examples
    --------
    >>> data = archive_of({"w": np.int8([1, 2])})
    >>> Archive(io.BytesIO(data), len(data), Place() / "arrays").get("w", Place()).tolist()
    [1, 2]
    """

    def __init__(self, stream: IO[bytes], size: int, place: Place) -> None:
        self._found: dict[str, np.ndarray] = {}
        try:
            self._archive = zipfile.ZipFile(stream)
        except Exception as error:  # the reader of zip files may say anything of one that is none
            place.fail(f"expected an .npz file of arrays: {type(error).__name__}: {error}", error)
        self._entries = {entry.filename: entry for entry in self._archive.infolist()}
        if len(self._entries) < len(self._archive.infolist()):
            place.fail("two arrays have the same name")
        if sum(entry.file_size for entry in self._entries.values()) > size:
            place.fail("its arrays are declared larger than the file; they must not be compressed")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the arrays, in the order in which they are stored."""
        return tuple(name.removesuffix(_NPY) for name in self._entries)

    def __contains__(self, name: object) -> bool:
        return f"{name}{_NPY}" in self._entries

    def get(self, name: str, place: Place) -> np.ndarray:
        """Return an array, the same object each time.

        Parameters
        ----------
        name : str
            Of the array.
        place : Place
            Who asks for it.

        Returns
        -------
        ndarray

        Raises
        ------
        SerialError
            If there is none, or it is not what it must be.
        """
        if name not in self._found:
            if name not in self:
                place.fail(f"the file of arrays has none that is called {name!r:.60}")
            self._found[name] = self._read(self._entries[name + _NPY], place)
        return self._found[name]

    def _read(self, entry: zipfile.ZipInfo, place: Place) -> np.ndarray:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            place.fail("the array is compressed or encrypted; store it as numpy.savez does")
        try:
            data = self._archive.read(entry)
        except Exception as error:  # see above
            place.fail(f"the array cannot be read: {type(error).__name__}: {error}", error)
        return _array(data, place)


def _array(data: bytes, place: Place) -> np.ndarray:
    """The array of the bytes of an `.npy`."""
    stream = io.BytesIO(data)
    form = np.lib.format
    try:
        version = form.read_magic(stream)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if read is None:
            place.fail(f"an .npy of version {version} is none that numpy.savez writes")
        shape, in_columns, dtype = read(stream, max_header_size=_HEADER)
    except GraphRewriteError:
        raise
    except Exception as error:  # numpy reads the header with Python's own parser, which may say anything
        place.fail(f"the array has no header of an .npy: {type(error).__name__}: {error}", error)
    return _shaped(shape, in_columns, dtype, data[stream.tell() :], place)


def _shaped(shape: Any, in_columns: Any, dtype: np.dtype[Any], data: bytes, place: Place) -> np.ndarray:
    sizes = tuple(shape)
    found = array_from(dtype.str, sizes[::-1] if in_columns else sizes, data)
    if isinstance(found, str) or np.dtype(dtype.str) != dtype:
        place.fail(found if isinstance(found, str) else f"{dtype} is no dtype that is read")
    assert found.size == math.prod(sizes)
    return np.ascontiguousarray(found.T) if in_columns else found
