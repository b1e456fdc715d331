"""Nodes that are equal to one that is there, or nearly: what rules that merge equal nodes must tell apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from graphrewrite.graph import Graph, Value
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.experience import some_accepted
from graphrewrite.testing.generation.kinds import kind_of

__all__ = ["repeated"]

_LOOKS = 4
"""Attributes to look at for one that has another value."""


def repeated(
    graph: Graph, computed: Sequence[Value], ops: Sequence[Op], pick: Pick
) -> tuple[Op, list[Value], dict[str, Any]]:
    """Return an op, operands and attributes as a node has them, but for the order, an attribute, or the op.

    They may not fit.
    """
    way = pick(("equal", "reversed", "attribute", "op"))
    with_attributes = [v for v in computed if way == "attribute" and graph.op(v.node).attributes]
    node = pick(with_attributes or computed).node
    op = graph.op(node)
    operands = [graph.value(o.node, o.result) for o in graph.operands(node)]
    attributes = attributes_in(graph.nodes[node], op)
    match way:
        case "reversed":
            operands.reverse()
        case "attribute" if operands and op.attributes:
            attributes = _another(op, operands, attributes, pick)
        case "op" if operands:
            alike = [other for other in ops if other.operands and other.required == op.required]
            return pick(alike or [op]), operands, {}
    return op, operands, attributes


def _another(op: Op, operands: list[Value], attributes: dict[str, Any], pick: Pick) -> dict[str, Any]:
    """One attribute changed, if possible such that the result keeps its type."""
    types = tuple(value.type for value in operands)
    kinds, found = op.result_types(types, attributes), attributes
    zeros = [name for name, value in attributes.items() if isinstance(value, float) and value == 0]
    if bool(zeros) and pick((False, True)):  # equal to the other zero, and not the same
        name = pick(zeros)
        return {**attributes, name: -attributes[name]}
    for _ in range(_LOOKS):
        name = pick(list(op.attributes))
        rng = random.Random(pick(range(256)))
        recipe = some_accepted(op, name, len(operands), kind_of(types[0]), rng)
        if recipe is None:
            continue
        with suppress(Exception):  # the type has no such value, or the op, which may be a user's, does not take it
            value = recipe.make(types[0], rng)
            if value != attributes.get(name):
                found = {**attributes, name: value}
                if op.result_types(types, found) == kinds:
                    break
    return found
