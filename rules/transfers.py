"""Transfers of values between backends."""

from __future__ import annotations

from graphrewrite import Graph, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import move_slot

__all__ = ["drop_transfer", "insert_transfers", "merge_transfers"]


@pass_
def insert_transfers(graph: Graph) -> list[str]:
    """Put a transfer where a node on one backend reads a value of another; nodes without a backend read any."""
    transferred: dict[tuple[Operand, str], Operand] = {}
    readers = []
    for node in graph.in_order():
        target = graph.nodes[node].get("backend")
        if target is None or graph.nodes[node]["type"] == "transfer":
            continue
        for slot, operand in enumerate(graph.operands(node)):
            if graph.nodes[operand.node].get("backend") in (None, target):
                continue
            # All readers on one backend share a transfer.
            if (operand, target) not in transferred:
                transfer = graph.add(op.transfer, [graph.value(*operand)], {"backend": target})
                transferred[operand, target] = Operand(transfer.node)
            move_slot(graph, node, slot, transferred[operand, target])
            readers.append(node)
    return readers


@rule
def drop_transfer(x):
    """A transfer to the backend where the value is already does nothing."""
    transfer = op.transfer(x)
    yield transfer
    source, target = x.data.get("backend"), transfer.data.get("backend")
    return x if source == target else decline(f"it moves the value from {source} to {target}", at=transfer)


@rule(shared="keep")
def merge_transfers(x):
    """Of two transfers in a row only the last backend counts."""
    last = op.transfer(op.transfer(x))
    yield last
    return op.transfer(x, backend=last.data.get("backend"))
