"""Translation of ops that only move entries."""

from __future__ import annotations

import math

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
    whole, known = math.prod(x.shape), math.prod(d for d in sizes if d != -1)
    if sizes.count(-1) == 1 and not isinstance(first, str) and known and whole % known == 0:
        sizes[sizes.index(-1)] = whole // known
    if -1 in sizes or math.prod(sizes) != whole or not sizes:
        return None
    return _reshaped(t, x, tuple(sizes))


def _reshaped(t: Translation, x: KernelValue, shape: tuple[int, ...]) -> KernelValue | None:
    if not x.shape or shape == x.shape:
        return x if shape == x.shape else None
    x = t.computed(x)
    if len(x.shape) > 1:  # to one axis, channels first
        flat = math.prod(x.shape)
        seen = (*x.shape[1:], x.shape[0])
        order = (len(seen) - 1, *range(len(seen) - 1))
        target = t.register((flat,), t.registers[x.register].dtype)
        x = x._replace(
            register=t.emit(Copy((x.register,), target, seen, x.shape, order, tuple(range(len(seen))))),
            shape=(flat,),
        )
    if len(shape) > 1:  # from one axis, channels last
        laid = (*shape[1:], shape[0])
        order = (len(laid) - 1, *range(len(laid) - 1))
        target = t.register(shape, t.registers[x.register].dtype)
        x = x._replace(
            register=t.emit(Copy((x.register,), target, shape, laid, tuple(range(len(laid))), order)), shape=shape
        )
    return x


def translate_transpose(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Permute axes if the batch stays the first axis."""
    (x,) = operands
    perm, rank = [int(p) for p in call.attributes["perm"]], len(x.shape) + 1
    if sorted(perm) != list(range(rank)) or perm[0] != 0:
        return None
    moved = [p - 1 for p in perm[1:]]
    shape = tuple(x.shape[m] for m in moved)
    if moved == sorted(moved):
        return x
    x = t.computed(x)
    seen, laid = (*x.shape[1:], x.shape[0]), (*shape[1:], shape[0])
    lies = [(m - 1) % len(moved) for m in moved]  # channels are the last axis of a register
    target = t.register(shape, t.registers[x.register].dtype)
    order = (len(moved) - 1, *range(len(moved) - 1))
    return x._replace(register=t.emit(Copy((x.register,), target, seen, laid, tuple(lies), order)), shape=shape)
