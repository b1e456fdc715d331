"""Extraction: a part of a graph as a graph of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.storage import own
from graphrewrite.hierarchy.border import free_name, in_graph_order, label_of

if TYPE_CHECKING:
    from graphrewrite.hierarchy.region import GraphView

__all__ = ["Extract", "extract"]


@dataclass(frozen=True)
class Extract:
    """A part of a graph as a graph of its own.

    Attributes
    ----------
    graph : Graph
        Its nodes keep their names.
    inputs, outputs : mapping of str to str
        Labels of values in the whole graph, to inputs and outputs of this one.
    """

    graph: Graph
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def extract(view: GraphView) -> Extract:
    r"""Return the nodes of a view, with the constants that they read, as a graph.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nr = relu(n)\ny = output(r)")
    >>> part = extract(g.view("tail", ["r"]))
    >>> print(part.graph)
    graph tail
    n = input() : f32[N]
    r = relu(n) : f32[N]
    y = output(r)
    >>> part.inputs, part.outputs
    ({'n': 'n'}, {'r': 'y'})
    """
    whole = view.graph
    fed, leaving = dict.fromkeys(view.input_operands), view.output_operands
    inside = [n for n in view if whole.nodes[n].get("type") not in ("input", "output")]
    reads = {node: whole.operands(node) for node in in_graph_order(whole, inside)}
    # Any other value that is read is a constant: it is copied along.
    read = [*(o for operands in reads.values() for o in operands), *leaving]
    kept = dict.fromkeys([*(o.node for o in read if o not in fed), *reads])
    part = Graph(view.name or whole.name, ops=whole.ops.values())
    part.library = whole.library
    renamed: dict[Operand, Operand] = {}
    inputs: dict[str, str] = {}
    for value in fed:
        # The label of a second result, `split:1`, may be the name of another node.
        inputs[label_of(value)] = name = free_name(label_of(value), {*kept, *inputs.values()})
        renamed[value] = Operand(part.input(name, whole.result_type(*value)).node)
    for node in kept:
        part.add_node(node)
        part._node[node].update(own(whole._node[node]))
    for node, operands in reads.items():
        for slot, operand in enumerate(operands):
            source = renamed.get(operand, operand)
            part._connect(source.node, node, slot, source.result)
        for earlier, kind in whole.controls(node):
            if earlier in kept:
                part.add_control(earlier, node, kind)
        predicate = whole.predicate(node)
        if predicate is not None and (predicate in renamed or predicate.node in kept):
            part.set_predicate(node, renamed.get(predicate, predicate))
    order_effects(part, whole.effects)
    outputs: dict[str, str] = {}
    for value in leaving:
        source = renamed.get(value, value)
        outputs[label_of(value)] = part.output(_name_of(value, whole, part), part.value(*source))
    return Extract(part, inputs, outputs)


def _name_of(value: Operand, whole: Graph, part: Graph) -> str:
    """Return the name of an output for a value: that of the whole graph's output, if it has one."""
    readers = [r.node for r in whole.readers(value.node) if r.result == value.result]
    own = [n for n in readers if whole.nodes[n].get("type") == "output" and n not in part]
    return own[0] if own else free_name(f"{value.node}_out", part)
