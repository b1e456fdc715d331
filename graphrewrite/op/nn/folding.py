"""Windows put back at their places: the opposite of taking an image apart, and of pooling it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.attribute_forms import FOLD_FORMS, UNPOOL_FORMS
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import NUMBERS, ORDERED, check_elements
from graphrewrite.op.nn.convolution import per_axis, spatial_sizes
from graphrewrite.op.tensor.cutting import check_indices
from graphrewrite.types import Dimension, Tensor, as_size, is_at_most, product

__all__ = ["fold", "max_unpool"]


def _infer_fold(
    x: Tensor,
    *,
    size: Sequence[Dimension],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Tensor:
    counts = spatial_sizes(size, kernel, strides, pads, dilations)
    if len(x.shape) != 3:
        raise TypeMismatchError(f"windows are [N,C*{math.prod(kernel)},L], one a column, got {x}")
    rows, each = x.shape[1], math.prod(kernel)
    if not isinstance(rows, int) or rows % each:
        raise TypeMismatchError(f"windows of {list(kernel)} have a multiple of {each} rows, got {rows} in {x}")
    if x.shape[2] != product(counts):
        raise TypeMismatchError(f"an image of {list(size)} has {product(counts)} windows, got {x.shape[2]} in {x}")
    return Tensor(x.element, (x.shape[0], rows // each, *size))


@define_op(infer=_infer_fold, elements=NUMBERS, forms=FOLD_FORMS)
def fold(
    x: np.ndarray,
    *,
    size: Sequence[Dimension],
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
) -> np.ndarray:
    """Image of which each entry is the sum of the windows that hold it (ONNX specification, Col2Im).

    A convolution takes an image apart into such windows.

    Parameters
    ----------
    x
        Windows as columns [N, C * entries, count].
    size
        Size of the image's positions.
    kernel
        Size of the windows along each axis.
    strides
        Step of the windows along each axis.
    pads
        Border around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.

    Examples
    --------
    >>> x = np.array([[[1.0, 2.0], [10.0, 20.0]]])
    >>> fold(x, size=(3,), kernel=(2,), strides=(1,), pads=(0, 0), dilations=(1,)).tolist()
    [[[1.0, 12.0, 20.0]]]
    """
    sizes, rank = tuple(map(int, size)), len(size)
    counts = spatial_sizes(sizes, kernel, strides, pads, dilations)
    strides, pads, dilations = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0), per_axis(dilations, rank, 1)
    padded = [before + own + after for before, own, after in zip(pads, sizes, pads[rank:], strict=False)]
    parts = x.reshape(len(x), x.shape[1] // math.prod(kernel), *kernel, *counts)
    image = np.zeros((len(x), parts.shape[1], *padded), x.dtype)
    for tap in np.ndindex(*kernel):
        places = [
            slice(at * step, at * step + (count - 1) * stride + 1, stride)
            for at, step, count, stride in zip(tap, dilations, counts, strides, strict=True)
        ]
        image[(slice(None), slice(None), *places)] += parts[(slice(None), slice(None), *tap)]
    inside = [slice(before, before + own) for before, own in zip(pads, sizes, strict=False)]
    return np.ascontiguousarray(image[(slice(None), slice(None), *inside)])


def _unpooled(
    sizes: Sequence[Any], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> tuple[Any, ...]:
    rank = len(sizes)
    strides, pads = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0)
    if not len(kernel) == len(strides) == rank == len(pads) / 2:
        raise TypeMismatchError(
            f"{rank} spatial axes need {rank} kernel sizes and strides and {2 * rank} pads, "
            f"got {len(kernel)}, {len(strides)} and {len(pads)}"
        )
    return tuple(
        (own - 1) * stride + width - before - after
        for own, stride, width, before, after in zip(sizes, strides, kernel, pads, pads[rank:], strict=False)
    )


def _infer_max_unpool(
    x: Tensor,
    indices: Tensor,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    size: Sequence[Dimension] | None,
) -> Tensor:
    check_elements(ORDERED, [x])
    check_indices(indices)
    if len(x.shape) < 3 or indices.shape != x.shape:
        raise TypeMismatchError(f"maxima [N,C,…] need one index each, got {x} and {indices}")
    if size is not None and len(size) != len(x.shape) - 2:
        raise TypeMismatchError(f"size has one entry for each of {len(x.shape) - 2} positions, got {tuple(size)}")
    own = _unpooled([as_size(count) for count in x.shape[2:]], kernel, strides, pads)
    if any(isinstance(count, int) and count < 1 for count in own):
        raise TypeMismatchError(f"the windows of {list(kernel)} leave nothing of {x} but its border")
    if size is not None and any(is_at_most(count, wide) is False for count, wide in zip(own, size, strict=True)):
        raise TypeMismatchError(f"a size of {list(size)} is smaller than the windows, which reach over {list(own)}")
    return Tensor(x.element, (*x.shape[:2], *(own if size is None else size)))


@define_op(infer=_infer_max_unpool, forms=UNPOOL_FORMS)
def max_unpool(
    x: np.ndarray,
    indices: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    size: Sequence[Dimension] | None = None,
) -> np.ndarray:
    """Maxima put back at the places from which a pooling took them, zeros elsewhere (ONNX specification, MaxUnpool).

    Parameters
    ----------
    x
        Maxima [N, C, …].
    indices
        Their places, as `max_pool_with_indices` gives them.
    kernel
        Size of the windows along each axis.
    strides
        Step of the windows along each axis.
    pads
        Border around the positions: all begins, then all ends.
    size
        Sizes of the positions, where they are larger than those of the windows; further zeros are at the ends.

    Examples
    --------
    >>> max_unpool(np.array([[[5.0, 7.0]]]), np.array([[[1, 2]]]), kernel=(2,), strides=(2,), pads=(0, 0)).tolist()
    [[[0.0, 5.0, 7.0, 0.0]]]
    """
    own = _unpooled(x.shape[2:], kernel, strides, pads)
    whole = np.zeros((*x.shape[:2], *own), x.dtype)
    wrong = (indices < 0) | (indices >= whole.size)
    if wrong.any():
        raise EvaluationError(
            f"the index {indices[wrong].ravel()[0]} is outside of axis 0 of {whole.size} entries in all; "
            "give the indices that max_pool_with_indices returned"
        )
    whole.reshape(-1)[indices.reshape(-1).astype(np.int64)] = x.reshape(-1)
    if size is None or tuple(size) == own:
        return whole
    result = np.zeros((*x.shape[:2], *map(int, size)), x.dtype)
    result[tuple(slice(n) for n in whole.shape)] = whole
    return result
