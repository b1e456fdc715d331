"""Plan of a program over memory: when each region lives, and where it lies in one block of memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from graphrewrite.errors import GraphError, PlacementError, did_you_mean
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.regions import Regions
from graphrewrite.memory.placement import Placement, place
from graphrewrite.memory.span import Span
from graphrewrite.types import Tensor, element_dtype

__all__ = ["WIDEST", "MemoryPlan", "Room", "plan_memory"]

WIDEST = 8
"""Bytes of the widest entries."""
_STEPS = 1_000
"""Steps of the search for a smaller block."""


@dataclass(frozen=True, slots=True)
class Room:
    """A region that a program allocates, with its life and its place.

    Attributes
    ----------
    size : int
        In bytes.
    begin, end : int
        Its life in instructions: from the first that uses it until before `end`.
    offset : int
        In bytes, in the block.
    """

    size: int
    begin: int
    end: int
    offset: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Instructions in order, and the places of the regions that they use.

    Attributes
    ----------
    order : tuple of str
        The nodes for which something is done.
    rooms : mapping of str to Room
        By the node that allocates it. Inputs, outputs and constants lie elsewhere: the caller has them.
    outputs : mapping of str to str
        By the node that allocates it, the output whose region it is; for a variable, by its input.
    placement : Placement
        The height of the block, and the bound: what lives at the same time.
    workspaces : mapping of str to Room
        By instruction, the room for the regions of the programs that it runs.
    nested : mapping of str to mapping of str to MemoryPlan
        By instruction and attribute, the plan of a program that it runs; its offsets count from those of the workspace.
    """

    order: tuple[str, ...]
    rooms: Mapping[str, Room]
    outputs: Mapping[str, str]
    placement: Placement
    workspaces: Mapping[str, Room]
    nested: Mapping[str, Mapping[str, MemoryPlan]]

    def __repr__(self) -> str:
        return f"<memory plan: {len(self.rooms)} regions in {self.size} bytes, at least {self.bound}>"

    @property
    def size(self) -> int:
        """Bytes of the block."""
        return self.placement.height

    @property
    def bound(self) -> int:
        """The bytes below which it is proved that no block can be, in this order."""
        return self.placement.bound

    def last_uses(self) -> Mapping[str, tuple[str, ...]]:
        """Return the regions that are free after each instruction.

        Examples
        --------
        >>> g = Graph.parse('''graph g
        ... x = input() : f32[4]
        ... a = alloc(element="f32", shape=[4]) : f32[4]
        ... r = into(a, x, of="relu")
        ... b = alloc(element="f32", shape=[4]) : f32[4]
        ... n = into(b, r, of="neg")
        ... y = output(n)''')
        >>> plan_memory(g).last_uses()
        {'n': ('a',)}
        """
        ends: dict[str, tuple[str, ...]] = {}
        for name, room in self.rooms.items():
            node = self.order[room.end - 1]
            ends[node] = (*ends.get(node, ()), name)
        return ends


def plan_memory(
    graph: Graph,
    order: Iterable[str] | None = None,
    *,
    align: int = 1,
    capacity: int | None = None,
    search: bool = True,
) -> MemoryPlan:
    """Return when each region of a program lives, and where it lies.

    Parameters
    ----------
    graph : Graph
        Of the level ``memory``, with sizes that are numbers.
    order : iterable of str, optional
        Its nodes, or those for which something is done, in an order that its edges allow; the graph's own where not
        given. Programs that instructions run have their own order.
    align : int
        Bytes whose multiples offsets are; sizes of entries are added to that.
    capacity : int, optional
        Bytes that there are.
    search : bool
        Whether to search for a smaller block where first fit does not reach the bound, for some seconds at most.

    Raises
    ------
    PlacementError
        If a region has a symbolic size, or they do not fit into the capacity, or into each other where they say their
        place: by the annotation ``at``, as a program's text may.
    GraphError
        If the order is none that the edges allow.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[4]
    ... a = alloc(element="f32", shape=[4]) : f32[4]
    ... r = into(a, x, of="relu")
    ... b = alloc(element="f32", shape=[4]) : f32[4]
    ... n = into(b, r, of="neg")
    ... y = output(n)''')
    >>> plan = plan_memory(g)
    >>> plan.size, plan.rooms["a"], plan.outputs
    (16, Room(size=16, begin=0, end=2, offset=0), mappingproxy({'b': 'y'}))
    """
    graph = as_graph(graph, "that has a plan")
    regions = Regions(graph)
    instructions = tuple(_in_order(regions, order))
    position = {node: index for index, node in enumerate(instructions)}
    outputs = {root.node: names[0] for root, names in regions.outputs.items() if names}
    lives: dict[str, tuple[int, int]] = {}
    for root, contents in regions.contents.items():
        used = {
            p for c in contents for n in (c.writer, *regions.readers(c)) if (p := position.get(n or "")) is not None
        }
        if not used:  # of no bytes: nobody reads what is in it, but it is an operand
            used = {
                p for node, p in position.items() for o in graph.operands(node) if regions.locations[o].root == root
            }
        if used and regions.is_allocated(root) and root.node not in outputs:
            lives[root.node] = min(used), max(used) + 1
    spans = []
    for node, (begin, end) in lives.items():
        size, grain = _bytes_of(graph, node)
        spans.append(Span(size, begin, end, align=grain, offset=graph.nodes[node].get("at")))
    nested: dict[str, dict[str, MemoryPlan]] = {}
    for node, key, body in graph.bodies():
        nested.setdefault(node, {})[key] = plan_memory(body, align=align, search=search)
    running = {node: max(each.size for each in plans.values()) for node, plans in nested.items() if node in position}
    running = {node: size for node, size in running.items() if size}
    for node, size in running.items():
        begin = position[node]
        spans.append(Span(size, begin, begin + 1, align=WIDEST, offset=graph.nodes[node].get("at")))
    placement = place(spans, align=align, capacity=capacity, steps=_STEPS if search else 0)
    rooms = {
        node: Room(span.size, span.begin, span.end, offset)
        for node, span, offset in zip([*lives, *running], spans, placement.offsets, strict=True)
    }
    workspaces = {node: rooms.pop(node) for node in running}
    plans = {node: MappingProxyType(each) for node, each in nested.items()}
    return MemoryPlan(
        instructions,
        MappingProxyType(rooms),
        MappingProxyType(outputs),
        placement,
        MappingProxyType(workspaces),
        MappingProxyType(plans),
    )


def _in_order(regions: Regions, order: Iterable[str] | None) -> Iterable[str]:
    """Return the instructions of a graph in an order, which its edges must allow."""
    graph = regions.graph
    own = [node for node in regions.order if regions.is_instruction(node)]
    if order is None:
        return own
    wanted, done, every = set(own), 0, sum(regions.bits[node] for node in own)
    found = [node for node in order if node in wanted]
    for node in found:
        if late := regions.before[node] & every & ~done:
            other = next(n for n in own if late & regions.bits[n])
            raise GraphError(f"comes before {other!r} in the order, which it depends on; sort it", node=node)
        done |= regions.bits[node]
    if len(found) != len(own) or len(set(found)) != len(found):
        missing = next((n for n in own if n not in found), None)
        said = f"lacks {missing!r}{did_you_mean(missing, graph)}" if missing else "has a node twice"
        raise GraphError(f"an order of the program {said}; it has every instruction once")
    return found


def _bytes_of(graph: Graph, node: str) -> tuple[int, int]:
    """Return the size of a region and of one of its entries."""
    kind = graph.result_type(*Operand(node))
    assert isinstance(kind, Tensor)
    total = entry = element_dtype(kind.element).itemsize
    for size in kind.shape:
        if not isinstance(size, int):
            raise PlacementError(
                f"the region {node!r} is {kind}, and a plan needs numbers; give {size} one by "
                f"lower_to_memory(graph, sizes={{{str(size)!r}: 1}})"
            )
        total *= size
    return total, entry
