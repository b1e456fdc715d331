"""Indices of 32 bits where they fit: half the memory, and what small processors count in."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import integer_limits

__all__ = ["drop_cast_of_indices", "narrow_constant_indices"]

_INDICES = ("i32", "i64")
_WIDE = ("i64", "u64")
_LIMITS = (-(2**31), 2**31 - 1)


@rule
def narrow_constant_indices(x, c: Constant):
    """Constant indices of 64 bits that fit in 32 are stored in these."""
    taken = (op.gather | op.gather_elements | op.gather_nd)(x, c)
    yield taken
    if x.is_constant:
        return decline("what is taken is known", at=taken)
    if c.type.element not in _WIDE:
        return decline(f"indices of {c.type.element} are no wider than 32 bits", at=taken)
    if not c.fact().is_within(*_LIMITS):
        return decline("an index does not fit in 32 bits", at=taken)
    return taken.op(x, op.cast(c, element="i32"), like=taken)


@rule(shared="keep")
def drop_cast_of_indices(x, i):
    """Indices that were cast are used as they were, where the cast holds all of them."""
    cast = op.cast(i)
    taken = (op.gather | op.gather_elements | op.gather_nd)(x, cast)
    yield taken
    if x.is_constant and i.is_constant:
        return decline("what is taken is known", at=taken)
    if i.type.element not in _INDICES:
        return decline(f"indices are of {' or '.join(_INDICES)}, as ONNX has them", at=cast)
    limits = integer_limits(cast.type.element)
    if limits is None or not i.fact().is_within(*limits):
        return decline(f"{cast.type.element} does not hold every index", at=cast)
    return taken.op(x, i, like=taken)
