"""Between real numbers and stored ones, whose scales and zero points are operands (ONNX specification)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS
from graphrewrite.op.sizes import shown
from graphrewrite.types import (
    HELD_WIDER,
    SMALL_FLOATS,
    Element,
    ElementName,
    Tensor,
    check_element,
    element_dtype,
    element_kind,
    element_of,
    hold,
    integer_limits,
    narrowed,
    nearest_small,
)

__all__ = ["dequantize_linear", "dynamic_quantize_linear", "quantize_linear", "stored", "stored_element"]

_WIDEST, _NARROW = 32, 16
"""Bits of the integers in which quantised numbers are stored, at most, and of those whose sums float32 holds."""


def stored_element(zero_point: Element | None, element: Element | None) -> str:
    """Return the element type in which a zero point says that numbers are stored.

    Raises
    ------
    TypeMismatchError
        If they contradict, or an array could not tell: numpy has no integers of 4 bits and no floats of 8.

    Examples
    --------
    >>> stored_element("i8", None), stored_element(None, "f8e5m2"), stored_element(None, None)
    ('i8', 'f8e5m2', 'u8')
    """
    storage = "u8" if zero_point is None and element is None else zero_point if element is None else element
    if isinstance(storage, str):
        check_element(storage)
    if not isinstance(storage, str) or not _stores(storage):
        raise TypeMismatchError(
            f"the stored type is an integer of up to {_WIDEST} bits or a small float, got {storage}"
        )
    if zero_point is not None and zero_point != storage:
        raise TypeMismatchError(f"the zero point is {zero_point}, and element={storage!r}; both must be equal")
    if element is None and storage in HELD_WIDER:
        raise TypeMismatchError(f"give element={storage!r} as well: the dtype {element_dtype(storage)} does not tell")
    return storage


def _stores(name: str) -> bool:
    limits = integer_limits(name)
    return (limits is not None and limits[1] < 1 << _WIDEST) or (name in SMALL_FLOATS and SMALL_FLOATS[name].signed)


def _element_of(zero_point: np.ndarray | None, element: str | None) -> str:
    if element is not None:
        return element
    return "u8" if zero_point is None else stored_element(element_of(zero_point.dtype), None)


def _spread(values: np.ndarray, shape: tuple[int, ...], axis: int, block_size: int) -> np.ndarray:
    """Return scales or zero points for broadcasting against an array."""
    values = np.asarray(values)
    if block_size:
        return np.repeat(values, block_size, axis)[(slice(None),) * (axis % len(shape)) + (slice(shape[axis]),)]
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])


def _check_scale(x: Tensor, scale: Tensor, zero_point: Tensor | None, axis: int, block_size: int) -> None:
    if element_kind(scale.element) != "float":
        raise TypeMismatchError(f"scales are floats, got {scale}")
    one = ((), (1,))
    if zero_point is not None and zero_point.shape != scale.shape and not {zero_point.shape, scale.shape} <= {*one}:
        raise TypeMismatchError(f"each scale has a zero point: {scale} and {zero_point} need one shape")
    if block_size < 0:
        raise TypeMismatchError(f"block_size={block_size} is negative; give 0 for no blocks")
    if not block_size and scale.shape in one:
        return
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise TypeMismatchError(f"axis={axis} is not an axis of {x}")
    size = x.shape[axis]
    if block_size:
        wanted = tuple(-(-size // block_size) if i == axis % rank else d for i, d in enumerate(x.shape))
    else:
        wanted = (size,)
    if scale.shape != wanted:
        raise TypeMismatchError(
            f"{x} needs scales {shown(wanted)} along axis {axis}, or one scale for all, got {scale}"
        )


def _infer_quantize(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None = None,
    *,
    axis: int,
    block_size: int,
    element: Element | None,
    **_: object,
) -> Tensor:
    if x.element != "i32" and element_kind(x.element) != "float":
        raise TypeMismatchError(
            f"quantises floats or i32, got {x.element}; op.cast(x, element='f32') gives floats first"
        )
    _check_scale(x, scale, zero_point, axis, block_size)
    return Tensor(stored_element(None if zero_point is None else zero_point.element, element), x.shape, x.layout)


def stored(values: np.ndarray, zero_point: Any, element: str, *, saturate: bool = True) -> np.ndarray:
    """Return the stored numbers nearest to quotients of a scale: rounded half to even, shifted, saturated.

    Parameters
    ----------
    values : ndarray of float
        Real numbers divided by their scale; NaN, which integers have not, is stored as zero.
    saturate : bool
        Of floats of 8 bits, as for `op.cast`.

    Examples
    --------
    >>> stored(np.array([0.5, 1.5, 999.0]), 3, "i8").tolist()
    [3, 5, 127]
    """
    if element in SMALL_FLOATS:
        shifted = values + np.asarray(zero_point, values.dtype)
        return nearest_small(element, narrowed(shifted), saturate=saturate, infinities=not saturate)
    low, high = integer_limits(element) or (0, 0)
    # float64 holds all integers of 32 bits and their sums, float32 those of 16; beyond, both ways saturate.
    kind = np.promote_types(values.dtype, np.float32) if high - low < 1 << _NARROW else np.float64
    whole = np.rint(values).astype(kind)
    is_missing = np.isnan(whole)
    if is_missing.any():
        whole = np.where(is_missing, np.zeros((), kind), whole)  # for NaN, ONNX defines no value
    shifted = whole + np.asarray(zero_point, kind)
    return np.clip(shifted, low, high).astype(element_dtype(element))


@define_op(infer=_infer_quantize, elements=NUMBERS)
def quantize_linear(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    saturate: bool = True,
    element: ElementName | None = None,
) -> np.ndarray:
    """The stored numbers nearest to real ones: ``round(x / scale) + zero_point``, half to even, saturated.

    The result is of the zero point's element type (ONNX specification, QuantizeLinear).

    Parameters
    ----------
    x
        Any shape.
    scale
        One for all; one for each index of the axis; or one for each block.
    zero_point
        In the shape of the scale; 0 if not given.
    axis
        The axis of scales and blocks.
    block_size
        Number of entries along the axis that share a scale; 0 for no blocks.
    saturate
        Whether what lies beyond floats of 8 bits becomes the greatest one.
    element
        Element type of the result, where an array does not say it, of i4 or a float of 8 bits.

    Examples
    --------
    >>> quantize_linear(np.array([0.25, 0.75, -3.0]), np.array(0.5), np.array(1, np.uint8)).tolist()
    [1, 3, 0]
    """
    x, scale = np.asarray(x), np.asarray(scale)
    target = _element_of(zero_point, element)
    with np.errstate(all="ignore"):  # quotients beyond the floats are infinite, and saturate
        ratio = x / _spread(scale, x.shape, axis, block_size)
        zero = 0 if zero_point is None else _spread(zero_point, x.shape, axis, block_size)
        return stored(ratio, zero, target, saturate=saturate)


def _infer_dequantize(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int, block_size: int, element: Element | None
) -> Tensor:
    if not isinstance(x.element, str) or not _stores(x.element):
        raise TypeMismatchError(
            f"the stored type is an integer of up to {_WIDEST} bits or a small float, got {x.element}; "
            "op.cast(x, element=…) gives them first"
        )
    if zero_point is not None and zero_point.element != x.element:
        raise TypeMismatchError(
            f"the zero point is {zero_point.element} and the operand {x.element}; both must be equal"
        )
    _check_scale(x, scale, zero_point, axis, block_size)
    result = scale.element if element is None else element
    check_element(result)
    if element_kind(result) != "float":
        raise TypeMismatchError(f"dequantisation gives floats, not {result}; convert them with op.cast(x, element=…)")
    return Tensor(result, x.shape, x.layout)


@define_op(infer=_infer_dequantize, elements=NUMBERS)
def dequantize_linear(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    element: ElementName | None = None,
) -> np.ndarray:
    """The real numbers that stored ones stand for: ``scale * (x - zero_point)``, in the element type of the scale.

    Computed in float32 at least (ONNX specification, DequantizeLinear).

    Parameters
    ----------
    x
        Stored numbers, of any shape.
    scale
        One for all; one for each index of the axis; or one for each block.
    zero_point
        In the shape of the scale; 0 if not given.
    axis
        The axis of scales and blocks.
    block_size
        Number of entries along the axis that share a scale; 0 for no blocks.
    element
        Element type of the result; that of the scale if not given.

    Examples
    --------
    >>> dequantize_linear(np.array([1, 3], np.uint8), np.array(0.5), np.array(1, np.uint8)).tolist()
    [0.0, 1.0]
    """
    x, scale = np.asarray(x), np.asarray(scale)
    kind = np.promote_types(scale.dtype, np.float32)
    # The distance of two integers of 32 bits has 33, which float32 does not hold before it is rounded.
    wide = kind if x.dtype.itemsize * 8 <= _NARROW else np.dtype(np.float64)
    with np.errstate(all="ignore"):
        distance = x.astype(wide)
        if zero_point is not None:
            distance = distance - _spread(zero_point, x.shape, axis, block_size).astype(wide)
        y = distance.astype(kind, copy=False) * _spread(scale, x.shape, axis, block_size).astype(kind)
        return y.astype(scale.dtype) if element is None else hold(element, y)


def _infer_dynamic(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if x.element != "f32":
        raise TypeMismatchError(f"computes in f32, got {x.element}; op.cast(x, element='f32') gives it first")
    if 0 in x.shape:
        raise TypeMismatchError(f"{x} has no entries, and so no range")
    return Tensor("u8", x.shape, x.layout), Tensor("f32", ()), Tensor("u8", ())


@define_op(results=3, infer=_infer_dynamic, elements=FLOATS)
def dynamic_quantize_linear(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers stored in 8 bits with the scale and the zero point that fit their range, zero included.

    Results: ``round(x / scale) + zero_point``, ``scale = (max - min) / 255`` and ``zero_point = round(-min / scale)``,
    all of them saturated (ONNX specification, DynamicQuantizeLinear). The range is that of the whole operand.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> [r.tolist() for r in dynamic_quantize_linear(np.array([0.0, 2.55, -2.55], np.float32))]
    [[128, 255, 0], 0.019999999552965164, 128]
    """
    x = np.asarray(x, np.float32)
    most, least = np.maximum(np.float32(0), x.max()), np.minimum(np.float32(0), x.min())
    with np.errstate(all="ignore"):
        width = np.where(most == least, np.float32(1), most - least)  # of zeros only, any scale will do
        scale = np.asarray(width / np.float32(255), np.float32)
        zero_point = stored(np.asarray(-least / scale), 0, "u8")
        return stored(x / scale, zero_point, "u8"), scale, zero_point
