"""Parts of regions: reshapes, and boxes whose entries lie one behind the other, are views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import Graph, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import is_ordered
from graphrewrite.graph.regions import Location, part_offset
from graphrewrite.graph.rewiring import rewire
from graphrewrite.op.memory.destination import is_without_scales
from graphrewrite.rules.memory.merging import Merging
from graphrewrite.types import Dimension, as_size, is_at_most

__all__ = [
    "compute_in_place_of_insert",
    "drop_whole_view",
    "extract_slice",
    "extract_splits",
    "insert_concat",
    "merge_views",
    "view_extract",
    "view_reshape",
]

_MOVELESS = frozenset({"reshape", "flatten", "squeeze", "unsqueeze", "identity", "name_axes", "transpose"})
"""Ops that leave entries in the order in which they lie, or may do so."""


@rule
def view_reshape(region, x):
    """What changes a shape only is a copy of a view."""
    moved = op.into(region, x)
    yield moved
    if moved.of not in _MOVELESS:
        return decline("it moves entries, or computes", at=moved)
    if moved.of == "transpose":
        perm = dict(moved.attributes or {}).get("perm") or tuple(reversed(range(len(x.shape))))
        long = [axis for axis in perm if x.shape[axis] != 1]
        if long != sorted(long):
            return decline("it moves entries", at=moved)
    if x.type.element != moved.type.element or (not is_without_scales(x.type) and x.shape != moved.shape):
        return decline("its entries have different scales along an axis", at=x)
    return op.copy(region, op.view(x, shape=moved.shape, layout=moved.type.layout))


@rule
def insert_concat(region, xs):
    """Values that are joined one behind the other are inserted one by one."""
    joined = op.into(region, *xs, of="concat")
    yield joined
    whole = joined.shape
    axis = dict(joined.attributes)["axis"] % len(whole)
    at: Dimension = 0
    boxes = []
    for x in xs:
        starts: list[Dimension] = [0] * len(whole)
        starts[axis] = at
        if part_offset(x.shape, whole, starts) is None:
            return decline("its rows lie between those of the others", at=x)
        if x.type.element != joined.type.element:
            return decline("its entries have other scales than all of them", at=x)
        boxes.append(tuple(starts))
        at = as_size(at) + x.shape[axis]
    result = region
    for x, box in zip(xs, boxes, strict=True):
        result = op.insert(result, x, starts=box)
    return result


@rule
def extract_slice(region, x):
    """A part of a value is extracted."""
    part = op.into(region, x, of="slice")
    yield part
    starts = _starts(x.shape, dict(part.attributes))
    if starts is None:
        return decline("it goes in steps, or begins at a size that is not known", at=part)
    return op.extract(region, x, starts=starts)


def _starts(shape: Sequence[Dimension], given: dict[str, Any]) -> tuple[Dimension, ...] | None:
    """Return where a slice begins by axis; None if it goes in steps, or that is not certain."""
    if any(step != 1 for step in given.get("steps") or ()):
        return None
    starts: list[Dimension] = [0] * len(shape)
    axes = given.get("axes")
    for axis, start in zip(range(len(shape)) if axes is None else axes, given["starts"], strict=False):
        size = shape[axis % len(shape)]
        if isinstance(start, int) and start < 0:
            start = as_size(size) + start
            if is_at_most(0, start) is None:
                return None
            start = 0 if is_at_most(0, start) is False else start
        if is_at_most(start, size) is not True:
            if is_at_most(size, start) is not True:
                return None
            start = size
        starts[axis % len(shape)] = start
    return tuple(starts)


@pass_
def extract_splits(graph: Graph) -> list[str]:
    """Each part of a value that is split is extracted."""
    changed = []
    for node in graph.in_order():
        data = graph.nodes[node]
        if data["type"] != "into" or data["of"] != "split" or is_ordered(graph, node):
            continue
        *parts, x = graph.operands(node)
        given = dict(data["attributes"])
        value = graph.value(*x)
        at: Dimension = 0
        for index, (part, size) in enumerate(zip(parts, given["sizes"], strict=True)):
            starts: list[Dimension] = [0] * len(value.shape)
            starts[given.get("axis", 0) % len(value.shape)] = at
            new = op.extract(graph.value(*part), value, starts=tuple(starts)).node
            graph.nodes[new]["origin"] = graph.origin(node)
            rewire(graph, node, Operand(new), index)
            at = as_size(at) + as_size(size)
        graph.remove_node(node)
        changed.append(node)
    return changed


@rule
def view_extract(region, x):
    """Entries that lie one behind the other are extracted by copying a view."""
    part = op.extract(region, x)
    yield part
    offset = part_offset(part.shape, x.shape, part.starts)
    if offset is None:
        return decline("others lie between them", at=part)
    if not is_without_scales(x.type) and x.shape != part.shape:
        return decline("its entries have different scales along an axis", at=x)
    return op.copy(region, op.view(x, shape=part.shape, offset=offset, layout=part.type.layout))


@rule(shared="keep")
def merge_views(x):
    """A view of a view is one of the region."""
    inner = op.view(x)
    outer = op.view(inner)
    yield outer
    offset = as_size(inner.offset) + outer.offset
    return op.view(x, shape=outer.shape, offset=offset, layout=outer.type.layout)


@rule
def drop_whole_view(x):
    """A view of all entries in the same shape is the value itself."""
    seen = op.view(x)
    yield seen
    return x if seen.type == x.type else decline("it has another shape", at=seen)


@pass_
def compute_in_place_of_insert(graph: Graph) -> list[str]:
    """What is inserted into a region, or is copied to a variable, is computed there, so that nothing is copied."""
    changed: list[str] = []
    regions: Merging | None = None
    for node in graph.in_order():
        kind = graph.nodes[node]["type"]
        if kind not in ("insert", "copy"):
            continue
        regions = regions or Merging(graph)
        out, x = graph.operands(node)
        place, whole = regions.locations[x], regions.locations[out]
        if kind == "copy" and graph.nodes[whole.root.node]["type"] != "input":
            continue  # what is copied is read where it lies
        box = regions.box_of(node) if kind == "insert" else whole
        if box is None or box == place or place != regions.locations[place.root]:
            continue
        if not is_without_scales(graph.result_type(*x)) or not regions.may_move(place.root, box, copied=node):
            continue
        copied, shown = tuple(regions.written[node]), regions.visible[x]
        for base, after in ((box.root, None), (out, out.node)):
            if regions.merge(place.root, box, copied=copied, shown=shown, after=after):
                _see(graph, place.root.node, base, regions.locations[base], box)
                changed.append(place.root.node)
                break
    return changed


def _see(graph: Graph, region: str, base: Operand, whole: Location, box: Location) -> None:
    """Make a region that is allocated a view of a part of another one."""
    data = graph.nodes[region]
    del data["element"]
    offset = box.offset - whole.offset
    data.update({"type": "view"} | ({"offset": offset} if offset != 0 else {}))
    graph.add_edge(base.node, region, slots=((0, base.result),))
