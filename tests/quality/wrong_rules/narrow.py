"""Wrong rules that few graphs pass to: of one element type, with constants or attributes that fit each other."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, decline, op, rule


def _are_known(*values: Any) -> bool:
    return all(isinstance(size, int) for value in values for size in value.shape)


def _of(*elements: str) -> Any:
    return Annotated[Any, rule.where(lambda x: str(x.type.element) in elements, f"its elements are {elements}")]


Byte = _of("u8")
Short = _of("i8", "u8", "i16", "u16")


@rule
def mask_after_shift(x, c: Constant, d: Constant):
    """A negative mask that is shifted keeps its upper bits."""
    shifted = op.bit_shift(op.bitwise_and(x, c), d, direction="right")
    yield shifted
    if c.shape or d.shape or not 0 <= int(d.value) < 7 or int(c.value) >= 0:
        return decline("no negative mask")
    mask = np.asarray((int(c.value) >> int(d.value)) & 0x7F, c.value.dtype)
    return op.bitwise_and(op.bit_shift(x, d, direction="right"), mask)


@rule
def shifts_added_in_bytes(x: Byte, a: Constant, b: Constant):
    """The sum of two shifts wraps around in 8 bits."""
    yield op.bit_shift(op.bit_shift(x, a, direction="right"), b, direction="right")
    return op.bit_shift(x, op.add(a, b), direction="right")


@rule
def widened_past_a_sign(x: Byte, e):
    """A byte that becomes signed before it is widened is another number."""
    yield op.cast(op.cast(x, element="i8"), element=e)
    return op.cast(x, element=e) if e in ("i32", "i64") else decline("it is not widened")


@rule
def difference_of_bytes(x: Byte, y):
    """A difference that wraps around is above 0 wherever it is not 0."""
    yield op.greater(op.sub(x, y), 0)
    return op.greater(x, y)


@rule
def through_half_precision(x: Short, e):
    """Floats of 16 bits do not hold integers of 16 bits."""
    yield op.cast(op.cast(x, element="f16"), element=e)
    return op.cast(x, element=e) if e in ("f32", "f64", "i32", "i64") else decline("it stays narrow")


@rule
def floor_before_sum(x, c: Constant):
    """A sum with a whole number may be rounded up to one."""
    yield op.floor(op.add(x, c))
    if not np.isfinite(c.value).all() or (c.value != np.floor(c.value)).any():
        return decline("it is not whole")
    return op.add(op.floor(x), c)


@rule
def zero_points_subtracted_in_bytes(a, b, x: Constant, y: Constant):
    """What is subtracted in 8 bits wraps around."""
    product = op.matmul_integer(a, b, x, y)
    yield product
    if x.shape or y.shape or x.type.element != a.type.element or y.type.element != b.type.element:
        return decline("there is a zero point for each row")
    return op.matmul(*(op.cast(op.sub(each, zero), element="i32") for each, zero in ((a, x), (b, y))))


@rule
def merged_before_transpose(x, p, s):
    """Axes that change places are merged in another order."""
    shaped = op.reshape(op.transpose(x, perm=p), shape=s)
    yield shaped
    if not _are_known(x, shaped) or len(p) != 3 or p[0] != 0 or len(shaped.shape) != 2:
        return decline("other axes are merged")
    return op.reshape(x, shape=shaped.shape) if shaped.shape[0] == x.shape[0] else decline("the first axis is merged")


@rule(keeps="rounding")
def column_as_row(x, w: Constant, b: Constant):
    """A column of as many numbers as there are outputs is added to rows."""
    total = op.add(op.matmul(x, w), b)
    yield total
    if len(x.shape) != 2 or w.value.ndim != 2 or len(total.shape) != 2 or total.shape[0] != x.shape[0]:
        return decline("no matrices")
    if b.value.size != w.value.shape[1]:
        return decline("it has other numbers than one an output")
    return op.linear(x, w.value.T.copy(), b.value.reshape(-1))
