"""Make a graph of its own of a part of a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphrewrite.dataflow import Operand
from graphrewrite.graph import Graph
from graphrewrite.graph_view.border import in_graph_order, label_of

if TYPE_CHECKING:
    from graphrewrite.graph_view.graph_view import GraphView

__all__ = ["Extract", "extract"]


@dataclass(frozen=True)
class Extract:
    """A part of a graph that stands alone.

    Attributes
    ----------
    graph : Graph
        Its nodes keep their names.
    inputs, outputs : mapping of str to str
        What the values at the border are called in the whole graph, to the inputs and outputs of this one.
    """

    graph: Graph
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def extract(view: GraphView) -> Extract:
    r"""Return the part that a view shows, with the constants that it reads.

    Parameters
    ----------
    view : GraphView
        Of any graph.

    Returns
    -------
    Extract

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
    fed, given = dict.fromkeys(view.inputs), view.outputs
    inside = [n for n in view if whole.nodes[n].get("type") not in ("input", "output")]
    reads = {node: whole.operands(node) for node in in_graph_order(whole, inside)}
    # What is read and neither fed nor inside is a constant.
    read = [*(o for operands in reads.values() for o in operands), *given]
    kept = dict.fromkeys([*(o.node for o in read if o not in fed), *reads])
    made = Graph(view.name or whole.name, ops=whole.ops.values())
    held: dict[Operand, Operand] = {}
    inputs: dict[str, str] = {}
    for value in fed:
        # `split:1` may be the name of a node as well.
        inputs[label_of(value)] = name = _free(label_of(value), {*kept, *inputs.values()})
        held[value] = Operand(made.input(name, whole.result_type(*value)).node)
    for node in kept:
        made.add_node(node, **whole.nodes[node])
    for node, operands in reads.items():
        for slot, operand in enumerate(operands):
            there = held.get(operand, operand)
            made._connect(there.node, node, slot, there.result)
        for source, kind in whole.controls(node):
            if source in kept:
                made.add_control(source, node, kind)
    outputs: dict[str, str] = {}
    for value in given:
        there = held.get(value, value)
        outputs[label_of(value)] = made.output(_name_of(value, whole, made), made.value(*there))
    return Extract(made, inputs, outputs)


def _name_of(value: Operand, whole: Graph, made: Graph) -> str:
    """Return the name of an output that gives a value: that of the whole graph's, where there is one."""
    readers = [r.node for r in whole.readers(value.node) if r.result == value.result]
    own = [n for n in readers if whole.nodes[n].get("type") == "output" and n not in made]
    return own[0] if own else _free(f"{value.node}_out", made)


def _free(name: str, taken: Collection[str]) -> str:
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
