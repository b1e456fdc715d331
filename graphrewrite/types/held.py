"""How values of an element type are held in numpy's arrays, and whether an array holds what a type says."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.types.edge import Type
from graphrewrite.types.element import Element, element_dtype
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import HELD_WIDER, SHORT_INTEGERS, integer_limits
from graphrewrite.types.quantised import Quantised
from graphrewrite.types.rounding import rounded

__all__ = ["contradiction", "fitted", "hold", "out_of_range"]

_ROUNDED = HELD_WIDER - SHORT_INTEGERS
"""Floats that are held in float32 and have fewer bits."""


def hold(element: Element, array: Any) -> np.ndarray:
    """Return values as an element type holds them: in its dtype, rounded to its floats, wrapped to its bits.

    A bfloat16 is the upper half of a float32 (rounded to the nearest, ties to even); floats of 8 and 4 bits are rounded
    likewise, and their greatest number stands for what lies beyond it (ONNX specification, Cast). Integers of 4 and 2
    bits are in two's complement, of which the upper bits are dropped.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type.
    array : array-like
        Values; mantissas or stored integers of a number format.

    Returns
    -------
    ndarray
        The array itself where there is nothing to do.

    Examples
    --------
    >>> hold("i4", np.array([7, 8, -9], np.int8)).tolist()
    [7, -8, 7]
    >>> hold("bf16", np.array([1.0, 1.001, 3.14159], np.float32)).tolist()
    [1.0, 1.0, 3.140625]
    """
    array = np.asarray(array)
    if isinstance(element, Quantised):
        element = element.storage
    if element in _ROUNDED:
        return rounded(str(element), array)
    dtype = element_dtype(element)
    held: np.ndarray = array if array.dtype == dtype else array.astype(dtype)
    return _wrapped(held, str(element)) if element in SHORT_INTEGERS else held


def _wrapped(array: np.ndarray, name: str) -> np.ndarray:
    kind, bits = array.dtype.type, int(name[1:])
    low, sign = array & kind((1 << bits) - 1), kind(1 << (bits - 1))
    wrapped = (low ^ sign) - sign if name[0] == "i" else low
    return array if np.array_equal(wrapped, array) else np.asarray(wrapped)


def fitted(kind: Type, value: Any) -> np.ndarray:
    """Return a payload in the dtype of its declared type, where that changes no number but by rounding of floats.

    Parameters
    ----------
    kind : Tensor or Stream
        The declared type.
    value : array-like
        The payload; a list of numbers has no dtype of its own.

    Returns
    -------
    ndarray
        As it was given, where it has numbers that the type has not; `contradiction` says so.

    Examples
    --------
    >>> from graphrewrite.types import Tensor
    >>> fitted(Tensor("f32", (2,)), [1, 0.1]).dtype, fitted(Tensor("i8", (2,)), [1, 0.5]).dtype
    (dtype('float32'), dtype('float64'))
    """
    array, dtype = _numbers(kind.element, value), element_dtype(kind.element)
    if array.dtype == dtype and kind.element not in _ROUNDED:
        return array
    if array.dtype.kind not in "iufb":
        return array
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return hold(kind.element, array)
    with np.errstate(invalid="ignore"):
        converted = array.astype(dtype)
    return converted if np.array_equal(converted, array) else array


def _numbers(element: Element, value: Any) -> np.ndarray:
    """An array of numpy's own; of a package's types of fewer bits, such as those of ml_dtypes, the numbers."""
    array = np.asarray(value)
    is_foreign = array.dtype.kind == "V" and array.dtype.names is None and element in HELD_WIDER
    return array.astype(element_dtype(element)) if is_foreign else array


def contradiction(kind: Type, array: Any) -> str | None:
    """Return what an array has that its type has not, or None if it holds what the type says.

    Parameters
    ----------
    kind : Tensor or Stream
        The declared type.
    array : array-like
        The payload.

    Returns
    -------
    str or None
        Half a sentence, for messages.

    Examples
    --------
    >>> from graphrewrite.types import Tensor
    >>> contradiction(Tensor("i4", (2,)), np.array([1, 8], np.int8))
    'holds 8, and i4 reaches from -8 to 7'
    >>> contradiction(Tensor("f32", (2,)), np.zeros(2, np.float32)) is None
    True
    """
    array = np.asarray(array)
    element = kind.element
    if array.shape != kind.shape:
        return f"holds an array of shape {list(array.shape)} and is declared {kind}"
    if array.dtype != element_dtype(element):
        return f"holds an array of {array.dtype} and is declared {kind}, which is held in {element_dtype(element)}"
    if element in _ROUNDED:
        wrong = array[~_same_bits(array, rounded(str(element), array))]
        told = "bfloat16" if element == "bf16" else element
        return f"holds {wrong[0]}, which is no {told}" if wrong.size else None
    return out_of_range(element, array)


def out_of_range(element: Element, array: Any) -> str | None:
    """Return which number of an array an element type of integers does not have, or None if it has all of them.

    Parameters
    ----------
    element : str, FixedPoint or Quantised
        An element type; floats and booleans take what they are given.
    array : array-like
        Numbers, of any dtype.

    Returns
    -------
    str or None
        Half a sentence, for messages.

    Examples
    --------
    >>> out_of_range("u8", [3, 256]), out_of_range("i8", [0.5])
    ('holds 256, and u8 reaches from 0 to 255', 'holds 0.5, and i8 has whole numbers only')
    """
    array, dtype = _numbers(element, array), element_dtype(element)
    limits = _limits(element)
    if dtype.kind not in "iu" or not array.size or (array.dtype == dtype and limits is None):
        return None
    if array.dtype.kind not in "iufb":
        return f"holds {array.dtype}, and {element} has whole numbers only"
    if array.dtype.kind == "f":
        broken = array[array != np.floor(array)]  # NaN is one of them
        if broken.size:
            return f"holds {broken[0]}, and {element} has whole numbers only"
    low, high = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    outside = array[(array < low) | (array > high)]
    return f"holds {outside[0]}, and {element} reaches from {low} to {high}" if outside.size else None


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _limits(element: Element) -> tuple[int, int] | None:
    """The least and the greatest number, where the dtype holds more than the element type."""
    if isinstance(element, FixedPoint | Quantised):
        return element.minimum, element.maximum
    return integer_limits(element) if element in SHORT_INTEGERS else None
