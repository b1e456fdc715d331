"""Translation of ops that only move entries."""

from __future__ import annotations

import math
from collections.abc import Iterable

from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.instruction import Copy
from graphrewrite.execution.program.translation import KernelValue, Translation

__all__ = ["translate_flatten", "translate_identity", "translate_reshape", "translate_transpose"]


def translate_identity(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Return the operand itself."""
    return operands[0]


def translate_flatten(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Reshape to one axis after the batch."""
    (x,) = operands
    return _reshaped(t, x, (math.prod(x.shape),)) if call.attributes["axis"] == 1 else None


def translate_reshape(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Reshape if the batch stays the first axis: the shape begins with a symbol or 0."""
    (x,) = operands
    if call.attributes["allow_zero"]:
        return None
    first, *rest = call.attributes["shape"] or (1,)
    if not (isinstance(first, str) or first == 0) or any(isinstance(d, str) for d in rest):
        return None
    if any(d == 0 and i >= len(x.shape) for i, d in enumerate(rest)):
        return None
    sizes = [x.shape[i] if d == 0 else int(d) for i, d in enumerate(rest)]
    whole, fixed = math.prod(x.shape), math.prod(d for d in sizes if d != -1)
    if sizes.count(-1) == 1 and not isinstance(first, str) and fixed and whole % fixed == 0:
        sizes[sizes.index(-1)] = whole // fixed
    if -1 in sizes or math.prod(sizes) != whole or not sizes:
        return None
    return _reshaped(t, x, tuple(sizes))


_View = tuple[tuple[int, ...], Iterable[int]]
"""A shape in which a register is seen, and a permutation of its axes."""


def _stored(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a register, whose last axis before the frames is that of the channels."""
    return (*shape[1:], shape[0])


def _channels_first(rank: int) -> tuple[int, ...]:
    return (rank - 1, *range(rank - 1))


def _copied(t: Translation, x: KernelValue, shape: tuple[int, ...], source: _View, target: _View) -> KernelValue:
    register = t.register(shape, t.registers[x.register].dtype)
    t.emit(Copy((x.register,), register, source[0], target[0], tuple(source[1]), tuple(target[1])))
    return x._replace(register=register, shape=shape)


def _reshaped(t: Translation, x: KernelValue, shape: tuple[int, ...]) -> KernelValue | None:
    if not x.shape or shape == x.shape:
        return x if shape == x.shape else None
    x = t.computed(x)
    # Via one axis, in which entries have the order of the op: channels first.
    if (rank := len(x.shape)) > 1:
        stored = (_stored(x.shape), _channels_first(rank))
        x = _copied(t, x, (math.prod(x.shape),), stored, (x.shape, range(rank)))
    if (rank := len(shape)) > 1:
        x = _copied(t, x, shape, (shape, range(rank)), (_stored(shape), _channels_first(rank)))
    return x


def translate_transpose(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Permute axes if the batch stays the first axis."""
    (x,) = operands
    perm, rank = [int(p) for p in call.attributes["perm"]], len(x.shape) + 1
    if sorted(perm) != list(range(rank)) or perm[0] != 0:
        return None
    axes = [p - 1 for p in perm[1:]]
    if axes == sorted(axes):
        return x
    shape = tuple(x.shape[axis] for axis in axes)
    stored_axes = [(axis - 1) % len(axes) for axis in axes]  # channels are the last axis of a register
    target = (_stored(shape), _channels_first(len(axes)))
    return _copied(t, t.computed(x), shape, (_stored(x.shape), stored_axes), target)
