"""Constants of a model: their arrays, mapped from files beside the model where they lie there."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import ModelError
from graphrewrite.types import handed_over

if TYPE_CHECKING:
    import onnx

__all__ = ["LARGE", "ExternalData", "array_of", "inner_tensors", "is_external"]

LARGE = 4096
"""Numbers from which on a constant bypasses onnx's tools, which would copy it several times."""
_MOST_COPIED = 1 << 29
"""Bytes of external data in places that cannot be mapped, such as the bodies of loops."""
_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
"""Bits of an element, by ONNX's types that share bytes."""
_FIELDS = {1: "float_data", 6: "int32_data", 7: "int64_data", 11: "double_data"}
"""Fields that hold numbers as they are, by ONNX's types."""
_WITHOUT_TENSORS = frozenset((1, 2, 3, 6, 7, 8))
"""Kinds of attributes, as `AttributeProto` numbers them, that are numbers, texts or lists of them."""
_TENSOR = 4


def is_external(tensor: Any) -> bool:
    """Tell whether a constant lies in another file."""
    return bool(tensor.data_location == tensor.EXTERNAL)


def array_of(tensor: Any) -> np.ndarray:
    """Return the array of a constant that lies in the model, if its size matches its shape."""
    import onnx

    number = tensor.data_type
    dtype = _plain_dtype(number)
    try:
        if dtype is not None and not (tensor.HasField("segment") or is_external(tensor)):
            if tensor.HasField("raw_data"):
                return _in_shape(np.frombuffer(tensor.raw_data, dtype), tensor)
            if number in _FIELDS:
                return _in_shape(np.fromiter(numbers := getattr(tensor, _FIELDS[number]), dtype, len(numbers)), tensor)
        return handed_over(np.asarray(onnx.numpy_helper.to_array(tensor)))
    except ValueError as error:
        raise ModelError(
            f"the constant {tensor.name!r} of shape {list(tensor.dims)} does not hold as many numbers ({error})"
        ) from None


@cache
def _plain_dtype(number: int) -> np.dtype[Any] | None:
    """Return the type of numbers that numpy reads from their bytes as they are; None if onnx must read them."""
    import onnx

    kinds = onnx.TensorProto.DataType
    if number in _BITS or number == kinds.Value("UNDEFINED") or number not in kinds.values():
        return None
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
    return dtype.newbyteorder("<") if dtype.kind in "iufb" else None


def _in_shape(numbers: np.ndarray, tensor: Any) -> np.ndarray:
    array = numbers.reshape(tensor.dims)
    if not array.flags.aligned:
        array = np.require(array, requirements="A")
    return handed_over(array) if array.flags.writeable else array  # of bytes and of files it cannot be written to


class ExternalData:
    """The files in the folder of a model that hold its constants.

    What a model says of them is not trusted: no other file is opened, and no byte read beyond the end of one. Arrays
    are mapped: the system reads what is used, and a file that changes later changes them.

    Parameters
    ----------
    model : Path or None
        The model's file; None where it came as bytes or a message, which have no folder.
    """

    def __init__(self, model: Path | None) -> None:
        self.model = model
        self._files: dict[str, np.ndarray] = {}
        self._copied = 0

    def array(self, tensor: Any) -> np.ndarray:
        """Return the array of a constant, mapped where its type and its place in the file allow."""
        if not is_external(tensor):
            return array_of(tensor)
        from onnx import TensorProto

        data, dtype = self._bytes(tensor), _plain_dtype(tensor.data_type)
        if dtype is not None:
            return _in_shape(data.view(dtype), tensor)
        filled = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=data.tobytes())
        return array_of(filled)

    def fill(self, tensor: Any) -> None:
        """Copy the data of a constant into the model."""
        data = self._bytes(tensor)
        self._copied += data.size
        if self._copied > _MOST_COPIED:
            self._fail(tensor, f"is one of several that hold more than {_MOST_COPIED >> 20} MB within other nodes")
        tensor.raw_data = data.tobytes()
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")

    def _bytes(self, tensor: Any) -> np.ndarray:
        """Return the bytes of a constant in its file."""
        if self.model is None:
            raise ModelError(
                f"the constant {tensor.name!r} is in another file; give the path of the model instead, or load it with "
                "onnx.load, which reads that file"
            )
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        if location not in self._files:
            self._files[location] = self._mapped(tensor, location)
        file, size = self._files[location], self._size(tensor)
        offset = self._number(tensor, "offset", entries.get("offset", "0"))
        length = self._number(tensor, "length", entries.get("length", str(size)))
        if length != size:
            self._fail(tensor, f"has the shape {list(tensor.dims)}, which is {size} bytes, and says {length}")
        if offset + size > file.size:
            self._fail(
                tensor, f"ends at byte {offset + size} of the file {location!r}, which has {file.size}; copy it again"
            )
        return file[offset : offset + size]

    def _size(self, tensor: Any) -> int:
        """Return how many bytes a constant has."""
        from onnx import helper

        number: int = tensor.data_type
        if number == tensor.STRING or number not in tensor.DataType.values() or not number:
            self._fail(tensor, f"is of ONNX's type {number}, which other files cannot hold")
        if any(size < 0 for size in tensor.dims):
            self._fail(tensor, f"has the shape {list(tensor.dims)}")
        bits: int = _BITS.get(number) or np.dtype(helper.tensor_dtype_to_np_dtype(number)).itemsize * 8
        return -(-math.prod(map(int, tensor.dims)) * bits // 8)

    def _number(self, tensor: Any, key: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            self._fail(tensor, f"has the {key} {text[:40]!r} in its file, which is no number of bytes")
        return int(text)

    def _mapped(self, tensor: Any, location: str) -> np.ndarray:
        """Return the bytes of a file in the folder of the model."""
        path = self._path(tensor, location)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            with os.fdopen(os.open(path, flags), "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._fail(tensor, f"is in {location!r}, which is no regular file")
                return np.asarray(np.memmap(stream, np.uint8, "r")) if status.st_size else np.empty(0, np.uint8)
        except OSError as error:
            self._fail(tensor, f"is in the file {location!r}, which cannot be read ({error.strerror})")

    def _path(self, tensor: Any, location: str) -> Path:
        """Return where a file is, if that is in the folder of the model, also where both are links into another."""
        assert self.model is not None
        given = Path(location)
        if not location or "\0" in location or given.is_absolute() or given.drive or ".." in given.parts:
            self._fail(tensor, f"is in the file {location[:80]!r}, which is not in the folder of the model")
        folder = self.model.parent
        try:
            path = (folder / given).resolve(strict=True)
            homes = {folder.resolve(), self.model.resolve().parent}
        except FileNotFoundError:
            near = did_you_mean(location, [file.name for file in folder.iterdir()])
            self._fail(tensor, f"is in the file {location!r}, which is missing{near or '; copy that as well'}")
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, names that no system has
            self._fail(tensor, f"is in the file {location[:80]!r}, which cannot be found ({error})")
        if not any(path.is_relative_to(home) for home in homes):
            self._fail(
                tensor, f"is in {location!r}, a link that leads out of the folder of the model; put the file there"
            )
        return path

    def _fail(self, tensor: Any, what: str) -> NoReturn:
        raise ModelError(f"{str(self.model)!r}: the constant {tensor.name!r} {what}")


def inner_tensors(nodes: Iterable[Any]) -> Iterator[onnx.TensorProto]:
    """Yield the constants in attributes of nodes."""
    for node in nodes:
        for attribute in node.attribute:
            kind = attribute.type
            if kind in _WITHOUT_TENSORS:
                continue
            yield attribute.t
            if kind == _TENSOR:
                continue
            yield from attribute.tensors
            for graph in (attribute.g, *attribute.graphs):
                yield from graph.initializer
