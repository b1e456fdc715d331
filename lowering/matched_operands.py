"""Operands of a matched node, as values that a rule can read and use in its replacement."""

from __future__ import annotations

from typing import Any

__all__ = ["first_operand", "operands_of"]


def operands_of(node: Any) -> list[Any]:
    """Return all operands of a matched node, also those that the pattern does not name."""
    return [type(node)(node.replay, operand) for operand in node.graph.operands(node.node)]


def first_operand(node: Any) -> Any:
    """Return the first operand of a matched node."""
    return type(node)(node.replay, node.graph.operands(node.node)[0])
