"""Storage: values of element types in numpy arrays, rounded and wrapped to their bits, and checked against types."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.types.edge import Type
from graphrewrite.types.element import Element, as_element, element_dtype, stores
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.named import HELD_WIDER, OBJECT, SHORT_INTEGERS, TEXT, integer_limits
from graphrewrite.types.own_members import ElementType
from graphrewrite.types.quantised import Quantised
from graphrewrite.types.small_floats import nearest_small

__all__ = ["contradiction", "fitted", "hold", "narrowed", "out_of_range"]

_ROUNDED = HELD_WIDER - SHORT_INTEGERS
"""Floats that are stored in float32 and have fewer bits."""

_UPPER = np.uint32(0xFFFF0000)
"""The half of a float32 that is a bfloat16."""


def hold(element: Element, array: Any) -> np.ndarray:
    """Return values as an element type stores them: in its dtype, rounded to its floats, wrapped to its bits.

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
    array, element = np.asarray(array), element if element == OBJECT else as_element(element)
    if isinstance(element, ElementType):
        return element.hold(array)
    if isinstance(element, Quantised):
        element = element.storage
    if element in _ROUNDED:
        return _rounded(str(element), array)
    if element == TEXT:
        texts = _texts(array)
        if texts.dtype.kind != "U":
            raise ValueError(f"{next(x for x in array.ravel().tolist() if not isinstance(x, str))!r:.60} is no text")
        return texts
    dtype = element_dtype(element)  # of objects, too: they are held as they are
    stored: np.ndarray = array if array.dtype == dtype else array.astype(dtype)
    return _wrapped(stored, str(element)) if element in SHORT_INTEGERS else stored


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
        Unchanged if it has numbers that the type does not have; `contradiction` reports them.

    Examples
    --------
    >>> from graphrewrite.types import Tensor
    >>> fitted(Tensor("f32", (2,)), [1, 0.1]).dtype, fitted(Tensor("i8", (2,)), [1, 0.5]).dtype
    (dtype('float32'), dtype('float64'))
    """
    if kind.element == TEXT:
        return _texts(np.asarray(value))
    array, dtype = _numbers(kind.element, value), element_dtype(kind.element)
    if isinstance(kind.element, ElementType):
        return kind.element.hold(array)
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


def _texts(array: np.ndarray) -> np.ndarray:
    """Return texts in a dtype as wide as the longest; unchanged if some are none."""
    entries = array.ravel().tolist()
    if not all(isinstance(entry, str) for entry in entries):
        return array
    return np.array(entries, np.str_).reshape(array.shape)


def _numbers(element: Element, value: Any) -> np.ndarray:
    """Return an array of a dtype of numpy; numbers of other packages' small types (ml_dtypes) are converted."""
    array = np.asarray(value)
    is_foreign = array.dtype.kind == "V" and array.dtype.names is None and element in HELD_WIDER
    return array.astype(element_dtype(element)) if is_foreign else array


def contradiction(kind: Type, array: Any) -> str | None:
    """Return how an array contradicts its declared type, as half a sentence for messages; None if it does not.

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
    'holds 8, but i4 ranges from -8 to 7'
    >>> contradiction(Tensor("f32", (2,)), np.zeros(2, np.float32)) is None
    True
    """
    array = np.asarray(array)
    element = kind.element
    if array.shape != kind.shape:
        return f"holds an array of shape {list(array.shape)} and is declared {kind}"
    if not stores(element, array.dtype):
        return f"holds an array of {array.dtype} and is declared {kind}, which is stored as {element_dtype(element)}"
    if element in _ROUNDED:
        wrong = array[~_same_bits(array, _rounded(str(element), array))]
        name = "bfloat16" if element == "bf16" else element
        return f"holds {wrong[0]}, which is not a {name} number" if wrong.size else None
    # All numbers of the dtype are some of an element type that is named after it.
    return None if isinstance(element, str) and element not in SHORT_INTEGERS else out_of_range(element, array)


def out_of_range(element: Element, array: Any) -> str | None:
    """Return the first number that an integer element type cannot store, as half a sentence; None if it stores all.

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
    ('holds 256, but u8 ranges from 0 to 255', 'holds 0.5, but i8 has integers only')
    """
    element = as_element(element)
    array, dtype = _numbers(element, array), element_dtype(element)
    limits = _limits(element)
    if dtype.kind not in "iu" or not array.size or (array.dtype == dtype and limits is None):
        return None
    if array.dtype.kind not in "iufb":
        return f"holds {array.dtype}, but {element} has integers only"
    if array.dtype.kind == "f":
        broken = array[array != np.floor(array)]  # NaN is one of them
        if broken.size:
            return f"holds {broken[0]}, but {element} has integers only"
    low, high = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    outside = array[(array < low) | (array > high)]
    return f"holds {outside[0]}, but {element} ranges from {low} to {high}" if outside.size else None


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _limits(element: Element) -> tuple[int, int] | None:
    """Return the limits of an element type, if its dtype has a larger range."""
    if isinstance(element, str):
        return integer_limits(element) if element in SHORT_INTEGERS else None
    return (element.minimum, element.maximum) if isinstance(element, FixedPoint | Quantised) else None


def _rounded(name: str, array: np.ndarray) -> np.ndarray:
    """Return numbers rounded once to a float type that is stored in float32.

    Parameters
    ----------
    array : ndarray
        Any numbers; of smaller types than bf16 the greatest stands for what lies beyond it.

    Examples
    --------
    >>> _rounded("bf16", np.array([1.001, 3.14159])).tolist(), _rounded("f4e2m1", np.array([2**60, -1])).tolist()
    ([1.0, 3.140625], [6.0, -1.0])
    """
    return _to_bfloat16(array) if name == "bf16" else nearest_small(name, narrowed(array))


def _to_bfloat16(array: np.ndarray) -> np.ndarray:
    array = np.asarray(narrowed(array), order="C")
    bits = array.view(np.uint32)
    if not (bits & ~_UPPER).any():
        return array
    # Round to nearest even: add just below half a unit of the upper half, and one more if its last bit is odd.
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded = np.where(np.isnan(array), bits | np.uint32(0x00400000), bits + half) & _UPPER
    return np.asarray(rounded).view(np.float32)


def narrowed(array: np.ndarray) -> np.ndarray:
    """Return float32, rounded to odd: rounding again gives what rounding once does (Boldo and Melquiond 2005).

    Returns
    -------
    ndarray of float32
        The array itself where it has that dtype.

    Examples
    --------
    >>> narrowed(np.array([1 + 2.0**-30])).tolist()
    [1.0000001192092896]
    """
    if array.dtype == np.float32:
        return array
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # float64 has 53 bits: beyond them, one sticky bit says whether any of the dropped bits was set, which is all
        # that rounding to nearest needs.
        low, sticky = array.dtype.type(0xFFF), array.dtype.type(0x1000)
        jammed = np.where((array & low) != 0, (array & ~low) | sticky, array)
        array = np.where(np.abs(array.astype(np.float64)) < 2.0**52, array, jammed)
    exact = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        near = exact.astype(np.float32)
    back = near.astype(np.float64)
    toward = np.where(np.abs(back) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    inexact = (toward != exact) & np.isfinite(exact)
    return np.asarray(np.where(inexact, toward.view(np.uint32) | np.uint32(1), toward.view(np.uint32))).view(np.float32)
