"""Signs of floats: known, a condition on the input, or None if numpy leaves them open.

The sign of a zero is kept beside its value, since zeros of both signs are equal numbers with different bits.
"""

from __future__ import annotations

from typing import Any

import z3

__all__ = ["agreed", "both", "chosen", "either", "opposite", "same_sign"]


def opposite(a: Any) -> Any:
    """Return the opposite of True, False, a condition or None.

    Examples
    --------
    >>> opposite(True), opposite(None)
    (False, None)
    """
    if a is None:
        return None
    if isinstance(a, bool):
        return not a
    return a.arg(0) if z3.is_not(a) else z3.Not(a)


def both(a: Any, b: Any) -> Any:
    """Return whether both hold.

    Examples
    --------
    >>> both(True, None), both(False, None)
    (None, False)
    """
    if a is False or b is False:
        return False
    if a is None or b is None:
        return None
    if a is True:
        return b
    return a if b is True else z3.And(a, b)


def either(a: Any, b: Any) -> Any:
    """Return whether one holds and not the other: of a product, the sign.

    Examples
    --------
    >>> either(True, False), either(True, True), either(True, None)
    (True, False, None)
    """
    if a is None or b is None:
        return None
    if isinstance(a, bool):
        return opposite(b) if a else b
    if isinstance(b, bool):
        return opposite(a) if b else a
    return z3.Xor(a, b)


def agreed(a: Any, b: Any) -> Any:
    """Return what two signs are if they are the same, else None.

    Examples
    --------
    >>> agreed(True, True), agreed(True, False)
    (True, None)
    """
    return a if _is_same(a, b) else None


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return the first sign where a condition holds, else the second.

    Examples
    --------
    >>> chosen(z3.Bool("c"), True, False)
    If(c, True, False)
    """
    if _is_same(a, b):
        return a
    return None if a is None or b is None else z3.If(condition, _term(a), _term(b))


def same_sign(a: Any, b: Any) -> Any:
    """Return whether two signs are the same.

    Examples
    --------
    >>> same_sign(True, True), same_sign(True, z3.Bool("c"))
    (True, c)
    """
    return True if _is_same(a, b) else opposite(either(a, b))


def _is_same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return False
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a.eq(b))


def _term(sign: Any) -> Any:
    return z3.BoolVal(sign) if isinstance(sign, bool) else sign
