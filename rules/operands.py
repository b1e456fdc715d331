"""Operands of a matched node that its pattern does not name, as values that a rule can read and use."""

from __future__ import annotations

from typing import Any

from graphrewrite.rewriting.facts.queries import Query, producers, readers_of

__all__ = ["again", "first_operand", "has_equal", "is_first", "operands_of"]


def operands_of(node: Any) -> list[Any]:
    """Return all operands of a matched node."""
    return [node.replay.bound(operand) for operand in node.graph.operands(node.node)]


def again(run: Any, value: Any) -> Any:
    """Return what the ops of a run make of another value, with the same further operands."""
    for link in run.links:
        value = link.op(value, *operands_of(link)[1:], like=link)
    return value


def first_operand(node: Any) -> Any:
    """Return the first operand of a matched node."""
    return node.replay.bound(node.graph.operands(node.node)[0])


def is_first(value: Any, node: Any) -> bool:
    """Tell whether a value is the first operand of a matched node that reads it."""
    return (0, value.result) in node.graph._pred[node.node][value.node]["slots"]


@Query
def has_equal(node: Any) -> bool:
    """Whether another node does the same with the same operands: they become one, which all of their readers read."""
    graph, own = node.graph, node.graph.attributes(node.node)
    for reader in readers_of(first_operand(node)):
        is_same = reader != node.node and graph.op(reader) is node.op and producers(graph.value(reader)) is not None
        if is_same and graph.operands(reader) == graph.operands(node.node) and graph.attributes(reader) == own:
            return True
    return False
