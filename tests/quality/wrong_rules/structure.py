"""Passes that take too much, merge what differs, or change what a graph shows to the outside."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, pass_
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.testing import graphs


@pass_
def loses_a_reader(graph):
    """Removes nodes that are dead but for one reader."""
    gone = [n for n in graph if graph.nodes[n]["type"] == "neg" and len(graph.succ[n]) == 1]
    graph.remove_nodes_from(gone)
    return gone


@pass_
def drops_an_output(graph):
    """Keeps the first output only."""
    gone = list(graph.outputs[1:])
    graph.remove_nodes_from(gone)
    return gone


@pass_
def reorders_outputs(graph):
    """Makes the first output the last."""
    first, *rest = graph.outputs
    if list(graph.outputs) != sorted(graph.outputs):
        return []
    for i, name in enumerate([*rest, first]):
        graph.nodes[name]["index"] = i
    return [first] if rest else []


@pass_
def exchanges_outputs(graph):
    """Two outputs of one type get each other's value."""
    a, b, *_ = [*graph.outputs, None, None]
    if b is None:
        return []
    one, other = graph.operands(a)[0], graph.operands(b)[0]
    if one >= other or str(graph.result_type(*one)) != str(graph.result_type(*other)):
        return []
    for output, operand in ((a, other), (b, one)):
        graph.remove_edges_from([(p, output) for p in list(graph.pred[output])])
        slots = graph.succ[operand.node].get(output, {}).get("slots", ())
        graph.add_edge(operand.node, output, slots=(*slots, (0, operand.result)))
    return [a, b]


@pass_
def drops_inputs_that_nothing_reads(graph):
    """An input is part of the interface, whether it is read or not."""
    gone = [n for n in graph.inputs if not graph.succ[n]]
    graph.remove_nodes_from(gone)
    for i, name in enumerate(graph.inputs):
        graph.nodes[name]["index"] = i
    return gone


@pass_
def takes_what_the_first_output_does_not_need(graph):
    """Nodes that only the second output needs are taken for dead."""
    first = graph.outputs[0]
    needed = set(graph.upstream(first)) | {first}
    gone = [n for n in graph if n not in needed and n not in graph.inputs]
    graph.remove_nodes_from(gone)
    return gone


@pass_
def leaves_a_stale_type(graph):
    """Changes what a node computes, and not the type that it says to have."""
    found = [n for n in graph if graph.nodes[n]["type"] == "abs"]
    for node in found:
        graph.nodes[node]["type"] = "arg_max"
    return found


def _merge(graph, key_of):
    seen, gone = {}, []
    for node in graph.in_order():
        if graph.nodes[node]["type"] in ("input", "output") or graph.op(node).results > 1:
            continue
        key = key_of(node)
        first = seen.setdefault(key, node) if key is not None else node
        if first != node:
            rewire(graph, node, Operand(first))
            graph.remove_node(node)
            gone.append(node)
    return gone


@pass_
def merges_differences_of_either_order(graph):
    """Takes x - y and y - x for the same."""
    return _merge(graph, lambda n: frozenset(graph.operands(n)) if graph.nodes[n]["type"] == "sub" else None)


@pass_
def merges_without_attributes(graph):
    """Takes nodes of one op and the same operands for equal, whatever their attributes are."""
    return _merge(
        graph,
        lambda n: (graph.nodes[n]["type"], graph.operands(n), str(graph.result_type(n))) if graph.operands(n) else None,
    )


@pass_
def merges_constants_of_one_shape(graph):
    """Takes constants of one type for equal, whatever their entries are."""
    return _merge(graph, lambda n: str(graph.result_type(n)) if graph.nodes[n]["type"] == "constant" else None)


@pass_
def merges_constants_of_one_value(graph):
    """Takes 0 and -0 for equal."""

    def key(node):
        if graph.nodes[node]["type"] != "constant":
            return None
        return str(graph.result_type(node)), tuple(np.ravel(graph.nodes[node]["value"]).tolist())

    return _merge(graph, key)


@pass_
def merges_any_op(graph):
    """Takes nodes that read the same for equal, whatever they compute."""
    return _merge(graph, lambda n: (graph.operands(n), str(graph.result_type(n))) if graph.operands(n) else None)


@pass_
def forgets_the_second_slot(graph):
    """A node that reads one value twice is taken for one that reads it once."""
    found = [n for n in graph if graph.nodes[n]["type"] == "add" and len(set(graph.operands(n))) == 1]
    for node in found:
        rewire(graph, node, graph.operands(node)[0])
        graph.remove_node(node)
    return found


@pass_
def folds_the_wrong_way(graph):
    """Computes what is independent, and negates it."""
    found = [n for n in graph.in_order() if n in graph.independent_nodes() and graph.nodes[n]["type"] == "relu"]
    values = evaluate_nodes(graph, {}, found)
    for node in found:
        made = graph.constant(np.asarray(-values[node], values[node].dtype), type=graph.result_type(node))
        rewire(graph, node, Operand(made.node))
        graph.remove_node(node)
    return found


@pass_
def bypasses_a_broadcast(graph):
    """A sum with zeros is bypassed even where it broadcasts."""
    gone = []
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "sub":
            continue
        left, right = graph.operands(node)
        if graph.nodes[right.node]["type"] == "constant" and not np.any(graph.nodes[right.node]["value"]):
            rewire(graph, node, left)
            graph.remove_node(node)
            gone.append(node)
    return gone


@pass_
def renames_an_input(graph):
    """An input gets another name."""
    if not graph.inputs or graph.inputs[0] == "renamed":
        return []
    old = graph.inputs[0]
    data = dict(graph.nodes[old])
    graph.add_node("renamed", **data)
    for reader, edge in list(graph.succ[old].items()):
        graph.add_edge("renamed", reader, **edge)
    graph.remove_node(old)
    return [old]


def changes_its_argument(graph: Graph) -> Graph:
    """Changes the graph that it is given."""
    for data in graph.nodes.values():
        if data["type"] == "neg":
            data["type"] = "identity"
    return graph


FUNCTIONS = ("changes_its_argument",)
"""Functions of a graph among them."""

ON = {
    "merges_differences_of_either_order": graphs(ops=["sub", "neg"]),
}
"""Where a pass is tested whose graphs plain ones are not."""

SMALLEST = {
    "loses_a_reader": 3,
    "drops_an_output": 4,
    "reorders_outputs": 4,
    "exchanges_outputs": 5,
    "drops_inputs_that_nothing_reads": 3,
    "takes_what_the_first_output_does_not_need": 4,
    "leaves_a_stale_type": 3,
    "merges_differences_of_either_order": 6,
    "merges_without_attributes": 5,
    "merges_constants_of_one_shape": 4,
    "merges_constants_of_one_value": 4,
    "merges_any_op": 5,
    "forgets_the_second_slot": 3,
    "folds_the_wrong_way": 3,
    "bypasses_a_broadcast": 4,
    "renames_an_input": 2,
    "changes_its_argument": 3,
}
"""Nodes of the smallest graph that shows each fault."""
