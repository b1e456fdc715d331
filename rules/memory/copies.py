"""Fewer copies, and fewer regions: what is copied is read where it lies, results take the place of operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphrewrite import Graph, pass_
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import PREDICATE
from graphrewrite.graph.regions import Location, Regions, reads_of, writes_of
from graphrewrite.graph.rewiring import move_slot, rewire
from graphrewrite.rules.memory.merging import Merging

__all__ = [
    "eliminate_copies",
    "eliminate_dead_stores",
    "eliminate_idle_moves",
    "eliminate_needless_order",
    "overwrite_operands",
    "separate_regions",
]


_NO_INSTRUCTIONS = frozenset({"alloc", "input", "constant", "output"})


def _own_region(graph: Graph, node: str) -> str | None:
    """Return the region that a node alone writes first, and nothing else reads."""
    region = graph.operands(node)[0].node
    return region if graph.nodes[region]["type"] == "alloc" and list(graph.succ[region]) == [node] else None


def _beyond_views(graph: Graph, node: str, neighbours: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the instructions next to a node, where views only name memory."""
    found: dict[str, None] = {}
    work = list(neighbours[node])
    while work:
        other = work.pop()
        kind = graph.nodes[other]["type"]
        if kind == "view":
            work += neighbours[other]
        elif kind not in _NO_INSTRUCTIONS:
            found[other] = None
    return list(found)


def _replace(graph: Graph, node: str, *values: Operand) -> None:
    """Let readers of a node read other values, and remove it."""
    after = _beyond_views(graph, node, graph.succ)
    for index, value in enumerate(values):
        rewire(graph, node, value, index)
    _remove(graph, node, after)


def _remove(graph: Graph, node: str, after: Iterable[str] | None = None) -> None:
    """Remove a node; the instructions before it stay before those behind it, for the sake of memory."""
    before = _beyond_views(graph, node, graph.pred)
    after = _beyond_views(graph, node, graph.succ) if after is None else after
    graph.remove_node(node)
    for source in before:
        for reader in after:
            if reader not in graph.succ[source]:
                graph.add_control(source, reader, "overwrite")


def _is_ordered_otherwise(graph: Graph, node: str) -> bool:
    """Tell whether edges order a node that are not there for the sake of memory."""
    edges = (*graph.pred[node].values(), *graph.succ[node].values())
    return any(edge.get("kind", "overwrite") not in ("overwrite", PREDICATE) for edge in edges)


@pass_
def eliminate_copies(graph: Graph) -> list[str]:
    """What is copied is read where it lies, if nothing is written there before it is read for the last time."""
    removed: list[str] = []
    regions: Merging | None = None
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "copy" or _is_ordered_otherwise(graph, node):
            continue
        region = _own_region(graph, node)
        if region is None:
            continue
        regions = regions or Merging(graph)
        value, root = graph.operands(node)[1], Operand(region)
        target = regions.locations[value]
        shown = regions.visible[value]
        if regions.may_move(root, target, copied=node) and regions.merge(
            root, target, copied=tuple(regions.written[node]), shown=shown
        ):
            _replace(graph, node, value)
            graph.remove_node(region)
            removed += [node, region]
    return removed


@pass_
def overwrite_operands(graph: Graph) -> list[str]:
    """An element-wise op writes its result over an operand that nothing reads afterwards."""
    removed: list[str] = []
    regions: Merging | None = None
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "into" or (region := _own_region(graph, node)) is None:
            continue
        regions = regions or Merging(graph)
        for slot, value in enumerate(reads_of(graph, node)):
            root, target = Operand(region), regions.locations[value]
            if target.size == 0:
                continue  # an empty region takes no memory, and what is never overwritten may have many readers
            if not regions.may_overwrite(node, slot) or not regions.may_move(root, target):
                continue
            if not regions.merge(root, target):
                # An output has memory anyway: what it is computed of may lie there, if its other reader comes before.
                other = _other_reader(regions, node, target) if regions.is_output(root) else None
                if other is None or not regions.merge(root, target, after=other):
                    continue
                if other not in graph.pred[node]:
                    graph.add_control(other, node, "overwrite")
            move_slot(graph, node, 0, value)
            graph.remove_node(region)
            removed.append(region)
            break
    return removed


def _other_reader(regions: Merging, node: str, place: Location) -> str | None:
    """Return the one node that reads a place beside another node, which it may come before."""
    readers = {
        other for content in regions.contents[place.root] if content.location.overlaps(place)
        for other in regions.order if content.readers & regions.bits[other] and other != node
    }  # fmt: skip
    other = next(iter(readers)) if len(readers) == 1 else None
    return None if other is None or regions.before[other] & regions.bits[node] else other


@pass_
def eliminate_dead_stores(graph: Graph) -> list[str]:
    """What is written and never read, for other things are written over it or nothing needs it, need not be written."""
    needless = sorted(graph.dead_nodes() - set(graph.inputs))
    for node in needless:
        _remove(graph, node)
    regions = Regions(graph)
    dead = [
        node
        for node, contents in regions.written.items()
        if not any(c.readers for c in contents) and writes_of(graph, node) and not _is_ordered_otherwise(graph, node)
    ]
    for node in dead:
        _replace(graph, node, *graph.operands(node)[: writes_of(graph, node)])
    return [*needless, *dead]


@pass_
def eliminate_idle_moves(graph: Graph) -> list[str]:
    """What is copied or inserted where it lies already, and is shown there, changes nothing."""
    removed: list[str] = []
    regions: Regions | None = None
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind not in ("copy", "insert") or _is_ordered_otherwise(graph, node):
            continue
        regions = regions or Regions(graph)
        out, x = graph.operands(node)
        if regions.is_instruction(node):
            continue
        if kind == "copy" or set(regions.visible[x]) <= set(regions.visible[out]):
            _replace(graph, node, x if kind == "copy" else out)
            removed.append(node)
    return removed


@pass_
def separate_regions(graph: Graph) -> list[str]:
    """What is written over a whole region whose content is still read gets a region of its own."""
    changed: list[str] = []
    regions: Regions | None = None
    for node in graph.in_order():
        if writes_of(graph, node) != 1 or graph.nodes[node]["type"] == "insert":
            continue
        old = graph.operands(node)[0]
        if graph.nodes[old.node]["type"] in ("alloc", "view", "input"):
            continue
        regions = regions or Regions(graph)
        where = regions.locations[old]
        is_whole = regions.is_allocated(where.root) and where == regions.locations[where.root]
        is_read = any(regions.locations[each].overlaps(where) for each in reads_of(graph, node))
        others = [reader for reader in graph.readers(old.node) if reader.result == old.result and reader.node != node]
        if is_whole and others and not is_read:
            region = graph.fresh(f"{node}_region")
            graph.add_node(region)
            graph.nodes[region].update(graph.nodes[where.root.node])
            move_slot(graph, node, 0, Operand(region))
            changed.append(node)
    return changed


@pass_
def eliminate_needless_order(graph: Graph) -> list[str]:
    """An order between two nodes goes where nothing is lost without it."""
    edges = [(a, b) for a, b, data in graph.edges(data=True) if data.get("kind") == "overwrite"]
    regions = Regions(graph) if edges else None
    if regions is None or any(True for _ in regions.conflicts()):
        return []
    changed = []
    for a, b in edges:
        if any(_meet(regions, *pair) for pair in ((a, b), (b, a))):
            continue
        data = dict(graph.edges[a, b])
        graph.remove_edge(a, b)
        if data["slots"]:
            graph.add_edge(a, b, slots=data["slots"])
        if any(True for _ in Regions(graph).conflicts()):  # it orders others, too
            graph.add_edge(a, b, **data)
        else:
            changed.append(b)
    return changed


def _meet(regions: Regions, node: str, writer: str) -> bool:
    """Tell whether one node writes where another one reads or writes."""
    used = [regions.locations[each] for each in reads_of(regions.graph, node)]
    used += [content.location for content in regions.written.get(node, ())]
    return any(place.overlaps(content.location) for place in used for content in regions.written.get(writer, ()))
