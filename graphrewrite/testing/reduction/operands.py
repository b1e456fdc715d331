"""Less about each node: optional and further operands dropped, attributes as by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.reduction.case import Case, retyped, tidied

__all__ = ["drop_operands", "reset_attributes"]

Ways = Iterator[Callable[[Case], Case | None]]


def drop_operands(case: Case) -> Ways:
    """Drop an operand that an op can do without."""
    graph = case.graph
    for node in graph.in_order():
        op = graph.op(node)
        operands = graph.operands(node)
        if len(operands) > op.required:
            slots = range(len(operands)) if op.variadic else range(op.required, len(operands))
            for slot in reversed(slots):
                yield partial(_without_operand, node, slot)


def _without_operand(node: str, slot: int, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    operands = graph.operands(node)
    if slot >= len(operands) or len(operands) <= graph.op(node).required:
        return None
    new = graph.copy()
    connect(new, node, [*operands[:slot], *operands[slot + 1 :]])
    kept = retyped(tidied(new, graph))
    return None if kept is None else case.having(kept)


def connect(graph: Graph, node: str, operands: list[Operand]) -> None:
    """Let a node read other operands, in place; what it only comes after, it still comes after."""
    orders = graph.controls(node)
    graph.remove_edges_from(list(graph.in_edges(node)))
    for position, operand in enumerate(operands):
        there = graph.succ[operand.node].get(node, {"slots": ()})
        graph.add_edge(operand.node, node, slots=(*there["slots"], (position, operand.result)))
    for source, kind in orders:
        graph.add_control(source, node, kind)


def reset_attributes(case: Case) -> Ways:
    """Leave out what a node states of its op, all of it or one by one; or make it a smaller number."""
    graph = case.graph
    for node in graph.in_order():
        stated = _stated(graph, node)
        if len(stated) > 1:
            yield partial(_with_attributes, node, dict.fromkeys(stated, _DEFAULT))
        for name, value in stated.items():
            yield partial(_with_attributes, node, {name: _DEFAULT})
            for simpler in _simpler(value):
                yield partial(_with_attributes, node, {name: simpler})


class _Default:
    """Stands for an attribute that is left out."""


_DEFAULT = _Default()


def _stated(graph: Graph, node: str) -> dict[str, Any]:
    data = graph._node[node]
    if data["type"] in ("input", "output", "constant"):
        return {}
    return attributes_in(data, graph.op(node).attributes)


def _simpler(value: Any) -> Iterator[Any]:
    """Yield values of the same form of smaller numbers."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (n for n in (0, 1, 2) if n < abs(value))
        if value < 0:
            yield -value
    elif isinstance(value, float) and value == value:
        yield from (n for n in (0.0, 1.0, -1.0) if _weight(n) < _weight(value))
    elif isinstance(value, tuple) and value and all(type(n) is int for n in value):
        yield from ((n,) * len(value) for n in (0, 1) if n * len(value) < sum(map(abs, value)))
        for index, number in enumerate(value):
            yield from ((*value[:index], n, *value[index + 1 :]) for n in (0, 1) if n < abs(number))


def _weight(number: float) -> float:
    """How hard a number is to read: 0, 1, -1, small integers, others."""
    return 2 * abs(number) + (number < 0) + (0 if float(number).is_integer() else 1000)


def _with_attributes(node: str, changes: dict[str, Any], case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    stated = _stated(graph, node)
    known = graph.op(node).attributes
    new = graph.copy()
    data = new._node[node]
    changed = False
    for name, value in changes.items():
        if name not in stated:
            continue
        if value is _DEFAULT:
            if name in known and known[name] is Parameter.empty:
                continue
            del data[name]
        else:
            data[name] = value
        changed = True
    if not changed or retyped(new) is None:
        return None
    return case.having(new)
