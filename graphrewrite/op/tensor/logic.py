"""Logic on truth values, and on the bits of integers."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.define import define_op, elementwise
from graphrewrite.types import Tensor

__all__ = [
    "bit_shift",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
]

_TRUTH = frozenset({"bool"})
_INTEGERS = frozenset({"integer"})
_DIRECTIONS = ("left", "right")


@define_op(elements=_TRUTH, commutative=True)
def logical_and(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether both operands are true.

    Examples
    --------
    >>> logical_and(np.array([True, False]), np.array([True, True])).tolist()
    [True, False]
    """
    return np.logical_and(x, y)


@define_op(elements=_TRUTH, commutative=True)
def logical_or(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether at least one operand is true.

    Examples
    --------
    >>> logical_or(np.array([True, False]), np.array([False, False])).tolist()
    [True, False]
    """
    return np.logical_or(x, y)


@define_op(elements=_TRUTH, commutative=True)
def logical_xor(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether exactly one operand is true.

    Examples
    --------
    >>> logical_xor(np.array([True, False]), np.array([True, True])).tolist()
    [False, True]
    """
    return np.logical_xor(x, y)


@define_op(elements=_TRUTH)
def logical_not(x: np.ndarray) -> np.ndarray:
    """Whether the operand is false.

    Examples
    --------
    >>> logical_not(np.array([True, False])).tolist()
    [False, True]
    """
    return np.logical_not(x)


@define_op(elements=_INTEGERS, commutative=True)
def bitwise_and(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bits that both integers have, in two's complement.

    Examples
    --------
    >>> bitwise_and(np.array([6, -1]), 3).tolist()
    [2, 3]
    """
    return np.bitwise_and(x, y)


@define_op(elements=_INTEGERS, commutative=True)
def bitwise_or(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bits that at least one of two integers has, in two's complement.

    Examples
    --------
    >>> bitwise_or(np.array([6, -1]), 3).tolist()
    [7, -1]
    """
    return np.bitwise_or(x, y)


@define_op(elements=_INTEGERS, commutative=True)
def bitwise_xor(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Bits that exactly one of two integers has, in two's complement.

    Examples
    --------
    >>> bitwise_xor(np.array([6, -1]), 3).tolist()
    [5, -4]
    """
    return np.bitwise_xor(x, y)


@define_op(elements=_INTEGERS)
def bitwise_not(x: np.ndarray) -> np.ndarray:
    """Every bit turned over, in two's complement.

    Examples
    --------
    >>> bitwise_not(np.array([6, -1])).tolist()
    [-7, 0]
    """
    return np.bitwise_not(x)


def _infer_shift(x: Tensor, y: Tensor, *, direction: str) -> Tensor:
    if direction not in _DIRECTIONS:
        raise TypeMismatchError(
            f"the direction is 'left' or 'right', got {direction!r}{did_you_mean(str(direction).lower(), _DIRECTIONS)}"
        )
    return elementwise(x, y)


@define_op(infer=_infer_shift, elements=_INTEGERS)
def bit_shift(x: np.ndarray, y: np.ndarray, *, direction: str) -> np.ndarray:
    """``x * 2**y`` without the bits that go beyond the type, or ``floor(x / 2**y)`` (ONNX specification, BitShift).

    By a negative number of bits, or by all that there are, nothing is left but the sign of a shift to the right.

    Parameters
    ----------
    x
        Integers, of any shape.
    y
        Numbers of bits; the shapes broadcast.
    direction
        "left" or "right".

    Examples
    --------
    >>> bit_shift(np.array([16, -4, -1]), np.array([1, 2, -1]), direction="left").tolist()
    [32, -16, 0]
    >>> bit_shift(np.array([16, -4, -1]), np.array([1, 2, 99]), direction="right").tolist()
    [8, -1, -1]
    """
    kind, last = x.dtype.type, 8 * x.dtype.itemsize - 1
    beyond = (y < 0) | (y > last)
    if direction == "right":  # the last shift that numpy defines leaves nothing but the sign, and of the unsigned a bit
        shifted = np.right_shift(x, np.where(beyond, kind(last), y))
        return np.where(beyond, kind(0), shifted) if x.dtype.kind == "u" else shifted
    return np.where(beyond, kind(0), np.left_shift(x, np.where(beyond, kind(0), y)))
