"""Borders of borders, and repetitions of repetitions: explicit broadcasting, and none."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.concats import STEPS
from graphrewrite.rules.known_values import filled
from graphrewrite.rules.operands import first_operand, operands_of
from graphrewrite.rules.slices import sliced
from graphrewrite.types import SMALL_FLOATS, Quantised, as_size

__all__ = [
    "BORDERS",
    "broadcast_constant",
    "broadcast_constant_in_order",
    "compute_before_expand",
    "compute_before_expand_in_order",
    "compute_step_before_expand",
    "drop_repetition",
    "drop_repetition_in_order",
    "expand_after",
    "expand_after_in_order",
    "merge_expands",
    "merge_pads",
    "merge_tiles",
    "move_number",
    "resize_as_expand",
    "shorten_constant",
    "shorten_constant_in_order",
    "shorten_expanded_constant",
    "subtract_repeated_as_add",
    "tile_as_expand",
    "write_sizes_of_expand",
]


@rule
def merge_pads(x):
    """A border around a border of the same number, or of the same outermost entries, is one border."""
    inner = op.pad(x)
    outer = op.pad(inner)
    yield outer
    if inner.mode != outer.mode or outer.mode not in ("constant", "edge"):
        return decline("their modes differ, or the border mirrors the other one", at=outer)
    if outer.mode == "constant" and not _are_equal(inner.fill, outer.fill):
        return decline("they are borders of two numbers", at=outer)
    pads = tuple(zip(inner.pads, outer.pads, strict=True))
    if any(all(isinstance(pad, int) and pad <= 0 for pad in each.pads) for each in (inner, outer)):
        return decline("one of them is a slice", at=outer)
    if outer.mode == "edge" and any(isinstance(pad, int) and pad < 0 for pad in (*inner.pads, *outer.pads)):
        return decline("a part is taken away, of which the border repeats entries", at=outer)
    for own, other in pads:
        if not isinstance(own, int) or not isinstance(other, int):
            return decline("a size is symbolic", at=outer)
        if min(own, own + other) < 0 < max(own, other):
            return decline("what the one takes away the other does not give back", at=outer)
    sums = tuple(own + other for own, other in pads)
    taken = [
        -min(first, 0) - min(last, 0)
        for first, last in zip(sums[: len(sums) // 2], sums[len(sums) // 2 :], strict=True)
    ]
    if any(isinstance(size, int) and count > size for size, count in zip(x.shape, taken, strict=True)):
        return decline("together they take away more than there is", at=outer)
    return op.pad(x, like=outer, pads=sums)


def _are_equal(one, other):
    """Whether two numbers are the same: 0.0 is not -0.0, and NaN is NaN."""
    return str(one) == str(other) or one == other != 0


@rule
def write_sizes_of_expand(x):
    """A repetition says the sizes of its result, rather than 1 where those of its operand stay."""
    wide = op.expand(x)
    yield wide
    if tuple(wide.data["shape"]) == wide.type.shape:
        return decline("it says its sizes", at=wide)
    return op.expand(x, shape=wide.shape)


@rule(shared="keep")
def merge_expands(x):
    """Of two repetitions up to a shape only the last shape counts."""
    inner = op.expand(x)
    outer = op.expand(inner)
    yield outer
    return op.expand(x, shape=outer.shape)


@rule(shared="keep")
def move_number(c: Constant):
    """One number everywhere is that number wherever entries move."""
    moved = (op.reshape | op.transpose | op.tile)(op.expand(c))
    yield moved
    return filled(c.value.item(), moved) if c.value.size == 1 else decline("it has several numbers", at=c)


@rule(shared="keep")
def merge_tiles(x):
    """Repetitions of repetitions along the same axes are repeated as often as both together."""
    inner = op.tile(x)
    outer = op.tile(inner)
    yield outer
    pairs = zip(inner.repeats, outer.repeats, strict=True)
    return op.tile(x, repeats=tuple(as_size(own) * as_size(other) for own, other in pairs))


@rule
def tile_as_expand(x):
    """Single entries that are repeated along their axes are spread over them."""
    tiled = op.tile(x)
    yield tiled
    if any(count != 1 != size for count, size in zip(tiled.repeats, x.shape, strict=True)):
        return decline("several entries of an axis are repeated", at=tiled)
    return op.expand(x, shape=tiled.shape)


@rule
def resize_as_expand(x):
    """Single entries along the axes that are resized to the nearest one are spread over them."""
    resized = op.resize(x, mode="nearest")
    yield resized
    if any(size not in (1, other) for size, other in zip(x.shape, resized.shape, strict=True)):
        return decline("several entries of an axis are resized", at=resized)
    axes = range(len(x.shape)) if resized.axes is None else resized.axes
    if resized.coordinate_transformation_mode == "tf_crop_and_resize" or any(
        scale != 1 for axis, scale in zip(axes, resized.scales or (), strict=False) if x.shape[axis] != 1
    ):
        return decline("it crops, or its scale is not 1", at=resized)
    return op.expand(x, shape=resized.shape)


_IN_EITHER_ORDER: Any = (
    op.add | op.mul | op.maximum | op.minimum | op.equal | op.logical_and | op.logical_or | op.logical_xor
    | op.bitwise_and | op.bitwise_or | op.bitwise_xor
)  # fmt: skip
_IN_ORDER: Any = (
    op.sub | op.div | op.mod | op.pow | op.prelu | op.fma | op.where | op.less | op.less_or_equal | op.greater
    | op.greater_or_equal | op.bit_shift
)  # fmt: skip
"""Ops that repeat operands of axes of size 1 themselves."""


@rule(shared="keep")
def broadcast_constant(c: Constant, y):
    """A constant that is spread over the axes of another operand need not be, where the op does that itself."""
    repeated = op.expand(c)
    result = _IN_EITHER_ORDER(repeated, y)
    yield result
    return _with(c, repeated, result)


@rule(shared="keep")
def broadcast_constant_in_order(before, c: Constant, after):
    """So it is in a difference, a comparison or a choice."""
    repeated = op.expand(c)
    result = _IN_ORDER(*before, repeated, *after)
    yield result
    return _with(c, repeated, result)


def _may_repeat(c):
    """Whether a constant may repeat its entries along an axis, or have a first axis of one: a look at two of each."""
    values = c.value
    if not values.size or values.shape[:1] == (1,):
        return bool(values.size)
    first, step = values.item(0), 1  # along each axis the next entry is compared with it; NaN may be repeated
    for size in reversed(values.shape):
        if size > 1 and ((other := values.item(step)) == first or other != other):
            return True
        step *= size
    return False


Repeating = Annotated[Constant, rule.where(_may_repeat, "its entries are the same along an axis, or the first has one")]


@rule
def shorten_constant(c: Repeating, y):
    """Entries of a constant that are the same along an axis are one, which the op repeats itself."""
    result = _IN_EITHER_ORDER(c, y)
    yield result
    return _with_shorter(c, result)


@rule
def shorten_constant_in_order(before, c: Repeating, after):
    """So it is in a difference, a comparison or a choice."""
    result = _IN_ORDER(*before, c, *after)
    yield result
    return _with_shorter(c, result)


@rule
def shorten_expanded_constant(c: Repeating):
    """So it is where they are repeated further."""
    wide = op.expand(c)
    yield wide
    rank = len(c.shape)
    short = _shortened(c, range(rank + 1), rank)
    return decline(_SHORT, at=c) if short is c else op.expand(short, shape=wide.shape)


_SHORT = "its entries differ along each axis, or spread another operand"


def _with_shorter(c, result):
    """The result with a constant that repeats less, where another operand is as long."""
    operands = operands_of(result)
    others = [x for x in operands if x.operand != c.operand]
    if all(x.is_constant for x in others):
        return decline("it is computed", at=result)
    if len(operands) - len(others) > 1 and c.shape == result.shape:
        return decline("it is read twice, of which another rule may make one", at=result)
    shapes, whole = [x.shape for x in others], result.shape
    spread = {at for shape in shapes for at in range(1, len(shape) + 1) if shape[-at] == whole[-at]}
    short = _shortened(c, spread, max(map(len, shapes)))
    return decline(_SHORT, at=c) if short is c else _with(short, c, result)


def _shortened(c, spread, rank):
    """A constant with one of its equal entries along axes, by number from the end, and no first ones up to a rank."""
    per_channel = isinstance(c.type.element, Quantised) and c.type.element.axis is not None
    if c.type.layout is not None or per_channel or not c.value.size:
        return c
    count = c.value.ndim
    equal = [axis for axis in range(count) if count - axis in spread and _repeats(c.value, axis)]
    if not equal and (count > rank or c.value.shape[:1] != (1,)):
        return c
    short = sliced(c, dict.fromkeys(equal, (0, 1, 1)))
    sizes = list(short.shape)
    while sizes[:1] == [1] and len(sizes) <= rank:
        del sizes[0]
    return short if len(sizes) == len(short.shape) else op.reshape(short, shape=sizes)


def _repeats(values, axis):
    """Whether all entries along an axis are the same, bit for bit; those that differ mostly do so at once."""
    if values.shape[axis] == 1:
        return False
    a, b = values.item(0), values.item(math.prod(values.shape[axis + 1 :]))
    if a != b and a == a and b == b:  # NaN may be repeated
        return False
    first, second = (values.take([index], axis) for index in (0, 1))
    return first.tobytes() == second.tobytes() and np.broadcast_to(first, values.shape).tobytes() == values.tobytes()


@rule(shared="keep")
def compute_before_expand(c: Constant, y):
    """What is computed of constants, some of which are repeated, is repeated itself, and computed once and for all."""
    result = _IN_EITHER_ORDER(op.expand(c), y)
    yield result
    return _computed_once(result)


@rule(shared="keep")
def compute_before_expand_in_order(before, c: Constant, after):
    """So it is in a difference, a comparison or a choice."""
    result = _IN_ORDER(*before, op.expand(c), *after)
    yield result
    return _computed_once(result)


@rule(shared="keep")
def compute_step_before_expand(c: Constant):
    """So it is where one step is done to each of its entries."""
    step = STEPS(op.expand(c))
    yield step
    return _computed_once(step)


def _computed_once(result):
    """The repetition of what an op makes of constants; only of these it is less."""
    if result.op is op.prelu:
        return decline("slopes do not broadcast what they are slopes of", at=result)
    operands = [_once(x) for x in operands_of(result)]
    if not all(x.is_constant for x in operands):
        return decline("an operand is no constant", at=result)
    if result.type.layout is not None:
        return decline("its axes have names", at=result)
    return op.expand(result.op(*operands, like=result), shape=result.shape)


@rule
def subtract_repeated_as_add(x, c: Constant):
    """Subtracting a constant that is repeated is adding its negative, as that of one that is not."""
    repeated = op.expand(c)
    difference = op.sub(x, repeated)
    yield difference
    if x.type.layout is None and c.type.layout is not None:
        return decline("only the constant has named axes", at=c)
    if c.type.element in SMALL_FLOATS:
        return decline("floats of 8 or 4 bits need not have a negative", at=c)
    return op.add(x, op.expand(op.neg(c), shape=repeated.shape))


def _once(x):
    return first_operand(x) if x.op_name == "expand" else x


@rule(shared="keep")
def drop_repetition(x, y):
    """No more need any other operand be spread."""
    repeated = op.expand(x)
    result = _IN_EITHER_ORDER(repeated, y)
    yield result
    return _with(x, repeated, result)


@rule(shared="keep")
def drop_repetition_in_order(before, x, after):
    """So it is in a difference, a comparison or a choice."""
    repeated = op.expand(x)
    result = _IN_ORDER(*before, repeated, *after)
    yield result
    return _with(x, repeated, result)


def _with(x, repeated, result):
    """The result with an operand in place of its repetition, if the op repeats it as far."""
    if x.type.layout != repeated.type.layout:
        return decline("it loses the names of its axes", at=repeated)
    operands = result.graph.operands(result.node)
    if result.op is op.prelu and operands[0] == repeated.operand:
        return decline("slopes do not broadcast what they are slopes of", at=result)
    alone = result.op(*[x if o == repeated.operand else result.replay.bound(o) for o in operands], like=result)
    return alone if alone.type == result.type else decline("no other operand has that shape", at=result)


@rule
def expand_after(x, others):
    """What each entry goes through by itself, or with one number, is computed before entries are repeated."""
    repeated = op.expand(x)
    result = (STEPS | _IN_EITHER_ORDER)(repeated, *others)
    yield result
    return _repeated_after(x, repeated, result)


@rule
def expand_after_in_order(before, x, after):
    """So it is in a difference, a comparison or a choice."""
    repeated = op.expand(x)
    result = _IN_ORDER(*before, repeated, *after)
    yield result
    return _repeated_after(x, repeated, result)


def _repeated_after(x, repeated, result):
    """The repetition of what an op makes of an operand, if all others are single numbers."""
    operands = operands_of(result)
    others = [each for each in operands if each.operand != repeated.operand]
    if any(set(each.shape) - {1} or len(each.shape) > len(x.shape) for each in others):
        return decline("another operand is no single number", at=result)
    if x.type.layout is not None or result.type.layout is not None:
        return decline("its axes have names", at=result)
    once = result.op(*[x if each.operand == repeated.operand else each for each in operands], like=result)
    return op.expand(once, shape=result.shape)


BORDERS = (
    merge_pads,
    write_sizes_of_expand,
    merge_expands,
    move_number,
    shorten_constant,
    shorten_constant_in_order,
    shorten_expanded_constant,
    broadcast_constant,
    broadcast_constant_in_order,
    compute_before_expand,
    compute_before_expand_in_order,
    compute_step_before_expand,
    subtract_repeated_as_add,
)
"""Borders and repetitions: a part of `RULES`."""
