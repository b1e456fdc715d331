"""Ops between tensors of mantissas and streams of beats, which change the transport and no value."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Stream, Tensor, define_op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.types import FixedPoint, Type

__all__ = ["enter", "leave", "positions_of", "too_wide"]


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


def too_wide(*values: Any) -> str | None:
    """The reason why no lane holds one of some values, or None."""
    elements = [v.type.element for v in values]
    if other := [e for e in elements if not isinstance(e, FixedPoint)]:
        return f"a lane holds numbers of a fixed-point format, and not {other[0]}"
    wide = [e for e in elements if e.width > LANE_BITS]
    return f"a lane has at most {LANE_BITS} bits, and {wide[0]} has {wide[0].width}" if wide else None


def positions_of(shape: tuple[Any, ...]) -> int | None:
    """Number of axes after batch and channels, if a window can slide over them."""
    return len(shape) - 2 if len(shape) in (3, 4) else None
