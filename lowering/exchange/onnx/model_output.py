"""A model as a file: with its large constants in it, or in a file beside it where it would be too large."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from graphrewrite.formats.files import named, replaced

if TYPE_CHECKING:
    import onnx

__all__ = ["fill", "little", "write"]

_MOST = 2**31 - 2**20
"""Bytes of a model that protobuf still writes, and a little less."""
_PAGE = 4096
"""Where constants of a file may begin, so that they can be mapped on any machine."""
_ENDING = ".data"


def fill(model: onnx.ModelProto, large: Mapping[str, np.ndarray]) -> None:
    """Put the arrays of constants into a model that has none for them."""
    for tensor in _tensors(model, large):
        tensor.raw_data = little(large[tensor.name]).tobytes()


def write(
    model: onnx.ModelProto, large: Mapping[str, np.ndarray], path: Path, *, external_data: bool | None = None
) -> None:
    """Fill a model and write it; or write its large constants beside it, and say in the model where they are.

    Old or new can be read after any fault, since the file of constants is named after its contents.
    """
    tensors = _tensors(model, large)
    if external_data is None:
        external_data = model.ByteSize() + sum(large[tensor.name].nbytes for tensor in tensors) > _MOST
    if not external_data or not tensors:
        fill(model, large)
        replaced(path, lambda stream, _: _serialise(model, path, stream), None, _ENDING)
        return

    def write_model(stream: BinaryIO, digest: str) -> None:
        for tensor in tensors:
            tensor.external_data[0].value = named(path, digest, _ENDING).name
        _serialise(model, path, stream)

    def write_data(stream: BinaryIO) -> None:
        for tensor in tensors:
            data = little(large[tensor.name]).reshape(-1).view(np.uint8)
            stream.write(bytes(-stream.tell() % _PAGE))
            _place(tensor, stream.tell(), data.size)
            stream.write(data.data)

    replaced(path, write_model, write_data, _ENDING)


def _tensors(model: onnx.ModelProto, large: Mapping[str, np.ndarray]) -> list[onnx.TensorProto]:
    return [tensor for tensor in model.graph.initializer if tensor.name in large]


def little(array: np.ndarray) -> np.ndarray:
    """Return the array as files have it: in order, the least byte first."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _place(tensor: Any, offset: int, length: int) -> None:
    """Say where the data of a constant are, but for the name of the file."""
    tensor.data_location = tensor.EXTERNAL
    for key, value in (("location", ""), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def _serialise(model: onnx.ModelProto, path: Path, stream: BinaryIO) -> None:
    """Write a model in the format that the ending of its file says."""
    import onnx

    form = onnx.serialization.registry.get_format_from_file_extension(path.suffix) or "protobuf"
    data: Any = onnx.serialization.registry.get(form).serialize_proto(model)
    stream.write(data if isinstance(data, bytes) else data.encode())
