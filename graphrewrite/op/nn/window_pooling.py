"""Pooling beyond maxima and means: indices of maxima, norms of windows, normalisation over channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import POOL_FORMS
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import GLOBAL_POOL, POOL
from graphrewrite.op.domain import FLOATS, ORDERED
from graphrewrite.op.nn.convolution import pad_spatial
from graphrewrite.op.nn.pieces import in_pieces
from graphrewrite.op.nn.pooling import check_windows, infer_global, infer_windows, summed, taps
from graphrewrite.op.precision import least_of
from graphrewrite.types import Tensor

__all__ = ["global_lp_pool", "lp_pool", "lrn", "max_pool_with_indices"]


def _infer_with_indices(x: Tensor, *, storage_order: int, **windows: Any) -> tuple[Tensor, Tensor]:
    if storage_order not in (0, 1):
        raise TypeMismatchError(f"storage_order is 0 (rows first) or 1 (columns first), got {storage_order!r}")
    result = infer_windows(x, **windows)
    check_windows(x, **windows)
    return result, Tensor("i64", result.shape)


@define_op(results=2, infer=_infer_with_indices, elements=ORDERED, axes="NC* -> NC*", derived=POOL, forms=POOL_FORMS)
def max_pool_with_indices(
    x: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    storage_order: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Maximum over windows, and its index in the flattened operand (ONNX specification, MaxPool).

    Of equal numbers the first one of the window counts. Indices are counted over batch, channels and positions, in that
    order whatever the layout.

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
    storage_order
        1 where the first axis of the positions runs fastest, else 0.

    Examples
    --------
    >>> y, indices = max_pool_with_indices(np.array([[[1.0, 5.0, 3.0]]]), kernel=(2,))
    >>> y.tolist(), indices.tolist()
    ([[[5.0, 5.0]]], [[[1, 1]]])
    """
    windows: dict[str, Any] = {"dilations": dilations, "ceil_mode": ceil_mode}
    positions = np.arange(prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    # The index -1 marks padding, which never replaces an entry and is always replaced by one.
    views = taps(x, kernel, strides, pads, least_of(x.dtype), **windows)
    places = taps(positions, kernel, strides, pads, -1, **windows)
    outside, has_border = places[0] < 0, any(at.min(initial=0) < 0 for at in places)
    best, chosen = views[0], np.zeros(views[0].shape, np.min_scalar_type(len(views)))
    for tap, (view, at) in enumerate(zip(views[1:], places[1:], strict=True), start=1):
        # The first maximum wins; NaN, which is not equal to itself, wins against any number.
        replaces = ~(view <= best)
        if x.dtype.kind not in "iub":
            replaces &= best == best
        if has_border:
            replaces = (at >= 0) & (replaces | outside)
            outside = outside & ~replaces
        np.maximum(chosen, replaces * chosen.dtype.type(tap), out=chosen)  # the numbers of taps rise
        best = np.maximum(best, view)
    of_images = np.arange(prod(x.shape[:2]))[:, None] * positions.size
    index = _of_chosen(places, chosen) + of_images
    best = x.reshape(-1)[index] if index.size else best.reshape(index.shape)  # of equal ones too, such as 0 and -0
    if storage_order:
        columns = positions.reshape(x.shape[:1:-1]).T[None, None]
        index = _of_chosen(taps(columns, kernel, strides, pads, -1, **windows), chosen) + of_images
    return best.reshape(chosen.shape), index.reshape(chosen.shape)


def _of_chosen(places: Sequence[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """Return the places of the chosen taps: [images and channels, windows]."""
    table = np.stack(places).reshape(len(places), -1)
    return np.asarray(table[chosen.reshape(prod(chosen.shape[:2]), table.shape[1]), np.arange(table.shape[1])])


def _infer_norm(x: Tensor, *, p: int, **windows: Any) -> Tensor:
    _check_power(p)
    return infer_windows(x, **windows)


def _check_power(p: int) -> None:
    if p < 1:
        raise TypeMismatchError(f"the order p of a norm is at least 1, got p={p}")


@define_op(infer=_infer_norm, elements=FLOATS, axes="NC* -> NC*", derived=POOL, forms=POOL_FORMS)
def lp_pool(
    x: np.ndarray,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
    p: int = 2,
) -> np.ndarray:
    """Norm of windows: ``(sum |x|**p)**(1/p)``; the border adds nothing (ONNX specification, LpPool).

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
    p
        Order of the norm.

    Examples
    --------
    >>> lp_pool(np.array([[[3.0, 4.0, 0.0]]]), kernel=(2,)).tolist()
    [[[5.0, 4.0]]]
    """
    with np.errstate(over="ignore", under="ignore"):
        views = taps(_powers(x, p), kernel, strides, pads, 0, dilations=dilations, ceil_mode=ceil_mode)
        return _root(summed(views), p).astype(x.dtype)


def _powers(x: np.ndarray, p: int) -> np.ndarray:
    wide = np.abs(x.astype(np.promote_types(x.dtype, np.float32)))
    return wide if p == 1 else np.asarray(np.power(wide, wide.dtype.type(p)))


def _root(total: np.ndarray, p: int) -> np.ndarray:
    if p <= 2:
        return total if p == 1 else np.asarray(np.sqrt(total))
    return np.asarray(np.power(total, total.dtype.type(1 / p)))


def _infer_global_norm(x: Tensor, *, p: int) -> Tensor:
    _check_power(p)
    return infer_global(x)


@define_op(infer=_infer_global_norm, elements=FLOATS, axes="NC* -> NC*", derived=GLOBAL_POOL)
def global_lp_pool(x: np.ndarray, *, p: int = 2) -> np.ndarray:
    """Norm of all positions of each channel: ``(sum |x|**p)**(1/p)`` (ONNX specification, GlobalLpPool).

    Parameters
    ----------
    x
        Input [N, C, …].
    p
        Order of the norm.

    Examples
    --------
    >>> global_lp_pool(np.array([[[3.0, 4.0]]])).tolist()
    [[[5.0]]]
    """
    with np.errstate(over="ignore", under="ignore"):
        return _root(_powers(x, p).sum(axis=tuple(range(2, x.ndim)), keepdims=True), p).astype(x.dtype)


def _infer_lrn(x: Tensor, *, size: int, **_: object) -> Tensor:
    if len(x.shape) < 2:
        raise TypeMismatchError(f"a normalisation over channels needs a batch and channels, got {x}")
    if size < 1:
        raise TypeMismatchError(f"size is at least 1 channel, got {size}")
    return Tensor(x.element, x.shape)


@define_op(infer=_infer_lrn, elements=FLOATS, axes="NC* -> NC*")
def lrn(x: np.ndarray, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> np.ndarray:
    """Each number divided by a power of the squares of neighbouring channels (ONNX specification, LRN).

    ``y[n,c] = x[n,c] / (bias + alpha/size * sum_i x[n,i]**2)**beta`` (Krizhevsky et al. 2012).

    Parameters
    ----------
    x
        Input [N, C, …].
    size
        Number of channels around each; one more follows than precedes where it is even.
    alpha
        Factor of the squares' mean.
    beta
        The power.
    bias
        What is added to it.

    Examples
    --------
    >>> lrn(np.array([[1.0, 2.0]]), size=2, alpha=2.0, beta=1.0).tolist()
    [[0.16666666666666666, 0.4]]
    """
    before, after = (size - 1) // 2, size // 2
    # Windows move along the channels, which therefore stand where the first spatial axis does.
    none = (0,) * (x.ndim - 2)

    def normalised(x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.promote_types(x.dtype, np.float32))
        kind = wide.dtype.type
        squares = pad_spatial(np.square(wide)[:, None], (before, *none, after, *none))[:, 0]
        total = summed([squares[:, start : start + x.shape[1]] for start in range(size)])
        return (wide / (kind(bias) + kind(alpha / size) * total) ** kind(beta)).astype(x.dtype)

    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return in_pieces(normalised, x, axis=2, most=1 << 18)  # of which there are several copies
