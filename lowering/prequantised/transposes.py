"""Transposes moved past elementwise ops, so that they meet and cancel: models with channels last."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.lowering.composite.axes import channel_entries
from graphrewrite.lowering.matched_operands import computed_from_inputs
from graphrewrite.lowering.prequantised.elementwise_chains import ELEMENTWISE, ONE_BY_ONE
from graphrewrite.lowering.prequantised.quantisers import QUANTISERS
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import element_kind

__all__ = ["SINK_TRANSPOSES"]

_NUMBERS = ELEMENTWISE | QUANTISERS | op.multiply_fixed_point | op.round_half_away
_BY_NUMBER = frozenset(
    {*ONE_BY_ONE, "quantize_linear", "quant", "bipolar_quant", "trunc", "quantise", "round_half_away"}
)
_BY_AXIS = frozenset({"quantize_linear", "dequantize_linear"})
_BY_POSITION = frozenset({"multi_threshold", "batch_norm", "name_axes"})
"""Elementwise ops with a fixed channel axis."""


def _inverse(perm: Any) -> tuple[int, ...]:
    return tuple(int(p) for p in np.argsort(perm))


def _axes_have_names(*values: Any) -> bool:
    return any(value.type.layout is not None for value in values)


def _untransposed(value: Any, perm: tuple[int, ...]) -> Any:
    """The operand whose transpose by ``perm`` is ``value``, if that takes no new transpose in hardware; else None."""
    rank = len(perm)
    if value.is_constant:
        shape = tuple(value.shape)
        if len(shape) <= rank and set(shape) <= {1}:
            return value
        whole = op.reshape(value, shape=(1,) * (rank - len(shape)) + shape, allow_zero=0 in shape)
        return op.transpose(whole, perm=_inverse(perm))
    if value.op_name == "transpose":
        return first_operand(value) if tuple(value.perm) == perm else None
    # Models often write a transpose of axes of size 1 as a reshape.
    if value.op_name == "reshape" and _moves_ones(first_operand(value).shape, value.shape, perm):
        return first_operand(value)
    return op.transpose(value, perm=_inverse(perm)) if _is_computed_by_host(value) else None


def _is_computed_by_host(value: Any) -> bool:
    """Tell whether a value is an elementwise function of an input, which the host can transpose."""
    return computed_from_inputs(value, _BY_NUMBER)


def _moves_ones(before: Any, after: Any, perm: tuple[int, ...]) -> bool:
    """Tell whether a reshape equals the transpose by ``perm``, which moves axes of size 1 only."""
    if len(before) != len(perm) or tuple(before[p] for p in perm) != tuple(after):
        return False
    long = [p for p in perm if before[p] != 1]
    return long == sorted(long)


def _is_of_channels(value: Any, rank: int) -> bool:
    """Tell whether a constant varies along the channel axis only."""
    return bool(value.is_constant) and channel_entries(value.shape, rank) not in (None, 1)


@rule(shared="keep")
def transpose_after(x, others):
    """An elementwise op may be applied before the axes are transposed."""
    transposed = op.transpose(x)
    computed = _NUMBERS(transposed, *others)
    yield computed
    perm, rank = tuple(transposed.perm), len(transposed.perm)
    if rank < 2:
        return decline("it has one axis", at=transposed)
    if _axes_have_names(x, computed, *others) or computed.op_name in _BY_POSITION:
        return decline("its axes are named, or it depends on the order of axes", at=computed)
    if any(len(other.shape) > rank for other in others):
        return decline("an operand has more axes", at=computed)
    # There the host transposes: further down, hardware would have to.
    if _is_computed_by_host(x):
        return decline("the host transposes inputs", at=transposed)
    # Hardware has a constant for each channel only on the second axis, where this one would no longer be.
    if perm[1] != 1 and any(_is_of_channels(other, rank) for other in others):
        return decline("an operand differs along the transposed channels", at=computed)
    first = first_operand(computed).node
    if computed.op_name in _BY_AXIS and any(other.shape not in ((), (1,)) for other in others):
        # Parameters along an axis follow it to where it was before.
        axis = computed.data.get("axis", 1) % rank
        if computed.data.get("block_size") or any(len(other.shape) > 1 for other in others):
            return decline("its parameters are those of blocks", at=computed)
        return op.transpose(computed.op(x, *others, like=computed, axis=perm[axis]), perm=perm)
    if computed.op_name in _BY_AXIS:
        return op.transpose(computed.op(x, *others, like=computed), perm=perm)
    if any(not other.is_constant and len(other.shape) != rank for other in others):
        return decline("an operand has fewer axes", at=computed)
    untransposed = [_untransposed(other, perm) for other in others]
    if any(each is None for each in untransposed):
        return decline("an operand is transposed in another way, or not at all", at=computed)
    operands = [x, *untransposed] if first == transposed.node else [*untransposed, x]
    return op.transpose(computed.op(*operands, like=computed), perm=perm)


@rule(shared="keep")
def reduce_before_transpose(x):
    """A mean, whole sum or maximum along some axes is that along the same axes before they were transposed."""
    transposed = op.transpose(x)
    reduced = (op.reduce_mean | op.reduce_max | op.reduce_sum)(transposed)
    yield reduced
    if reduced.op_name == "reduce_sum" and element_kind(x.type.element) == "float":
        return decline("sums of floats round in the order of their axes", at=reduced)
    if _axes_have_names(x, reduced) or reduced.axes is None:
        return decline("its axes are named, or all are reduced", at=reduced)
    rank, perm = len(x.shape), transposed.perm
    axes = {axis % rank for axis in reduced.axes}
    result = reduced.op(x, like=reduced, axes=tuple(sorted(perm[axis] for axis in axes)))
    if reduced.keep_dims:
        return op.transpose(result, perm=perm)
    left = [p for axis, p in enumerate(perm) if axis not in axes]
    # The axes that are left come in the order after the transpose.
    order = tuple(sorted(left).index(p) for p in left)
    return result if order == tuple(sorted(order)) else op.transpose(result, perm=order)


@rule(shared="keep")
def concat_before_transpose(before, x, after):
    """Values that are transposed alike may be concatenated before."""
    transposed = op.transpose(x)
    concatenated = op.concat(*before, transposed, *after)
    yield concatenated
    if _is_computed_by_host(x):
        return decline("the host transposes inputs", at=transposed)
    perm = tuple(transposed.perm)
    parts = [[_untransposed(other, perm) for other in others] for others in (before, after)]
    if any(part is None for each in parts for part in each) or _axes_have_names(concatenated, x, *before, *after):
        return decline("its operands are not all transposed alike, or its axes are named", at=concatenated)
    result = op.concat(*parts[0], x, *parts[1], like=concatenated, axis=perm[concatenated.axis % len(perm)])
    return op.transpose(result, perm=perm)


@rule(shared="keep")
def pad_before_transpose(x):
    """A border may be put around before the axes are transposed."""
    transposed = op.transpose(x)
    padded = op.pad(transposed)
    yield padded
    if _axes_have_names(x, padded) or _is_computed_by_host(x):
        return decline("its axes are named, or the host transposes inputs", at=padded)
    rank, back = len(transposed.perm), _inverse(transposed.perm)
    pads = (*(padded.pads[b] for b in back), *(padded.pads[rank + b] for b in back))
    return op.transpose(op.pad(x, like=padded, pads=pads), perm=transposed.perm)


def _resized_axes(resized: Any, x: Any) -> list[int]:
    """The axes that a resize does not leave as they are, in the order in which it interpolates along them."""
    rank = len(x.shape)
    named = [axis % rank for axis in (range(rank) if resized.axes is None else resized.axes)]
    scales = dict(zip(named, resized.scales or (1.0,) * len(named), strict=True))
    if resized.keep_aspect_ratio_policy != "stretch":
        return sorted(named)
    return [a for a in range(rank) if scales.get(a, 1.0) != 1 or resized.shape[a] != x.shape[a]]


@rule(shared="keep")
def resize_before_transpose(x):
    """Positions may be resized before the axes are transposed."""
    transposed = op.transpose(x)
    resized = op.resize(transposed)
    yield resized
    if _axes_have_names(x, resized) or _is_computed_by_host(x):
        return decline("its axes are named, or the host transposes inputs", at=resized)
    if resized.roi is not None:
        return decline("it has a region of interest", at=resized)
    perm, back = tuple(transposed.perm), _inverse(transposed.perm)
    interpolated = [perm[axis] for axis in _resized_axes(resized, transposed)]
    if resized.mode != "nearest" and interpolated != sorted(interpolated):
        return decline("its axes would be interpolated in another order, which rounds differently", at=resized)
    given = {name: getattr(resized, name) for name in ("sizes", "scales") if getattr(resized, name) is not None}
    moved: dict[str, Any]
    if resized.axes is None:
        moved = {name: tuple(values[b] for b in back) for name, values in given.items()}
    else:
        moved = {"axes": tuple(perm[axis % len(perm)] for axis in resized.axes)}
    return op.transpose(op.resize(x, like=resized, **moved), perm=perm)


def _between(rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Permutations that move the last axis after the batch, and back."""
    return (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)


def _plain(rank: int) -> dict[str, Any]:
    return {"strides": (1,) * (rank - 2), "pads": (0,) * 2 * (rank - 2), "dilations": (1,) * (rank - 2)}


def _kernel(w: np.ndarray, rank: int) -> np.ndarray:
    return np.ascontiguousarray(w.T).reshape(w.shape[1], w.shape[0], *[1] * (rank - 2))


def _no_positions(x: Any, w: Any, product: Any) -> Any:
    if len(x.shape) not in (3, 4) or w.value.ndim != 2 or _axes_have_names(x, w, product):
        return decline("its operands are not a vector for each position and a matrix", at=product)
    if any(isinstance(size, str) for size in x.shape[1:]):
        return decline("a size besides the batch is symbolic", at=product)
    return decline("it has no positions", at=product) if 0 in x.shape[1:] else None


@rule(keeps="rounding")
def multiply_positions(x, w: Constant):
    """A matrix times the vector at each position is a convolution of one position, with channels last."""
    product = op.matmul(x, w)
    yield product
    if (reason := _no_positions(x, w, product)) is not None:
        return reason
    to_second, to_last = _between(rank := len(x.shape))
    return op.transpose(op.conv(op.transpose(x, perm=to_second), _kernel(w.value, rank), **_plain(rank)), perm=to_last)


@rule
def multiply_stored_positions(
    x,
    x_scale: Constant,
    x_zero: Constant,
    w: Constant,
    w_scale: Constant,
    w_zero: Constant,
    y_scale: Constant,
    y_zero: Constant,
):
    """A matrix of stored numbers times the vector at each position is a convolution of one position, as well."""
    product = op.qlinear_matmul(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero)
    yield product
    if (reason := _no_positions(x, w, product)) is not None:
        return reason
    of_images = (x_scale, x_zero, y_scale, y_zero)
    if any(c.value.size != 1 for c in of_images) or max(w_scale.value.ndim, w_zero.value.ndim) > 1:
        return decline("a scale or zero point differs from row to row", at=product)
    to_second, to_last = _between(rank := len(x.shape))
    first = op.transpose(x, perm=to_second)
    read_scale, read_zero, made_scale, made_zero = (c.value.reshape(()) for c in of_images)
    kernel = _kernel(w.value, rank)
    weights = kernel, w_scale.value, w_zero.value
    result = op.qlinear_conv(first, read_scale, read_zero, *weights, made_scale, made_zero, **_plain(rank))
    return op.transpose(result, perm=to_last)


@rule(shared="keep")
def permute_integer_weights(x, w: Constant, b: Constant):
    """A layer after transpose and flatten reads the untransposed entries through permuted weights."""
    transposed = op.transpose(x)
    layer = op.integer_linear(op.reshape(transposed), w, b)
    yield layer
    if transposed.perm[0] != 0 or any(isinstance(size, str) for size in x.shape[1:]):
        return decline("the transpose moves the batch, or a size besides it is symbolic", at=transposed)
    count = int(np.prod(x.shape[1:]))
    if count != w.shape[1] or transposed.shape[0] != layer.shape[0]:
        return decline("the reshape between does more than flatten", at=layer)
    columns = np.arange(count).reshape(x.shape[1:]).transpose([p - 1 for p in transposed.perm[1:]]).ravel()
    weights = np.empty_like(w.value)
    weights[:, columns] = w.value
    return op.integer_linear(op.reshape(x, shape=(x.shape[0], count)), weights, b.value, like=layer)


@rule(shared="keep")
def merge_into_shuffle(x):
    """Channels as a table of groups, transposed and written in a row again, are shuffled (Zhang et al. 2018)."""
    table = op.reshape(x)
    last = op.reshape(op.transpose(table, perm={(0, 2, 1), (0, 2, 1, 3), (0, 2, 1, 3, 4)}))
    yield last
    if last.type != x.type or len(table.shape) < 3 or x.shape[0] != table.shape[0] or _axes_have_names(x, table):
        return decline("the first shape does not come back, or axes have names", at=last)
    if len(x.shape) < 2:
        return decline("there are no channels", at=last)
    if x.shape[2:] != table.shape[3:] or isinstance(table.shape[1], str):
        return decline("more than channels are a table", at=table)
    return op.channel_shuffle(x, groups=table.shape[1])


@rule(shared="keep")
def place_before_transpose(x):
    """The place of the greatest entry along an axis is that along the same axis before it was transposed."""
    transposed = op.transpose(x)
    index = op.arg_max(transposed)
    yield index
    if _axes_have_names(x, index):
        return decline("its axes are named", at=index)
    axis, perm = index.axis % len(x.shape), transposed.perm
    place = op.transpose(op.arg_max(x, like=index, axis=perm[axis], keep_dims=True), perm=perm)
    return place if index.keep_dims else op.squeeze(place, axes=(axis,))


SINK_TRANSPOSES = (
    transpose_after,
    reduce_before_transpose,
    place_before_transpose,
    concat_before_transpose,
    pad_before_transpose,
    resize_before_transpose,
    multiply_positions,
    multiply_stored_positions,
    permute_integer_weights,
    merge_into_shuffle,
)
"""Channels last become channels first, where the transposes cancel."""
