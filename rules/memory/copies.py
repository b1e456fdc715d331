"""Fewer copies, and fewer regions: what is copied is read where it lies, results take the place of operands."""

from __future__ import annotations

from graphrewrite import Graph, pass_
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import is_ordered
from graphrewrite.graph.regions import Regions, reads_of, writes_of
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


def _own_region(graph: Graph, node: str) -> str | None:
    """Return the region that a node alone writes first, and nothing else reads."""
    region = graph.operands(node)[0].node
    return region if graph.nodes[region]["type"] == "alloc" and list(graph.succ[region]) == [node] else None


@pass_
def eliminate_copies(graph: Graph) -> list[str]:
    """What is copied is read where it lies, if nothing is written there before it is read for the last time."""
    removed: list[str] = []
    regions: Merging | None = None
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "copy" or is_ordered(graph, node):
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
            rewire(graph, node, value)
            graph.remove_nodes_from([node, region])
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
            if regions.may_overwrite(node, slot) and regions.may_move(root, target) and regions.merge(root, target):
                move_slot(graph, node, 0, value)
                graph.remove_node(region)
                removed.append(region)
                break
    return removed


@pass_
def eliminate_dead_stores(graph: Graph) -> list[str]:
    """What is written and never read, for other things are written over it, need not be written."""
    regions = Regions(graph)
    dead = [
        node
        for node, contents in regions.written.items()
        if not any(c.readers for c in contents) and writes_of(graph, node) and regions.is_instruction(node)
    ]
    for node in dead:
        for index, region in enumerate(graph.operands(node)[: writes_of(graph, node)]):
            rewire(graph, node, region, index)
        graph.remove_node(node)
    return dead


@pass_
def eliminate_idle_moves(graph: Graph) -> list[str]:
    """What is copied or inserted where it lies already, and is shown there, changes nothing."""
    removed: list[str] = []
    regions: Regions | None = None
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind not in ("copy", "insert") or is_ordered(graph, node):
            continue
        regions = regions or Regions(graph)
        out, x = graph.operands(node)
        if regions.is_instruction(node):
            continue
        if kind == "copy" or set(regions.visible[x]) <= set(regions.visible[out]):
            rewire(graph, node, x if kind == "copy" else out)
            graph.remove_node(node)
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
    """An order between two nodes goes where neither writes what the other one reads or writes."""
    edges = [(a, b) for a, b, data in graph.edges(data=True) if data.get("kind") == "memory"]
    regions = Regions(graph) if edges else None
    changed = []
    for a, b in edges:
        assert regions is not None
        if not any(_meet(regions, *pair) for pair in ((a, b), (b, a))):
            data = graph.edges[a, b]
            del data["kind"]
            if not data["slots"]:
                graph.remove_edge(a, b)
            changed.append(b)
    return changed


def _meet(regions: Regions, node: str, writer: str) -> bool:
    """Tell whether one node writes where another one reads or writes."""
    used = [regions.locations[each] for each in reads_of(regions.graph, node)]
    used += [content.location for content in regions.written.get(node, ())]
    return any(place.overlaps(content.location) for place in used for content in regions.written.get(writer, ()))
