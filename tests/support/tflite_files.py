"""Files of TensorFlow Lite, written by the schema that the importer reads."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.lowering.exchange.tflite.schema import ELEMENTS, IDENTIFIER, OPERATORS, OPTIONS, fields_of

__all__ = ["Node", "T", "flatbuffer", "model"]

_CODES = {
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
}
_NUMBERS = {name: number for number, name in ELEMENTS.items()}
_OPTIONS = {name: number for number, name in OPTIONS.items()}


class _Writer:
    """Tables before what they refer to, as offsets are not negative."""

    def __init__(self) -> None:
        self.data = bytearray(4) + IDENTIFIER

    def align(self, size: int, ahead: int = 0) -> None:
        self.data += bytes(-(len(self.data) + ahead) % size)

    def refer(self, at: int) -> None:
        struct.pack_into("<I", self.data, at, len(self.data) - at)

    def table(self, name: str, values: Mapping[str, Any], at: int) -> None:
        unknown = set(values) - {f.name for f in fields_of(name)}
        assert not unknown, f"{name} has no {unknown}"
        given = [(slot, f, values[f.name]) for slot, f in enumerate(fields_of(name)) if values.get(f.name) is not None]
        places, end = {}, 4
        for slot, f, _ in given:
            size = struct.calcsize(_CODES[f.kind]) if f.kind in _CODES and not f.is_vector else 4
            end += -end % size
            places[slot] = end
            end += size
        count = max(places, default=-1) + 1
        self.align(8, ahead=4 + 2 * count)
        slots = len(self.data)
        self.data += struct.pack("<HH", 4 + 2 * count, end)
        self.data += b"".join(struct.pack("<H", places.get(slot, 0)) for slot in range(count))
        self.refer(at)
        start = len(self.data)
        self.data += bytes(end)
        struct.pack_into("<i", self.data, start, start - slots)
        for slot, f, value in given:
            here = start + places[slot]
            if f.union is not None:
                self.table(*value, here)
            elif f.kind in _CODES and not f.is_vector:
                struct.pack_into(f"<{_CODES[f.kind]}", self.data, here, value)
            elif f.kind == "str":
                self.vector("B", value.encode(), here)
                self.data += b"\0"
            elif not f.is_vector:
                self.table(f.kind, value, here)
            elif f.kind in _CODES:
                self.vector(_CODES[f.kind], value, here)
            else:
                self.tables(f.kind, value, here)

    def vector(self, code: str, values: Any, at: int) -> None:
        raw = bytes(values) if code == "B" else struct.pack(f"<{len(values)}{code}", *values)
        self.align(16, ahead=4)
        self.refer(at)
        self.data += struct.pack("<I", len(values)) + raw

    def tables(self, name: str, values: Sequence[Mapping[str, Any]], at: int) -> None:
        self.align(4)
        self.refer(at)
        start = len(self.data) + 4
        self.data += struct.pack("<I", len(values)) + bytes(4 * len(values))
        for index, value in enumerate(values):
            self.table(name, value, start + 4 * index)


def flatbuffer(name: str, values: Mapping[str, Any]) -> bytes:
    """A root table as a file."""
    writer = _Writer()
    writer.table(name, values, 0)
    return bytes(writer.data)


@dataclass
class T:
    """A tensor, with its values if it is constant."""

    name: str
    shape: Sequence[int] = ()
    element: str = "i8"
    scale: Any = None
    zero: Any = 0
    axis: int = 0
    data: np.ndarray | None = None
    variable: bool = False
    signature: Sequence[int] | None = None

    @classmethod
    def of(cls, name: str, data: Any, **more: Any) -> T:
        """A constant."""
        array = np.asarray(data)
        kinds = {"int8": "i8", "int32": "i32", "int64": "i64", "float32": "f32", "bool": "bool", "int16": "i16"}
        return cls(name, array.shape, more.pop("element", None) or kinds[array.dtype.name], data=array, **more)


@dataclass
class Node:
    """An operator."""

    kind: str
    inputs: Sequence[str | None]
    outputs: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    table: str | None = None
    version: int = 1
    intermediates: Sequence[str] = ()


def _options_table(node: Node) -> str | None:
    if node.table is not None:
        return node.table
    words = {
        "CONV_2D": "Conv2D",
        "DEPTHWISE_CONV_2D": "DepthwiseConv2D",
        "MEAN": "Reducer",
        "SUM": "Reducer",
        "REDUCE_MAX": "Reducer",
        "REDUCE_MIN": "Reducer",
        "REDUCE_PROD": "Reducer",
        "REDUCE_ALL": "Reducer",
        "REDUCE_ANY": "Reducer",
        "AVERAGE_POOL_2D": "Pool2D",
        "MAX_POOL_2D": "Pool2D",
        "L2_POOL_2D": "Pool2D",
        "BATCH_MATMUL": "BatchMatMul",
        "L2_NORMALIZATION": "L2Norm",
        "SVDF": "SVDF",
        "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM",
    }
    name = f"{words.get(node.kind) or ''.join(w.capitalize() for w in node.kind.split('_'))}Options"
    return name if name in _OPTIONS else None


Part = tuple[Sequence[T], Sequence[Node], Sequence[str], Sequence[str]]
"""Tensors, operators, inputs and outputs of a subgraph."""


def model(
    tensors: Sequence[T],
    nodes: Sequence[Node],
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    subgraphs: Sequence[Part] = (),
) -> bytes:
    """A model, with further subgraphs that branches and loops run."""
    parts: list[Part] = [(tensors, nodes, inputs, outputs), *subgraphs]
    buffers: list[dict[str, Any]] = [{}]
    kinds = list(dict.fromkeys((node.kind, node.version) for part in parts for node in part[1]))
    tables = [_subgraph(part, buffers, kinds, f"part_{at}" if at else "main") for at, part in enumerate(parts)]
    codes = []
    for kind, version in kinds:
        custom = kind.startswith("CUSTOM ")
        number = OPERATORS.index("CUSTOM" if custom else kind)
        code = {"deprecated_builtin_code": min(number, 127), "builtin_code": number, "version": version}
        codes.append({**code, "custom_code": kind[8:-1]} if custom else code)
    return flatbuffer(
        "Model",
        {
            "version": 3,
            "operator_codes": codes,
            "subgraphs": tables,
            "description": "made by a test",
            "buffers": buffers,
        },
    )


def _subgraph(part: Part, buffers: list[dict[str, Any]], kinds: Sequence[tuple[str, int]], name: str) -> dict[str, Any]:
    tensors, nodes, inputs, outputs = part
    index = {tensor.name: at for at, tensor in enumerate(tensors)}
    records = []
    for tensor in tensors:
        record: dict[str, Any] = {"shape": tensor.shape, "type": _NUMBERS.get(tensor.element, 13), "name": tensor.name}
        if tensor.data is not None:
            record["buffer"] = len(buffers)
            buffers.append({"data": np.ascontiguousarray(tensor.data).tobytes()})
        if tensor.scale is not None:
            scales = np.atleast_1d(np.asarray(tensor.scale, np.float32))
            zeros = np.broadcast_to(np.asarray(tensor.zero, np.int64), scales.shape)
            record["quantization"] = {
                "scale": scales.tolist(),
                "zero_point": zeros.tolist(),
                "quantized_dimension": tensor.axis,
            }
        if tensor.signature is not None:
            record["shape_signature"] = tensor.signature
        if tensor.variable:
            record["is_variable"] = True
        records.append(record)
    operators = []
    for node in nodes:
        record = {
            "opcode_index": kinds.index((node.kind, node.version)),
            "inputs": [-1 if name is None else index[name] for name in node.inputs],
            "outputs": [index[name] for name in node.outputs],
        }
        if node.intermediates:
            record["intermediates"] = [index[name] for name in node.intermediates]
        if (table := _options_table(node)) is not None:
            record |= {"builtin_options_type": _OPTIONS[table], "builtin_options": (table, node.options)}
        operators.append(record)
    return {
        "tensors": records,
        "inputs": [index[name] for name in inputs],
        "outputs": [index[name] for name in outputs],
        "operators": operators,
        "name": name,
    }
