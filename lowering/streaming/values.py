"""What rules ask of the values that they match: why one has no place on a stream, and what it is made of."""

from __future__ import annotations

from typing import Any

from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.types import FixedPoint

__all__ = ["below", "positions_of", "too_wide"]


def too_wide(*values: Any) -> str | None:
    """Why no lane holds one of some values, or None."""
    elements = [v.type.element for v in values]
    if other := [e for e in elements if not isinstance(e, FixedPoint)]:
        return f"a lane holds numbers of a fixed-point format, and not {other[0]}"
    wide = [e for e in elements if e.width > LANE_BITS]
    return f"a lane has at most {LANE_BITS} bits, and {wide[0]} has {wide[0].width}" if wide else None


def positions_of(shape: tuple[Any, ...]) -> int | None:
    """How many axes follow batch and channels, if a window can slide over them."""
    return len(shape) - 2 if len(shape) in (3, 4) else None


def below(x: Any) -> Any:
    """The first operand of what gives a matched value."""
    return type(x)(x.replay, x.graph.operands(x.node)[0])
