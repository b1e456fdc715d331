"""Checks of a graph's inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.cycles import holds_state
from graphrewrite.errors import GraphRewriteError
from graphrewrite.verify.check import check
from graphrewrite.verify.reading import kind_of, known_op, operands_or_fault, slots_of

__all__ = ["outputs_are_reached", "ports_are_numbered"]


@check(whole=True)
def ports_are_numbered(graph: Any) -> Iterator[tuple[Any, str]]:
    """Inputs and outputs are numbered 0, 1, …, each number once."""
    for kind in ("input", "output"):
        ports = [node for node in graph if kind_of(graph, node) == kind]
        taken: dict[Any, Any] = {}
        for node in ports:
            index = graph._node[node].get("index")
            remedy = f"the positions of its inputs or outputs are 0 to {len(ports) - 1}, each once"
            if type(index) is not int or not 0 <= index < len(ports):
                said = "says no position" if index is None else f"is number {index!r}"
                yield node, f"{said} among the graph's {kind}s; {remedy}"
            elif index in taken:
                yield node, f"is number {index} among the graph's {kind}s, as {taken[index]!r} is; {remedy}"
            else:
                taken[index] = node


@check(whole=True)
def outputs_are_reached(graph: Any) -> Iterator[tuple[Any, str]]:
    """An output gives what comes from an input, a constant or a state."""
    outputs = [node for node in graph if kind_of(graph, node) == "output"]
    if not outputs:
        return
    reached = {node for node in graph if _begins(graph, node)}
    work = list(reached)
    while work:
        for reader, edge in graph._succ[work.pop()].items():
            if reader not in reached and slots_of(edge):
                reached.add(reader)
                work.append(reader)
    for node in outputs:
        if node not in reached and operands_or_fault(graph, node):
            yield node, "is unreachable: no input, constant or state leads to this output; connect what it reads"


def _begins(graph: Any, node: Any) -> bool:
    """Tell whether a node gives a value that no operand gave it."""
    sources = graph._pred[node]
    if sources and any(slots_of(edge) for edge in sources.values()):
        return holds_state(graph, node)
    op = known_op(graph, node)
    try:
        # What is not known may need no operand; that it is not known is said elsewhere.
        return op is None or not op.required
    except GraphRewriteError:  # so is that the graph of a graph as an op is missing
        return True
