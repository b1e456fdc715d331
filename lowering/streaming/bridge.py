"""Between tensors of mantissas and streams of beats: the two ops, and what fits into a stream."""

from __future__ import annotations

from typing import Any

from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.refold import refold
from graphrewrite.op.transport import enter, leave
from graphrewrite.types import FixedPoint

__all__ = ["alike", "enter", "leave", "positions_of", "too_wide", "whole"]


def too_wide(*values: Any) -> str | None:
    """The reason why no lane holds one of some values, or None."""
    elements = [v.type.element for v in values]
    if other := [e for e in elements if not isinstance(e, FixedPoint)]:
        return f"a lane holds numbers of a fixed-point format, and not {other[0]}"
    wide = [e for e in elements if e.width > LANE_BITS]
    return f"a lane has at most {LANE_BITS} bits, and {wide[0]} has {wide[0].width}" if wide else None


def whole(x: Any) -> Any:
    """A stream with all channels of a position in one beat, as what rearranges them needs it."""
    return x if x.type.folds == 1 else refold(x, lanes=x.type.channels)


def alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two streams, whose channels come in equally many lanes or all at once."""
    return (x, y) if x.type.lanes == y.type.lanes else (whole(x), whole(y))


def positions_of(shape: tuple[Any, ...]) -> int | None:
    """Number of axes after batch and channels, if a window can slide over them."""
    return len(shape) - 2 if len(shape) in (3, 4) else None
