"""How values of an element type are held in numpy's arrays, and whether an array holds what a type says."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.types.edge import Type
from graphrewrite.types.element import Element, element_dtype
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import integer_limits
from graphrewrite.types.quantised import Quantised

__all__ = ["contradiction", "fitted", "hold", "out_of_range"]

_UPPER = np.uint32(0xFFFF0000)
"""The half of a float32 that is a bfloat16."""


def hold(element: Element, array: Any) -> np.ndarray:
    """Return values as an element type holds them: in its dtype, rounded to bfloat16, wrapped to 4 bits.

    A bfloat16 is the upper half of a float32 (rounded to the nearest, ties to even); integers of 4 bits are in two's
    complement, of which the upper bits are dropped.

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
    if element == "bf16":
        return _rounded(array)
    dtype = element_dtype(element)
    held: np.ndarray = array if array.dtype == dtype else array.astype(dtype)
    if element in ("i4", "u4"):
        return _wrapped(held, signed=element == "i4")
    return held


def _wrapped(array: np.ndarray, *, signed: bool) -> np.ndarray:
    kind = array.dtype.type
    low = array & kind(15)
    wrapped = (low ^ kind(8)) - kind(8) if signed else low
    return array if np.array_equal(wrapped, array) else np.asarray(wrapped)


def _rounded(array: np.ndarray) -> np.ndarray:
    """To bfloat16, rounded once."""
    if array.dtype != np.float32:
        array = _narrowed(array)
    array = np.asarray(array, order="C")
    bits = array.view(np.uint32)
    if not (bits & ~_UPPER).any():
        return array
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded = np.where(np.isnan(array), bits | np.uint32(0x00400000), bits + half) & _UPPER
    return np.asarray(rounded).view(np.float32)


def _narrowed(array: np.ndarray) -> np.ndarray:
    """To float32, rounded to odd, so that rounding again gives what rounding once does (Boldo and Melquiond 2005)."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # What a float64 has no room for is said by one bit: whether there was anything.
        low, mark = array.dtype.type(0xFFF), array.dtype.type(0x1000)
        jammed = np.where((array & low) != 0, (array & ~low) | mark, array)
        array = np.where(np.abs(array.astype(np.float64)) < 2.0**52, array, jammed)
    exact = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        near = exact.astype(np.float32)
    back = near.astype(np.float64)
    toward = np.where(np.abs(back) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    inexact = (toward != exact) & np.isfinite(exact)
    return np.asarray(np.where(inexact, toward.view(np.uint32) | np.uint32(1), toward.view(np.uint32))).view(np.float32)


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
    array, dtype = np.asarray(value), element_dtype(kind.element)
    if array.dtype == dtype and kind.element != "bf16":
        return array
    if array.dtype.kind not in "iufb":
        return array
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return hold(kind.element, array)
    with np.errstate(invalid="ignore"):
        converted = array.astype(dtype)
    return converted if np.array_equal(converted, array) else array


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
    if element == "bf16":
        wrong = array[~_same_bits(array, _rounded(array))]
        return f"holds {wrong[0]}, which is no bfloat16" if wrong.size else None
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
    array, dtype = np.asarray(array), element_dtype(element)
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
    return integer_limits(element) if element in ("i4", "u4") else None
