"""Tensors of other sizes, by interpolation along each axis (ONNX specification, Resize)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.attribute_forms import RESIZE_FORMS
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ANY, NUMBERS, check_elements
from graphrewrite.op.nn.interpolation import COORDINATES, MODES, NEAREST, Sampling, taps
from graphrewrite.op.sizes import exceeds
from graphrewrite.op.tensor.along import distinct_axes
from graphrewrite.op.tensor.cutting import check_whole_channels
from graphrewrite.types import Dimension, Size, Tensor, as_size

__all__ = ["resize"]

_POLICIES = ("stretch", "not_larger", "not_smaller")


class _Resized(NamedTuple):
    """An axis of the result: its scale, as requested, 1 where it is not known yet, and its size."""

    scale: float
    size: int | Size


_FINEST = 1 << 10
"""Greatest denominator of a scale by which a symbolic size is multiplied: the product is exact in floating point."""


def _scaled(size: int | Size, scale: float, axis: int) -> _Resized:
    """Return an axis of some scale; the size is unknown where only floating point says how it is rounded."""
    if isinstance(size, int):
        return _Resized(scale, math.floor(size * scale))
    over, under = scale.as_integer_ratio()
    return _Resized(scale, size * over // under if max(over, under) <= _FINEST else Size.unknown(axis))


def resized_axes(
    own: Sequence[int | Size],
    axes: Sequence[int],
    sizes: Sequence[Dimension] | None,
    scales: Sequence[float] | None,
    policy: str,
) -> list[_Resized]:
    """Return the axes of the result."""
    result = [_Resized(1.0, d) for d in own]
    if scales is not None:
        for axis, scale in zip(axes, scales, strict=True):
            result[axis] = _scaled(own[axis], float(scale), axis)
        return result
    wanted_sizes = {axis: as_size(wanted) for axis, wanted in zip(axes, sizes or (), strict=True)}
    if any(isinstance(size, str) for axis, wanted in wanted_sizes.items() for size in (own[axis], wanted)):
        alike = policy == "stretch" or all(own[axis] == wanted for axis, wanted in wanted_sizes.items())
        for axis, wanted in wanted_sizes.items():
            result[axis] = _Resized(1.0, wanted if alike else Size.unknown(axis))
        return result
    sized = [(axis, int(own[axis]), int(wanted)) for axis, wanted in wanted_sizes.items() if own[axis]]
    ratios = [wanted / d for _, d, wanted in sized]
    common = None if policy == "stretch" or not ratios else (min if policy == "not_larger" else max)(ratios)
    for axis, d, wanted in sized:
        # With one scale for all axes, ONNX rounds sizes half up, not half to even.
        result[axis] = (
            _Resized(wanted / d, wanted) if common is None else _Resized(common, math.floor(d * common + 0.5))
        )
    return result


def _check_words(mode: str, coordinates: str, nearest_mode: str, policy: str) -> None:
    for word, words, what in (
        (mode, MODES, "mode"),
        (coordinates, COORDINATES, "coordinate transformation"),
        (nearest_mode, NEAREST, "way to round"),
        (policy, _POLICIES, "policy"),
    ):
        if word not in words:
            raise TypeMismatchError(f"unknown {what} {word!r}; known are {', '.join(words)}")


def _infer_resize(
    x: Tensor,
    *,
    sizes: Sequence[Dimension] | None,
    scales: Sequence[float] | None,
    mode: str,
    coordinate_transformation_mode: str,
    nearest_mode: str,
    roi: Sequence[float] | None,
    keep_aspect_ratio_policy: str,
    axes: Sequence[int] | None,
    **_: Any,
) -> Tensor:
    _check_words(mode, coordinate_transformation_mode, nearest_mode, keep_aspect_ratio_policy)
    resized = distinct_axes(x, range(len(x.shape)) if axes is None else axes)
    numbers = sizes if scales is None else scales
    if (sizes is None) == (scales is None) or numbers is None or len(numbers) != len(resized):
        raise TypeMismatchError(
            f"{x} is resized to one size or by one scale per axis: give {len(resized)} sizes or scales"
        )
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    if roi is not None and len(roi) != 2 * len(resized):
        raise TypeMismatchError(f"a crop has {2 * len(resized)} bounds, all starts and then all ends, got {list(roi)}")
    check_elements(ANY if mode == "nearest" and not crops else NUMBERS, [x])
    for axis, wanted in zip(resized, numbers, strict=True):
        _check_size(x, axis, wanted, scaled=scales is not None)
    shape = tuple(d.size for d in resized_axes(x.shape, resized, sizes, scales, keep_aspect_ratio_policy))
    check_whole_channels(x, [i for i, size in enumerate(shape) if size != x.shape[i]])
    return Tensor(x.element, shape, x.layout)


def _check_size(x: Tensor, axis: int, wanted: Dimension | float, *, scaled: bool) -> None:
    wrong = not 0 < wanted < math.inf if scaled else exceeds(0, as_size(wanted))  # type: ignore[operator, arg-type]  # scales are numbers
    if wrong:
        raise TypeMismatchError(f"axis {axis} of {x} cannot be resized to {wanted}; give a positive number")
    if x.shape[axis] == 0 and not isinstance(wanted, str) and math.floor(wanted) > 0:
        raise TypeMismatchError(f"axis {axis} of {x} is empty: nothing can be interpolated")


@define_op(infer=_infer_resize, forms=RESIZE_FORMS)
def resize(
    x: np.ndarray,
    *,
    sizes: Sequence[Dimension] | None = None,
    scales: Sequence[float] | None = None,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = False,
    extrapolation_value: float = 0.0,
    roi: Sequence[float] | None = None,
    antialias: bool = False,
    keep_aspect_ratio_policy: str = "stretch",
    axes: Sequence[int] | None = None,
) -> np.ndarray:
    """Other sizes of some axes, all if not given: interpolated along one axis after the other.

    Entry i of the result lies at the coordinate ``(i + 1/2) / scale - 1/2`` of the operand, or at that of another
    transformation (ONNX specification, Resize).

    Parameters
    ----------
    x
        Any shape.
    sizes
        Sizes of these axes in the result; or the scales are given.
    scales
        Factors of their sizes.
    mode
        The "nearest" entry is taken, or two ("linear") or four ("cubic", Keys 1981) are weighted.
    coordinate_transformation_mode
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn", or "tf_crop_and_resize", which maps a part of the operand.
    nearest_mode
        Ties are decided by "round_prefer_floor" or "round_prefer_ceil"; "floor" and "ceil" always round down or up.
    cubic_coeff_a
        Coefficient of the cubic weights.
    exclude_outside
        Whether entries outside of the operand have no weight.
    extrapolation_value
        Result outside of the part that is mapped.
    roi
        The part that is mapped: all begins, then all ends, as shares of the sizes.
    antialias
        Whether more entries are weighted, so that a smaller result is smooth.
    keep_aspect_ratio_policy
        "stretch", or one scale for all axes, whose result is "not_larger" or "not_smaller" than the sizes.
    axes
        The axes; all if not given.

    Examples
    --------
    >>> resize(np.array([[1.0, 2.0]]), scales=(1, 2)).tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    >>> resize(np.array([1.0, 2.0]), sizes=(4,), mode="linear").tolist()
    [1.0, 1.25, 1.75, 2.0]
    """
    named = [axis % x.ndim for axis in (range(x.ndim) if axes is None else axes)]
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    sampling = Sampling(coordinate_transformation_mode, mode, nearest_mode, cubic_coeff_a, exclude_outside, antialias)
    if sizes is not None:  # a symbol in a call without a graph stands for the size that there is
        sizes = [x.shape[axis] if isinstance(size, str) else size for axis, size in zip(named, sizes, strict=True)]
        if any(size and not x.shape[axis] for axis, size in zip(named, sizes, strict=True)):
            raise EvaluationError(f"an axis of {list(x.shape)} is empty: nothing can be interpolated")
    result, outside = x, np.zeros((1,) * x.ndim, np.bool_)
    for axis, (scale, size) in enumerate(resized_axes(x.shape, named, sizes, scales, keep_aspect_ratio_policy)):
        part = (0.0, 1.0)
        if crops and roi is not None and axis in named:
            index = named.index(axis)
            part = (float(roi[index]), float(roi[len(named) + index]))
        if scale == 1 and size == x.shape[axis] and part == (0.0, 1.0):
            continue
        if not size:
            result = np.take(result, [], axis=axis)
            continue
        along = taps(sampling, x.shape[axis], int(size), scale, part)
        result = _along(result, axis, along.indices, along.weights)
        outside = outside | along.outside.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    with np.errstate(all="ignore"):
        return (np.where(outside, extrapolation_value, result) if outside.any() else result).astype(x.dtype, copy=False)


def _along(x: np.ndarray, axis: int, indices: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return weighted sums of entries: one row of indices and of weights a tap."""
    if weights is None:
        return np.asarray(np.take(x, indices[0], axis=axis))
    total = np.zeros(1)
    with np.errstate(all="ignore"):
        for row, factors in zip(indices, weights, strict=True):
            total = total + np.take(x, row, axis=axis) * factors.reshape(-1, *[1] * (x.ndim - 1 - axis))
    return total
