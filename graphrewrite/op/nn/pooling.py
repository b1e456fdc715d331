"""Pooling over sliding windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import POOL_FORMS
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import GLOBAL_POOL, POOL
from graphrewrite.op.domain import ORDERED
from graphrewrite.op.nn.convolution import pad_spatial, per_axis, spatial_sizes
from graphrewrite.op.nn.pieces import in_pieces
from graphrewrite.op.nn.windows import covering_pads, window_counts
from graphrewrite.op.precision import least_of
from graphrewrite.types import Dimension, FixedPoint, Quantised, Tensor, element_kind

__all__ = [
    "average_pool",
    "global_average_pool",
    "global_max_pool",
    "has_window_in_border",
    "max_pool",
    "taps",
]


def has_window_in_border(
    sizes: Sequence[Dimension],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> bool:
    """Tell whether a window of a pooling lies in the padding only, along some axis; of an open size, whether it may.

    Examples
    --------
    >>> has_window_in_border((4,), (2,), (1,), (1, 1)), has_window_in_border((4,), (2,), (1,), (0, 2))
    (False, True)
    """
    rank = len(sizes)
    strides, pads, dilations = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0), per_axis(dilations, rank, 1)
    for size, before, after, width, stride, step in zip(
        sizes, pads[:rank], pads[rank:], kernel, strides, dilations, strict=True
    ):
        if isinstance(size, str):
            if max(before, after) >= (width if step == 1 else 1):
                return True
            continue
        (count,) = spatial_sizes((size,), (width,), (stride,), (before, after), (step,), ceil_mode=ceil_mode)
        if step == 1:  # only the first and the last window can lie outside
            if before >= width or (count - 1) * stride >= size + before:
                return True
        else:  # the taps of any window may all miss the axis
            reads = np.arange(count)[:, None] * stride + np.arange(width) * step - before
            if not ((reads >= 0) & (reads < size)).any(axis=1).all():
                return True
    return False


def check_positions(x: Tensor) -> None:
    """Raise unless a tensor has a batch, channels and positions."""
    if len(x.shape) < 3:
        raise TypeMismatchError(f"pooling needs a batch, channels and at least one spatial axis, got {x}")


def infer_windows(x: Tensor, **windows: Any) -> Tensor:
    """Infer the type of a pooling over windows."""
    check_positions(x)
    return Tensor(x.element, (*x.shape[:2], *spatial_sizes(x.shape[2:], **windows)))


def taps(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    fill: float | int,
    *,
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> list[np.ndarray]:
    """Return one strided view a kernel position: folding over them is faster than reducing windows.

    Examples
    --------
    >>> [tap.tolist() for tap in taps(np.array([[[1, 2, 3]]]), (2,), (2,), (0, 0), 0, ceil_mode=True)]
    [[[[1, 3]]], [[[2, 0]]]]
    """
    rank = len(kernel)
    sizes = spatial_sizes(x.shape[2:], kernel, strides, pads, dilations, ceil_mode=ceil_mode)
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    if ceil_mode:
        pads = covering_pads(x.shape[2:], sizes, kernel, strides, pads, dilations)
    padded = pad_spatial(x, per_axis(pads, 2 * rank, 0), fill)
    views = []
    for tap in itertools.product(*map(range, kernel)):
        axes = zip(tap, dilations, strides, sizes, strict=True)
        pick = (slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in axes)
        views.append(padded[(slice(None), slice(None), *pick)])
    return views


def summed(views: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of arrays of one shape."""
    total = np.array(views[0])
    for view in views[1:]:
        total += view
    return total


def check_windows(x: Tensor, kernel: Sequence[int], pads: Sequence[int], **windows: Any) -> None:
    """Raise if a window of a pooling lies in the padding only."""
    if has_window_in_border(x.shape[2:], kernel, pads=pads, **windows):
        raise TypeMismatchError(
            f"a window of {list(kernel)} lies entirely in the border of {list(pads)}, and {x.element} has no number "
            "for that; give pads less than the kernel"
        )


def _infer_average(x: Tensor, *, count_include_pad: bool, **windows: Any) -> Tensor:
    result = infer_windows(x, **windows)
    if element_kind(x.element) != "float" and not count_include_pad:
        check_windows(x, **windows)
    return result


def _check_one_scale(x: Tensor) -> None:
    if isinstance(x.element, Quantised) and (x.element.axis or 0) > 1:
        raise TypeMismatchError(f"windows of {x} mix channels of different scales; op.from_quantised dequantises first")


def _infer_max(x: Tensor, **windows: Any) -> Tensor:
    _check_one_scale(x)
    result = infer_windows(x, **windows)
    if isinstance(x.element, FixedPoint):
        check_windows(x, **windows)
    return result


@define_op(infer=_infer_max, elements=ORDERED | {"quantised"}, axes="NC* -> NC*", derived=POOL, forms=POOL_FORMS)
def max_pool(
    x: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> np.ndarray:
    """Maximum over windows; the border never wins (ONNX specification, MaxPool). Works on mantissas as well.

    Parameters
    ----------
    x
        Input [N, C, …].
    kernel
        Size of the windows along each axis.
    strides
        Step of the windows along each axis.
    pads
        Border around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    ceil_mode
        Whether a last window may reach beyond the border, unless it would start in the border at the end.

    Examples
    --------
    >>> max_pool(np.arange(16.0).reshape(1, 1, 4, 4), kernel=(2, 2), strides=(2, 2)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    rank = x.ndim - 2
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    sizes = spatial_sizes(x.shape[2:], kernel, strides, pads, dilations, ceil_mode=ceil_mode)
    if ceil_mode:
        pads = covering_pads(x.shape[2:], sizes, kernel, strides, pads, dilations)

    def greatest(x: np.ndarray) -> np.ndarray:
        result = pad_spatial(x, per_axis(pads, 2 * rank, 0), least_of(x.dtype))
        for axis in range(rank):  # rows first: their taps are contiguous runs, and they leave fewer columns to compare
            lead, reach = (slice(None),) * (2 + axis), strides[axis] * (sizes[axis] - 1) + 1
            first, *rest = [
                result[(*lead, slice(start, start + reach, strides[axis]))]
                for start in range(0, kernel[axis] * dilations[axis], dilations[axis])
            ]
            result = np.maximum(first, rest[0]) if rest else first
            for tap in rest[1:]:
                np.maximum(result, tap, out=result)
        return result

    result = in_pieces(greatest, x)
    return result.copy() if set(kernel) == {1} else result  # without taps it is a view of the operand


@define_op(infer=_infer_average, elements=ORDERED, axes="NC* -> NC*", derived=POOL, forms=POOL_FORMS)
def average_pool(
    x: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> np.ndarray:
    """Mean over windows; the border counts only where asked (ONNX specification, AveragePool).

    Parameters
    ----------
    x
        Input [N, C, …].
    kernel
        Size of the windows along each axis.
    strides
        Step of the windows along each axis.
    pads
        Zeros around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    ceil_mode
        Whether a last window may reach beyond the border; the entries there never count.
    count_include_pad
        Whether entries of the border count.

    Examples
    --------
    >>> average_pool(np.arange(4.0).reshape(1, 1, 2, 2), kernel=(2, 2)).tolist()
    [[[[1.5]]]]
    """
    counts: np.ndarray | int = math.prod(kernel)
    if ceil_mode or (any(pads) and not count_include_pad):
        sizes = spatial_sizes(x.shape[2:], kernel, strides, pads, dilations, ceil_mode=ceil_mode)
        inside = window_counts(x.shape[2:], sizes, kernel, strides, pads, dilations, border=count_include_pad)
        counts = inside.astype(x.dtype) if x.dtype.kind == "f" else inside

    def mean(x: np.ndarray) -> np.ndarray:
        total = summed(taps(x, kernel, strides, pads, 0, dilations=dilations, ceil_mode=ceil_mode))
        return np.divide(total, counts, out=total) if total.dtype.kind == "f" else (total / counts).astype(x.dtype)

    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN where a window lies in the padding only
        return in_pieces(mean, x)


def infer_global(x: Tensor) -> Tensor:
    """Infer the type of a pooling over all positions."""
    check_positions(x)
    return Tensor(x.element, (*x.shape[:2], *[1] * (len(x.shape) - 2)))


@define_op(infer=infer_global, elements=ORDERED, axes="NC* -> NC*", derived=GLOBAL_POOL)
def global_average_pool(x: np.ndarray) -> np.ndarray:
    """Mean over all positions of each channel (ONNX specification, GlobalAveragePool).

    Parameters
    ----------
    x
        Input [N, C, …].

    Examples
    --------
    >>> global_average_pool(np.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[1.5]]]]
    """
    if 0 in x.shape[2:]:  # the mean of nothing, as of reduce_mean
        nothing = 0 if x.dtype.kind in "iu" else np.nan
        return np.full((*x.shape[:2], *[1] * (x.ndim - 2)), nothing, x.dtype)
    return x.mean(axis=tuple(range(2, x.ndim)), keepdims=True, dtype=x.dtype)


def _infer_global_max(x: Tensor) -> Tensor:
    result = infer_global(x)
    if 0 in x.shape[2:]:
        raise TypeMismatchError(f"{x} has no positions, so that there is no maximum")
    _check_one_scale(x)
    return result


@define_op(infer=_infer_global_max, elements=ORDERED | {"quantised"}, axes="NC* -> NC*", derived=GLOBAL_POOL)
def global_max_pool(x: np.ndarray) -> np.ndarray:
    """Maximum over all positions of each channel (ONNX specification, GlobalMaxPool). Works on mantissas as well.

    Parameters
    ----------
    x
        Input [N, C, …].

    Examples
    --------
    >>> global_max_pool(np.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[3.0]]]]
    """
    return x.max(axis=tuple(range(2, x.ndim)), keepdims=True)
