"""Numbers that are not known: the inputs of a proof."""

from __future__ import annotations

import z3

from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.width import width_of

__all__ = ["unknown_float", "unknown_number"]

_STORED = {"bf16": 16}
"""Types whose dtype has more bits than they have: the first ones are theirs."""


def unknown_number(name: str, low: int, high: int) -> Number:
    """Return an unknown whole number.

    Parameters
    ----------
    low, high : int
        Its bounds; where its bits do not say them, a constraint must.

    Examples
    --------
    >>> unknown_number("x", 0, 15).term
    ZeroExt(1, x)
    """
    if low == high:
        return Number(low, high)
    width = width_of(low, high)
    if low == 0 and high == (1 << (width - 1)) - 1:
        return Number(low, high, z3.ZeroExt(1, z3.BitVec(name, width - 1)))
    return Number(low, high, z3.BitVec(name, width))


def unknown_float(name: str, width: int, told: str) -> Number:
    """Return any float, NaN and infinities included, as its bits: it may be moved, and nothing is computed with it.

    Parameters
    ----------
    width : int
        Bits.

    Examples
    --------
    >>> unknown_float("x", 32, "f32").opaque
    'f32'
    """
    bits = z3.BitVec(name, _STORED.get(told, width))
    term = bits if bits.size() == width else z3.Concat(bits, z3.BitVecVal(0, width - bits.size()))
    return Number(0, 0, term, opaque=told)
