"""Parts of a value as the results of one split, a single op, or as a slice each, which rules know one by one."""

from __future__ import annotations

from itertools import pairwise

from graphrewrite import Graph, op, pass_
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import is_ordered
from graphrewrite.graph.rewiring import inherit, rewire
from graphrewrite.op.reserved_keys import marks_in
from graphrewrite.rules.slices import taken

__all__ = ["cut_split", "join_slices", "nodes_of_type"]


@pass_(ops=[op.slice])
def join_slices(graph: Graph) -> list[str]:
    """Slices of one value that lie side by side are results of one split."""
    found: dict[tuple[Operand, int], list[tuple[range, str]]] = {}
    for node in nodes_of_type(graph, "slice"):
        if (part := _part(graph, node)) is not None:
            axis, places = part
            found.setdefault((graph.operands(node)[0], axis), []).append((places, node))
    joined: dict[Operand, Operand] = {}
    for (given, axis), parts in found.items():
        whole = joined.get(given, given)  # which was a slice itself
        parts.sort(key=lambda part: part[0].start)
        kind = graph.result_type(*whole)
        size = kind.shape[axis]
        if len(parts) < 2 or any(one.stop > other.start for (one, _), (other, _) in pairwise(parts)):
            continue
        if 2 * sum(len(places) for places, _ in parts) < size:
            continue  # the split would mostly copy what nobody reads
        ends = sorted({0, size, *(end for places, _ in parts for end in (places.start, places.stop))})
        attributes = {"axis": axis, "sizes": tuple(end - start for start, end in pairwise(ends))}
        results = [ends.index(places.start) for places, _ in parts]
        kinds, nodes = op.split.infer(kind, **attributes), [node for _, node in parts]
        if any(kinds[result] != graph.result_type(node) for result, node in zip(results, nodes, strict=True)):
            continue
        origin = dict.fromkeys(name for node in nodes for name in graph.origin(node))
        first, *_ = graph.add(op.split, [graph.value(*whole)], attributes, origin=origin)
        for result, node in zip(results, nodes, strict=True):
            inherit(graph, first.node, node)
            joined[Operand(node)] = Operand(first.node, result)
            rewire(graph, node, joined[Operand(node)])
            graph.remove_node(node)
    return [node for node, _ in joined]


def nodes_of_type(graph: Graph, kind: str) -> list[str]:
    """Return the nodes of a type, in order."""
    return [node for node in graph.in_order() if graph.nodes[node].get("type") == kind]


def cut_split(graph: Graph, node: str) -> bool:
    """Let what reads the results of a split read a slice each instead; tell whether that was done."""
    # An edge with a kind is a control edge: it orders the split itself, which would be gone.
    if any("kind" in data for data in graph.succ[node].values()):
        return False
    axis, sizes = (graph.attributes(node)[key] for key in ("axis", "sizes"))
    start, read = 0, {result for data in graph.succ[node].values() for _, result in data["slots"]}
    for index, size in enumerate(sizes):
        if index in read:
            attributes = {"starts": (start,), "ends": (start + size,), "axes": (axis,)}
            whole = graph.value(*graph.operands(node)[0])
            part = graph.add(op.slice, [whole], attributes, origin=graph.origin(node))
            rewire(graph, node, Operand(part.node), index)
        start += size
    if read:
        graph.remove_node(node)
    return bool(read)


def _part(graph: Graph, node: str) -> tuple[int, range] | None:
    """Return the only axis that a slice cuts, and what it takes of it; None where it does something else."""
    ((source, result),) = graph.operands(node)
    shape = graph.result_type(source, result).shape
    bounds = taken(graph.node(node), shape)
    if len(bounds) != 1 or is_ordered(graph, node) or graph.predicate(node) is not None:
        return None
    if marks_in(graph.nodes[node], op.slice):
        return None
    ((axis, (start, end, step)),) = bounds.items()
    size = shape[axis]
    if step != 1 or not isinstance(size, int) or not isinstance(start, int) or not isinstance(end, int):
        return None
    places = range(size)[start:end]
    return (axis, places) if places else None
