"""Operands of a matched node, as values that a rule can read and use in its replacement."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any

from graphrewrite import FixedPoint, rule

__all__ = ["REARRANGING", "Mantissas", "computed_from_inputs"]

Mantissas = Annotated[
    Any, rule.where(lambda x: isinstance(x.type.element, FixedPoint), "its element type is a fixed-point format")
]
"""Annotation of a rule's operand: whole numbers of a fixed-point format."""

REARRANGING = ("transpose", "reshape", "flatten", "squeeze", "unsqueeze", "name_axes")
"""Ops that change no number, with which the host rearranges inputs."""


def computed_from_inputs(value: Any, kinds: Container[str]) -> bool:
    """Tell whether a value is computed from an input, and constants, by ops of some kinds only."""
    graph, upstream = value.graph, [value.node]
    for node in upstream:
        kind = graph.nodes[node]["type"]
        if kind in kinds:
            upstream.extend(o.node for o in graph.operands(node) if o.node not in upstream)
        elif kind not in ("input", "constant"):
            return False
    return any(graph.nodes[node]["type"] == "input" for node in upstream)
