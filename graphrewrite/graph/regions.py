"""Regions of the level memory: where each value lies, what is written there, and who reads it before the next write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.graph import Graph
from graphrewrite.op.library import find_op
from graphrewrite.op.memory.pointwise import may_overwrite
from graphrewrite.types import Dimension, Size, as_size, is_at_most, product

__all__ = ["Content", "Location", "Regions", "part_offset", "reads_of", "writes_of"]


class Location(NamedTuple):
    """Entries of a region, one behind the other.

    Attributes
    ----------
    root : Operand
        The value whose memory it is: an allocated region, an input or a constant.
    offset, size : int or Size
        The first entry, and how many.
    """

    root: Operand
    offset: int | Size
    size: int | Size

    @property
    def end(self) -> int | Size:
        """The entry behind the last one."""
        return self.offset + self.size

    def overlaps(self, other: Location) -> bool:
        """Tell whether it may have entries in common with another one."""
        if self.root != other.root or self.size == 0 or other.size == 0:
            return False
        return not (_at_most(self.end, other.offset) or _at_most(other.end, self.offset))

    def covers(self, other: Location) -> bool:
        """Tell whether all entries of another one are certainly among its own."""
        return self.root == other.root and _at_most(other.end, self.end) and _at_most(self.offset, other.offset)

    def moved(self, root: Operand, offset: int | Size) -> Location:
        """Return it in another region, behind an offset."""
        return Location(root, self.offset + offset, self.size)


def _at_most(a: Dimension, b: Dimension) -> bool:
    return a <= b if isinstance(a, int) and isinstance(b, int) else is_at_most(a, b) is True


def _is_within(at: int | Size, where: Location) -> bool:
    """Tell whether a border is certainly inside of a location."""
    return at != where.offset and at != where.end and _at_most(where.offset, at) and _at_most(at, where.end)


@dataclass(eq=False, slots=True)
class Content:
    """What one node writes into a part of a region.

    Attributes
    ----------
    writer : str or None
        The node; None for what is there from the start.
    location : Location
        Where.
    readers : int
        The nodes that read it, a bit for each place in the order.
    """

    writer: str | None
    location: Location
    readers: int = 0


def part_offset(
    part: Sequence[Dimension], whole: Sequence[Dimension], starts: Sequence[Dimension]
) -> int | Size | None:
    """Return where a box of entries begins in a region, if they lie one behind the other; None if they do not.

    They do if the first axes have one entry each, the next one any number, and all axes behind are whole.

    Examples
    --------
    >>> part_offset((1, 2, 3), (3, 3, 3), (1, 0, 0)), part_offset((2, 2, 3), (3, 3, 3), (0, 0, 0))
    (9, None)
    """
    rest = list(zip(part, whole, strict=True))
    while rest and rest[0][0] == 1:
        del rest[0]
    if any(size != within for size, within in rest[1:]) and product(part) != 0:
        return None
    offset: int | Size = 0
    for start, within in zip(starts, whole, strict=True):
        offset = offset * as_size(within) + as_size(start)
    return offset


def writes_of(graph: Graph, node: str) -> int:
    """Return how many of its first operands a node of the level memory writes."""
    data = graph._node[node]
    return int(data.get("outs", 1)) if data["type"] == "into" else int(data["type"] in ("copy", "insert", "extract"))


def reads_of(graph: Graph, node: str) -> tuple[Operand, ...]:
    """Return the operands of which a node reads what is in them."""
    if graph._node[node]["type"] in ("view", "alloc"):
        return ()
    return graph.operands(node)[writes_of(graph, node) :]


class Regions:
    """Locations and contents of all values of a graph, and the order of its nodes that edges enforce.

    Parameters
    ----------
    graph : Graph
        Of the level memory. Nodes of other ops have regions of their own for their results.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[4]
    ... a = alloc(element="f32", shape=[4]) : f32[4]
    ... r = into(a, x, of="relu")
    ... v = view(r, shape=[2], offset=2)
    ... y = output(v)''')
    >>> regions = Regions(g)
    >>> regions.locations[Operand("v")], regions.is_instruction("v")
    (Location(root=Operand(node='a', result=0), offset=2, size=2), False)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = graph.in_order()
        self.bits = {node: 1 << index for index, node in enumerate(self.order)}
        self.before: dict[str, int] = {}
        self.locations: dict[Operand, Location] = {}
        self.visible: dict[Operand, tuple[Content, ...]] = {}
        self.contents: dict[Operand, list[Content]] = {}
        self.values: dict[Operand, list[Operand]] = {}
        self.written: dict[str, list[Content]] = {}
        self.outputs: dict[Operand, list[str]] = {}
        for node in self.order:
            self.order_node(node)
            self._visit(node)
            if (predicate := graph.predicate(node)) is not None:
                self._read(node, predicate)

    def order_node(self, node: str) -> None:
        """Note which nodes come before one in every order that its edges allow."""
        found = 0
        is_given = self.graph._node[node]["type"] in ("input", "constant")  # it is there from the start
        for source in () if is_given else self.graph.sources(node):
            found |= self.before[source] | self.bits[source]
        self.before[node] = found

    def reorder(self) -> None:
        """Note anew which nodes come before others, after edges were added."""
        for node in self.order:
            if node in self.graph:
                self.order_node(node)

    # ------------------------------------------------------------------ locations

    def _visit(self, node: str) -> None:
        graph, kind = self.graph, self.graph._node[node]["type"]
        operands = graph.operands(node)
        if kind == "output":
            self.outputs.setdefault(self.locations[operands[0]].root, []).append(node)
            self._read(node, operands[0])
        elif kind == "view":
            within, data = self.locations[operands[0]], graph._node[node]
            where = Location(within.root, within.offset + as_size(data.get("offset", 0)), product(data["shape"]))
            self._cut(operands[0], where)
            shown = tuple(c for c in self.visible[operands[0]] if c.location.overlaps(where))
            self._place(Operand(node), where, shown)
        elif kind == "insert":
            self._insert(node, *operands)
        elif writes := writes_of(graph, node):
            if self.is_instruction(node):
                for operand in operands[writes:]:
                    self._read(node, operand)
                for index, region in enumerate(operands[:writes]):
                    where = self.locations[region]
                    self._place(Operand(node, index), where, (self._write(node, where),))
            else:  # a copy onto itself
                self._place(Operand(node), self.locations[operands[0]], self.visible[operands[1]])
        else:
            self._other(node, operands)

    def _other(self, node: str, operands: Iterable[Operand]) -> None:
        """Give the results of a node that writes into no region memory of their own."""
        for operand in operands:
            self._read(node, operand)
        result = self.graph._node[node].get("result")
        kind = self.graph._node[node]["type"]
        for index, each in enumerate(result if isinstance(result, tuple) else (result,) if result is not None else ()):
            value = Operand(node, index)
            where = Location(value, 0, product(each.shape))
            self.contents[value] = []
            start = () if kind == "alloc" else (self._write(None if kind in ("input", "constant") else node, where),)
            self._place(value, where, start)

    def _insert(self, node: str, out: Operand, x: Operand) -> None:
        within, place = self.locations[out], self.box_of(node)
        if place is None:  # rows of it, with others between them: what is there is kept, and is something new
            self._read(node, x)
            self._read(node, out)
            self._place(Operand(node), within, (self._write(node, within),))
            return
        self._cut(out, place)
        kept = [c for c in self.visible[out] if not place.covers(c.location)]
        if place == self.locations[x]:
            new = [c for c in self.visible[x] if c not in kept]
        else:
            self._read(node, x)
            new = [self._write(node, place)]
        self._place(Operand(node), within, (*kept, *new))

    def _cut(self, value: Operand, place: Location) -> None:
        """Cut the contents that a value shows at the borders of a part of it."""
        for content in self.visible[value]:
            where = content.location
            if place.covers(where) or not where.overlaps(place):
                continue
            borders = [where.offset, *(at for at in (place.offset, place.end) if _is_within(at, where)), where.end]
            parts = [
                Content(content.writer, Location(where.root, a, b - a), content.readers) for a, b in pairwise(borders)
            ]
            found = self.contents[where.root]
            at = found.index(content)
            found[at : at + 1] = parts
            if content.writer is not None:
                own = self.written[content.writer]
                own.remove(content)
                own += parts
            for each in self.values[where.root]:
                if content in (shown := self.visible[each]):
                    inside = [part for part in parts if part.location.overlaps(self.locations[each])]
                    self.visible[each] = tuple(c for one in shown for c in (inside if one is content else [one]))

    def box_of(self, node: str) -> Location | None:
        """Return where an `insert` puts its entries, or whence an `extract` takes them; None if not in one piece."""
        data = self.graph._node[node]
        out, x = self.graph.operands(node)
        whole, part = (out, x) if data["type"] == "insert" else (x, out)
        shape = self.graph.result_type(*part).shape
        offset = part_offset(shape, self.graph.result_type(*whole).shape, data["starts"])
        within = self.locations[whole]
        return None if offset is None else Location(within.root, within.offset + offset, product(shape))

    def _place(self, value: Operand, where: Location, shown: tuple[Content, ...]) -> None:
        self.locations[value], self.visible[value] = where, shown
        self.values.setdefault(where.root, []).append(value)

    def _read(self, node: str, value: Operand) -> None:
        for content in self.visible[value]:
            content.readers |= self.bits[node]

    def _write(self, node: str | None, where: Location) -> Content:
        new = Content(node, where)
        self.contents[where.root].append(new)
        if node is not None:
            self.written.setdefault(node, []).append(new)
        return new

    def is_instruction(self, node: str) -> bool:
        """Tell whether something is done for a node: views only name memory, and so do copies of what is there."""
        kind = self.graph._node[node]["type"]
        if kind in ("input", "output", "constant", "alloc", "view"):
            return False
        operands = self.graph.operands(node)
        if kind == "copy":
            return self.locations[operands[0]] != self.locations[operands[1]]
        return kind != "insert" or self.box_of(node) != self.locations[operands[1]]

    # ------------------------------------------------------------------ order of writes

    def is_before(self, a: Content, b: Content) -> bool:
        """Tell whether all readers of a content come before another one is written over it, in every order."""
        if b.writer is None:
            return False
        own = 0 if a.writer is None else self.bits[a.writer]
        late = (a.readers | own) & ~self.before[b.writer]
        return not late or (late == self.bits[b.writer] and a.writer != b.writer and self.is_in_place(b.writer))

    def is_in_place(self, node: str) -> bool:
        """Tell whether a node writes over nothing that it reads, but entry by entry."""
        graph = self.graph
        operands, outs = graph.operands(node), writes_of(graph, node)
        targets = [self.locations[each] for each in operands[:outs]]
        if graph._node[node]["type"] == "insert":
            targets = [self.box_of(node) or targets[0]]
        for slot, operand in enumerate(operands[outs:]):
            where = self.locations[operand]
            for target in targets:
                if where.overlaps(target) and (where != target or not self.may_overwrite(node, slot)):
                    return False
        return True

    def may_overwrite(self, node: str, slot: int) -> bool:
        """Tell whether a node that computes into one region may do so over one of its operands."""
        graph, data = self.graph, self.graph._node[node]
        op = find_op(data.get("of"), graph.ops) if data["type"] == "into" else None
        if op is None or data.get("outs", 1) != 1:
            return False
        types = [graph.result_type(*each) for each in graph.operands(node)[1:]]
        return may_overwrite(op, types, graph.result_type(node), slot)

    def conflicts(self) -> Iterator[tuple[Content, Content]]:
        """Yield pairs of contents of which one may be written while the other is still needed."""
        for found in self.contents.values():
            for index, b in enumerate(found):
                for a in found[:index]:
                    if a.location.overlaps(b.location) and not (self.is_before(a, b) or self.is_before(b, a)):
                        yield a, b

    def readers(self, content: Content) -> list[str]:
        """Return the nodes that read a content."""
        return [node for node in self.order if content.readers & self.bits[node]]

    def is_allocated(self, value: Operand) -> bool:
        """Tell whether a value is a region that the program allocates."""
        return bool(self.graph._node[value.node]["type"] == "alloc")
