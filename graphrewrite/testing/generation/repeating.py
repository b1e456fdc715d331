"""Nodes that are equal to one that is there, or nearly: what merges equal nodes must tell them apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from graphrewrite.graph import Graph, Value
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.experience import accepted
from graphrewrite.testing.generation.kinds import kind_of

__all__ = ["repeated"]

_TRIES = 4
"""Other attributes to look at for some that leave the result its type."""


def repeated(
    graph: Graph, computed: Sequence[Value], ops: Sequence[Op], pick: Pick
) -> tuple[Op, list[Value], dict[str, Any]]:
    r"""Return a node that is equal to one that is there, or but for operands' order, an attribute, or its op.

    Returns
    -------
    tuple of Op, list of Value and dict
        The op, operands and attributes; they may not fit each other.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = neg(x)\nz = output(y)")
    >>> op, operands, attributes = repeated(g, [g.value("y")], (), lambda options: options[0])
    >>> op.name, operands, attributes
    ('neg', [<value x>], {})
    """
    way = pick(("equal", "reversed", "attribute", "op"))
    with_attributes = [v for v in computed if way == "attribute" and graph.op(v.node).attributes]
    node = pick(with_attributes or computed).node
    op = graph.op(node)
    operands = [graph.value(o.node, o.result) for o in graph.operands(node)]
    attributes = attributes_in(graph.nodes[node], op.attributes)
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
    for _ in range(_TRIES):
        name = pick(list(op.attributes))
        recipes = accepted(op, name, len(operands), kind_of(types[0]))
        if not recipes:
            continue
        with suppress(Exception):  # the type has no such value, or the op, which may be a user's, does not take it
            value = pick(recipes).make(types[0], random.Random(pick(range(256))))
            if value != attributes.get(name):
                found = {**attributes, name: value}
                if op.result_types(types, found) == kinds:
                    break
    return found
