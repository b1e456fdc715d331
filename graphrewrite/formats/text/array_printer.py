"""Printing of arrays: as decimal digits where these determine every bit, else as bytes in base 64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.types import element_of

__all__ = ["LARGE", "abbreviated", "check_storable", "is_ordinary", "raw_bytes", "shortest", "whole_array"]

LARGE = 32
"""Arrays with more entries are abbreviated in readable text, and written to a separate file by `write_text`."""


def is_ordinary(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is that of an element type, in native byte order."""
    if not dtype.isnative:
        return False
    try:
        element_of(dtype)
    except TypeMismatchError:
        return False
    return True


def shortest(value: np.ndarray) -> np.ndarray:
    """Return float64 numbers with the shortest digits that round to the given float16 or float32 numbers.

    Examples
    --------
    >>> float(np.float32(0.1)), float(shortest(np.float32([0.1]))[0])
    (0.10000000149011612, 0.1)
    """
    if value.dtype.kind == "f" and value.dtype.itemsize < 8:
        return value.astype(str).astype(np.float64)
    return value


def whole_array(array: np.ndarray, typed: bool = True) -> str:
    """Return a text from which an array can be restored bit for bit; `typed` adds the element type and shape.

    Examples
    --------
    >>> whole_array(np.float32([[0.5, 2]])), whole_array(np.array(3)), whole_array(np.int8([1, 2]), typed=False)
    ('f32[[0.5, 2.0]]', 'i64(3)', '[1, 2]')
    >>> whole_array(np.complex64([1j]))
    "array('<c8', [1], 'AAAAAAAAgD8=')"
    """
    array = np.asanyarray(array)
    if array.size or array.ndim == 1 or not typed:
        digits = _digits(array)
        if digits is not None:
            text = repr(digits.tolist())
            if not typed:
                return text
            return f"{element_of(array.dtype)}{text}" if array.ndim else f"{element_of(array.dtype)}({text})"
    kind, data = raw_bytes(array)
    return f"array({kind!r}, {list(array.shape)}, '{base64.b64encode(data).decode()}')"


def _digits(array: np.ndarray) -> np.ndarray | None:
    """Return numbers whose digits determine every bit of an array, or None if there are none."""
    if not is_ordinary(array.dtype) or isinstance(array, np.ma.MaskedArray):
        return None
    with np.errstate(all="ignore"):
        digits = shortest(array)
        digits = np.where(np.isnan(digits), np.nan, digits) if array.dtype.kind == "f" else digits
        return digits if digits.astype(array.dtype).tobytes() == array.tobytes() else None


def raw_bytes(array: np.ndarray) -> tuple[str, bytes]:
    r"""Return numpy's name of an array's dtype, and its bytes in C order.

    Examples
    --------
    >>> raw_bytes(np.int16([1, 2]))
    ('<i2', b'\x01\x00\x02\x00')
    """
    check_storable(array)
    return array.dtype.str, array.tobytes()


def check_storable(array: np.ndarray) -> None:
    """Raise unless an array is determined by its dtype, shape and bytes.

    Examples
    --------
    >>> check_storable(np.array(["a", "b"]))
    """
    name = array.dtype.str
    if array.dtype.hasobject or np.dtype(name) != array.dtype or not array.dtype.itemsize:
        raise GraphError(f"an array of {array.dtype} cannot be stored; store numbers, strings or times")
    if isinstance(array, np.ma.MaskedArray):
        raise GraphError("a masked array cannot be stored; store its data and its mask separately")


def abbreviated(array: np.ndarray, typed: bool = True) -> str:
    """Return a readable text of an array; a large one is abbreviated and cannot be parsed.

    Examples
    --------
    >>> abbreviated(np.arange(100)), abbreviated(np.arange(2), typed=False)
    ('<100 values, 0 to 99>', '[0, 1]')
    """
    if array.size <= LARGE:
        try:
            return whole_array(array, typed)
        except GraphError:
            return f"<{array.dtype}[{','.join(map(str, array.shape))}]>"
    if array.dtype.kind not in "biuf":
        return f"<{array.size} values of {array.dtype}>"
    with np.errstate(all="ignore"):
        return f"<{array.size} values, {_number(array.min())} to {_number(array.max())}>"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)
