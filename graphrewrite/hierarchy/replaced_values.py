"""Replacements of an edit: which value and which node took the place of which."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.edit import Edit, is_unchanged
from graphrewrite.hierarchy.border import in_graph_order, operands_of

__all__ = ["Replaced"]


class Replaced:
    r"""The wiring before and after an edit, as far as it changed; `before` is the old graph if the edit is a pass.

    Attributes
    ----------
    gone : dict
        Removed nodes, each with its data.
    added : dict
        New nodes.
    now : dict
        Changed and new operands, by reader and slot.
    readers : dict
        Values that lost readers, to the (reader, slot) pairs that read them before, in order.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.graph.edit import difference
    >>> old = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = neg(a)\ny = output(b)")
    >>> new = Graph.parse("graph g\nx = input() : f32[N]\nc = exp(x)\ny = output(c)")
    >>> moved = Replaced(new, difference(old, new))
    >>> moved.successors(Operand("b")), moved.successors(Operand("a"))
    ([Operand(node='c', result=0)], [Operand(node='c', result=0)])
    """

    def __init__(self, graph: Any, edit: Edit, before: Any = None) -> None:
        self.graph, self.edit, self.before = graph, edit, before
        self.added = dict.fromkeys(name for name, _ in edit.added)
        self.gone: dict[Any, dict[str, Any]] = {entry[0]: entry[1] for entry in edit.lost if len(entry) == 4}
        self.now = {(b, slot): Operand(a, r) for a, b, data in edit.linked for slot, r in data.get("slots", ())}
        self.then: dict[tuple[Any, int], Operand] = {}
        for entry in edit.lost:  # a removed node has 4 entries, a removed or changed edge 3, a changed node 2
            if len(entry) == 4:
                edges = [(source, entry[0], data) for source, data in entry[2].items()]
                edges += [(entry[0], reader, data) for reader, data in entry[3].items()]
            else:
                edges = [(entry[0], entry[1], entry[2])] if len(entry) == 3 else []
            for source, reader, data in edges:
                self.then.update({(reader, slot): Operand(source, r) for slot, r in data.get("slots", ())})
        self.readers: dict[Operand, list[tuple[Any, int]]] = {}
        for (reader, slot), value in self.then.items():
            if self.now.get((reader, slot)) != value:
                self.readers.setdefault(value, []).append((reader, slot))
        for slots in self.readers.values():
            slots.sort(key=lambda read: (str(read[0]), read[1]))

    @property
    def nodes(self) -> Iterable[Any]:
        """Removed nodes, and nodes that lost readers."""
        return dict.fromkeys([*self.gone, *(value.node for value in self.readers)])

    def is_replaced(self, value: Operand) -> bool:
        """Tell whether a value was removed, or all its remaining readers read another value."""
        if value.node in self.gone:
            return True
        if all(reader in self.gone for reader, _ in self.readers[value]):
            return False
        for reader, data in self.graph._succ[value.node].items():
            if reader not in self.added and any(result == value.result for _, result in data.get("slots", ())):
                return False
        return True

    def went_with_readers(self, value: Operand) -> bool:
        """Tell whether all readers of a value were removed."""
        return value.node not in self.twins and all(reader in self.gone for reader, _ in self.readers[value])

    def successors(self, value: Operand) -> list[Operand]:
        """Return the values that its readers read in its place, or that replaced readers which were removed too."""
        twin = self.twins.get(value.node)
        if twin is not None:
            return [Operand(twin, value.result)]
        successors: dict[Operand, None] = {}
        seen = {value}
        work = [value]
        while work:
            following = []
            for reader, slot in self.readers.get(work.pop(), ()):
                if reader in self.gone:
                    following += [v for v in self.results.get(reader, ()) if v not in seen]
                    seen.update(following)
                elif (operand := self.now.get((reader, slot))) is not None and operand.node in self.graph._node:
                    successors[operand] = None
            work += reversed(following)
        return list(successors)

    @cached_property
    def results(self) -> dict[Any, list[Operand]]:
        """The results of each node that lost readers."""
        by_node: dict[Any, list[Operand]] = {}
        for value in self.readers:
            by_node.setdefault(value.node, []).append(value)
        return {node: sorted(values, key=lambda v: v.result) for node, values in by_node.items()}

    @cached_property
    def twins(self) -> dict[Any, Any]:
        """Nodes that a pass removed because another node is equal, each with that node."""
        if self.before is None or not self.gone:
            return {}
        nodes = self.graph._node
        stayed: dict[Any, list[Any]] = {}
        for node, data in nodes.items():
            if node not in self.added and (read := operands_of(self.graph, node)):
                stayed.setdefault((data.get("type"), tuple(read)), []).append(node)
        twins: dict[Any, Any] = {}
        for node in in_graph_order(self.before, self.gone):
            data = self.gone[node]
            read = [Operand(twins.get(o.node, o.node), o.result) for o in operands_of(self.before, node)]
            if read:
                others = stayed.get((data.get("type"), tuple(read)), [])
            else:  # a constant
                own = {self.now.get(slot) for value in self.results.get(node, ()) for slot in self.readers[value]}
                others = sorted({o.node for o in own if o is not None and o.node not in self.added}, key=str)
            others = [n for n in others if n in nodes and is_unchanged(_meaning(data), _meaning(nodes[n]))]
            if others:
                twins[node] = others[0]
        return twins

    def joining(self, replaced: Iterable[Operand], lost: Iterable[Any], inputs: Collection[Operand]) -> list[Any]:
        """Return the nodes that replace members; nodes of `inputs` stay outside the view."""
        taking = dict.fromkeys(v.node for value in replaced for v in self.successors(value) if v not in inputs)
        twins = [self.twins[node] for node in lost if node in self.twins]
        if self.before is None:  # one match: all new nodes are its replacement, and matched nodes may stay
            nodes = [*self.added] if [*replaced, *lost] else []
            nodes += [node for node in self.edit.matched if node in taking]
        else:
            nodes = [node for node in taking if node in self.added]
            for node in nodes:  # grows during iteration: new nodes upstream of a new node
                nodes += [o.node for o in operands_of(self.graph, node) if o.node in self.added and o.node not in nodes]
        return [node for node in dict.fromkeys([*nodes, *twins]) if node in self.graph._node]

    def between(self, members: Collection[Any]) -> list[Any]:
        """Return the new nodes of a pass whose neighbours are all members."""
        if self.before is None:
            return []
        nodes: list[Any] = []
        seen: set[Any] = set(members)
        for start in self.added:
            if start in seen:
                continue
            group, rim = self._group(start)
            seen.update(group)
            if rim and all(node in members for node in rim):
                nodes += group
        return nodes

    def _group(self, start: Any) -> tuple[list[Any], set[Any]]:
        """Return the connected new nodes around one, and their neighbours except constants."""
        nodes = self.graph._node
        group, rim = {start: None}, set()
        work = [start]
        while work:
            node = work.pop()
            sources = [s for s in self.graph._pred[node] if nodes[s].get("type") != "constant" or s in self.added]
            for other in (*sources, *self.graph._succ[node]):
                if other not in self.added:
                    rim.add(other)
                elif other not in group:
                    group[other] = None
                    work.append(other)
        return list(group), rim


def _meaning(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "origin"}
