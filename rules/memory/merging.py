"""Merging regions: what is written into one is written into a part of another one instead, where nothing is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from graphrewrite.graph import Operand
from graphrewrite.graph.regions import Content, Location, Regions

__all__ = ["Merging"]


class Merging(Regions):
    """Regions of a graph, of which some are merged; it is edited alongside.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[4]
    ... a = alloc(element="f32", shape=[4]) : f32[4]
    ... r = into(a, x, of="relu")
    ... b = alloc(element="f32", shape=[4]) : f32[4]
    ... n = into(b, r, of="neg")
    ... y = output(n)''')
    >>> regions = Merging(g)
    >>> regions.merge(Operand("b"), regions.locations[Operand("a")])
    True
    >>> regions.locations[Operand("n")].root.node
    'a'
    """

    def is_output(self, root: Operand) -> bool:
        """Tell whether a region is that of an output."""
        return bool(self.outputs.get(root))

    def is_writable(self, root: Operand) -> bool:
        """Tell whether a program may write a region: it allocates it, or it is a variable."""
        graph = self.graph
        return self.is_allocated(root) or any(graph._node[each].get("region") == root.node for each in graph.outputs)

    def may_move(self, root: Operand, target: Location, copied: str | None = None) -> bool:
        """Tell whether a region may become a part of another one, whatever is written there but by a copy.

        That of an output may become another one's whole region only, which no other output has.
        """
        if root == target.root or not self.is_allocated(root):
            return False
        moving = [content for content in self.contents[root] if content.writer not in (None, copied)]
        if moving and not self.is_writable(target.root):
            return False
        if not self.is_output(root):
            return True
        is_whole = target == self.locations[target.root]
        return is_whole and self.is_allocated(target.root) and not self.is_output(target.root)

    def merge(
        self,
        root: Operand,
        target: Location,
        *,
        copied: Collection[Content] = (),
        shown: Collection[Content] = (),
        after: str | None = None,
    ) -> bool:
        """Let all that is in a region be in a part of another one, if every reader still finds what it reads.

        Parameters
        ----------
        root : Operand
            The region.
        target : Location
            The part.
        copied : collection of Content
            What a copy writes that is no longer needed: its readers read what it copies.
        shown : collection of Content
            What it copies.
        after : str, optional
            A node that will come before all that is written into the region.

        Returns
        -------
        bool
            Whether it is so now; else nothing has changed.
        """
        was = {id(c): (c.location, c.readers) for c in (*self.contents[root], *shown)}
        places = {value: self.locations[value] for value in self.values[root]}
        before = {c.writer: self.before[c.writer] for c in self.contents[root] if c.writer and after is not None}
        moving = [c for c in self.contents[root] if c not in copied]
        staying = [c for c in self.contents[target.root] if c not in copied]
        for content in moving:
            content.location = content.location.moved(target.root, target.offset)
        for value, place in places.items():
            self.locations[value] = place.moved(target.root, target.offset)
        for content in shown:
            for each in copied:
                content.readers = (content.readers | each.readers) & ~self._bit(each)
        if after is not None:
            earlier = self.before[after] | self.bits[after]
            if any(self.bits[writer] & earlier for writer in before):
                self._undo(moving, shown, was, places)
                return False
            for writer in before:
                self.before[writer] |= earlier
        grown = [c for c in shown if c not in moving]
        pairs = [(a, b) for a in moving for b in staying] + [(a, b) for a in grown for b in staying if a is not b]
        pairs += [(a, b) for a in shown if a in moving for b in moving if a is not b]
        if all(not a.location.overlaps(b.location) or self.is_before(a, b) or self.is_before(b, a) for a, b in pairs):
            self.contents[target.root] = [*staying, *moving]
            self.values[target.root] += self.values.pop(root)
            self.outputs.setdefault(target.root, []).extend(self.outputs.pop(root, ()))
            del self.contents[root]
            if copied:
                self._replace(copied, tuple(shown), target.root)
            if after is not None:
                self.reorder_behind(before, self.before[after] | self.bits[after])
            return True
        self.before.update(before)
        self._undo(moving, shown, was, places)
        return False

    def reorder_behind(self, nodes: Iterable[str], earlier: int) -> None:
        """Note that some nodes, and all that come after them, come after others."""
        late = 0
        for node in nodes:
            late |= self.bits[node]
        for node in self.order:
            if self.bits[node] & late or self.before[node] & late:
                self.before[node] |= earlier

    def _bit(self, content: Content) -> int:
        return 0 if content.writer is None else self.bits[content.writer]

    def _undo(
        self,
        moving: Iterable[Content],
        shown: Iterable[Content],
        was: dict[int, tuple[Location, int]],
        places: dict[Operand, Location],
    ) -> None:
        for content in (*moving, *shown):
            content.location, content.readers = was[id(content)]
        self.locations.update(places)

    def _replace(self, copied: Collection[Content], shown: tuple[Content, ...], root: Operand) -> None:
        """Let values show what was copied in place of the copy."""
        for value in self.values[root]:
            seen = self.visible[value]
            if any(each in copied for each in seen):
                found = (c for each in seen for c in (shown if each in copied else (each,)))
                self.visible[value] = tuple(dict.fromkeys(found))
