"""Fixed-point arithmetic on stored numbers, written as products, sums and divisions of integers of 64 bits."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.lowering.composite.axes import bare, named
from graphrewrite.lowering.composite.precision import converted
from graphrewrite.op.quantised.softmax import exponentials
from graphrewrite.types import element_kind, integer_limits

__all__ = ["LOWER_FIXED_POINT"]

_MOST = (1 << 31) - 1
_DEEPEST = 62


def _floored(x, divisor):
    """The quotient by a positive integer, rounded down."""
    return op.div(x - op.mod(x, divisor), divisor)


def _high(x, y):
    """A product divided by 2**31, rounded half up."""
    return _floored(x * y + np.int64(1 << 30), np.int64(1 << 31))


def _limited(x, node, carrier):
    """Numbers within the limits of a node, in its element type."""
    least, most = integer_limits(node.type.element) or (0, 0)
    low = least if node.low is None else max(node.low, least)
    high = most if node.high is None else min(node.high, most)
    return op.cast(op.clip(x, low=carrier(low), high=carrier(high)), element=node.type.element)


@rule
def write_multiply_fixed_point_by_divisions(x, multiplier: Constant, exponent: Constant):
    """A product is divided by 2**31, and then by a power of two: rounded half up, and half away from zero."""
    node = op.multiply_fixed_point(x, multiplier, exponent)
    yield node
    bits, factor = np.clip(exponent.value.astype(np.int64), -31, 30), multiplier.value.astype(np.int64)
    up, down = node.left_shift + np.maximum(bits, 0), np.maximum(-bits, 0)
    if (up > _DEEPEST).any() or (up < 0).any():
        return decline("it shifts numbers out of their word", at=node)
    numbers = converted(x, "i64")
    if node.input_zero_point:
        numbers = numbers - np.int64(node.input_zero_point)
    if up.any():
        numbers = converted(converted(numbers * (np.int64(1) << up), "i32"), "i64")
    scaled = op.minimum(_high(numbers, factor), np.int64(_MOST))
    if down.any():
        half = (np.int64(1) << down) >> 1
        away = op.where(op.less(scaled, np.int64(0)), half - (half > 0), half)
        scaled = _floored(scaled + away, np.int64(1) << down)
    return _limited(scaled + np.int64(node.zero_point), node, int)


@rule
def write_round_half_away_by_floor(x):
    """The size of a number is rounded down, or up from a half on, and gets its sign again."""
    node = op.round_half_away(x)
    yield node
    wide = converted(x, "f64")
    size = op.abs(wide)
    whole = op.floor(size)
    near = op.where(op.greater_or_equal(size - whole, 0.5), whole + 1.0, whole)
    signed = op.where(op.less(wide, 0.0), op.neg(near), near)
    return _limited(op.where(op.is_nan(wide), np.float64(0), signed) + float(node.zero_point), node, float)


@rule
def write_fixed_point_softmax_by_divisions(x):
    """Exponentials of a table are divided by their sum, whose reciprocal is found by three steps of Newton."""
    node = op.fixed_point_softmax(x)
    yield node
    if not isinstance(x.shape[-1], int) or not x.shape[-1]:
        return decline("there may be no entries along its last axis", at=x)
    wide = op.cast(bare(x), element="i64")
    terms = op.gather(exponentials(node.scale, node.beta), op.reduce_max(wide, axes=(-1,)) - wide, axis=0)
    total = op.reduce_sum(_floored(terms + np.int64(1 << 11), np.int64(1 << 12)), axes=(-1,))
    powers = np.int64(1) << np.arange(40)
    reached = op.cast(op.greater_or_equal(op.unsqueeze(total, axes=(len(x.shape),)), powers[:32]), element="i64")
    zeros = op.sub(np.int64(32), op.reduce_sum(reached, axes=(-1,), keep_dims=False))
    half = _floored(total * op.gather(powers, zeros, axis=0), np.int64(2))
    inverse = _high(half, np.int64(-1010580540)) + np.int64(1515870810)
    for _ in range(3):
        step = _high(inverse, op.sub(np.int64(1 << 29), _high(half, inverse))) * np.int64(4)
        inverse = inverse + op.clip(step, low=-_MOST - 1, high=_MOST)
    inverse = op.clip(inverse * np.int64(2), low=-_MOST - 1, high=_MOST)
    shift = op.sub(np.int64(35), zeros)
    divisor = op.gather(powers, shift, axis=0)
    quotient = _floored(_high(inverse, terms) + op.div(divisor, np.int64(2)), divisor)
    return named(op.cast(op.clip(quotient - np.int64(128), low=-128, high=127), element="i8"), node)


@rule
def write_lookup_by_gather(x, table):
    """The entry of a table at the distance from its first number, within its ends."""
    node = op.lookup(x, table)
    yield node
    if element_kind(x.type.element) != "integer" or element_kind(table.type.element) == "fixed":
        return decline("its operands are mantissas of fixed point", at=node)
    if len(table.shape) != 1 or not isinstance(table.shape[0], int):
        return decline("it has a table for each channel, or one of a symbolic size", at=table)
    last = min(node.low + table.shape[0], 1 << 63) - 1
    index = op.clip(converted(x, "i64"), low=node.low, high=last) - np.int64(node.low)
    return named(op.gather(bare(table), index, axis=0), node)


LOWER_FIXED_POINT = (
    write_multiply_fixed_point_by_divisions,
    write_round_half_away_by_floor,
    write_fixed_point_softmax_by_divisions,
    write_lookup_by_gather,
)
"""Fixed-point arithmetic by that of integers."""
