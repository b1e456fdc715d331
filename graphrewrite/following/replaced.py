"""What an edit has put in the place of what: values by what their readers read now, nodes by what took their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

from graphrewrite.dataflow import Operand
from graphrewrite.edit import Edit, same_data
from graphrewrite.graph_view.border import in_graph_order, operands_of

__all__ = ["Replaced"]


class Replaced:
    r"""The wiring before and after an edit, as far as it changed.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Just after the edit.
    edit : Edit
        Carried out.
    before : Graph or networkx.DiGraph, optional
        The graph before it, where this was a pass.

    Attributes
    ----------
    gone : dict
        Nodes that went, each with its data.
    added : dict
        New nodes.
    now : dict
        What each operand slot, by reader and slot, reads now that reads something else than before, or is new.
    readers : dict
        Values that lost readers, to the slots that have read them, in order.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.edit import difference
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
        for entry in edit.lost:
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
            slots.sort(key=lambda place: (str(place[0]), place[1]))

    @property
    def nodes(self) -> Iterable[Any]:
        """Nodes that went, or whose readers read something else."""
        return dict.fromkeys([*self.gone, *(value.node for value in self.readers)])

    def is_replaced(self, value: Operand) -> bool:
        """Tell whether a value went, or all that have read it, and are there still, read something else."""
        if value.node in self.gone:
            return True
        if all(reader in self.gone for reader, _ in self.readers[value]):
            return False
        for reader, data in self.graph._succ[value.node].items():
            if reader not in self.added and any(result == value.result for _, result in data.get("slots", ())):
                return False
        return True

    def went_with_readers(self, value: Operand) -> bool:
        """Tell whether all that have read a value went."""
        return value.node not in self.twins and all(reader in self.gone for reader, _ in self.readers[value])

    def successors(self, value: Operand) -> list[Operand]:
        """Return what is read now in the place of a value: by its readers, or in the place of those that went too."""
        twin = self.twins.get(value.node)
        if twin is not None:
            return [Operand(twin, value.result)]
        found: dict[Operand, None] = {}
        seen = {value}
        work = [value]
        while work:
            following = []
            for reader, slot in self.readers.get(work.pop(), ()):
                if reader in self.gone:
                    following += [v for v in self.results.get(reader, ()) if v not in seen]
                    seen.update(following)
                elif (there := self.now.get((reader, slot))) is not None and there.node in self.graph._node:
                    found[there] = None
            work += reversed(following)
        return list(found)

    @cached_property
    def results(self) -> dict[Any, list[Operand]]:
        """Values of each node that lost readers."""
        found: dict[Any, list[Operand]] = {}
        for value in self.readers:
            found.setdefault(value.node, []).append(value)
        return {node: sorted(values, key=lambda v: v.result) for node, values in found.items()}

    @cached_property
    def twins(self) -> dict[Any, Any]:
        """Nodes that a pass took away because another one does the same, each with that other one."""
        if self.before is None or not self.gone:
            return {}
        nodes = self.graph._node
        stayed: dict[Any, list[Any]] = {}
        for node, data in nodes.items():
            if node not in self.added and (read := operands_of(self.graph, node)):
                stayed.setdefault((data.get("type"), tuple(read)), []).append(node)
        found: dict[Any, Any] = {}
        for node in in_graph_order(self.before, self.gone):
            data = self.gone[node]
            read = [Operand(found.get(o.node, o.node), o.result) for o in operands_of(self.before, node)]
            if read:
                others = stayed.get((data.get("type"), tuple(read)), [])
            else:  # a constant
                own = {self.now.get(place) for value in self.results.get(node, ()) for place in self.readers[value]}
                others = sorted({o.node for o in own if o is not None and o.node not in self.added}, key=str)
            others = [n for n in others if n in nodes and same_data(_meaning(data), _meaning(nodes[n]))]
            if others:
                found[node] = others[0]
        return found

    def joining(self, replaced: Iterable[Operand], lost: Iterable[Any], inputs: Collection[Operand]) -> list[Any]:
        """Return the nodes that take the place of members.

        Parameters
        ----------
        replaced : iterable of Operand
            Values of members.
        lost : iterable of node
            Members that went.
        inputs : collection of Operand
            What the view reads from outside: that stays outside.

        Returns
        -------
        list of node
        """
        taking = dict.fromkeys(v.node for value in replaced for v in self.successors(value) if v not in inputs)
        twins = [self.twins[node] for node in lost if node in self.twins]
        if self.before is None:  # one match: all that is new is its replacement, and what was matched may stay
            found = [*self.added] if [*replaced, *lost] else []
            found += [node for node in self.edit.matched if node in taking]
        else:
            found = [node for node in taking if node in self.added]
            for node in found:  # grows while it is gone through: with a node comes what is new above it
                found += [o.node for o in operands_of(self.graph, node) if o.node in self.added and o.node not in found]
        return [node for node in dict.fromkeys([*found, *twins]) if node in self.graph._node]

    def between(self, members: Collection[Any]) -> list[Any]:
        """Return the new nodes of a pass that stand between members only."""
        if self.before is None:
            return []
        found: list[Any] = []
        seen: set[Any] = set(members)
        for start in self.added:
            if start in seen:
                continue
            group, rim = self._group(start)
            seen.update(group)
            if rim and all(node in members for node in rim):
                found += group
        return found

    def _group(self, start: Any) -> tuple[list[Any], set[Any]]:
        """Return the new nodes that hang together with one, and what is read and reads there, but for constants."""
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
