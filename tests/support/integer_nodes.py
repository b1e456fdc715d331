"""Graphs of one node that computes with integers, each with attributes of its own: what is proved of facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphrewrite import FixedPoint, Graph, Tensor, op

__all__ = ["BINARY", "INTEGER_LEVEL", "LOGICAL", "UNARY", "node_of"]

Build = Callable[..., Any]

BINARY: dict[str, Build] = {
    "add": op.add,
    "sub": op.sub,
    "mul": op.mul,
    "div": op.div,
    "mod": op.mod,
    "fmod": lambda x, y: op.mod(x, y, fmod=True),
    "maximum": op.maximum,
    "minimum": op.minimum,
    "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "shift_left": lambda x, y: op.bit_shift(x, y, direction="left"),
    "shift_right": lambda x, y: op.bit_shift(x, y, direction="right"),
    "equal": op.equal,
    "less": op.less,
    "less_or_equal": op.less_or_equal,
    "greater": op.greater,
    "greater_or_equal": op.greater_or_equal,
    "sum": lambda x, y: op.sum(x, y, x),
    "fma": lambda x, y: op.fma(x, y, x),
    "where": lambda x, y: op.where(op.less(x, y), x, y),
}
"""Nodes of two operands of one type."""

UNARY: dict[str, Build] = {
    "neg": op.neg,
    "abs": op.abs,
    "sign": op.sign,
    "relu": op.relu,
    "bitwise_not": op.bitwise_not,
    "clip": lambda x: op.clip(x, low=2, high=5),
    "clip below": lambda x: op.clip(x, low=-3),
    "clip above": lambda x: op.clip(x, high=1),
    "square": lambda x: op.mul(x, x),
    "difference": lambda x: op.sub(x, x),
    "double": lambda x: op.add(x, x),
    **{f"cast to {kind}": lambda x, kind=kind: op.cast(x, element=kind) for kind in ("i4", "u4", "i8", "u16", "bool")},
}
"""Nodes of one operand."""

LOGICAL: dict[str, Build] = {
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
    "logical_not": lambda x, y: op.logical_not(x),
}
"""Nodes of truth values."""

_WIDE, _UNSIGNED, _NARROW = FixedPoint(True, 40), FixedPoint(False, 3), FixedPoint(True, 3)

INTEGER_LEVEL: dict[str, Build] = {
    "integer_add": lambda x, y: op.integer_add(x, y, element=_WIDE),
    "integer_add, shifted": lambda x, y: op.integer_add(x, y, element=_WIDE, shifts=(0, 2)),
    "integer_sub": lambda x, y: op.integer_sub(x, y, element=_WIDE),
    "integer_sub, shifted": lambda x, y: op.integer_sub(x, y, element=_WIDE, shifts=(3, 1)),
    "integer_mul": op.integer_mul,
    "requantise": lambda x, y: op.requantise(x, shift=1, element=_NARROW),
    "requantise, up": lambda x, y: op.requantise(x, shift=-1, element=_NARROW),
    "requantise, unsigned": lambda x, y: op.requantise(x, shift=2, element=_UNSIGNED),
    "rescale": lambda x, y: op.rescale(x, multiplier=3, addend=-2, shift=2, element=_NARROW),
    "rescale, falling": lambda x, y: op.rescale(
        x, multiplier=-5, addend=1, shift=2, offset=3, element=_NARROW, rounding="to_zero"
    ),
    "rescale, limited": lambda x, y: op.rescale(x, multiplier=2, shift=0, offset=-4, element=_UNSIGNED, low=1, high=9),
    "rescale, wrapping": lambda x, y: op.rescale(x, multiplier=7, shift=1, element=_NARROW, saturate=False),
    "requantise, limited": lambda x, y: op.requantise(x, shift=0, element=_NARROW, low=-1, high=2),
    "relu": lambda x, y: op.relu(x),
    "maximum": op.maximum,
    "minimum": op.minimum,
    "clip": lambda x, y: op.clip(x, low=-2, high=3),
}
"""Nodes of mantissas."""


def node_of(build: Build, elements: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...]) -> tuple[Graph, str]:
    """Return a graph of inputs ``x`` and ``y`` and of what is built of them, and the node that gives the result.

    Examples
    --------
    >>> graph, node = node_of(op.add, ("i4", "i4"), ((2,), (2,)))
    >>> graph.operands(node)
    (Operand(node='x', result=0), Operand(node='y', result=0))
    """
    graph = Graph("g")
    inputs = [graph.input(name, Tensor(e, s)) for name, e, s in zip("xy", elements, shapes, strict=False)]
    graph.output("z", build(*inputs))
    (result,) = graph.operands("z")
    return graph, result.node
