"""What is in each region while a program is read: which value of the graph lies where."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.regions import part_offset
from graphrewrite.op import LIBRARY
from graphrewrite.types import Tensor

__all__ = ["Name", "State"]


class Name(NamedTuple):
    """A name of memory: a region, or a view of entries of it.

    Attributes
    ----------
    name : str
    root : str
        The node of the region.
    offset : int
        Its first entry, counted in the region.
    type : Tensor
    """

    name: str
    root: str
    offset: int
    type: Tensor

    @property
    def end(self) -> int:
        """The entry behind its last one."""
        return self.offset + math.prod(map(int, self.type.shape))


class _Piece(NamedTuple):
    """Entries of a region, and the value that lies there: at which entry of the region that begins, and ends."""

    start: int
    stop: int
    value: Operand | None
    begin: int
    end: int


def _place(piece: _Piece) -> int:
    return piece.start


class State:
    """The values in regions, and the nodes that used them, in order.

    Examples
    --------
    >>> g = Graph("g")
    >>> state = State(g)
    >>> x = g.input("x", Tensor("f32", (4,)))
    >>> state.add_region("x", Operand("x"))
    >>> state.read(Name("v", "x", 1, Tensor("f32", (2,))))
    Operand(node='v', result=0)
    >>> print(g)
    graph g
    x = input() : f32[4]
    v = view(x, shape=[2], offset=1) : f32[2]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.pieces: dict[str, list[_Piece]] = {}
        self.counts: dict[str, int] = {}
        self.used: dict[str, list[tuple[str, int, int]]] = {}
        self.before: dict[str, int] = {}
        self.bits: dict[str, int] = {}
        self.reserved: set[str] = set()
        self.ports: set[str] = set()
        self.views: dict[tuple[Operand, Tensor, int], Operand] = {}

    def add_region(self, root: str, value: Operand | None) -> None:
        """Note a region, and the value that is in it from the start."""
        count = math.prod(map(int, self.graph.result_type(root).shape))
        self.counts[root] = count
        self.pieces[root] = [_Piece(0, count, value, 0, count)]
        self.used[root] = []
        self.note(root)

    def note(self, node: str) -> None:
        """Note a new node, and what comes before it."""
        found = 0
        for source in self.graph.sources(node):
            found |= self.before[source] | self.bits[source]
        self.before[node], self.bits[node] = found, 1 << len(self.bits)

    # ------------------------------------------------------------------ reading and writing

    def is_written(self, name: Name) -> bool:
        """Tell whether something is in all of some memory."""
        return all(piece.value is not None for piece in self._within(name))

    def is_untouched(self, name: Name) -> bool:
        """Tell whether nothing is in any of some memory."""
        return all(piece.value is None for piece in self._within(name))

    def read(self, name: Name) -> Operand:
        """Return the value of some memory."""
        found = self._within(name)
        if not found:  # no entries
            return self._seen(_Piece(0, 0, Operand(name.root), 0, self.counts[name.root]), name)
        first, *others = [piece for piece in found if piece.value is not None]
        is_one = first.begin <= name.offset and name.end <= first.end
        if is_one and all(piece[2:] == first[2:] for piece in others):
            return self._seen(first, name)
        return self._seen(self._join(name.root), name)

    def region(self, name: Name) -> Operand:
        """Return the version of some memory that is overwritten next."""
        found = self._within(name)
        if len(found) == 1 and (piece := found[0]).value is not None:
            if (piece.begin, piece.end) == (name.offset, name.end) and self._type(piece.value) == name.type:
                return piece.value
            if piece.begin <= name.offset and name.end <= piece.end and piece.value != Operand(name.root):
                return self._seen(piece, name)
        return self._seen(_Piece(0, 0, Operand(name.root), 0, self.counts[name.root]), name)

    def write(self, name: Name, value: Operand, box: tuple[int, int] | None = None) -> None:
        """Note that a value lies in some memory now; or in a box of it, beside what was there already."""
        gaps = [piece for piece in self._within(name) if piece.value is None] if box is not None else []
        new = _Piece(name.offset, name.end, value, name.offset, name.end)
        kept: list[_Piece] = []
        for piece in self.pieces[name.root]:
            if piece.start < new.start:
                kept.append(piece._replace(stop=min(piece.stop, new.start)))
            if piece.stop > new.stop:
                kept.append(piece._replace(start=max(piece.start, new.stop)))
        if new.start < new.stop:
            kept.append(new)
        self.pieces[name.root] = sorted(kept, key=_place) if self.counts[name.root] else [new]
        for gap in gaps:
            assert box is not None
            start, stop = max(gap.start, name.offset), min(gap.stop, name.end)
            self._leave(name.root, start, min(stop, box[0]))
            self._leave(name.root, max(start, box[1]), stop)

    def _leave(self, root: str, start: int, stop: int) -> None:
        """Note that nothing is in some entries."""
        if start >= stop:
            return
        kept = [_Piece(start, stop, None, start, stop)]
        for piece in self.pieces[root]:
            kept += [piece._replace(stop=min(piece.stop, start))] if piece.start < start else []
            kept += [piece._replace(start=max(piece.start, stop))] if piece.stop > stop else []
        self.pieces[root] = sorted(kept, key=_place)

    def use(self, node: str, name: Name, *, writes: bool) -> None:
        """Note that a node reads or writes some memory, and let it come after what it must not overtake."""
        place = (name.offset, name.end)
        for other, start, stop in self.used[name.root] if writes else ():
            if start < place[1] and place[0] < stop:
                self.order(other, node)
        self.used[name.root].append((node, *place))

    def order(self, first: str, node: str) -> None:
        """Let the last node come after another one."""
        if not (self.before[node] | self.bits[node]) & self.bits[first]:
            self.graph.add_control(first, node, "overwrite")
            self.before[node] |= self.before[first] | self.bits[first]

    # ------------------------------------------------------------------ values

    def _type(self, value: Operand) -> Any:
        return self.graph.result_type(*value)

    def _within(self, name: Name) -> list[_Piece]:
        pieces = self.pieces[name.root]
        if not self.counts[name.root]:
            return [piece for piece in pieces if piece.value is not None]
        return [piece for piece in pieces if piece.start < name.end and name.offset < piece.stop]

    def _seen(self, piece: _Piece, name: Name) -> Operand:
        """Return a part of a value in a shape."""
        value = piece.value
        assert value is not None
        whole = (piece.begin, piece.end) == (name.offset, name.end)
        if whole and self._type(value) == name.type:
            return value
        offset = name.offset - piece.begin
        if (value, name.type, offset) not in self.views:
            layout = {} if name.type.layout is None else {"layout": name.type.layout}
            given = {"shape": name.type.shape, "offset": offset, **layout}
            self.views[value, name.type, offset] = self.add("view", [value], given, name.name)
        return self.views[value, name.type, offset]

    def add(self, op: str, operands: list[Operand], attributes: dict[str, Any], name: str = "") -> Operand:
        """Add a node that is no instruction; by a name, if that is free."""
        graph = self.graph
        default = {"offset": 0} if op == "view" else {}
        given = {key: value for key, value in attributes.items() if default.get(key) != value}
        free = name if name and name not in graph and name not in self.ports else self.fresh(op)
        made = graph.add(LIBRARY[op], [graph.value(*each) for each in operands], given, name=free)
        self.note(made.node)
        return Operand(made.node)

    def fresh(self, stem: str) -> str:
        """Return a name that neither a node nor a line of the program has."""
        while (name := self.graph.fresh(stem)) in self.reserved:
            stem = f"{stem}_"
        return name

    def _join(self, root: str) -> _Piece:
        """Make one value of all that is in a region."""
        kind = self._type(Operand(root))
        count = self.counts[root]
        wholes = [each.value for each in self.pieces[root] if each.value and (each.begin, each.end) == (0, count)]
        result = wholes[0] if wholes else Operand(root)
        first = result
        for piece in self.pieces[root]:
            if piece.value in (None, Operand(root), first):
                continue
            part = Name("", root, piece.start, Tensor(kind.element, (piece.stop - piece.start,)))
            is_whole = (piece.start, piece.stop) == (piece.begin, piece.end)
            starts = self._box(kind.shape, self._type(piece.value).shape, piece.start) if is_whole else None
            if starts is not None:
                assert piece.value is not None
                result = self.add("insert", [result, piece.value], {"starts": starts})
                continue
            flat = self.add("view", [result], {"shape": (count,)})
            small = self._seen(piece, part)
            joined = self.add("insert", [flat, small], {"starts": (piece.start,)})
            layout = {} if kind.layout is None else {"layout": kind.layout}
            result = self.add("view", [joined], {"shape": kind.shape, **layout})
        gaps = [piece for piece in self.pieces[root] if piece.value is None]
        self.pieces[root] = [whole := _Piece(0, count, result, 0, count)]
        for gap in gaps:
            self._leave(root, gap.start, gap.stop)
        return whole

    def _box(self, whole: tuple[Any, ...], part: tuple[Any, ...], offset: int) -> tuple[int, ...] | None:
        """Return where a box begins by axis that begins at an entry; None if it is none."""
        if len(whole) != len(part) or 0 in whole:
            return None
        starts, rest = [], offset
        for axis in range(len(whole)):
            step = math.prod(whole[axis + 1 :])
            starts.append(rest // step)
            rest %= step
        fits = all(start + size <= within for start, size, within in zip(starts, part, whole, strict=True))
        return tuple(starts) if fits and part_offset(part, whole, starts) == offset else None
