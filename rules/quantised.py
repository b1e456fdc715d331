"""Quantising and dequantising by scales and zero points, as ONNX writes quantised networks.

Integers move instead of floats: what only moves entries is done before they are dequantised, and after they are
quantised: `MOVE_INTEGERS`, exact and opt-in. `MERGE_ROUNDINGS` takes a rounding away where another one
follows: results change by a step of a grid, so that its rules say what they assume.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.operands import first_operand, operands_of
from graphrewrite.types import element_dtype, integer_limits

__all__ = [
    "MERGE_ROUNDINGS",
    "MOVE_INTEGERS",
    "compare_stored",
    "concat_before_dequantising",
    "concat_before_quantising",
    "drop_limit_before_quantising",
    "drop_quantise_again",
    "limit_stored",
    "move_before_dequantising",
    "pick_stored",
    "quantise_before_concat",
    "quantise_before_moving",
    "skip_narrow_type",
    "skip_rounding",
    "skip_rounding_before_moving",
    "skip_rounding_of_stored",
    "store_without_cast",
]

_WIDEST = 1 << 16
"""So many stored numbers are tried one by one."""
_NARROW = frozenset({"f16", "bf16"})
_MOVING = reduce(
    or_,
    (getattr(op, name) for name in ("reshape", "flatten", "squeeze", "unsqueeze", "slice", "tile", "expand")),
)
"""Ops whose results are entries of their operand."""


def _is_single(*params: Any) -> bool:
    """Whether a scale, and a zero point if there is one, are one number."""
    return all(param is None or param.value.size == 1 for param in params)


def _is_positive(scale: Any) -> bool:
    return bool(np.all(np.isfinite(scale.value) & (scale.value > 0)))


@rule(shared="keep")
def drop_quantise_again(x, s: Constant, z: Constant | None = None):
    """Stored numbers read and stored again by one scale are the same: tried for every number that there is."""
    real = op.dequantize_linear(x, s, z)
    stored = op.quantize_linear(real, s, z)
    yield stored
    if x.type != stored.type:
        return decline(_NO_SMALL_TYPE, at=stored)
    if not _is_single(s, z) and real.axis != stored.axis:
        return decline("scales of two axes", at=stored)
    reason = _changed(x, s, z, real, stored)
    return decline(reason, at=stored) if reason else x


_NO_SMALL_TYPE = "not one small type of integers"


def _changed(x, s, z, real, stored):
    """Why stored numbers that are read and stored again are other ones; an empty text if they are the same."""
    known = integer_limits(x.type.element)
    if x.type.element != stored.type.element or known is None or known[1] - known[0] >= _WIDEST:
        return _NO_SMALL_TYPE
    if real.block_size or stored.block_size:
        return "scales of blocks"
    every = np.arange(known[0], known[1] + 1).astype(element_dtype(x.type.element))
    params = [param.value.reshape(-1) for param in _there(s, z)]
    table = np.broadcast_to(every, (max(map(np.size, params)), len(every)))
    read = op.dequantize_linear(table, *params, axis=0, element=real.type.element)
    again = op.quantize_linear(read, *params, axis=0, element=x.type.element if z is None else None)
    return "" if np.array_equal(again, table) else "some stored number becomes another one"


_PICKING = op.max_pool | op.transpose | op.channel_shuffle | op.depth_to_space | op.space_to_depth
"""Further ops whose results are entries of their operand, which of them depends on their order alone."""
_ANY_MOVING = _MOVING | _PICKING


@rule
def pick_stored(x, s: Constant, z: Constant | None = None):
    """Numbers of one scale that are read, moved or compared, and stored again, are stored ones."""
    real = op.dequantize_linear(x, s, z)
    picked = _PICKING(real)
    stored = op.quantize_linear(picked, s, z)
    yield stored
    if not _is_single(s, z) or not _is_positive(s):
        return decline("its scale differs from entry to entry, or is not above 0", at=real)
    if picked.op is op.max_pool and x.type.element not in ("i8", "u8"):
        return decline("runtimes compare windows of integers of 8 bits only", at=picked)
    reason = _changed(x, s, z, real, stored)
    return decline(reason, at=stored) if reason else picked.op(x, like=picked)


@rule
def limit_stored(x, s: Constant, z: Constant | None = None):
    """Numbers of one scale that are read, limited, and stored again, are stored ones between the limits as stored."""
    real = op.dequantize_linear(x, s, z)
    limited = (op.relu | op.clip)(real)
    stored = op.quantize_linear(limited, s, z)
    yield stored
    if not _is_single(s, z) or not _is_positive(s):
        return decline("its scale differs from entry to entry, or is not above 0", at=real)
    if x.type.element not in ("i8", "u8"):
        return decline("runtimes limit integers of 8 bits only", at=limited)
    if reason := _changed(x, s, z, real, stored):
        return decline(reason, at=stored)
    low, high = (0.0, None) if limited.op is op.relu else (limited.low, limited.high)
    bounds = [None if each is None else _as_stored(each, s, z, real, stored) for each in (low, high)]
    return op.clip(x, low=bounds[0], high=bounds[1])


@rule
def compare_stored(x, y, s: Constant, z: Constant | None = None):
    """The greater of two numbers of one scale is that of the greater stored one; and so the lesser."""
    first = op.dequantize_linear(x, s, z)
    extreme = (op.maximum | op.minimum)(first, op.dequantize_linear(y, s, z))
    yield extreme
    if not _is_single(s, z) or not _is_positive(s):
        return decline("its scale differs from entry to entry, or is not above 0", at=first)
    if x.type.element not in ("i8", "u8") or x.type.element != y.type.element:
        return decline("runtimes compare integers of 8 bits only", at=extreme)
    if not s.value.astype(element_dtype(first.type.element)).all():
        return decline(f"its scale is 0 as {first.type.element}: all numbers are zeros, of either sign", at=first)
    if first.block_size:
        return decline("its scale is that of a block, which the other may be larger than", at=first)
    return op.dequantize_linear(extreme.op(x, y), *_there(s, z), like=first)


def _as_stored(bound, s, z, real, stored):
    """A limit of numbers as one of those that are stored for them."""
    limit = np.full((1,), bound).astype(element_dtype(real.type.element))
    params = [param.value.reshape(()) for param in _there(s, z)]
    return int(op.quantize_linear(limit, *params, element=stored.type.element if z is None else None)[0])


@rule(shared="keep")
def drop_limit_before_quantising(x, s: Constant, z: Constant | None = None):
    """A limit at which the stored number has its own limit changes nothing, for storing is monotone."""
    limited = (op.relu | op.clip)(x)
    stored = op.quantize_linear(limited, s, z)
    yield stored
    known = integer_limits(stored.type.element)
    if known is None or stored.block_size or not _is_positive(s):
        return decline("no integers, or scales of blocks", at=stored)
    bounds = (0.0, None) if limited.op_name == "relu" else (limited.low, limited.high)
    params = [param.value.reshape(-1) for param in _there(s, z)]
    channels = max(param.size for param in params)
    for bound, end in zip(bounds, known, strict=True):
        if bound is None:
            continue
        limit = np.full((channels, 1), bound).astype(element_dtype(x.type.element))
        if (
            op.quantize_linear(limit, *params, axis=0, element=stored.type.element if z is None else None) != end
        ).any():
            return decline(f"numbers beyond {bound} are stored within their limits", at=limited)
    return op.quantize_linear(x, *_there(s, z), like=stored)


@rule
def move_before_dequantising(x, s: Constant, z: Constant | None = None):
    """Moving numbers of one scale is moving the stored ones."""
    real = op.dequantize_linear(x, s, z)
    moved = _MOVING(real)
    yield moved
    if not _is_single(s, z) or real.block_size:
        return decline("its scale differs from entry to entry", at=real)
    return op.dequantize_linear(moved.op(x, like=moved), *_there(s, z), like=real)


@rule
def quantise_before_moving(x, s: Constant, z: Constant | None = None):
    """Storing moved numbers by one scale is moving stored ones."""
    moved = (_MOVING | op.transpose)(x)
    stored = op.quantize_linear(moved, s, z)
    yield stored
    if not _is_single(s, z) or stored.block_size:
        return decline("its scale differs from entry to entry", at=stored)
    return moved.op(op.quantize_linear(x, *_there(s, z), like=stored), like=moved)


def _there(*params: Any) -> list[Any]:
    """Parameters that are there: of one number, they fit every shape."""
    return [param for param in params if param is not None]


@rule
def concat_before_dequantising(x, y, others, s: Constant, z: Constant | None = None):
    """Concatenating numbers of one scale is concatenating the stored ones."""
    first, second = op.dequantize_linear(x, s, z), op.dequantize_linear(y, s, z)
    concatenation = op.concat(first, second, *others)
    yield concatenation
    if not _is_shared(s, z, concatenation, first, second):
        return decline("its scale differs from entry to entry", at=first)
    if x.type.element != y.type.element:
        return decline("the element types differ", at=concatenation)
    stored = op.concat(x, y, like=concatenation)
    real = op.dequantize_linear(stored, *_there(s, z), like=first)
    return op.concat(real, *others, like=concatenation) if others else real


def _is_shared(s, z, joined, *stored):
    """Whether a scale of values is one of their concatenation, too: a number, or several along another axis."""
    rank = len(joined.shape)
    axes = {each.axis % rank for each in stored}
    is_along_another = len(axes) == 1 and joined.axis % rank not in axes
    return (_is_single(s, z) or is_along_another) and not any(each.block_size for each in stored)


@rule
def quantise_before_concat(x, others, t, s: Constant, u=None, z: Constant | None = None):
    """Of concatenated numbers some of which were stored, all are stored before."""
    real = op.dequantize_linear(x, t, u)
    concatenation = op.concat(real, *others) | op.concat(op.cast(real), *others)
    stored = op.quantize_linear(concatenation, s, z)
    yield stored
    if not _is_single(s, z) or stored.block_size:
        return decline("its scale differs from entry to entry", at=stored)
    parts = operands_of(concatenation)
    return op.concat(*(op.quantize_linear(part, *_there(s, z), like=stored) for part in parts), like=concatenation)


@rule
def concat_before_quantising(x, y, others, s: Constant, z: Constant | None = None):
    """Values stored by one scale may be concatenated before, if none of them was stored already."""
    first, second = op.quantize_linear(x, s, z), op.quantize_linear(y, s, z)
    joined = op.concat(first, second, *others)
    yield joined
    if not _is_shared(s, z, joined, first, second):
        return decline("its scale differs from entry to entry", at=joined)
    params = [param.operand for param in _there(s, z)]
    for other in others:
        if other.op_name != "quantize_linear" or other.readers > 1 or other.type.element != first.type.element:
            return decline("it is not stored so, or has other readers", at=other)
        if [each.operand for each in operands_of(other)[1:]] != params or not _is_shared(s, z, joined, first, other):
            return decline("it is stored by another scale", at=other)
    values = [x, y, *map(first_operand, others)]
    if any(value.type.element != x.type.element for value in values):
        return decline("they are stored from different element types", at=joined)
    if any(value.op_name == "dequantize_linear" or _is_cast_of_stored(value) for value in values):
        return decline("one of them was stored before: the others are stored, then", at=joined)
    return op.quantize_linear(op.concat(*values, axis=joined.axis), *_there(s, z), like=first)


def _is_cast_of_stored(value):
    return value.op_name == "cast" and first_operand(value).op_name == "dequantize_linear"


@rule(keeps="assumes")
def skip_rounding(x, s: Constant, t: Constant, z: Constant | None = None, u: Constant | None = None):
    """Of two roundings in a row the last one alone is done: it is assumed that the first one is not wanted.

    Results differ by a step of the coarser grid, and by more where the first one saturates. If that one ends at 0, its
    limits stay: they are those of an activation.
    """
    inner = op.quantize_linear(x, s, z)
    stored = op.quantize_linear(op.dequantize_linear(inner, s, z), t, u)
    yield stored
    if x.type.element != t.type.element:
        return decline("it would compute in another type", at=stored)
    limits = _limits(x, _ends(inner, s, z), _ends(stored, t, u))
    if limits is None:
        return decline(_NO_LIMITS, at=inner)
    return op.quantize_linear(_limited(x, limits), t, *_there(u), like=stored)


@rule(keeps="assumes")
def skip_rounding_before_moving(x, s: Constant, t: Constant, z: Constant | None = None, u: Constant | None = None):
    """So it is assumed where numbers move between the roundings, or the greatest of them are taken."""
    inner = op.quantize_linear(x, s, z)
    moved = _ANY_MOVING(inner)
    again = _ANY_MOVING(moved)
    stored = op.quantize_linear(op.dequantize_linear(moved | again, s, z), t, u)
    yield stored
    if not _is_single(s, z) or not _is_single(t, u) or inner.block_size or stored.block_size:
        return decline("its scale differs from entry to entry", at=inner)
    limits = _limits(x, _ends(inner, s, z), _ends(stored, t, u))
    if x.type.element != t.type.element or limits is None:
        return decline("it would compute in another type, or a scale is not above 0", at=stored)
    real = moved.op(_limited(x, limits), like=moved)
    return op.quantize_linear(again.op(real, like=again) if again else real, t, *_there(u), like=stored)


@rule(keeps="assumes")
def skip_rounding_of_stored(x, s: Constant, t: Constant, z: Constant | None = None, u: Constant | None = None):
    """Stored numbers are read at once, not stored in between by another scale: it is assumed that this is not wanted.

    Results differ by a step of the scale in between, and by more where it saturates, unless it ends at 0.
    """
    first = op.dequantize_linear(x, s, z)
    inner = op.quantize_linear(first, t, u)
    last = op.dequantize_linear(inner, t, u)
    yield last
    limits = _limits(first, _ends(inner, t, u), _ends(x, s, z))
    if first.type != last.type or limits is None:
        return decline(f"the types differ, or {_NO_LIMITS}", at=last)
    return _limited(first, limits)


_NO_LIMITS = "a scale is not above 0, not of integers, or its limits differ from entry to entry"


def _ends(stored, scale, zero):
    """The least and the greatest number that a grid has, and its step, by scale; None if it is no grid of integers."""
    known = integer_limits(stored.type.element)
    if known is None or not _is_positive(scale):
        return None
    step = scale.value.astype(np.float64)
    origin = 0.0 if zero is None else zero.value.astype(np.float64)
    return (known[0] - origin) * step, (known[1] - origin) * step, step


def _limits(x, inner, outer):
    """The limits that stay of a grid: those of one that ends at 0, where another grid goes on; None if not known.

    Quantisers leave an activation out where the grid behind it ends alike: a relu at 0, and at 6 another one.
    """
    if inner is None or outer is None:
        return None
    limits: list[float | None] = [None, None]
    if inner[0].all() and inner[1].all():
        return limits
    for index, sign in ((0, 1), (1, -1)):
        own, other = sign * inner[index], sign * outer[index]
        if own.max() <= (other + outer[2]).min():
            continue
        fact = x.fact()
        if sign * (fact.low, fact.high)[index] >= (own - inner[2]).max():
            continue
        if own.min() != own.max():
            return None
        limits[index] = float(sign * own.max())
    return limits


def _limited(x, limits):
    return x if limits == [None, None] else op.clip(x, low=limits[0], high=limits[1])


@rule(keeps="assumes")
def skip_narrow_type(x):
    """Numbers narrowed and widened again stay: it is assumed that the narrow type has them, but for rounding."""
    wide = op.cast(op.cast(x, element=rule.where(lambda kind: kind in _NARROW, "it is narrow")))
    yield wide
    return x if x.type == wide.type else decline("the types differ", at=wide)


@rule(keeps="assumes")
def store_without_cast(x, s: Constant, z: Constant | None = None):
    """Numbers are stored without being narrowed: it is assumed that the narrow type has them, but for rounding."""
    narrow = op.cast(x, element=rule.where(lambda kind: kind in _NARROW, "it is narrow"))
    stored = op.quantize_linear(narrow, s, z)
    yield stored
    if x.type.element not in ("f32", "f64"):
        return decline("it does not narrow", at=narrow)
    return op.quantize_linear(x, s, *_there(z), like=stored)


MOVE_INTEGERS = (
    move_before_dequantising,
    quantise_before_moving,
    concat_before_dequantising,
    quantise_before_concat,
    pick_stored,
    limit_stored,
    compare_stored,
)
"""Stored integers move instead of floats: the same bits; opt-in, for hardware moves what comes of them."""

MERGE_ROUNDINGS = (
    skip_rounding,
    skip_rounding_before_moving,
    skip_rounding_of_stored,
    skip_narrow_type,
    store_without_cast,
)
"""Roundings to a grid are skipped next to others."""
