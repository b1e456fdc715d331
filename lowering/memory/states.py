"""States as variables: what a node keeps from run to run comes in as an input, and goes out as an output."""

from __future__ import annotations

from typing import Any

from graphrewrite import Graph, Tensor
from graphrewrite import op as ops
from graphrewrite.graph import Operand, Value
from graphrewrite.graph.rewiring import rewire
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.types import FixedPoint

__all__ = ["expose_states"]


def expose_states(graph: Graph) -> None:
    """Replace registers, delays and counters, in place, by variables.

    A variable is an input with the annotations ``initial``, its value before the first run, and ``next``, the output
    that has the value of the next run.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[2]
    ... d = delay(x, cycles=3)
    ... y = output(d)''')
    >>> expose_states(g)
    >>> print(g)
    graph g
    x = input() : f32[2]
    d_state = input() {initial=0, next='d_after'} : f32[3,2]
    slice_1 = slice(d_state, starts=[0], ends=[1], axes=[0]) : f32[1,2]
    reshape_1 = reshape(slice_1, shape=[2]) : f32[2]
    slice_2 = slice(d_state, starts=[1], ends=[3], axes=[0]) : f32[2,2]
    reshape_2 = reshape(x, shape=[1, 2]) : f32[1,2]
    concat_1 = concat(slice_2, reshape_2, axis=0) : f32[3,2]
    y = output(reshape_1)
    d_after = output(concat_1)
    """
    dead = graph.dead_nodes() - set(graph.inputs)
    if any(graph.nodes[node]["type"] in _EXPOSED for node in dead):  # a variable would give them a reader
        graph.remove_nodes_from(sorted(dead))
    for node in graph.in_order():
        if (expose := _EXPOSED.get(graph.nodes[node]["type"])) is not None:
            expose(graph, node)


def _variable(graph: Graph, node: str, kind: Tensor, initial: Any, *, suffix: str = "state") -> tuple[Value, str]:
    """Add the input of a variable; return it with the name of its output, which is still to be added."""
    name, after = (_free(graph, f"{node}_{each}") for each in (suffix, "after"))
    value = graph.input(name, kind)
    graph.nodes[name].update({"initial": initial, "next": after}, origin=graph.origin(node))
    return value, after


def _free(graph: Graph, name: str) -> str:
    return name if name not in graph else graph.fresh(name)


def _replace(graph: Graph, node: str, value: Value) -> None:
    """Let what reads a node read a value, and remove it."""
    rewire(graph, node, Operand(value.node, value.result))
    graph.remove_node(node)


def _tensor(graph: Graph, node: str) -> Tensor:
    kind = graph.result_type(node)
    if not isinstance(kind, Tensor):
        raise LoweringError(f"keeps {kind}, which has no fixed size in memory; keep a tensor", node=node)
    return kind


def _expose_delay(graph: Graph, node: str) -> None:
    kind, data = _tensor(graph, node), graph.attributes(node)
    cycles, initial = data.get("cycles", 1), data.get("initial", 0)
    value = graph.value(*graph.operands(node)[0])
    if cycles > 1 and kind.layout is None and getattr(kind.element, "axis", None) is None:
        state, after = _variable(graph, node, Tensor(kind.element, (cycles, *kind.shape)), initial)
        oldest = ops.slice(state, starts=(0,), ends=(1,), axes=(0,))
        younger = ops.slice(state, starts=(1,), ends=(cycles,), axes=(0,))
        read = ops.reshape(oldest, shape=kind.shape)
        graph.output(after, ops.concat(younger, ops.reshape(value, shape=(1, *kind.shape)), axis=0))
    else:  # whose axes have names or scales: one after the other
        for _ in range(cycles):
            read, after = _variable(graph, node, kind, initial)
            graph.output(after, value)
            value = read
    _replace(graph, node, read)


def _expose_counter(graph: Graph, node: str) -> None:
    kind = _tensor(graph, node)
    state, after = _variable(graph, node, kind, 0)
    if isinstance(whole := kind.element, FixedPoint):
        further = ops.rescale(state, multiplier=1, shift=0, offset=1, element=whole, saturate=False)
    elif isinstance(whole, str) and whole[0] in "iu":
        further = ops.add(state, graph.constant(1, type=whole))
    else:
        raise LoweringError(f"counts in {whole}; give it an element of whole numbers, such as u8 or i64", node=node)
    graph.output(after, further)
    _replace(graph, node, state)


_EXPOSED = {"register": _expose_delay, "delay": _expose_delay, "counter": _expose_counter}
