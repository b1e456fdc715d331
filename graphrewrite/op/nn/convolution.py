"""Convolutions (cross-correlations, as in every framework) by windows and one matrix product."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, overload

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import CONVOLUTION_FORMS
from graphrewrite.op.cost import of_weights
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import CONVOLUTION
from graphrewrite.op.domain import NUMBERS, one_element
from graphrewrite.op.nn.border_value import BorderValue
from graphrewrite.op.nn.correlation import Correlation, correlate, is_fast
from graphrewrite.op.sizes import exceeds, is_uneven
from graphrewrite.op.tensor.linear_algebra import check_bias
from graphrewrite.types import Dimension, Size, Tensor, as_size, size_max, size_min

__all__ = ["check_ranks", "conv", "convolve", "depthwise_conv", "pad_spatial", "per_axis", "spatial_sizes"]


T = TypeVar("T")


def per_axis(values: Sequence[T], count: int, neutral: int) -> tuple[T | int, ...]:
    """Return one number an axis; those of two axes that change nothing, such as the defaults, serve any number of axes.

    Examples
    --------
    >>> per_axis((1, 1), 3, neutral=1), per_axis((2, 2), 3, neutral=1)
    ((1, 1, 1), (2, 2))
    """
    is_default = tuple(values) == (neutral,) * (2 if neutral else 4)
    return (neutral,) * count if is_default else tuple(values)


@overload
def spatial_sizes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    *,
    ceil_mode: bool = ...,
) -> tuple[int, ...]: ...
@overload
def spatial_sizes(
    sizes: Sequence[Dimension],
    kernel: Sequence[Dimension],
    strides: Sequence[int],
    pads: Sequence[Dimension],
    dilations: Sequence[int],
    *,
    ceil_mode: bool = ...,
) -> tuple[int | Size, ...]: ...
def spatial_sizes(
    sizes: Sequence[Dimension],
    kernel: Sequence[Dimension],
    strides: Sequence[int],
    pads: Sequence[Dimension],
    dilations: Sequence[int],
    *,
    ceil_mode: bool = False,
) -> tuple[Any, ...]:
    """Return the output sizes of a sliding window: ``floor((size + pads - dilation*(kernel-1) - 1) / stride) + 1``.

    Parameters
    ----------
    sizes, kernel, strides, dilations : sequence of int or str
        One entry a spatial axis; all but strides and dilations may be symbolic.
    ceil_mode : bool
        Whether a last window may reach beyond the border: rounded up instead of down, without a last window that would
        start in the border at the end (ONNX specification, MaxPool).

    Examples
    --------
    >>> spatial_sizes((8, 8), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    (8, 8)
    >>> spatial_sizes(("H", "W"), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1))
    ('(H + 1)//2', 'W')
    """
    return _spatial_sizes(tuple(sizes), tuple(kernel), tuple(strides), tuple(pads), tuple(dilations), ceil_mode)


@lru_cache(maxsize=1024)
def _spatial_sizes(
    sizes: tuple[Dimension, ...],
    kernel: tuple[Dimension, ...],
    strides: tuple[int, ...],
    pads: tuple[Dimension, ...],
    dilations: tuple[int, ...],
    ceil_mode: bool,
) -> tuple[int | Size, ...]:
    rank = len(sizes)
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    borders = tuple(map(as_size, per_axis(pads, 2 * rank, 0)))
    if not (len(kernel) == len(strides) == len(dilations) == rank and len(borders) == 2 * rank):
        raise TypeMismatchError(
            f"{rank} spatial axes need {rank} kernel sizes, strides and dilations and {2 * rank} pads, "
            f"got {len(kernel)}, {len(strides)}, {len(dilations)} and {len(borders)}"
        )
    if any(exceeds(1, size) for size in (*kernel, *dilations)) or any(exceeds(0, border) for border in borders):
        raise TypeMismatchError(
            f"kernel {list(kernel)} and dilations {list(dilations)} must be positive, pads {list(pads)} not negative"
        )
    result: list[int | Size] = []
    for axis, size in enumerate(sizes):
        stride = strides[axis]
        until = (size if isinstance(size, int) else as_size(size)) + borders[axis]
        padded = until + borders[rank + axis]
        last_start = padded - dilations[axis] * (as_size(kernel[axis]) - 1) - 1
        if exceeds(0, last_start) or stride < 1:
            raise TypeMismatchError(
                f"a kernel of {kernel[axis]} with stride {stride} does not fit the padded size {padded}"
            )
        if not ceil_mode:
            result.append(last_start // stride + 1)
            continue
        # Rounded up, but for a last window that would start in the padding at the end, which ONNX drops.
        beyond = last_start - until
        kept = size_min(beyond + stride, size_max(beyond, 0))
        count = (until + stride - 1 + kept) // stride
        result.append(size_max(count, 1) if beyond == 0 else count)  # of an empty axis, the window in its border stays
    return tuple(result)


def pad_spatial(x: np.ndarray, pads: Sequence[int], fill: float | int = 0) -> np.ndarray:
    """Return ``x`` with its spatial axes (all but the first two) padded.

    Examples
    --------
    >>> pad_spatial(np.ones((1, 1, 2)), (1, 0)).tolist()
    [[[0.0, 1.0, 1.0]]]
    """
    if not any(pads):
        return x
    rank = x.ndim - 2
    sizes = [b + size + a for b, size, a in zip(pads, x.shape[2:], pads[rank:], strict=False)]
    padded = np.full((*x.shape[:2], *sizes), fill, x.dtype)
    padded[(slice(None), slice(None), *[slice(b, b + n) for b, n in zip(pads, x.shape[2:], strict=False)])] = x
    return padded


def convolve(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    product: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.matmul,
) -> np.ndarray:
    """Return the convolution: one matrix product a group, over all positions of the batch, or faster for floats."""
    if x.ndim != w.ndim:
        raise TypeMismatchError(
            f"input and weights need the same rank, batch and channels first, got {list(x.shape)} and {list(w.shape)}; "
            "a batch of one is x[None]"
        )
    if product is np.matmul and is_fast(x, w):
        layout = _layout(x.shape[1:], w.shape, tuple(strides), tuple(pads), tuple(dilations), groups, x.itemsize)
        return correlate(x, w, b, layout)
    rank = x.ndim - 2
    kernel = w.shape[2:]
    spatial_sizes(x.shape[2:], kernel, strides, pads, dilations)  # says what does not fit
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True))
    windows = sliding_window_view(pad_spatial(x, pads), reach, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, None, step) for step in (1, 1, *strides, *dilations)]
    windows = np.moveaxis(windows[tuple(steps)], 1, 1 + rank)  # N, positions, C, kernel
    batch, *positions = windows.shape[: 1 + rank]
    inner, outer = w.shape[1], w.shape[0] // groups
    rows, entries = batch * math.prod(positions), math.prod(w.shape[1:])
    parts = []
    for g in range(groups):
        columns = windows[(slice(None),) * (1 + rank) + (slice(g * inner, (g + 1) * inner),)].reshape(rows, entries)
        parts.append(product(columns, w[g * outer : (g + 1) * outer].reshape(outer, entries).T))
    result = parts[0] if groups == 1 else np.concatenate(parts, axis=1)
    y = np.moveaxis(result.reshape(batch, *positions, w.shape[0]), -1, 1)
    return y if b is None else y + b.reshape(-1, *[1] * rank)


@lru_cache(maxsize=1024)
def _layout(
    sizes: tuple[int, ...],
    weights: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    item: int,
) -> Correlation:
    """Return the layout of a convolution; raise if it does not fit."""
    rank = len(sizes) - 1
    results = spatial_sizes(sizes[1:], weights[2:], strides, pads, dilations)
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    return Correlation.of(sizes, weights, results, strides, per_axis(pads, 2 * rank, 0), dilations, groups, item)


def check_ranks(x: Tensor, w: Tensor, groups: int) -> None:
    """Raise unless a convolution has as many axes in its weights as in its input, and at least one group."""
    if len(x.shape) != len(w.shape) or len(x.shape) < 3:
        raise TypeMismatchError(
            "input and weights need the same rank, batch and channels first, at least 3; "
            "name the axes of an input without a batch, as in Tensor('f32', (8, 3), 'LC')"
        )
    if groups < 1:
        raise TypeMismatchError(f"groups={groups} is not positive; give at least 1")


def infer_conv(x: Tensor, w: Tensor, b: Tensor | None = None, *, groups: int, **windows: Any) -> Tensor:
    """Infer the type of a convolution and check that weights, bias and groups fit."""
    check_ranks(x, w, groups)
    channels, outer = x.shape[1], w.shape[0]
    if w.shape[1] * groups != channels or is_uneven(outer, groups):
        raise TypeMismatchError(
            f"{channels} channels in {groups} groups need weights [O,{channels}/{groups},…], got {w}"
        )
    check_bias(b, outer)
    return Tensor(x.element, (x.shape[0], outer, *spatial_sizes(x.shape[2:], w.shape[2:], **windows)))


def _infer(x: Tensor, w: Tensor, b: Tensor | None = None, **attributes: Any) -> Tensor:
    one_element(x, w, b)
    return infer_conv(x, w, b, **attributes)


@define_op(
    infer=_infer,
    elements=NUMBERS,
    axes="NC*, OI*, O -> NC*",
    derived={**CONVOLUTION, "padding_value": BorderValue()},
    forms=CONVOLUTION_FORMS,
    cost=of_weights,
)
def conv(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolution over the axes after batch and channels (ONNX specification, Conv).

    ``y[n,o,i,j] = b[o] + sum_{c,u,v} w[o,c,u,v] * x[n,c,i*s+u-p,j*s+v-p]``.

    Parameters
    ----------
    x
        Input [N, C, …]. The axes may be in another order that a layout names, such as ``NLC``; without ``N``, such as
        [L, C] of the layout ``LC``, it is one sample, and so is the result.
    w
        Weights [O, C/groups, …].
    b
        Bias [O].
    strides
        Step of the windows along each axis.
    pads
        Zeros around the positions: all begins, then all ends. ``padding_value=`` states another number than zero; the
        border is then that of a `pad` before the convolution.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.

    Examples
    --------
    >>> conv(np.arange(9.0).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2))).tolist()
    [[[[8.0, 12.0], [20.0, 24.0]]]]
    """
    return convolve(x, w, b, strides=strides, pads=pads, dilations=dilations, groups=groups)


def depthwise_conv(x: Any, *operands: Any, **attributes: Any) -> Any:
    """Return a convolution of each channel with filters of its own: ``conv`` with as many groups as channels.

    Parameters
    ----------
    x, w, b : array
        As of `conv`; weights are [O, 1, …], where the number of filters O is a multiple of that of channels.
    strides, pads, dilations : Sequence[int]
        As of `conv`.

    Examples
    --------
    >>> depthwise_conv(np.ones((1, 2, 1)), np.array([[[2.0]], [[3.0]]])).tolist()
    [[[2.0], [3.0]]]
    """
    kind = getattr(x, "type", x)
    channels = kind.shape[(getattr(kind, "layout", None) or "NC").index("C")]
    return conv(x, *operands, groups=channels, **attributes)


_ALIKE = [p for p in conv.__signature__.parameters.values() if p.name != "groups"]
vars(depthwise_conv)["__signature__"] = inspect.Signature(_ALIKE)  # for help()
