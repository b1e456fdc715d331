"""Constants that differ from position to position: sources, which give a frame again and again beside a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.lowering.bridge import leave
from graphrewrite.lowering.streaming.values import too_wide
from graphrewrite.replacement import New

__all__ = ["MAP_SOURCES", "map_from_constant", "map_with_constant"]


def _source(x: Any, c: Any, made: Any) -> Any:
    """A stream as long as another one whose frames are constant, or in words why there is none."""
    values = np.asarray(c.value, np.int64)
    if values.ndim > len(made.shape) or (values.ndim == len(made.shape) and len(values) > 1):
        return "its constant differs from sample to sample"
    if tuple(made.shape[1:]) != tuple(x.shape):
        return "its constant gives it another shape"
    if made.type.layout is not None:
        return "its constant names its axes, and those of a stream have their places"
    frame = np.broadcast_to(values.reshape(values.shape[-len(x.shape) :]), x.shape)
    element = FixedPoint.holding(min(int(frame.min()), 0), int(frame.max()))
    is_one = bool((frame == frame[:1]).all())
    attributes = {"value": np.ascontiguousarray(frame[:1] if is_one else frame), "element": element}
    # It has no operand, from which a replacement would know that it is one.
    source = New(x.replay, constant, (), attributes, constant.infer(**attributes))
    return select(source, order=(0,) * len(frame)) if is_one and len(frame) > 1 else source


def _placed(x: Any, c: Any, made: Any, *, first: bool) -> Any:
    if reason := too_wide(x, made):
        return decline(reason, at=made)
    source = _source(x, c, made)
    if isinstance(source, str):
        return decline(source, at=c)
    operands = (leave(source), leave(x)) if first else (leave(x), leave(source))
    return made.op(*operands, like=made, element=made.type.element)


@rule(shared="keep", kind="lowering")
def map_with_constant(x, c: Constant):
    """A constant that differs from position to position takes part as a stream of its own."""
    given = leave(x)
    made = (op.integer_add | op.integer_sub | op.integer_mul)(given, c)
    yield made
    return _placed(x, c, made, first=made.graph.operands(made.node)[0].node != given.node)


@rule(shared="keep", kind="lowering")
def map_from_constant(x, c: Constant):
    """A constant from which a stream is subtracted takes part as a stream of its own."""
    difference = op.integer_sub(c, leave(x))
    yield difference
    return _placed(x, c, difference, first=True)


MAP_SOURCES = (map_with_constant, map_from_constant)
"""Constants of positions, where no component has them for each channel."""
