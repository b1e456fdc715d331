"""Normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import NORM, NORMALISED
from graphrewrite.op.domain import FLOATS, one_element
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.sizes import is_uneven
from graphrewrite.op.tensor.along import axis_of, chosen_axes
from graphrewrite.types import Dimension, Tensor

__all__ = [
    "batch_norm",
    "batch_norm_training",
    "dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "lp_norm",
    "mean_variance_norm",
    "rms_norm",
]


def _infer(x: Tensor, *parameters: Tensor, epsilon: float = 1e-5) -> Tensor:
    one_element(x, *parameters)
    for parameter in parameters:
        if len(x.shape) < 2 or parameter.shape != (x.shape[1],):
            raise TypeMismatchError(f"each parameter needs one entry per channel of {x}, got {parameter}")
    return x


@define_op(infer=_infer, elements=FLOATS, axes="NC*, C, C, C, C -> NC*", derived=NORM)
def batch_norm(
    x: np.ndarray, gain: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray, *, epsilon: float = 1e-5
) -> np.ndarray:
    """Batch normalisation with fixed statistics (Ioffe and Szegedy 2015).

    ``(x - mean) / sqrt(var + epsilon) * gain + shift``, with one entry of each parameter a channel.

    Parameters
    ----------
    x
        Input [N, C, …].
    gain
        Factor of each channel [C].
    shift
        Addend of each channel [C].
    mean
        Mean of each channel [C].
    var
        Variance of each channel [C].
    epsilon
        What is added to the variance.

    Examples
    --------
    >>> one = np.ones(1)
    >>> batch_norm(np.full((1, 1, 1, 1), 3.0), 2 * one, one, one, one, epsilon=0.0).tolist()
    [[[[5.0]]]]
    """
    # In place, step by step: the bits are those of the evaluator, which overwrites its operand in the same way.
    per_channel = (-1, *[1] * (x.ndim - 2))
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        scale = gain / np.sqrt(var + var.dtype.type(epsilon))
        y = x - mean.reshape(per_channel)
        y *= scale.reshape(per_channel)
        y += shift.reshape(per_channel)
    return y


def _infer_training(
    x: Tensor, *parameters: Tensor, epsilon: float = 1e-5, momentum: float = 0.9
) -> tuple[Tensor, Tensor, Tensor]:
    if x.layout is not None and x.layout[1:2] != "C":
        raise TypeMismatchError(f"the channels of {x} must be its second axis; move them there with op.transpose(x, …)")
    _infer(x, *parameters)
    return x, Tensor(x.element, (x.shape[1],)), Tensor(x.element, (x.shape[1],))


def _per_channel(y: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Multiply and add one entry a channel, in place."""
    for fold, parameter in ((np.multiply, gain), (np.add, shift)):
        fold(y, widened(parameter).reshape(-1, *[1] * (y.ndim - 2)), out=y)
    return y


def _standardised(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Return an operand with mean 0 and variance 1 along some axes, in a new array, whose memory is in order."""
    if not x.size:
        return x.copy()
    x = np.ascontiguousarray(x)  # the order of its sums is that of the memory
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        y = x - _mean(x, axes)
        y /= np.sqrt(_mean(np.square(y), axes, epsilon))
    return y


def _mean(x: np.ndarray, axes: tuple[int, ...], more: float = 0.0) -> np.ndarray:
    mean = np.add.reduce(x, axis=axes, keepdims=True)
    mean /= math.prod(x.shape[axis] for axis in axes)
    mean += x.dtype.type(more)
    return mean


@define_op(infer=_infer_training, elements=FLOATS, results=3, derived=NORM)
def batch_norm_training(
    x: np.ndarray,
    gain: np.ndarray,
    shift: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Batch normalisation with the statistics of the batch itself (Ioffe and Szegedy 2015; ONNX BatchNormalization).

    The results are the normalised batch, and the running mean and variance: ``running * momentum + own * (1 -
    momentum)``.

    Parameters
    ----------
    x
        Input [N, C, …].
    gain
        Factor of each channel [C].
    shift
        Addend of each channel [C].
    mean
        Running mean of each channel [C].
    var
        Running variance of each channel [C].
    epsilon
        What is added to the variance.
    momentum
        Weight of the running statistics.

    Examples
    --------
    >>> one = np.ones(1)
    >>> y, mean, var = batch_norm_training(np.array([[-2.0], [2.0]]), one, one, one, one, epsilon=0.0, momentum=0.5)
    >>> y.tolist(), mean.tolist(), var.tolist()
    ([[0.0], [2.0]], [0.5], [2.5])
    """
    wide = widened(x)
    axes = (0, *range(2, x.ndim))
    y = _per_channel(_standardised(wide, axes, epsilon), gain, shift)
    own = (wide.mean(axis=axes), wide.var(axis=axes)) if x.size else (widened(mean), widened(var))
    # ONNX's momentum is the weight of the old statistics; that of PyTorch is the weight of the new ones.
    new_mean, new_var = (
        narrowed(widened(old) * momentum + new * (1 - momentum), x) for old, new in zip((mean, var), own, strict=True)
    )
    return narrowed(y, x), new_mean, new_var


def _is_broadcast(shape: Sequence[Dimension], whole: Sequence[Dimension]) -> bool:
    """Tell whether entries of a shape give those of the whole one by being repeated."""
    last = whole[len(whole) - len(shape) :]
    return len(shape) <= len(whole) and all(size in (1, wanted) for size, wanted in zip(shape, last, strict=True))


def _infer_affine(
    x: Tensor, gain: Tensor, shift: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5
) -> Tensor:
    one_element(x, gain, shift)
    normalised = x.shape[axis_of(x, axis) :]
    for parameter in (gain, shift):
        if parameter is not None and not _is_broadcast(parameter.shape, normalised):
            shown = ",".join(map(str, normalised))
            raise TypeMismatchError(f"the parameter {parameter} does not broadcast to the normalised axes [{shown}]")
    return x


@define_op(infer=_infer_affine, elements=FLOATS, derived=NORMALISED)
def layer_norm(
    x: np.ndarray, gain: np.ndarray, shift: np.ndarray | None = None, *, axis: int = -1, epsilon: float = 1e-5
) -> np.ndarray:
    """Layer normalisation over the axes from ``axis`` on (Ba et al. 2016; ONNX LayerNormalization, first result).

    ``(x - mean) / sqrt(var + epsilon) * gain + shift``.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    gain
        Factor, broadcast to the normalised axes.
    shift
        Addend, broadcast to the normalised axes; none if not given.
    axis
        First of the normalised axes.
    epsilon
        What is added to the variance.

    Examples
    --------
    >>> layer_norm(np.array([[1.0, 3.0]]), np.array([2.0, 2.0]), np.array([0.0, 1.0]), epsilon=0.0).tolist()
    [[-2.0, 3.0]]
    """
    y = _standardised(widened(x), tuple(range(axis % x.ndim, x.ndim)), epsilon)
    y *= widened(gain)
    return narrowed(y if shift is None else np.add(y, widened(shift), out=y), x)


@define_op(infer=_infer_affine, elements=FLOATS, derived=NORMALISED)
def rms_norm(x: np.ndarray, gain: np.ndarray, *, axis: int = -1, epsilon: float = 1e-5) -> np.ndarray:
    """Root-mean-square normalisation over the axes from ``axis`` on (Zhang and Sennrich 2019; ONNX RMSNormalization).

    ``x / sqrt(mean(x**2) + epsilon) * gain``.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    gain
        Factor, broadcast to the normalised axes.
    axis
        First of the normalised axes.
    epsilon
        What is added to the mean.

    Examples
    --------
    >>> rms_norm(np.array([[1.0, 7.0]]), np.array([5.0, 5.0]), epsilon=0.0).tolist()
    [[1.0, 7.0]]
    """
    if not x.size:
        return x
    wide = np.ascontiguousarray(widened(x))
    with np.errstate(invalid="ignore", over="ignore", under="ignore", divide="ignore"):
        y = np.square(wide)
        np.divide(wide, np.sqrt(_mean(y, tuple(range(axis % x.ndim, x.ndim)), epsilon)), out=y)
        y *= widened(gain)
    return narrowed(y, x)


@define_op(infer=_infer, elements=FLOATS, axes="NC*, C, C -> NC*")
def instance_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray, *, epsilon: float = 1e-5) -> np.ndarray:
    """Instance normalisation: each channel of each sample by itself (Ulyanov et al. 2016; ONNX InstanceNormalization).

    ``(x - mean) / sqrt(var + epsilon) * gain + shift``.

    Parameters
    ----------
    x
        Input [N, C, …].
    gain
        Factor of each channel [C].
    shift
        Addend of each channel [C].
    epsilon
        What is added to the variance.

    Examples
    --------
    >>> instance_norm(np.array([[[1.0, 3.0]]]), np.array([2.0]), np.array([1.0]), epsilon=0.0).tolist()
    [[[-1.0, 3.0]]]
    """
    y = _standardised(widened(x), tuple(range(2, x.ndim)), epsilon)
    return narrowed(_per_channel(y, gain, shift), x)


def _infer_group(x: Tensor, gain: Tensor, shift: Tensor, *, groups: int, epsilon: float = 1e-5) -> Tensor:
    _infer(x, gain, shift)
    channels = x.shape[1]
    if groups < 1 or is_uneven(channels, groups):
        raise TypeMismatchError(f"the {channels} channels of {x} do not split into {groups} equal groups")
    return x


@define_op(infer=_infer_group, elements=FLOATS, axes="NC*, C, C -> NC*")
def group_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray, *, groups: int, epsilon: float = 1e-5) -> np.ndarray:
    """Group normalisation: groups of channels of each sample by themselves (Wu and He 2018; ONNX GroupNormalization).

    ``(x - mean) / sqrt(var + epsilon) * gain + shift``.

    Parameters
    ----------
    x
        Input [N, C, …].
    gain
        Factor of each channel [C].
    shift
        Addend of each channel [C].
    groups
        Number of groups.
    epsilon
        What is added to the variance.

    Examples
    --------
    >>> group_norm(np.array([[[1.0], [3.0]]]), np.ones(2), np.array([0.0, 1.0]), groups=1, epsilon=0.0).tolist()
    [[[-1.0], [2.0]]]
    """
    n, channels, *positions = x.shape
    grouped = widened(x).reshape(n, groups, channels // groups, *positions)
    y = _standardised(grouped, tuple(range(2, grouped.ndim)), epsilon).reshape(x.shape)
    return narrowed(_per_channel(y, gain, shift), x)


def _infer_lp(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    axis_of(x, axis)
    if p not in (1, 2):
        raise TypeMismatchError(f"the order of the norm is 1 or 2, got {p}")
    return x


@define_op(infer=_infer_lp, elements=FLOATS)
def lp_norm(x: np.ndarray, *, axis: int = -1, p: int = 2) -> np.ndarray:
    """Operand divided by its norm along an axis, ``x / sum(abs(x)**p)**(1/p)`` (ONNX specification, LpNormalization).

    Zeros stay zeros.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    p
        Order of the norm, 1 or 2.

    Examples
    --------
    >>> lp_norm(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    wide = widened(x)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        size = np.abs(wide).sum(axis, keepdims=True) if p == 1 else np.sqrt(np.square(wide).sum(axis, keepdims=True))
        return narrowed(wide / np.where(size == 0, wide.dtype.type(1), size), x)  # 0 / 1, not 0 / 0


def _infer_mean_variance(x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    chosen_axes(x, axes)
    return x


@define_op(infer=_infer_mean_variance, elements=FLOATS)
def mean_variance_norm(x: np.ndarray, *, axes: Sequence[int] = (0, 2, 3)) -> np.ndarray:
    """Operand with mean 0 and variance 1 along some axes (ONNX specification, MeanVarianceNormalization).

    ``(x - mean) / (sqrt(var) + 1e-9)``: entries that are all the same become zeros.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes.

    Examples
    --------
    >>> mean_variance_norm(np.array([[1.0, 3.0], [5.0, 5.0]]), axes=(1,)).round(6).tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    if not x.size:
        return x
    wide, along = widened(x), tuple(axes)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        centred = wide - wide.mean(axis=along, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=along, keepdims=True))
        return narrowed(centred / (spread + wide.dtype.type(1e-9)), x)


def _infer_dropout(x: Tensor, *, ratio: float = 0.5) -> Tensor:
    if not 0 <= ratio <= 1:
        raise TypeMismatchError(f"the ratio is 0 to 1, got {ratio}")
    return x


@define_op(infer=_infer_dropout, elements=FLOATS)
def dropout(x: np.ndarray, *, ratio: float = 0.5) -> np.ndarray:
    """Operand itself, as in inference: only training drops a share of the entries (Srivastava et al. 2014).

    Parameters
    ----------
    x
        Any shape.
    ratio
        Share of the entries that training drops.

    Examples
    --------
    >>> dropout(np.array([1.0])).tolist()
    [1.0]
    """
    return x
