"""Conversion of ONNX attribute values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from graphrewrite.lowering.exchange.symbols import Symbol
from graphrewrite.types import TEXT, Element, Size

__all__ = [
    "data_type",
    "element",
    "integers",
    "number",
    "numbers",
    "plain",
    "scalar",
    "size",
    "sizes",
    "snake_case",
    "truth",
    "whole",
    "word",
    "words",
]

_ELEMENTS = {
    1: "f32",
    2: "u8",
    3: "i8",
    4: "u16",
    5: "i16",
    6: "i32",
    7: "i64",
    8: TEXT,
    9: "bool",
    10: "f16",
    11: "f64",
    12: "u32",
    13: "u64",
    16: "bf16",
    17: "f8e4m3fn",
    18: "f8e4m3fnuz",
    19: "f8e5m2",
    20: "f8e5m2fnuz",
    21: "u4",
    22: "i4",
    23: "f4e2m1",
    24: "f8e8m0",
    25: "u2",
    26: "i2",
}
"""Element types by the numbers of TensorProto.DataType (onnx.proto)."""
_DATA_TYPES = {name: number for number, name in _ELEMENTS.items()}


def element(number: int) -> str:
    """Return the element type of an ONNX type number; ValueError for complex numbers or undefined."""
    if int(number) not in _ELEMENTS:
        raise ValueError(f"tensors of ONNX's type {number} (complex numbers or undefined) are not supported")
    return _ELEMENTS[int(number)]


def data_type(name: Element) -> int:
    """Return the ONNX type number of an element type; ValueError for fixed-point and quantised formats."""
    if not isinstance(name, str) or name not in _DATA_TYPES:
        raise ValueError(f"ONNX has no element type {name}")
    return _DATA_TYPES[name]


def integers(value: Any) -> tuple[int, ...]:
    """Read one or several integers."""
    return tuple(int(v) for v in np.atleast_1d(value))


def sizes(value: Any) -> tuple[int | Size, ...]:
    """Read sizes, some perhaps symbolic."""
    return tuple(v.whole if isinstance(v, Symbol) else int(v) for v in np.atleast_1d(value))


def size(value: Any) -> int | Size:
    """Read one size."""
    (only,) = sizes(scalar(value))
    return only


def number(value: Any) -> float:
    """Read one float32 as the shortest decimal that rounds to it."""
    # 0.1 of ONNX is a float32: as a double it would print as 0.10000000149.
    return float(str(np.float32(scalar(value))))


def numbers(value: Any) -> tuple[float, ...]:
    """Read one or several floats."""
    return tuple(number(v) for v in np.atleast_1d(value))


def plain(value: Any) -> Any:
    """Return an attribute of ONNX as plain Python: texts, floats by their shortest decimal, tuples of these."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float):
        return number(value)
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def scalar(value: Any) -> Any:
    """Read one number, in an array of any rank."""
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"one number expected, got {array.size}")
    return array.reshape(()).item()


def whole(value: Any) -> int:
    """Read one integer."""
    return int(scalar(value))


def truth(value: Any) -> bool:
    """Read a flag, 0 or 1."""
    flag = scalar(value)
    if flag not in (0, 1):
        raise ValueError(f"a flag is 0 or 1, got {flag}")
    return bool(flag)


def word(value: Any) -> str:
    """Read text."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def words(value: Any) -> tuple[str, ...]:
    """Read several texts."""
    return tuple(map(word, value))


def snake_case(name: str) -> str:
    """Return the library's spelling of an ONNX name: HardSigmoid is hard_sigmoid."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
