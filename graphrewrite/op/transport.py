"""Ops between tensors of mantissas and streams of beats, which change the transport and no value."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Tensor, Type

__all__ = ["enter", "leave"]


def _infer_enter(x: Type) -> Stream:
    if not isinstance(x, Tensor) or not isinstance(x.element, FixedPoint) or len(x.shape) < 2:
        raise TypeMismatchError(f"a stream carries mantissas with a batch and channels, not {x}")
    sizes = [d for d in x.shape[1:] if isinstance(d, int)]
    if len(sizes) != len(x.shape) - 1:
        raise TypeMismatchError(f"only the batch of {x} may be symbolic")
    return Stream(x.element, tuple(sizes))


@define_op(level="bridge", infer=_infer_enter)
def enter(x: np.ndarray) -> np.ndarray:
    """A tensor of mantissas as a stream: one frame after the other, channels side by side.

    Examples
    --------
    >>> print(*enter.infer(Tensor(FixedPoint(True, 8), ("N", 3, 4, 4))))
    stream s8f0[3,4,4]
    """
    return x


def _infer_leave(x: Type) -> Tensor:
    if not isinstance(x, Stream):
        raise TypeMismatchError(f"{x} is a tensor already; only a stream can be left")
    return Tensor(x.element, ("N", *x.shape))


@define_op(level="bridge", infer=_infer_leave)
def leave(x: np.ndarray) -> np.ndarray:
    """A stream as a tensor of mantissas; the inverse of `enter`.

    Examples
    --------
    >>> print(*leave.infer(Stream(FixedPoint(True, 8), (3, 4, 4))))
    s8f0[N,3,4,4]
    """
    return x
