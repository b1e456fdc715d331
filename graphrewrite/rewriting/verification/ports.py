"""Checks of a graph's inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph.cycles import holds_state
from graphrewrite.rewriting.verification.checks import check
from graphrewrite.rewriting.verification.reading import known_op, operands_or_fault, slots_of

__all__ = ["outputs_are_reached", "ports_are_numbered"]


@check(whole=True)
def ports_are_numbered(graph: Any) -> Iterator[tuple[Any, str]]:
    """Inputs and outputs are numbered 0, 1, …, each number once."""
    for kind, ports in _ports(graph).items():
        taken: dict[Any, Any] = {}  # index to node
        for node in ports:
            index = graph._node[node].get("index")
            remedy = f"the positions of its inputs or outputs are 0 to {len(ports) - 1}, each once"
            if type(index) is not int or not 0 <= index < len(ports):
                wrong = "has no position" if index is None else f"is number {index!r}"
                yield node, f"{wrong} among the graph's {kind}s; {remedy}"
            elif index in taken:
                yield node, f"is number {index} among the graph's {kind}s, as {taken[index]!r} is; {remedy}"
            else:
                taken[index] = node


@check(whole=True)
def outputs_are_reached(graph: Any) -> Iterator[tuple[Any, str]]:
    """Every output depends on an input, a constant or a state."""
    outputs = _ports(graph)["output"]
    if not outputs:
        return
    reached = {node for node in graph if _is_source(graph, node)}
    work = list(reached)
    while work:
        for reader, edge in graph._succ[work.pop()].items():
            if reader not in reached and _is_read(graph, reader, edge):
                reached.add(reader)
                work.append(reader)
    for node in outputs:
        if node not in reached and operands_or_fault(graph, node):
            yield node, "is unreachable: no input, constant or state leads to this output; connect what it reads"


def _ports(graph: Any) -> dict[str, list[Any]]:
    """Return the inputs and the outputs, in the order of the graph's dictionary."""
    ports: dict[str, list[Any]] = {"input": [], "output": []}
    for node, data in graph._node.items():
        kind = data.get("type")
        if isinstance(kind, str) and kind in ports:
            ports[kind].append(node)
    return ports


def _is_read(graph: Any, reader: Any, edge: Any) -> bool:
    """Tell whether an edge into a node is an operand; in a malformed graph, whether it looks like one."""
    return bool(edge["slots"] if isinstance(operands_or_fault(graph, reader), tuple) else slots_of(edge))


def _is_source(graph: Any, node: Any) -> bool:
    """Tell whether the value of a node does not come from operands: it has none, or a state."""
    for edge in graph._pred[node].values():
        if _is_read(graph, node, edge):
            return holds_state(graph, node)
    op = known_op(graph, node)
    try:
        # An unknown op may need no operand; another check reports it.
        return op is None or not op.required
    except GraphRewriteError:  # a graph op whose graph is missing, which another check reports
        return True
