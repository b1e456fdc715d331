"""Rounding to fixed point whose binary points are learnt: a float network as its hardware will compute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import FLOATS
from graphrewrite.types import FixedPoint, Tensor

__all__ = ["fake_quantise"]


def _infer(x: Tensor, exponent: Tensor, *, width: int, signed: bool, **_: object) -> Tensor:
    FixedPoint(signed, width, 0)  # raises for an invalid width
    if exponent.element != x.element:
        raise TypeMismatchError(f"the exponents of {x} are {x.element} as well, got {exponent}; cast them first")
    if broadcast_shape(x.shape, exponent.shape) != x.shape:
        raise TypeMismatchError(f"the exponents {exponent} do not broadcast to {x}")
    return x


def _held(
    x: np.ndarray, exponent: np.ndarray, *, width: int = 8, signed: bool = True
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the op near to some operands, with what rounding adds held as it is there."""
    element = FixedPoint(signed, width, 0)
    low, high = element.minimum, element.maximum

    def limited(x: np.ndarray, power: np.ndarray) -> np.ndarray:
        return np.clip(x * np.exp2(-power), low, high)

    power = np.rint(exponent)
    moved, more = power - exponent, np.rint(limited(x, power)) - limited(x, power)

    def near(x: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        return (limited(x, exponent + moved) + more) * np.exp2(exponent + moved)

    return near


@define_op(infer=_infer, elements=FLOATS, held=_held)
def fake_quantise(x: np.ndarray, exponent: np.ndarray, *, width: int = 8, signed: bool = True) -> np.ndarray:
    """The nearest of the numbers that so many bits hold in steps of ``2**round(exponent)``: half to even, saturated.

    The arithmetic is that of `quantise`; the binary point is an operand, and may be learnt. Gradients hold what
    rounding adds as it is, of numbers and exponents (straight-through): the slope of numbers is 1 within the format and
    0 beyond.

    Parameters
    ----------
    x
        Any shape.
    exponent
        Of the steps, one for all or one a channel: it broadcasts to the shape of the first operand.
    width
        Number of bits.
    signed
        Whether the numbers have a sign.

    Examples
    --------
    >>> fake_quantise(np.array([0.3, 9.0]), np.array(-2.2), width=4).tolist()
    [0.25, 1.75]
    >>> fake_quantise.vjp(np.ones(2), np.array([0.3, 9.0]), np.array(-2.0), width=4, wrt=0).round(6).tolist()
    [1.0, 0.0]
    """
    element = FixedPoint(signed, width, 0)
    power = np.rint(np.asarray(exponent, np.float64))
    with np.errstate(all="ignore"):
        whole = np.clip(np.rint(np.asarray(x, np.float64) * np.exp2(-power)) + 0.0, element.minimum, element.maximum)
        return np.asarray(whole * np.exp2(power), x.dtype)
