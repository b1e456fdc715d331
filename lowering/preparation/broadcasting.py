"""Explicit broadcasting: hardware takes a beat of each operand."""

from __future__ import annotations

from typing import Any

from graphrewrite import decline, op, rule
from graphrewrite.rules.operands import operands_of

__all__ = ["spread_operand"]

_PAIRS = op.add | op.sub | op.mul | op.integer_add | op.integer_sub | op.integer_mul


def _tiled(value: Any, shape: tuple[int | str, ...]) -> Any:
    """A value tiled to a shape: first along channels, then along positions, as the components do."""
    rank = len(shape)
    for axes in ((1,), range(2, rank)):
        repeats = tuple(
            int(shape[i]) if i in axes and value.shape[i] != shape[i] else 1  # only sizes of 1 differ
            for i in range(rank)
        )
        if set(repeats) != {1}:
            value = op.tile(value, repeats=repeats)
    return value


@rule
def spread_operand(x, y):
    """An operand that is read again for each channel or position is the same as one that repeats its entries."""
    pair = _PAIRS(x, y)
    yield pair
    operands = operands_of(pair)
    if any(operand.is_constant for operand in operands):
        return decline("a constant takes no beats", at=pair)
    if all(operand.shape == pair.shape for operand in operands):
        return decline("its operands have one shape", at=pair)
    for operand in operands:
        if len(operand.shape) != len(pair.shape) or operand.shape[:1] != pair.shape[:1]:
            return decline("its operands differ in their number of axes, or in their batch", at=operand)
        if any(a != b and isinstance(b, str) for a, b in zip(operand.shape, pair.shape, strict=True)):
            return decline("a size besides the batch is symbolic", at=operand)
    return pair.op(*(_tiled(operand, pair.shape) for operand in operands), like=pair)
