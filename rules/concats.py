"""Concatenations: of concatenations, of nothing, and of values that the same step makes."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.graph import Operand
from graphrewrite.rewriting.facts.queries import Query, readers_of
from graphrewrite.rules.operands import first_operand, has_equal, operands_of
from graphrewrite.rules.slices import taken
from graphrewrite.types import element_kind, product

__all__ = [
    "STEPS",
    "concat_before_layer",
    "concat_before_reshape",
    "concat_before_step",
    "drop_empty_operand",
    "merge_concats",
    "slice_after_pair",
    "slice_after_second",
    "slice_after_step",
]

STEPS = (
    op.relu | op.leaky_relu | op.clip | op.hard_tanh | op.sigmoid | op.tanh | op.hard_sigmoid | op.hard_swish | op.elu
    | op.selu | op.celu | op.gelu | op.silu | op.mish | op.softplus | op.softsign | op.threshold | op.neg | op.abs
    | op.exp | op.log | op.sqrt | op.erf | op.reciprocal | op.floor | op.ceil | op.round | op.sign | op.cast
    | op.logical_not | op.bitwise_not | op.is_nan | op.sin | op.cos
)  # fmt: skip
"""Ops of one operand that treat each entry alike, wherever it is."""


@rule
def merge_concats(before, xs, after):
    """A concatenation within another one along the same axis is a part of it."""
    inner = op.concat(*xs)
    outer = op.concat(*before, inner, *after)
    yield outer
    if not before and not after:
        return decline("the other one joins nothing", at=outer)
    rank = len(outer.shape)
    if inner.axis % rank != outer.axis % rank:
        return decline("they are along different axes", at=inner)
    if has_equal(inner):
        return decline("an equal one becomes one with it, which others read", at=inner)
    return op.concat(*before, *xs, *after, like=outer)


@rule
def drop_empty_operand(before, x, after):
    """What has no entries along the axis adds nothing to a concatenation."""
    joined = op.concat(*before, x, *after)
    yield joined
    if x.shape[joined.axis % len(x.shape)] != 0:
        return decline("it has entries", at=x)
    if not before and not after:
        return decline("it is the only operand", at=joined)
    result = op.concat(*before, *after, like=joined)
    return result if result.type == joined.type else decline("it alone knows the names of the axes", at=x)


@rule
def concat_before_step(x, rest):
    """Values that the same step makes may be concatenated before it: there is one step instead of several."""
    first = STEPS(x)
    joined = op.concat(first, *rest)
    yield joined
    if not rest:
        return decline("there is one operand", at=joined)
    if _is_cut(joined):
        return decline("a slice of it reads single operands", at=joined)
    for other in rest:
        if _step(other) != _step(first) or other.readers > 1:
            return decline("another step makes it, or it has other readers", at=other)
    operands = [first_operand(other) for other in rest]
    if any(operand.type.element != x.type.element for operand in operands):
        return decline("they are made of different element types", at=joined)
    return first.op(op.concat(x, *operands, axis=joined.axis), like=first)


@rule
def concat_before_reshape(x, y, others):
    """Reshaped values may be concatenated before, along an axis that divides the entries where the other one does."""
    joined = op.concat(op.reshape(x), op.reshape(y), *others)
    yield joined
    if any(other.op_name != "reshape" or other.readers > 1 for other in others):
        return decline("it has an operand that is not reshaped, or that others read", at=joined)
    values = [x, y, *map(first_operand, others)]
    if any(value.type.layout is not None for value in (joined, *values)):
        return decline("the axes have names", at=joined)
    if len({(value.type.element, len(value.shape)) for value in values}) > 1:
        return decline("they are made of values of different types", at=joined)
    before = product(joined.shape[: joined.axis % len(joined.shape)])
    for axis in range(len(x.shape)):
        around = {(value.shape[:axis], value.shape[axis + 1 :]) for value in values}
        if len(around) == 1 and product(x.shape[:axis]) == before:
            return op.reshape(op.concat(*values, axis=axis), shape=joined.shape)
    return decline("none of their axes divides the entries so, or they differ along another one", at=joined)


_LAYERS = op.matmul | op.linear | op.conv


@rule(keeps="rounding")
def concat_before_layer(x, y, params, others):
    """Samples that go through the same layer may be concatenated before it: there is one layer instead of several."""
    layer, second = _LAYERS(x, *params), _LAYERS(y, *params)
    joined = op.concat(layer, second, *others)
    yield joined
    names = joined.type.layout or "N" + "?" * (len(joined.shape) - 1)
    if layer.op is op.matmul:
        if len(params[0].shape) != 2 or joined.axis % len(joined.shape) == len(joined.shape) - 1:
            return decline("it is no matrix for all samples, or they are joined along what it makes", at=joined)
    elif names[joined.axis % len(joined.shape)] != "N":
        return decline("they are joined along another axis than that of the samples", at=joined)
    for other in (second, *others):
        if _step(other) != _step(layer) or other.readers > 1 or operands_of(other)[1:] != [*params]:
            return decline("another layer makes it, or it has other readers", at=other)
    values = [x, y, *map(first_operand, others)]
    if len({value.type.layout for value in values} - {None}) > 1:
        return decline("their axes have different names", at=joined)
    return layer.op(op.concat(*values, axis=joined.axis), *params, like=layer)


@Query
def _is_cut(joined):
    """Whether a slice along the axis of a concatenation reads it."""
    parts = [joined.replay.bound(Operand(reader, 0)) for reader in readers_of(joined)]
    axis = joined.axis % len(joined.shape)
    return any(part.op_name == "slice" and axis in taken(part, joined.shape) for part in parts)


@rule
def slice_after_step(x):
    """Slices that go through the same step may be cut after it, if they are no less than the whole."""
    parts = rule.every(x, lambda: STEPS(op.slice(x)))
    yield parts
    first, *others = parts.nodes
    if any(_step(other) != _step(first) for other in others):
        return decline("they go through different steps", at=first)
    cut = [first_operand(part) for part in parts.nodes]
    if _entries(x) is None or sum(map(_entries, cut)) < _entries(x):
        return decline("the whole is more than its parts, or its size is not known", at=x)
    whole = first.op(x, like=first, annotations={})
    return [op.slice(whole, like=part) for part in cut]


_EITHER = (
    op.add | op.mul | op.maximum | op.minimum | op.equal | op.logical_and | op.logical_or | op.logical_xor
    | op.bitwise_and | op.bitwise_or | op.bitwise_xor
)  # fmt: skip
_ORDERED = (
    op.sub | op.div | op.mod | op.pow | op.less | op.greater | op.less_or_equal | op.greater_or_equal
)  # fmt: skip


@rule
def slice_after_pair(x, y):
    """So may slices that meet the same operand, which is the same for all of their entries."""
    parts = rule.every(x, lambda: (_EITHER | _ORDERED)(op.slice(x), y))
    yield parts
    return _cut_after_pair(x, y, parts)


@rule
def slice_after_second(x, y):
    """So may slices that are subtracted from the same operand, or divide it."""
    parts = rule.every(x, lambda: _ORDERED(y, op.slice(x)))
    yield parts
    return _cut_after_pair(x, y, parts)


def _cut_after_pair(x, y, parts):
    """The slices of what a value and an operand make, in place of what its slices and the operand make."""
    first, *others = parts.nodes
    if any(_step(other) != _step(first) for other in others):
        return decline("they go through different steps", at=first)
    operands = [operands_of(part) for part in parts.nodes]
    places = [int(before.operand == y.operand) for before, _ in operands]  # of the slice: the op may be commutative
    if first.op in (op.maximum, op.minimum) and len(set(places)) > 1 and element_kind(x.type.element) == "float":
        return decline("of two zeros the last is the extreme, and they come in different orders", at=first)
    cut = [pair[place] for pair, place in zip(operands, places, strict=True)]
    if _entries(x) is None or sum(map(_entries, cut)) < _entries(x):
        return decline("the whole is more than its parts, or its size is not known", at=x)
    added = len(x.shape) - len(y.shape)
    for part, node in zip(cut, parts.nodes, strict=True):
        if node.type.shape != part.type.shape or {*taken(part, x.shape)} & _axes_of(y, added):
            return decline("the operand differs along a sliced axis, or broadcasts the slice", at=part)
    whole = first.op(*((y, x) if places[0] else (x, y)), like=first, annotations={})
    return [op.slice(whole, like=part) for part in cut]


def _axes_of(value, added):
    """The axes along which a value has more than one entry, counted behind those that broadcasting adds."""
    return {axis + added for axis, size in enumerate(value.shape) if size != 1}


def _step(node):
    """What two steps have in common that are the same: op and attributes."""
    return node.op_name, node.graph.attributes(node.node)


def _entries(value):
    """The number of entries, of each frame where there are any number of them."""
    batch, *sizes = value.shape or (1,)
    known = [size for size in (batch, *sizes) if isinstance(size, int)]
    return math.prod(known) if len(known) >= len(sizes) else None
