"""Control flow that is known before run time: the branch that a condition chooses, loops that end after few steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph, pass_
from graphrewrite import op as ops
from graphrewrite.graph import Operand, Value
from graphrewrite.graph.edit import apply_edit
from graphrewrite.graph.effects import has_effects, replace_effects
from graphrewrite.graph.rewiring import inherit, remove, rewire
from graphrewrite.graph.type_inference import infer
from graphrewrite.hierarchy.expansion import expand
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op.op import Op

__all__ = ["choose_branch", "goes_on", "unroll_loops"]

_MOST = 1000
"""Nodes that a loop may become."""


@pass_(ops=[ops.cond])
def choose_branch(graph: Graph) -> list[str]:
    """Put the nodes of a branch in place of a condition that is constant."""
    removed = []
    for node in _nodes_of(graph, ops.cond):
        condition, *values = (graph.value(*operand) for operand in graph.operands(node))
        known = _entry(graph, condition)
        if known is not None:
            branch = "then" if known else "otherwise"
            call, results = _call(graph, node, branch, graph.attributes(node)[branch], values)
            removed += _replace(graph, node, results, [call])
    return removed


@pass_(ops=[ops.loop, ops.scan])
def unroll_loops(graph: Graph) -> list[str]:
    """Repeat the nodes of a loop or scan whose number of steps is known, where that makes a thousand nodes at most."""
    removed = []
    for node in _nodes_of(graph, ops.loop, ops.scan):
        removed += _UNROLLED[graph.op(node).name](graph, node)
    return removed


def _nodes_of(graph: Graph, *kinds: Op) -> list[str]:
    """Return the nodes of some ops in their order."""
    return [node for node in graph.in_order() if graph.op(node) in kinds]


def goes_on(body: Graph) -> bool:
    """Tell whether a loop with a body goes on after every iteration: the body's condition is the constant true."""
    (source,) = body.operands(body.outputs[0])
    while body.nodes[source.node]["type"] == "identity":
        (source,) = body.operands(source.node)
    return bool(_entry(body, Value(body, *source)))


def _entry(graph: Graph, value: Value) -> Any:
    """Return the entry of a constant that has one; None for other values."""
    data = graph.nodes[value.node]
    is_single = data["type"] == "constant" and np.size(data["value"]) == 1
    return np.asarray(data["value"]).item() if is_single else None


# ---------------------------------------------------------------------- bodies in place of their node


def _call(graph: Graph, node: str, step: str, body: Graph, values: Sequence[Any]) -> tuple[str, tuple[Value, ...]]:
    """Add a node that is a body, to be expanded; return its name and its results."""
    name = f"{node}.{step}"
    name = graph.fresh(name) if name in graph else name
    call = GraphOp(f"body of {name}", {f"body of {name}": body})
    results = graph.add(call, values, name=name, origin=graph.origin(node))
    if "backend" in graph.nodes[node]:
        graph.nodes[name]["backend"] = graph.nodes[node]["backend"]
    graph.set_predicate(name, graph.predicate(node))
    return name, results if isinstance(results, tuple) else (results,)


def _replace(graph: Graph, node: str, results: Sequence[Value], calls: Sequence[str]) -> list[str]:
    """Let the readers of a node read other values, expand the bodies that these come from, and remove the node.

    What is new among them takes its annotations.
    """
    old = {operand.node for operand in graph.operands(node)}
    for name in dict.fromkeys(value.node for value in results if value.node not in old):
        inherit(graph, name, node)
    readers = [
        reader
        for index, value in enumerate(results)
        for reader in rewire(graph, node, Operand(value.node, value.result), index)
    ]
    replace_effects(graph, node, [call for call in calls if has_effects(graph, call)])
    removed, _ = remove(graph, [node])
    for call in calls:
        kind = graph.nodes[call]["type"]
        apply_edit(graph, expand(graph, call))
        del graph.ops[kind]
    # Sizes that were unknown may be known now.
    infer(graph, sorted(set(readers)))
    return removed


# ---------------------------------------------------------------------- steps of loops


def _unroll_loop(graph: Graph, node: str) -> list[str]:
    attributes = graph.attributes(node)
    count, condition, *values = (graph.value(*operand) for operand in graph.operands(node))
    body: Graph = attributes["body"]
    number = len(values) if attributes["carried"] is None else attributes["carried"]
    most, begins = _entry(graph, count), _entry(graph, condition)
    if most is None or begins is None or (most > 0 and begins and not goes_on(body)):
        return []
    steps = max(most, 0) if begins else 0
    if steps * len(body) > _MOST or (not steps and len(body.outputs) > 1 + number):
        return []
    state, rows, calls = values[:number], list[Sequence[Value]](), list[str]()
    for i in range(steps):
        index = graph.constant(np.int64(i), origin=graph.origin(node))
        call, results = _call(graph, node, str(i), body, [index, *state, *values[number:]])
        calls.append(call)
        state, row = list(results[1 : 1 + number]), results[1 + number :]
        rows.append(row)
    stacks = [_stack(graph, node, stack, 0) for stack in zip(*rows, strict=True)]
    return _replace(graph, node, [*state, *stacks], calls)


def _unroll_scan(graph: Graph, node: str) -> list[str]:
    attributes = graph.attributes(node)
    body: Graph = attributes["body"]
    carried, count = attributes["carried"], attributes["sequences"]
    values = [graph.value(*operand) for operand in graph.operands(node)]
    state, along, others = values[:carried], values[carried : carried + count], values[carried + count :]
    axes = [axis % len(x.type.shape) for x, axis in zip(along, attributes["axes"] or (0,) * count, strict=True)]
    backwards = attributes["backwards"] or (False,) * count
    steps, stacked = along[0].type.shape[axes[0]], len(body.outputs) - carried
    if isinstance(steps, str) or steps * len(body) > _MOST or (not steps and stacked):
        return []
    rows, calls = list[Sequence[Value]](), list[str]()
    for i in range(steps):
        entries = []
        for x, axis, back in zip(along, axes, backwards, strict=True):
            at = steps - 1 - i if back else i
            part = _made(graph, node, ops.slice, [x], starts=(at,), ends=(at + 1,), axes=(axis,))
            entries.append(_made(graph, node, ops.squeeze, [part], axes=(axis,)))
        call, results = _call(graph, node, str(i), body, [*state, *entries, *others])
        calls.append(call)
        state, row = list(results[:carried]), results[carried:]
        rows.append(row)
    output_axes = attributes["output_axes"] or (0,) * stacked
    turned = attributes["output_backwards"] or (False,) * stacked
    stacks = [
        _stack(graph, node, stack[::-1] if back else stack, axis)
        for stack, axis, back in zip(zip(*rows, strict=True), output_axes, turned, strict=True)
    ]
    return _replace(graph, node, [*state, *stacks], calls)


def _made(graph: Graph, node: str, op: Any, values: Sequence[Value], **attributes: Any) -> Value:
    """Add a node that stands for a part of another one; return its result."""
    made: Value = graph.add(op, values, attributes, origin=graph.origin(node))
    graph.set_predicate(made.node, graph.predicate(node))
    return made


def _stack(graph: Graph, node: str, values: Sequence[Value], axis: int) -> Value:
    """Stack values along a new axis."""
    rows = [_made(graph, node, ops.unsqueeze, [value], axes=(axis,)) for value in values]
    return rows[0] if len(rows) == 1 else _made(graph, node, ops.concat, rows, axis=axis)


_UNROLLED = {"loop": _unroll_loop, "scan": _unroll_scan}
