"""Pooling over sliding windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.convolution import pad_spatial, per_axis, spatial_sizes
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import GLOBAL_POOL, POOL
from graphrewrite.op.domain import ORDERED
from graphrewrite.types import Dimension, FixedPoint, Quantised, Tensor, element_kind

__all__ = ["average_pool", "global_average_pool", "has_window_in_border", "max_pool"]


def has_window_in_border(
    sizes: Sequence[Dimension], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> bool:
    """Tell whether a first or last window of a pooling reads nothing of the axis that it moves along.

    Parameters
    ----------
    sizes : sequence of int or str
        Of the axes that are pooled.
    kernel, strides, pads : sequence of int
        As for `max_pool`.

    Returns
    -------
    bool

    Examples
    --------
    >>> has_window_in_border((4,), (2,), (1,), (1, 1)), has_window_in_border((4,), (2,), (1,), (0, 2))
    (False, True)
    """
    rank = len(sizes)
    strides, pads = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0)
    return any(
        before >= width or (size + before + after - width) // stride * stride >= size + before
        for size, before, after, width, stride in zip(sizes, pads[:rank], pads[rank:], kernel, strides, strict=True)
        if not isinstance(size, str)
    )


def _check_positions(x: Tensor) -> None:
    if len(x.shape) < 3:
        raise TypeMismatchError(f"pooling needs a batch, channels and at least one spatial axis, got {x}")


def _infer(x: Tensor, *, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> Tensor:
    _check_positions(x)
    return Tensor(x.element, (*x.shape[:2], *spatial_sizes(x.shape[2:], kernel, strides, pads, (1,) * len(kernel))))


def _taps(
    x: np.ndarray, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], fill: float | int
) -> list[np.ndarray]:
    """One strided view a kernel position: folding over them is faster than reducing windows."""
    sizes = spatial_sizes(x.shape[2:], kernel, strides, pads, (1,) * len(kernel))
    strides = per_axis(strides, len(kernel), 1)
    padded = pad_spatial(x, pads, fill)
    everything = slice(None)
    picks: list[tuple[slice, ...]] = [
        (
            everything,
            everything,
            *(slice(t, t + s * (n - 1) + 1, s) for t, s, n in zip(tap, strides, sizes, strict=True)),
        )
        for tap in itertools.product(*map(range, kernel))
    ]
    return [padded[pick] for pick in picks]


def _check_windows(x: Tensor, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]) -> None:
    if has_window_in_border(x.shape[2:], kernel, strides, pads):
        raise TypeMismatchError(
            f"a window of {list(kernel)} lies wholly in the border of {list(pads)}, and {x.element} has no number for "
            "that; give pads less than the kernel"
        )


def _infer_average(
    x: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    count_include_pad: bool = False,
) -> Tensor:
    result = _infer(x, kernel=kernel, strides=strides, pads=pads)
    if element_kind(x.element) != "float" and not count_include_pad:
        _check_windows(x, kernel, strides, pads)
    return result


def _infer_max(
    x: Tensor, *, kernel: Sequence[int], strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0)
) -> Tensor:
    if isinstance(x.element, Quantised) and (x.element.axis or 0) > 1:
        raise TypeMismatchError(f"windows of {x} hold numbers of several scales; op.from_quantised dequantises first")
    result = _infer(x, kernel=kernel, strides=strides, pads=pads)
    if isinstance(x.element, FixedPoint):
        _check_windows(x, kernel, strides, pads)
    return result


@define_op(infer=_infer_max, elements=ORDERED | {"quantised"}, axes="NC* -> NC*", derived=POOL)
def max_pool(
    x: np.ndarray, *, kernel: Sequence[int], strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0)
) -> np.ndarray:
    """Maximum over windows; the border never wins (ONNX specification, MaxPool). Works on mantissas as well.

    Examples
    --------
    >>> max_pool(np.arange(16.0).reshape(1, 1, 4, 4), kernel=(2, 2), strides=(2, 2)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    least = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
    first, *rest = _taps(x, kernel, strides, pads, least)
    result = np.array(first)
    for tap in rest:
        np.maximum(result, tap, out=result)
    return result


@define_op(infer=_infer_average, elements=ORDERED, axes="NC* -> NC*", derived=POOL)
def average_pool(
    x: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    count_include_pad: bool = False,
) -> np.ndarray:
    """Mean over windows; the border counts only where asked (ONNX specification, AveragePool).

    Examples
    --------
    >>> average_pool(np.arange(4.0).reshape(1, 1, 2, 2), kernel=(2, 2)).tolist()
    [[[[1.5]]]]
    """
    taps = _taps(x, kernel, strides, pads, 0)
    counts: np.ndarray | int = len(taps)
    if not count_include_pad and any(pads):
        counts = sum(_taps(np.ones((1, 1, *x.shape[2:]), x.dtype), kernel, strides, pads, 0))
    total = np.array(taps[0])
    for tap in taps[1:]:
        total += tap
    with np.errstate(invalid="ignore"):  # NaN where a window lies wholly in the border
        return (total / counts).astype(x.dtype)


def _infer_global(x: Tensor) -> Tensor:
    _check_positions(x)
    return Tensor(x.element, (*x.shape[:2], *[1] * (len(x.shape) - 2)))


@define_op(infer=_infer_global, elements=ORDERED, axes="NC* -> NC*", derived=GLOBAL_POOL)
def global_average_pool(x: np.ndarray) -> np.ndarray:
    """Mean over all positions of each channel (ONNX specification, GlobalAveragePool).

    Examples
    --------
    >>> global_average_pool(np.arange(4.0).reshape(1, 1, 2, 2)).tolist()
    [[[[1.5]]]]
    """
    return x.mean(axis=tuple(range(2, x.ndim)), keepdims=True, dtype=x.dtype)
