"""Values encoded as JSON: primitives directly, everything else under a key that states its kind."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.text.array_printer import raw_bytes
from graphrewrite.formats.text.literal_parser import BodyName
from graphrewrite.formats.text.literal_printer import DEPTH
from graphrewrite.types import ElementType, FixedPoint, Quantised, Size, Type

__all__ = ["PutArray", "encode", "inline"]

PutArray = Callable[[np.ndarray, JsonPath], Any]
"""Function from an array and its JSON path to JSON."""
_BITS = 10_000
"""Longer integers are written in base 16: Python refuses to convert very long decimal ones."""


def inline(array: np.ndarray, path: JsonPath) -> dict[str, Any]:
    """Return an array as JSON: dtype, shape and bytes in base 64.

    Examples
    --------
    >>> inline(np.int8([1, 2]), JsonPath())
    {'$array': {'dtype': '|i1', 'shape': [2], 'data': 'AQI='}}
    """
    with path.reporting():
        dtype, data = raw_bytes(array)
    return {"$array": {"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(data).decode()}}


def encode(value: Any, path: JsonPath, put: PutArray = inline) -> Any:
    """Return a value as JSON, from which `Decoder.decode` restores it exactly.

    A list stands for a tuple; all but primitives, tuples and mappings of strings become a dictionary with one key such
    as ``"$list"``. `put` encodes arrays.

    Examples
    --------
    >>> encode({"pads": (1, 1), "names": ["a"], "low": -math.inf}, JsonPath())
    {'pads': [1, 1], 'names': {'$list': ['a']}, 'low': {'$float': '-inf'}}
    >>> from graphrewrite import Tensor
    >>> encode(Tensor("f32", ("N", 2)), JsonPath())
    {'$type': 'f32[N,2]'}
    """
    if path.depth > DEPTH:
        path.fail(f"lists and mappings nest deeper than {DEPTH}; make the value flatter")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if value.bit_length() <= _BITS else {"$int": hex(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": _not_finite(value)}
    if isinstance(value, np.ndarray):
        return put(value, path)
    if isinstance(value, tuple):
        return [encode(each, path / i, put) for i, each in enumerate(value)]
    if isinstance(value, Mapping):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: encode(each, path / key, put) for key, each in value.items()}
        pairs = enumerate(value.items())
        return {"$dict": [[encode(k, path / i / k, put), encode(v, path / i / k, put)] for i, (k, v) in pairs]}
    return _encode_rare(value, path, put)


def _not_finite(value: float) -> str:
    """Return the name of an infinity, or the bits of a NaN (which NaN it is, is kept)."""
    return struct.pack(">d", value).hex() if math.isnan(value) else repr(value)


def _encode_rare(value: Any, path: JsonPath, put: PutArray) -> Any:
    if isinstance(value, Size):
        return str(value)
    if isinstance(value, range):
        return list(value)
    if isinstance(value, list):
        return {"$list": [encode(each, path / i, put) for i, each in enumerate(value)]}
    if isinstance(value, set | frozenset):
        each = sorted((encode(member, path / 0, put) for member in value), key=repr)
        return {"$set" if isinstance(value, set) else "$frozenset": each}
    if isinstance(value, Type):
        return {"$type": str(value)}
    if isinstance(value, FixedPoint | Quantised | ElementType):
        return {"$element": str(value)}
    if isinstance(value, np.generic) and not isinstance(value, np.object_):
        return {"$scalar": inline(np.asarray(value), path)["$array"]}
    if type(value) is complex:
        return {"$complex": [encode(value.real, path / 0), encode(value.imag, path / 1)]}
    if isinstance(value, BodyName):
        return {"$body": str(value)}
    if type(value) is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    return path.fail(
        f"a value of type {type(value).__name__} cannot be stored; store numbers, strings, lists and mappings of them, "
        "types or arrays"
    )
