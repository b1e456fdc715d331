"""Loops and scans before they become programs: those of known length are scans, which run along first axes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphrewrite import Graph
from graphrewrite import op as ops
from graphrewrite.graph import Operand, Value
from graphrewrite.graph.rewiring import rewire
from graphrewrite.graph.type_inference import infer
from graphrewrite.rules.control_flow import goes_on

__all__ = ["settle_repetition"]

_LONGEST = 1 << 20
"""Iterations of a loop whose numbers are a constant."""


def settle_repetition(graph: Graph) -> None:
    """Replace, in place, loops that stack results of a known number of iterations, and scans along other axes."""
    names = [node for node in graph.in_order() if graph.nodes[node]["type"] in ("loop", "scan")]
    changed = False
    for node in names:
        settle = _as_scan if graph.nodes[node]["type"] == "loop" else _along_first_axes
        changed |= settle(graph, node)
    if changed:
        infer(graph)


def _known(graph: Graph, operand: Operand) -> int | None:
    """Return the number that a node is, if it is constant."""
    data = graph.nodes[operand.node]
    return int(np.asarray(data["value"]).item()) if data["type"] == "constant" else None


def _as_scan(graph: Graph, node: str) -> bool:
    """Replace a loop that ends after a known number of iterations, if it stacks results."""
    body, carried = graph.nodes[node]["body"], graph.attributes(node)["carried"]
    count, condition, *values = graph.operands(node)
    number = len(values) if carried is None else carried
    steps = _known(graph, count)
    if len(body.outputs) == 1 + number or steps is None or not _known(graph, condition):
        return False
    if not goes_on(body) or not 0 <= steps <= _LONGEST:
        return False
    own = body.copy()
    index, *inputs = own.inputs
    for place, name in enumerate([*inputs[:number], index, *inputs[number:]]):
        own.nodes[name]["index"] = place
    going, *outputs = own.outputs
    own.remove_node(going)
    for place, name in enumerate(outputs):
        own.nodes[name]["index"] = place
    numbers = graph.constant(np.arange(steps, dtype=np.int64), name=graph.fresh(f"{node}_steps"))
    operands = [graph.value(*each) for each in values]
    operands.insert(number, numbers)
    _replaced(graph, node, _scan(graph, node, operands, {"body": own.as_body(), "carried": number}))
    return True


def _along_first_axes(graph: Graph, node: str) -> bool:
    """Replace a scan along other axes than the first ones by one between transposes."""
    given = graph.attributes(node)
    if not any(given["axes"]) and not any(given["output_axes"]):
        return False
    carried, sequences = given["carried"], given["sequences"]
    values = [graph.value(*each) for each in graph.operands(node)]
    for slot, axis in enumerate(given["axes"], carried):
        values[slot] = _moved(values[slot], axis, 0)
    own = {**graph.nodes[node], "carried": carried, "sequences": sequences}
    kept = ("body", "carried", "sequences", "backwards", "output_backwards")
    results = list(_scan(graph, node, values, {key: own[key] for key in kept if key in own}))
    for slot, axis in enumerate(given["output_axes"], carried):
        results[slot] = _moved(results[slot], 0, axis)
    _replaced(graph, node, results)
    return True


def _moved(value: Value, source: int, target: int) -> Value:
    """Return a value with one axis elsewhere."""
    rank = len(value.type.shape)
    axes = [axis for axis in range(rank) if axis != source % rank]
    axes.insert(target % rank, source % rank)
    return value if axes == sorted(axes) else ops.transpose(value, perm=tuple(axes))


def _scan(graph: Graph, node: str, values: Iterable[Value], attributes: dict[str, object]) -> tuple[Value, ...]:
    """Add a scan in place of a node."""
    made = graph.add(ops.scan, list(values), attributes, name=graph.fresh(f"{node}_along"))
    results = made if isinstance(made, tuple) else (made,)
    graph.nodes[results[0].node]["origin"] = graph.origin(node)
    return results


def _replaced(graph: Graph, node: str, results: Iterable[Value]) -> None:
    for index, value in enumerate(results):
        rewire(graph, node, Operand(value.node, value.result), index)
    graph.remove_node(node)
