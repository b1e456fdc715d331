"""Constants that differ from position to position, as sources that repeat a frame beside a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.hdl.components.constant import constant
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.lowering.streaming.bridge import leave, too_wide
from graphrewrite.rewriting.rule.replacement import New

__all__ = ["MAP_SOURCES"]


def _source(x: Any, c: Any, node: Any) -> Any:
    """A stream of constant frames beside another one, or the reason why there is none."""
    values = np.asarray(c.value, np.int64)
    if tuple(node.shape[1:]) != tuple(x.shape):
        return "its constant gives it another shape"
    if node.type.layout is not None:
        return "its constant has named axes, and the axes of a stream have a fixed order"
    frame = np.broadcast_to(values.reshape(values.shape[-len(x.shape) :]), x.shape)
    element = FixedPoint.holding(min(int(frame.min()), 0), int(frame.max()))
    is_one = bool((frame == frame[:1]).all())
    attributes = {"value": np.ascontiguousarray(frame[:1] if is_one else frame), "element": element}
    # It has no operand, from which a replacement would know that it is one.
    source = New(x.replay, constant, (), attributes, constant.infer(**attributes))
    return select(source, order=(0,) * len(frame)) if is_one and len(frame) > 1 else source


def _with_source(x: Any, c: Any, node: Any, *, first: bool) -> Any:
    if reason := too_wide(x, node):
        return decline(reason, at=node)
    source = _source(x, c, node)
    if isinstance(source, str):
        return decline(source, at=c)
    operands = (leave(source), leave(x)) if first else (leave(x), leave(source))
    return node.op(*operands, like=node, element=node.type.element)


@rule(shared="keep", kind="lowering")
def map_with_constant(x, c: Constant):
    """A constant that differs from position to position takes part as a stream of its own."""
    operand = leave(x)
    node = (op.integer_add | op.integer_sub | op.integer_mul)(operand, c)
    yield node
    return _with_source(x, c, node, first=node.graph.operands(node.node)[0].node != operand.node)


@rule(shared="keep", kind="lowering")
def map_from_constant(x, c: Constant):
    """A constant from which a stream is subtracted takes part as a stream of its own."""
    difference = op.integer_sub(c, leave(x))
    yield difference
    return _with_source(x, c, difference, first=True)


MAP_SOURCES = (map_with_constant, map_from_constant)
"""Constants of positions, where no component has them for each channel."""
