"""Operands of a matched node that its pattern does not name, as values that a rule can read and use."""

from __future__ import annotations

from typing import Any

__all__ = ["first_operand", "operands_of"]


def operands_of(node: Any) -> list[Any]:
    """Return all operands of a matched node."""
    return [node.replay.bound(operand) for operand in node.graph.operands(node.node)]


def first_operand(node: Any) -> Any:
    """Return the first operand of a matched node."""
    return node.replay.bound(node.graph.operands(node.node)[0])
