"""Rearrangements behind the ops that they do not concern, so that layers and what follows them are neighbours."""

from __future__ import annotations

from functools import reduce
from operator import or_

from graphrewrite import decline, op, rule
from graphrewrite.op import LIBRARY
from graphrewrite.rules.operands import first_operand
from graphrewrite.rules.permuted_axes import AXIS_BY_AXIS, ELEMENTWISE, SUMS, inverse, moved, stretched
from graphrewrite.rules.shapes import reshaped
from graphrewrite.types import Tensor

__all__ = [
    "clip_before_rearranging",
    "greatest_without_transpose",
    "reshape_after",
    "reshape_after_in_order",
    "sum_without_transpose",
    "tile_after_transpose",
    "tile_before_transpose",
    "transpose_after",
    "transpose_after_in_order",
    "transpose_after_sum",
]


def _any_of(names):
    """The pattern of any op of some names."""
    return reduce(or_, [getattr(op, name) for name in sorted(names)])


_COMMUTING = {name for name in ELEMENTWISE if LIBRARY[name].commutative}
"""Ops of operands in any order, and of one."""
_ENTRIES = {*ELEMENTWISE, "quantize_linear"}
"""Ops that treat each entry by itself; integers are dequantised last, by `MOVE_INTEGERS`."""
_IN_ANY_ORDER, _IN_ORDER = _any_of(_COMMUTING), _any_of(AXIS_BY_AXIS - _COMMUTING - {"split"})
_ENTRIES_IN_ORDER, _SUMS = _any_of(_ENTRIES - _COMMUTING), _any_of(SUMS)

_REDUCTIONS = _any_of(name for name in SUMS if name.startswith("reduce_"))


def _is_plain(*values):
    """Whether the axes of values have no names, and their numbers no format, which may be that of an axis."""
    return all(isinstance(v.type, Tensor) and v.type.layout is None and isinstance(v.type.element, str) for v in values)


def _untransposed(value, perm):
    """The operand whose transpose a value is, of any rank that broadcasts alike, or None if it takes a transpose."""
    if set(value.shape) <= {1} and len(value.shape) < len(perm):
        return value
    if value.is_constant:
        return stretched(value.value, perm) if len(value.shape) <= len(perm) else None
    return first_operand(value) if value.op_name == "transpose" and tuple(value.perm) == perm else None


def _sunk(x, before, transposed, after, computed, *, rounds):
    """A transpose behind an op instead of before it."""
    perm = tuple(transposed.perm)
    if len(computed.shape) != len(perm) or not _is_plain(x, computed, *before, *after):
        return decline("it has other axes, or they have names", at=computed)
    change = moved(computed.op_name, computed.graph.attributes(computed.node), perm, rounds=rounds)
    if change is None or len(before) >= (change.slots or len(before) + 1):
        return decline("it depends on the order of the axes", at=computed)
    values = tuple(enumerate((*before, None, *after)))
    operands = [
        x if value is None
        else value if change.slots is not None and slot >= change.slots
        else _untransposed(value, perm)
        for slot, value in values
    ]  # fmt: skip
    if any(operand is None for operand in operands):
        return decline("an operand is transposed in another way, or not at all", at=computed)
    return op.transpose(computed.op(*operands, like=computed, **change.attributes), perm=perm)


@rule
def transpose_after(x, others):
    """A transpose may come behind an op that does not care where its axes are, if the other operands can follow."""
    transposed = op.transpose(x)
    computed = _IN_ANY_ORDER(transposed, *others)
    yield computed
    return _sunk(x, (), transposed, others, computed, rounds=False)


@rule
def transpose_after_in_order(before, x, after):
    """So it may where the order of the operands counts."""
    transposed = op.transpose(x)
    computed = _IN_ORDER(*before, transposed, *after)
    yield computed
    return _sunk(x, before, transposed, after, computed, rounds=False)


@rule(keeps="rounding")
def transpose_after_sum(x):
    """So it may behind a softmax, or a sum that keeps its axes, which may then be rounded in another order."""
    transposed = op.transpose(x)
    computed = _SUMS(transposed)
    yield computed
    return _sunk(x, (), transposed, (), computed, rounds=True)


def _reduced_before(x, transposed, reduced):
    """A reduction along the same axes before they were transposed, if the others keep their order."""
    rank = len(x.shape)
    if not _is_plain(x, reduced):
        return decline("its axes have names", at=reduced)
    axes = range(rank) if reduced.axes is None else [axis % rank for axis in reduced.axes]
    left = [p for axis, p in enumerate(transposed.perm) if axis not in axes]
    if left != sorted(left):
        return decline("the axes that are left are in another order", at=transposed)
    return reduced.op(x, like=reduced, axes=tuple(sorted(transposed.perm[axis] for axis in axes)))


@rule(shared="keep")
def greatest_without_transpose(x):
    """An extreme along axes that go is the same before they are transposed, where the others keep their order."""
    transposed = op.transpose(x)
    reduced = (op.reduce_max | op.reduce_min)(transposed, keep_dims=False)
    yield reduced
    return _reduced_before(x, transposed, reduced)


@rule(keeps="rounding", shared="keep")
def sum_without_transpose(x):
    """So is a sum, which may be rounded in another order."""
    transposed = op.transpose(x)
    reduced = _REDUCTIONS(transposed, keep_dims=False)
    yield reduced
    return _reduced_before(x, transposed, reduced)


@rule
def reshape_after(x, others):
    """A reshape may come behind an op that treats every entry by itself, if the other operands can follow."""
    shaped = op.reshape(x)
    computed = _IN_ANY_ORDER(shaped, *others)
    yield computed
    return _reshaped_after(x, (), shaped, others, computed)


@rule
def reshape_after_in_order(before, x, after):
    """So it may where the order of the operands counts."""
    shaped = op.reshape(x)
    computed = _ENTRIES_IN_ORDER(*before, shaped, *after)
    yield computed
    return _reshaped_after(x, before, shaped, after, computed)


def _reshaped_after(x, before, shaped, after, computed):
    """A reshape behind an op instead of before it."""
    if shaped.shape != computed.shape or not _is_plain(x, shaped, computed, *before, *after):
        return decline("it has another shape, or its axes have names", at=computed)
    if before and computed.op_name == "quantize_linear":
        return decline("it is a scale", at=computed)
    others = [[_unshaped(value, x) for value in values] for values in (before, after)]
    if any(value is None for values in others for value in values):
        return decline("an operand has another shape, or is reshaped in another way", at=computed)
    return reshaped(computed.op(*others[0], x, *others[1], like=computed), computed)


def _unshaped(value, x):
    """The operand that meets a value before it was reshaped as another one meets it afterwards, or None."""
    if set(value.shape) <= {1}:
        if len(value.shape) <= min(1, len(x.shape)):
            return value
        return value.value.reshape(()) if value.is_constant else None
    if value.op_name != "reshape":
        return None
    operand = first_operand(value)
    return operand if operand.type == x.type else None


@rule
def tile_after_transpose(x):
    """What is repeated is transposed once, before it is repeated."""
    repeated = op.tile(x)
    transposed = op.transpose(repeated)
    yield transposed
    repeats = tuple(repeated.repeats[p] for p in transposed.perm)
    return op.tile(op.transpose(x, perm=transposed.perm), repeats=repeats)


@rule
def tile_before_transpose(x):
    """What is transposed may be repeated before, where the transpose then meets another one."""
    transposed = op.transpose(x)
    repeated = op.tile(transposed)
    yield repeated
    repeats = tuple(repeated.repeats[back] for back in inverse(transposed.perm))
    return op.transpose(op.tile(x, repeats=repeats), perm=transposed.perm)


@rule
def clip_before_rearranging(x):
    """Numbers may be limited before they are rearranged, where that is part of what makes them."""
    rearranged = (op.transpose | op.reshape | op.slice | op.tile)(x)
    limited = op.clip(rearranged)
    yield limited
    return rearranged.op(op.clip(x, like=limited), like=rearranged)
