"""Reduction of single nodes: optional and further operands dropped, attributes reset to defaults."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from inspect import Parameter
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.reduction.case import Case, Ways, tidied

__all__ = ["drop_operands", "reset_attributes"]


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
    return case.retyped(tidied(new, graph))


def connect(graph: Graph, node: str, operands: list[Operand]) -> None:
    """Replace the operands of a node, in place; its control edges and its predicate stay."""
    orders, predicate = graph.controls(node), graph.predicate(node)
    graph.remove_edges_from(list(graph.in_edges(node)))
    for position, operand in enumerate(operands):
        there = graph.succ[operand.node].get(node, {"slots": ()})
        graph.add_edge(operand.node, node, slots=(*there["slots"], (position, operand.result)))
    for source, kind in orders:
        graph.add_control(source, node, kind)
    if predicate is not None:
        graph.set_predicate(node, predicate)


def reset_attributes(case: Case) -> Ways:
    """Reset the attributes of a node, all or one by one, or make their numbers smaller."""
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
    return attributes_in(data, graph.op(node))


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
    """Return how complicated a number is: 0, 1, -1, small integers, others."""
    return 2 * abs(number) + (number < 0) + (0 if float(number).is_integer() else 1000)


def _with_attributes(node: str, changes: dict[str, Any], case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    stated = _stated(graph, node)
    defaults = graph.op(node).attributes
    new = graph.copy()
    data = new._node[node]
    changed = False
    for name, value in changes.items():
        if name not in stated:
            continue
        if value is _DEFAULT:
            if name in defaults and defaults[name] is Parameter.empty:
                continue
            del data[name]
        else:
            data[name] = value
        changed = True
    return case.retyped(new) if changed else None
