"""Why a value or an op of the integer level has no place on a stream, in words."""

from __future__ import annotations

from typing import Any

from graphrewrite.hdl.component import LANE_BITS

__all__ = ["positions_of", "too_wide"]


def too_wide(*values: Any) -> str | None:
    """Why no lane holds one of some values, or None."""
    wide = [v.type.element for v in values if v.type.element.width > LANE_BITS]
    return f"a lane has at most {LANE_BITS} bits, and {wide[0]} has {wide[0].width}" if wide else None


def positions_of(shape: tuple[Any, ...]) -> int | None:
    """How many axes follow batch and channels, if a window can slide over them."""
    return len(shape) - 2 if len(shape) in (3, 4) else None
