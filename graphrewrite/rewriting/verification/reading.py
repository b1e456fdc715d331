"""Access to graphs that may be malformed: nothing here raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from graphrewrite.graph.dataflow import Operand
from graphrewrite.op import find_op
from graphrewrite.op.given_ops import unknown_op
from graphrewrite.op.op import Op
from graphrewrite.types import Type

__all__ = [
    "advice_for",
    "kind_of",
    "known_op",
    "operands_or_fault",
    "reading_once",
    "results_of",
    "slots_of",
]

_SEQUENCES = (tuple, list)
_READ: ContextVar[tuple[Any, dict[Any, tuple[Operand, ...] | str]] | None] = ContextVar("read", default=None)
"""A graph that does not change for now, and a cache of the operands of its nodes."""


@contextmanager
def reading_once(graph: Any) -> Iterator[None]:
    """Read the operands of each node once for all checks; the graph must not change meanwhile."""
    token = _READ.set((graph, {}))
    try:
        yield
    finally:
        _READ.reset(token)


def slots_of(edge: Any) -> tuple[tuple[int, int], ...] | None:
    """Return the slots of an edge, empty for a control edge; None where its data is malformed."""
    # Exact types are tested first: isinstance is slower, and this runs for every edge of every verified step.
    slots = edge.get("slots")
    if (type(slots) is not tuple and not isinstance(slots, _SEQUENCES)) or (not slots and edge.get("kind") is None):
        return None
    for pair in slots:
        if (type(pair) is not tuple and not isinstance(pair, _SEQUENCES)) or len(pair) != 2:
            return None
        slot, result = pair
        if type(slot) is not int or type(result) is not int or slot < 0 or result < 0:
            return None
    return slots if type(slots) is tuple else tuple(slots)


def operands_or_fault(graph: Any, node: Any) -> tuple[Operand, ...] | str:
    """Return the operands of a node in order, or a message about its slots."""
    read = _READ.get()
    if read is None or read[0] is not graph:
        return _read(graph, node)
    operands = read[1].get(node)
    if operands is None:
        operands = read[1][node] = _read(graph, node)
    return operands


def _read(graph: Any, node: Any) -> tuple[Operand, ...] | str:
    operands: dict[int, Operand] = {}
    sources = graph._pred[node]
    if not sources:
        return ()
    for source, edge in sources.items():
        slots = slots_of(edge)
        if slots is None:
            return f"the edge from {source!r} says {edge.get('slots')!r}"
        if len(slots) == 1 == len(sources) and slots[0][0] == 0:  # fast path: one operand
            return (Operand(source, slots[0][1]),)
        for slot, result in slots:
            if slot in operands:
                return f"slot {slot} is both {operands[slot].node!r} and {source!r}"
            operands[slot] = Operand(source, result)
    for slot in range(len(operands)):
        if slot not in operands:
            return f"there is no slot {slot}"
    return tuple([operands[slot] for slot in range(len(operands))])


def kind_of(graph: Any, node: Any) -> str | None:
    """Return a node's type; None where it has none, or one that is no string."""
    kind = graph._node[node].get("type")
    return kind if isinstance(kind, str) and kind else None


def known_op(graph: Any, node: Any) -> Op | None:
    """Return the op that a node's type names, if there is one."""
    return find_op(graph._node[node].get("type"), graph.ops)


@lru_cache(maxsize=256)
def advice_for(kind: str, own: tuple[str, ...]) -> str:
    """Return what is wrong with an unknown op, remembered: many nodes may have it."""
    return unknown_op(kind, own)


def results_of(graph: Any, node: Any) -> tuple[Type, ...] | None:
    """Return the declared types of a node; None where there are none, or something else."""
    declared = graph._node[node].get("result")
    if isinstance(declared, Type):
        return (declared,)
    if isinstance(declared, tuple) and all(isinstance(t, Type) for t in declared):
        return declared
    return None
