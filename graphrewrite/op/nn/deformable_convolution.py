"""Convolutions that read each entry of their window at a place of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import CONVOLUTION_FORMS
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import CONVOLUTION
from graphrewrite.op.domain import FLOATS, one_element
from graphrewrite.op.nn.convolution import infer_conv, per_axis
from graphrewrite.op.nn.sampling import check_positions, interpolated
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.types import Tensor, element_dtype

__all__ = ["deform_conv", "window_positions"]


def _infer(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    offset_groups: int,
) -> Tensor:
    one_element(x, w, offset, b, mask)
    result = infer_conv(x, w, b, strides=strides, pads=pads, dilations=dilations, groups=groups)
    check_positions(x)
    rank, entries = len(w.shape) - 2, math.prod(int(k) for k in w.shape[2:])
    channels = x.shape[1]
    if offset_groups < 1 or not isinstance(channels, int) or channels % offset_groups:
        raise TypeMismatchError(f"{channels} channels have no {offset_groups} groups of offsets")
    for name, kind, each in (("offsets", offset, rank), ("the mask", mask, 1)):
        wanted = (x.shape[0], offset_groups * entries * each, *result.shape[2:])
        if kind is not None and (len(kind.shape) != len(wanted) or kind.shape != wanted):
            raise TypeMismatchError(f"{name} must have the shape [{','.join(map(str, wanted))}], got {kind}")
    return result


def _no_bias(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
    return np.zeros(int(types[1].shape[0]), element_dtype(types[1].element))


@define_op(infer=_infer, elements=FLOATS, derived=CONVOLUTION, forms=CONVOLUTION_FORMS, neutral={"b": _no_bias})
def deform_conv(
    x: np.ndarray,
    w: np.ndarray,
    offset: np.ndarray,
    b: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    offset_groups: int = 1,
) -> np.ndarray:
    """Deformable convolution (ONNX specification, DeformConv; Dai et al. 2017, Zhu et al. 2019).

    Each entry of a window is read at a place of its own, between entries by linear interpolation.

    Parameters
    ----------
    x
        Input [N, C, …].
    w
        Weights [O, C/groups, …].
    offset
        How far each place is moved [N, offset_groups * entries * axes, …].
    b
        Bias [O].
    mask
        Factor of each entry [N, offset_groups * entries, …].
    strides
        Step of the windows along each axis.
    pads
        Zeros around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.
    offset_groups
        Number of groups of channels that have offsets of their own.

    Examples
    --------
    >>> x, w = np.array([[[1.0, 2.0, 4.0]]]), np.ones((1, 1, 1))
    >>> deform_conv(x, w, np.full((1, 1, 3), 0.5), strides=(1,), pads=(0, 0), dilations=(1,)).tolist()
    [[[1.5, 3.0, 2.0]]]
    """
    rank, kernel, places = x.ndim - 2, w.shape[2:], offset.shape[2:]
    batch, entries = len(x), math.prod(kernel)
    wide = widened(x)
    moved = widened(offset).reshape(batch, offset_groups, entries, rank, *places)
    starts = window_positions(kernel, places, per_axis(strides, rank, 1), pads, per_axis(dilations, rank, 1))
    at = np.moveaxis(moved + starts[None, None].astype(moved.dtype), 3, -1)  # N, groups, entries, places, axes
    images = wide.reshape(batch * offset_groups, x.shape[1] // offset_groups, *x.shape[2:])
    read = interpolated(images, at.reshape(batch * offset_groups, entries, *places, rank), "linear", "zeros")
    if mask is not None:
        read = read * widened(mask).reshape(batch * offset_groups, 1, entries, *places)
    columns = read.reshape(
        batch, groups, math.prod(w.shape[1:]), math.prod(places)
    )  # channels of a group and entries in one axis
    filters = widened(w).reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))
    y = np.matmul(filters[None], columns).reshape(batch, w.shape[0], *places)
    return narrowed(y if b is None else y + widened(b).reshape(-1, *[1] * rank), x)


def window_positions(
    kernel: Sequence[int],
    places: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> np.ndarray:
    """Return where the entries of each window lie without offsets: [entries, axes, …].

    Examples
    --------
    >>> window_positions((2,), (3,), (2,), (1, 0), (1,)).tolist()
    [[[-1, 1, 3]], [[0, 2, 4]]]
    """
    rank, axes = len(kernel), []
    for axis in range(rank):
        before = per_axis(pads, 2 * rank, 0)[axis]
        taps = np.arange(kernel[axis]) * dilations[axis] - before
        starts = np.arange(places[axis]) * strides[axis]
        each = taps.reshape(*[-1 if i == axis else 1 for i in range(rank)], *[1] * rank) + starts.reshape(
            *[1] * rank, *[-1 if i == axis else 1 for i in range(rank)]
        )
        axes.append(np.broadcast_to(each, (*kernel, *places)).reshape(-1, *places))
    return np.stack(axes, axis=1)
