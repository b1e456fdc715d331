"""Values as JSON: primitives as they are, everything else under a key that says what it is."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.serial.place import Place
from graphrewrite.text.array import raw_bytes
from graphrewrite.text.literal import DEPTH
from graphrewrite.types import FixedPoint, Quantised, Stream, Tensor

__all__ = ["PutArray", "encode", "inline"]

PutArray = Callable[[np.ndarray, Place], Any]
"""Takes an array and where it stands; returns what stands there in JSON."""
_BITS = 10_000
"""Longer integers are written in base 16: Python refuses to convert very long decimal ones."""


def inline(array: np.ndarray, place: Place) -> dict[str, Any]:
    """Return an array as JSON: dtype, shape and bytes in base 64.

    Parameters
    ----------
    array : ndarray
        Any array of numbers, strings or times.
    place : Place
        Where it stands.

    Returns
    -------
    dict

    Raises
    ------
    SerialError
        If it holds Python objects or records.

    Examples
    --------
    >>> inline(np.int8([1, 2]), Place())
    {'$array': {'dtype': '|i1', 'shape': [2], 'data': 'AQI='}}
    """
    try:
        dtype, data = raw_bytes(array)
    except GraphRewriteError as error:
        place.fail(str(error), error)
    return {"$array": {"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(data).decode()}}


def encode(value: Any, place: Place, put: PutArray = inline) -> Any:
    """Return a value as JSON; `decode` gives it back, exactly.

    Parameters
    ----------
    value : object
        A primitive, a sequence, set or mapping of them, a type, an array.
    place : Place
        Where it stands.
    put : callable
        What stands for an array.

    Returns
    -------
    object
        Primitives, lists and dictionaries. A list stands for a tuple; what is no primitive, tuple or mapping of strings
        is a dictionary with one key such as ``"$list"``.

    Raises
    ------
    SerialError
        If it can be no JSON, or nests too deep.

    Examples
    --------
    >>> encode({"pads": (1, 1), "names": ["a"], "low": -math.inf}, Place())
    {'pads': [1, 1], 'names': {'$list': ['a']}, 'low': {'$float': '-inf'}}
    >>> encode(Tensor("f32", ("N", 2)), Place())
    {'$type': 'f32[N,2]'}
    """
    if place.depth > DEPTH:
        place.fail(f"lists and mappings nest deeper than {DEPTH}; make the value flatter")
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if value.bit_length() <= _BITS else {"$int": hex(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": _not_finite(value)}
    if isinstance(value, np.ndarray):
        return put(value, place)
    if isinstance(value, tuple):
        return [encode(each, place / i, put) for i, each in enumerate(value)]
    if isinstance(value, Mapping):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: encode(each, place / key, put) for key, each in value.items()}
        pairs = enumerate(value.items())
        return {"$dict": [[encode(k, place / i / k, put), encode(v, place / i / k, put)] for i, (k, v) in pairs]}
    return _encode_rare(value, place, put)


def _not_finite(value: float) -> str:
    """The name of an infinity; the bits of a NaN, of which there are many."""
    return struct.pack(">d", value).hex() if math.isnan(value) else repr(value)


def _encode_rare(value: Any, place: Place, put: PutArray) -> Any:
    if isinstance(value, range):
        return list(value)
    if isinstance(value, list):
        return {"$list": [encode(each, place / i, put) for i, each in enumerate(value)]}
    if isinstance(value, set | frozenset):
        each = sorted((encode(member, place / 0, put) for member in value), key=repr)
        return {"$set" if isinstance(value, set) else "$frozenset": each}
    if isinstance(value, Tensor | Stream):
        return {"$type": str(value)}
    if isinstance(value, FixedPoint | Quantised):
        return {"$element": str(value)}
    if isinstance(value, np.generic) and not isinstance(value, np.object_):
        return {"$scalar": inline(np.asarray(value), place)["$array"]}
    if type(value) is complex:
        return {"$complex": [encode(value.real, place / 0), encode(value.imag, place / 1)]}
    if type(value) is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    return place.fail(
        f"a value of type {type(value).__name__} cannot be stored; store numbers, strings, lists and mappings of them, "
        "types or arrays"
    )
