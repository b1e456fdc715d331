"""A TensorFlow Lite model as checked records: tensors, operators, inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.tflite.flatbuffer import FlatbufferError, read_flatbuffer
from graphrewrite.lowering.exchange.tflite.schema import ELEMENTS, IDENTIFIER, OPERATORS
from graphrewrite.types import STORAGES, Quantised, element_dtype, hold

__all__ = ["Network", "Operator", "Stored", "is_tflite", "read_networks"]

_VERSION = 3
_MOST_AXES = 8
_LARGEST = 1 << 40
"""Most entries of a tensor: what the sizes of a file say is multiplied without overflow."""
_PLACEHOLDER = OPERATORS.index("PLACEHOLDER_FOR_GREATER_OP_CODES")


@dataclass(frozen=True)
class Stored:
    """A tensor: its declared type, the format of its numbers if it is quantised, and its values if it is constant.

    Sizes that the file leaves open are -1 in ``signature``. A resource has no element type.
    """

    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    element: str
    format: Quantised | None
    array: np.ndarray | None
    is_variable: bool


@dataclass(frozen=True)
class Operator:
    """A node: its op, its options, and the indices of its tensors, -1 where an optional one is missing."""

    kind: str
    options: Mapping[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    label: str
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Network:
    """A subgraph."""

    name: str
    tensors: tuple[Stored, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def is_tflite(data: bytes) -> bool:
    """Tell whether the first bytes of a file are those of a TensorFlow Lite model.

    Examples
    --------
    >>> is_tflite(b"0000TFL3"), is_tflite(b"")
    (True, False)
    """
    return data[4:8] == IDENTIFIER


def read_networks(model: str | Path | bytes) -> tuple[Network, ...]:
    """Return the subgraphs of a model, the main one first.

    Raises
    ------
    ModelError
        If the file is missing, damaged or no TensorFlow Lite model.
    """
    name = "the model" if isinstance(model, bytes) else repr(str(model))
    if isinstance(model, bytes):
        data = model
    else:
        try:
            data = Path(model).read_bytes()
        except (OSError, ValueError) as error:
            raise ModelError(f"{name} cannot be read: {error}") from error
    if not is_tflite(data):
        raise ModelError(f"{name} is no TensorFlow Lite model: its bytes 4 to 8 are not {IDENTIFIER.decode()!r}")
    try:
        tables = read_flatbuffer(data, "Model")
        if tables["version"] != _VERSION:
            raise ModelError(f"{name} is of version {tables['version']} of the schema; only {_VERSION} is known")
        constants = _Constants(tables["buffers"] or (), data)
        networks = tuple(_network(table, tables, constants) for table in tables["subgraphs"] or ())
    except FlatbufferError as error:
        raise ModelError(f"{name} is corrupt: {error}; export it again") from error
    if not networks:
        raise ModelError(f"{name} has no subgraph")
    return networks


def _network(table: Mapping[str, Any], model: Mapping[str, Any], constants: _Constants) -> Network:
    tensors = tuple(_stored(tensor, index, constants) for index, tensor in enumerate(table["tensors"] or ()))
    codes = [_kind(code) for code in model["operator_codes"] or ()]
    operators = []
    for place, operator in enumerate(table["operators"] or ()):
        if operator["opcode_index"] >= len(codes):
            raise FlatbufferError(f"operator {place} is of code {operator['opcode_index']} of {len(codes)}")
        kind = codes[operator["opcode_index"]]
        label = next(
            (tensors[i].name for i in _listed(operator["outputs"]) if 0 <= i < len(tensors)), f"{kind}_{place}"
        )
        inputs, outputs = (
            _indices(operator[key], len(tensors), f"{key} of operator {place} ({kind})", least=least)
            for key, least in (("inputs", -1), ("outputs", 0))
        )
        inner = _indices(operator["intermediates"], len(tensors), f"intermediates of operator {place} ({kind})")
        operators.append(Operator(kind, operator["builtin_options"] or {}, inputs, outputs, label, inner))
    ends = (_indices(table[key], len(tensors), f"the {key} of the graph") for key in ("inputs", "outputs"))
    return Network(table["name"] or "", tensors, tuple(operators), *ends)


def _kind(code: Mapping[str, Any]) -> str:
    """Return the name of an op; old files have its number in a byte."""
    old, new = code["deprecated_builtin_code"], code["builtin_code"]
    number = new if old in (0, _PLACEHOLDER) or new > old else old
    if not 0 <= number < len(OPERATORS):
        return f"BUILTIN_{number}"
    name = OPERATORS[number]
    return f"CUSTOM {code['custom_code']!r}" if name == "CUSTOM" else name


def _listed(values: np.ndarray | None) -> list[int]:
    return [] if values is None else [int(value) for value in values]


def _indices(values: np.ndarray | None, count: int, where: str, *, least: int = 0) -> tuple[int, ...]:
    listed = tuple(_listed(values))
    for index in listed:
        if not least <= index < count:
            raise FlatbufferError(f"{where} names tensor {index} of {count}")
    return listed


def _stored(table: Mapping[str, Any], index: int, constants: _Constants) -> Stored:
    name = table["name"] or f"tensor_{index}"
    try:
        shape = _shape(table["shape"], 0)
        signature = _shape(table["shape_signature"], -1)
        element = ELEMENTS.get(table["type"], "")
        if table["sparsity"] is not None:
            raise FlatbufferError("it is sparse, which is not supported; export the model without pruning of storage")
        if len(signature) != len(shape):
            signature = shape
        array = constants.array(table["buffer"], shape, element)
        quantised = _format(table["quantization"], element, shape)
    except (FlatbufferError, TypeMismatchError) as error:
        raise FlatbufferError(f"tensor {name!r}: {error}") from error
    return Stored(name, shape, signature, element, quantised, array, bool(table["is_variable"]))


def _shape(values: np.ndarray | None, least: int) -> tuple[int, ...]:
    if values is not None and len(values) > _MOST_AXES:
        raise FlatbufferError(f"it has {len(values)} axes; at most {_MOST_AXES} are supported")
    shape = tuple(_listed(values))
    if any(size < least for size in shape):
        raise FlatbufferError(f"the shape {list(shape)} has a negative size")
    if math.prod(shape) > _LARGEST:
        raise FlatbufferError(f"the shape {list(shape)} is too large")
    return shape


class _Constants:
    """The buffers of a model; what is decoded is decoded once."""

    def __init__(self, buffers: Sequence[Mapping[str, Any]], data: bytes) -> None:
        self.buffers, self.data = buffers, data
        self.decoded: dict[tuple[int, str, int], np.ndarray] = {}

    def array(self, buffer: int, shape: tuple[int, ...], element: str) -> np.ndarray | None:
        """Return the values in a tensor's buffer, not copied where numpy has the type; None where it has none."""
        if not 0 <= buffer < max(len(self.buffers), 1):
            raise FlatbufferError(f"it is in buffer {buffer} of {len(self.buffers)}")
        values = self.bytes(self.buffers[buffer]) if buffer else None
        if values is None:
            return None
        if not element:
            raise FlatbufferError("constants of its type are not supported")
        key = (buffer, element, math.prod(shape))
        if key not in self.decoded:
            self.decoded[key] = _decoded(values, math.prod(shape), element)
        return self.decoded[key].reshape(shape)

    def bytes(self, table: Mapping[str, Any]) -> np.ndarray | None:
        start, size = table["offset"], table["size"]
        if start > 1:  # behind the tables, as files of more than 2 GB have it
            if start + size > len(self.data):
                raise FlatbufferError(f"its values end at byte {start + size} of {len(self.data)}")
            return np.frombuffer(self.data, np.uint8, size, start)
        data: np.ndarray | None = table["data"]
        return data if data is not None and data.size else None


def _decoded(values: np.ndarray, count: int, element: str) -> np.ndarray:
    size = {"bf16": 2, "bool": 1}.get(element) or element_dtype(element).itemsize
    needed = (count + 1) // 2 if element == "i4" else count * size
    if values.size != needed:
        raise FlatbufferError(f"{values.size} bytes are not the {needed} of {count} numbers of {element}")
    if element == "i4":  # two in a byte, the lower bits first
        halves = np.stack([values & 15, values >> 4], axis=-1).reshape(-1)[:count].astype(np.int8)
        return hold(element, (halves ^ 8) - 8)
    if element == "bf16":
        return hold(element, (values.view("<u2").astype(np.uint32) << 16).view(np.float32))
    if element == "bool":
        return np.asarray(values != 0)
    dtype = element_dtype(element)
    return np.asarray(values.view(dtype.newbyteorder("<")), dtype)


def _format(table: Mapping[str, Any] | None, element: str, shape: tuple[int, ...]) -> Quantised | None:
    if table is None or table["scale"] is None or not table["scale"].size or element not in STORAGES:
        return None
    scales = table["scale"]
    zeros = np.zeros(len(scales), np.int64) if table["zero_point"] is None else table["zero_point"]
    if len(zeros) not in (1, len(scales)):
        raise FlatbufferError(f"{len(zeros)} zero points for {len(scales)} scales")
    if len(scales) == 1:
        return Quantised(element, float(scales[0]), int(zeros[0]))
    axis = table["quantized_dimension"]
    if not 0 <= axis < len(shape) or shape[axis] != len(scales):
        raise FlatbufferError(f"{len(scales)} scales along axis {axis} of {list(shape)}")
    return Quantised(element, tuple(map(float, scales)), tuple(map(int, np.broadcast_to(zeros, len(scales)))), axis)
