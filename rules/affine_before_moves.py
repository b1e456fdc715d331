"""Norms and constants of channels, put before what moves the entries of channels: next to the layer that takes them."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.affine import with_axes
from graphrewrite.types import as_size

__all__ = [
    "constant_before_reshape",
    "constant_before_transpose",
    "norm_before_concat",
    "norm_before_names",
    "norm_before_reshape",
    "norm_before_slice",
    "norm_before_transpose",
    "slice_before_norm",
]

_LAYERS = ("conv", "conv_transpose", "linear")


def _channel_axis(value):
    """The axis of the channels, or None where no axis is."""
    return (value.type.layout or "NC").find("C") if len(value.shape) > 1 else None


def _entries_before(value, axis):
    """The number of entries before an axis, for each of its own."""
    return math.prod(map(as_size, value.shape[:axis]))


def _is_kept(x, axis, shaped, other):
    """Whether an axis before a reshape is one behind it: its entries, and those of the axes before it, are as many."""
    is_same = x.shape[axis] == shaped.shape[other]
    return is_same and _entries_before(x, axis) == _entries_before(shaped, other)


def _source(shaped, axis, x):
    """The axis before a reshape that is the one behind it, or None if none is."""
    return next((own for own in range(len(x.shape)) if _is_kept(x, own, shaped, axis)), None)


@rule(shared="keep")
def norm_before_reshape(x, gain, shift, mean, var):
    """A norm may come before a reshape that keeps the channels: PyTorch exports that of vectors behind one."""
    shaped = op.reshape(x)
    norm = op.batch_norm(shaped, gain, shift, mean, var)
    yield norm
    axis, other = _channel_axis(x), _channel_axis(shaped)
    if axis is None or other is None or min(axis, other) < 0 or not _is_kept(x, axis, shaped, other):
        return decline("its reshape does not keep the channels", at=shaped)
    return op.reshape(op.batch_norm(x, gain, shift, mean, var, like=norm), like=shaped)


@rule(shared="keep")
def norm_before_names(x, gain, shift, mean, var):
    """So it may where its axes are put in order, or have names, behind the reshape."""
    shaped = op.reshape(x)
    ordered = (op.name_axes | op.transpose)(shaped)
    norm = op.batch_norm(ordered, gain, shift, mean, var)
    yield norm
    axis, other = _channel_axis(x), _channel_axis(ordered)
    if axis is None or other is None or min(axis, other) < 0:
        return decline("it has no channels", at=shaped)
    other = ordered.perm[other] if ordered.op is op.transpose else other
    if not _is_kept(x, axis, shaped, other):
        return decline("its reshape does not keep the channels", at=shaped)
    moved = op.reshape(op.batch_norm(x, gain, shift, mean, var, like=norm), like=shaped)
    return ordered.op(moved, like=ordered)


@rule(shared="keep")
def norm_before_transpose(x, gain, shift, mean, var):
    """A norm may come before a transpose that leaves the channels where they are, or in an axis of that name."""
    transposed = op.transpose(x)
    norm = op.batch_norm(transposed, gain, shift, mean, var)
    yield norm
    axis, other = _channel_axis(x), _channel_axis(transposed)
    if axis is None or axis < 0 or transposed.perm[other] != axis:
        return decline("it moves the channels, whose axis has no name", at=transposed)
    return op.transpose(op.batch_norm(x, gain, shift, mean, var, like=norm), like=transposed)


def _varying(constant, rank):
    """A constant of that rank, and the axis along which it differs, or None where there are several."""
    aligned = with_axes(constant, rank)
    axes = [axis for axis, size in enumerate(aligned.shape) if size != 1]
    if aligned.ndim != rank or len(axes) > 1 or rank < 2:
        return aligned, None
    return aligned, axes[0] if axes else 1


@rule
def constant_before_reshape(x, c: Constant):
    """A factor, or an addend, of each channel may come before a reshape that keeps the channels."""
    shaped = op.reshape(x)
    result = (op.add | op.mul)(shaped, c)
    yield result
    if result.type != shaped.type or result.type.layout is not None or c.type.layout is not None:
        return decline("the constant broadcasts the channels, or axes have names", at=result)
    entries, axis = _varying(c, len(shaped.shape))
    own = None if axis is None else _source(shaped, axis, x)
    if own is None:
        return decline("its reshape does not keep the axis of the constant", at=shaped)
    entries = entries.reshape(-1, *[1] * (len(x.shape) - 1 - own))
    return op.reshape(result.op(x, entries, like=result), like=shaped)


@rule
def constant_before_transpose(x, w, b: Constant, c: Constant):
    """So it may before a transpose that comes behind a layer, which takes it up."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    transposed = op.transpose(layer)
    result = (op.add | op.mul)(transposed, c)
    yield result
    if result.type != transposed.type or c.type.layout is not None:
        return decline("the constant broadcasts the channels, or has named axes", at=result)
    entries, axis = _varying(c, len(transposed.shape))
    if axis is None or (entries.size != 1 and transposed.perm[axis] != _channel_axis(layer)):
        return decline("it differs along another axis than that of the channels", at=c)
    entries = entries.reshape(-1, *[1] * (len(layer.shape) - 1 - transposed.perm[axis]))
    return op.transpose(result.op(layer, entries, like=result), like=transposed)


def _cuts(cut, axis):
    """Whether a slice cuts an axis."""
    return axis in {each % len(cut.shape) for each in (range(len(cut.starts)) if cut.axes is None else cut.axes)}


@rule
def slice_before_norm(x, gain, shift, mean, var):
    """A part of what is normalised may be cut before: there is less to normalise, unless a layer takes the norm up."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    cut = op.slice(norm)
    yield cut
    if x.op_name in _LAYERS:
        return decline("the layer before the norm takes it up", at=x)
    if _cuts(cut, _channel_axis(norm)):
        return decline("it cuts the channels", at=cut)
    return op.batch_norm(op.slice(x, like=cut), gain, shift, mean, var, like=norm)


@rule
def norm_before_slice(x, w: Constant, b: Constant, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """A norm may come before a slice behind a layer, which takes it up."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    cut = op.slice(layer)
    norm = op.batch_norm(cut, gain, shift, mean, var)
    yield norm
    if _cuts(cut, _channel_axis(layer)):
        return decline("it cuts the channels", at=cut)
    return op.slice(op.batch_norm(layer, gain, shift, mean, var, like=norm), like=cut)


def _takes_up(value):
    """Whether a value is that of a layer with constant weights that nobody else reads."""
    if value.op_name not in _LAYERS or value.readers > 1:
        return False
    _, *weights = value.graph.operands(value.node)
    return all(value.graph.nodes[weight.node]["type"] == "constant" for weight in weights)


@rule
def norm_before_concat(
    x, w: Constant, b: Constant, rest, gain: Constant, shift: Constant, mean: Constant, var: Constant
):
    """A norm of layers that are joined along the channels is one of each layer, which takes it up."""
    first = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    joined = op.concat(first, *rest)
    norm = op.batch_norm(joined, gain, shift, mean, var)
    yield norm
    axis, layers = _channel_axis(joined), (first, *rest)
    if joined.axis % len(joined.shape) != axis or not all(map(_takes_up, layers)):
        return decline("not all of them are layers without other readers, joined along the channels", at=joined)
    ends = np.cumsum([layer.shape[axis] for layer in layers])[:-1]
    parts = zip(*(np.split(parameter.value, ends) for parameter in (gain, shift, mean, var)), strict=True)
    normed = [op.batch_norm(layer, *part, like=norm) for layer, part in zip(layers, parts, strict=True)]
    return op.concat(*normed, like=joined)
