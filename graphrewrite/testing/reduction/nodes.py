"""Reduction of nodes: outputs dropped or moved, nodes bypassed, values cut, leaves merged."""

from __future__ import annotations

from functools import partial

from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.dataflow import EFFECT
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.rewiring import move_slot, rewire
from graphrewrite.testing.failure.values import result_count
from graphrewrite.testing.reduction.case import LEAVES, Case, Ways, tidied, value_of
from graphrewrite.types import Tensor

__all__ = [
    "bypass_nodes",
    "cut_values",
    "drop_dead_nodes",
    "drop_outputs",
    "free_constants",
    "merge_leaves",
    "move_outputs",
]


def drop_outputs(case: Case) -> Ways:
    """Keep one output, or drop one, with the nodes that only the dropped ones need."""
    outputs = case.graph.outputs
    for name in outputs:
        yield partial(_without_outputs, [n for n in outputs if n != name], True)
    for name in reversed(outputs):
        yield partial(_without_outputs, [name], True)
        yield partial(_without_outputs, [name], False)


def _without_outputs(names: list[str], clean: bool, case: Case) -> Case | None:
    gone = [n for n in names if n in case.graph]
    if not gone or len(gone) == len(case.graph.outputs):
        return None
    new = case.graph.copy()
    new.remove_nodes_from(gone)
    return case.having(tidied(new, case.graph if clean else new))


def drop_dead_nodes(case: Case) -> Ways:
    """Drop what no output needs: all of it but effects, or from its ends."""
    yield partial(_without_dead, None)
    for node in sorted(_unread(case.graph), key=str):
        yield partial(_without_dead, node)


def _unread(graph: Graph) -> set[str]:
    """Return the dead nodes and the effects that nobody reads."""
    return {*graph.dead_nodes(), *(node for node in graph.effects if not graph.readers(node))}


def _without_dead(node: str | None, case: Case) -> Case | None:
    gone = case.graph.dead_nodes() if node is None else {node} & _unread(case.graph)
    if not gone or (node is not None and any(e.get("kind") != EFFECT for e in case.graph.succ[node].values())):
        return None
    new = case.graph.copy()
    new.remove_nodes_from(list(gone))
    order_effects(new, case.graph.effects)
    return case.having(tidied(new, new))


def move_outputs(case: Case) -> Ways:
    """Move an output to a value further up, near the first difference, or to any value that needs fewer nodes."""
    order = [n for n in case.graph.in_order() if case.graph._node[n]["type"] != "output"]
    for output in case.graph.outputs:
        for node in order:
            yield partial(_moved, output, node)


def _moved(output: str, node: str, case: Case) -> Case | None:
    graph = case.graph
    if output not in graph or node not in graph:
        return None
    (old,) = graph.operands(output)
    if node == old.node:
        return None
    new = graph.copy()
    move_slot(new, output, 0, Operand(node))
    kept = tidied(new, graph)
    return case.having(kept) if len(kept) < len(graph) or node in graph.upstream(output) else None


def bypass_nodes(case: Case) -> Ways:
    """Let the readers of a node read one of its operands instead."""
    for node in reversed(case.graph.in_order()):
        for slot in range(len(case.graph.operands(node))):
            yield partial(_bypassed, node, slot)


def _bypassed(node: str, slot: int, case: Case) -> Case | None:
    graph = case.graph
    if node not in graph or graph._node[node]["type"] == "output" or slot >= len(graph.operands(node)):
        return None
    operand = graph.operands(node)[slot]
    results = graph._node[node]["result"]
    new = graph.copy()
    for result in range(result_count(graph, node)):
        rewire(new, node, operand, result)
    new.remove_node(node)
    same = graph.result_type(*operand) == results
    kept = tidied(new, graph)
    return case.having(kept) if same else case.retyped(kept)


def cut_values(case: Case) -> Ways:
    """Replace a node by an input with the values of the node."""
    for node in reversed(case.graph.in_order()):
        if case.graph._node[node]["type"] not in (*LEAVES, "output"):
            yield partial(_cut, node)


def _cut(node: str, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph or not graph.succ[node]:
        return None
    new = graph.copy()
    values = {}
    for result in sorted({reader.result for reader in graph.readers(node)}):
        name = new.fresh("x")
        new.input(name, graph.result_type(node, result))
        rewire(new, node, Operand(name), result)
        values[name] = value_of(case, Operand(node, result))
    new.remove_node(node)
    return case.having(tidied(new, graph), **values) if len(new) <= len(graph) else None


def free_constants(case: Case) -> Ways:
    """Let an input stand for a constant: what fails for any value says more than what fails for one."""
    for node in case.graph.in_order():
        if case.graph._node[node]["type"] == "constant":
            yield partial(_freed, node)


def _freed(node: str, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph or not graph.succ[node]:
        return None
    new = graph.copy()
    name = new.fresh("x")
    new.input(name, graph.result_type(node))
    rewire(new, node, Operand(name))
    new.remove_node(node)
    return case.having(new, **{name: graph._node[node]["value"]})


def merge_leaves(case: Case) -> Ways:
    """Let one input, or one constant, stand for two of one type, or of one type of elements."""
    graph = case.graph
    leaves = [n for n in graph.in_order() if graph._node[n]["type"] in LEAVES]
    for index, first in enumerate(leaves):
        for second in leaves[index + 1 :]:
            if _are_alike(graph, first, second):
                yield partial(_merged, first, second)
                yield partial(_merged, second, first)


def _are_alike(graph: Graph, first: str, second: str) -> bool:
    one, other = graph.result_type(first), graph.result_type(second)
    if graph._node[first]["type"] != graph._node[second]["type"]:  # an input that becomes a constant may hide the fault
        return one == other
    return one == other or (isinstance(one, Tensor) and isinstance(other, Tensor) and one.element == other.element)


def _merged(kept: str, gone: str, case: Case) -> Case | None:
    graph = case.graph
    if kept not in graph or gone not in graph or not _are_alike(graph, kept, gone):
        return None
    new = graph.copy()
    rewire(new, gone, Operand(kept))
    new.remove_node(gone)
    tidied(new, graph)
    return case.having(new) if graph.result_type(kept) == graph.result_type(gone) else case.retyped(new)
