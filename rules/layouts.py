"""Networks between transposes, as those of frameworks with channels last: on which side of each op they come.

Every value of a region of ops that do not care where their axes are can be computed as it is, or with its axes as they
are before a transpose. Where two neighbours differ, a transpose comes between. The fewest transposes are a minimum cut
(Ford and Fulkerson 1956) between what has to be as it is and what comes from transposes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx
from networkx.algorithms.flow import shortest_augmenting_path

from graphrewrite import Graph, op
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import inherit, move_slot, remove, rewire
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.rewriting.passes import pass_
from graphrewrite.rules.permuted_axes import AXIS_BY_AXIS, SUMS, Moved, inverse, moved, moves_ones, stretched
from graphrewrite.types import Tensor

__all__ = ["cancel_transposes", "cancel_transposes_of_sums"]

_AS_IT_IS, _BEFORE = ("as it is", ""), ("before", "")
"""The two ends of the flow: what has its axes as they are, and what has them as before the transpose."""


@pass_(ops=[op.transpose])
def cancel_transposes(graph: Graph) -> list[str]:
    """Move transposes past ops that do not care where their axes are, where fewer of them are left."""
    return _cancelled(graph, rounds=False)


@pass_(keeps="rounding", ops=[op.transpose])
def cancel_transposes_of_sums(graph: Graph) -> list[str]:
    """Do so past sums as well, which may be rounded in another order."""
    return _cancelled(graph, rounds=True)


def _cancelled(graph: Graph, *, rounds: bool) -> list[str]:
    perms = {tuple(data["perm"]) for data in graph.nodes.values() if data.get("type") == "transpose"}
    removed: list[str] = []
    for perm in sorted(perms | set(map(inverse, perms))):
        if perm != tuple(sorted(perm)):
            removed += _Region(graph, perm, rounds).cut()
    return removed


@dataclass
class _Region:
    """Ops that can be computed before a transpose by a permutation instead of after it, where several are in reach.

    Attributes
    ----------
    entries : dict
        Transposes by the permutation, with the value that each of them reads.
    exits : set
        Transposes back.
    inside : dict
        Ops with what they have to be told before the transpose.
    rounds : bool
        Whether sums may be rounded in another order.
    """

    graph: Graph
    perm: tuple[int, ...]
    rounds: bool
    entries: dict[str, Operand] = field(default_factory=dict)
    exits: dict[str, Operand] = field(default_factory=dict)
    inside: dict[str, Moved] = field(default_factory=dict)

    def __post_init__(self) -> None:
        back, reached = inverse(self.perm), set()
        found = self._between()
        for node in self.graph.in_order() if found else ():
            if node not in found:
                continue
            change = found[node]
            if change is not None:
                self.inside[node] = change
                if any(operand.node in reached for operand in self._permuted(node)):
                    reached.add(node)
                continue
            # A permutation that undoes itself is an entry, or an exit if there is an entry before it.
            value = self.graph.operands(node)[0]
            if self._is_transpose(node, self.perm) and not (back == self.perm and value.node in reached):
                self.entries[node] = value
                reached.add(node)
            elif self.graph.predicate(node) is None or len(self.graph.readers(value.node)) == 1:
                self.exits[node] = value  # else it may lack samples that another reader of the value needs

    def _between(self) -> dict[str, Moved | None]:
        """Return transposes of which others are in reach, over ops that can be moved, and these with what they need.

        One alone stays one, wherever it is. What reads one value is in reach of each other: one transpose serves both.
        """
        graph, perms = self.graph, dict.fromkeys((self.perm, inverse(self.perm)))
        nodes, pred, succ = graph._node, graph._pred, graph._succ
        steps = [node for node, data in nodes.items() if data.get("type") in ("transpose", "reshape") and pred[node]]
        ends = {node for node in steps if any(self._is_transpose(node, perm) for perm in perms)}
        changes: dict[str, Moved | None] = {}
        found: dict[str, Moved | None] = {}
        seen: set[str] = set()
        for end in ends:
            if end in seen:
                continue
            work, around, values = [end], {end}, set[str]()
            while work:
                node = work.pop()
                sources = [s for s in pred[node] if nodes[s]["type"] != "constant"]
                new = [value for value in (node, *sources) if value not in values]
                values.update(new)
                for other in (*sources, *(reader for value in new for reader in succ[value])):
                    if other in around:
                        continue
                    if other not in ends and other not in changes:
                        changes[other] = self._moved(other)
                    if other in ends or changes[other] is not None:
                        around.add(other)
                        work.append(other)
            seen |= around
            if len(around & ends) > 1:
                found.update((node, changes.get(node)) for node in around)
        return found

    def _kind(self, value: Operand) -> Tensor | None:
        """The type of a value if its axes may be permuted."""
        kind = self.graph.result_type(*value)
        return kind if isinstance(kind, Tensor) and isinstance(kind.element, str) else None

    def _is_transpose(self, node: str, perm: tuple[int, ...]) -> bool:
        """Tell whether a node is a transpose, or a reshape that is one."""
        data = self.graph._node[node]
        kind = data["type"]
        if kind not in ("transpose", "reshape") or (kind == "transpose" and tuple(data["perm"]) != perm):
            return False
        before, after = self._kind(self.graph.operands(node)[0]), self._kind(Operand(node))
        if before is None or after is None:
            return False
        return kind == "transpose" or moves_ones(before.shape, after.shape, perm)

    def _permuted(self, node: str) -> tuple[Operand, ...]:
        """The operands whose axes are permuted with those of the result, without constants and single numbers."""
        return tuple(o for o in self.graph.operands(node)[: self.inside[node].slots] if not self._is_anywhere(o))

    def _results(self, node: str) -> list[Operand]:
        count = self.graph.op(node).number_of_results(self.graph.attributes(node))
        return [Operand(node, index) for index in range(count)]

    def _is_anywhere(self, value: Operand) -> bool:
        """Tell whether a value is the same before a transpose, or costs no transpose there."""
        if self.graph.nodes[value.node]["type"] == "constant":
            return True
        kind = self._kind(value)
        return kind is not None and set(kind.shape) <= {1} and len(kind.shape) < len(self.perm)

    def _moved(self, node: str) -> Moved | None:
        """What an op has to be told before the transpose, or None if it has to stay behind it."""
        name, rank = self.graph._node[node]["type"], len(self.perm)
        is_axis_by_axis = name in AXIS_BY_AXIS or name in SUMS
        if not is_axis_by_axis and self.graph.op(node).axes is None:
            return None
        operands = self.graph.operands(node)
        if not operands:
            return None
        by_name = self._finds_axes_by_name(node)
        if not is_axis_by_axis and not by_name:
            return None
        if self.perm[0] and self.graph.predicate(node) is not None:
            return None  # which is about the samples along the first axis
        results = [self._kind(result) for result in self._results(node)]
        if any(kind is None or len(kind.shape) != rank for kind in results):
            return None
        change = Moved({}, 1) if by_name else moved(name, self.graph.attributes(node), self.perm, rounds=self.rounds)
        if change is None:
            return None
        for value in operands[: change.slots]:
            kind = self._kind(value)
            if kind is None or len(kind.shape) > rank:
                return None
            if len(kind.shape) != rank and (name == "concat" or not self._is_anywhere(value)):
                return None
        return change

    def _finds_axes_by_name(self, node: str) -> bool:
        """Tell whether an op is told by the layout of its first operand which axes are which."""
        first, axes = self.graph.result_type(*self.graph.operands(node)[0]), self.graph.op(node).axes
        return axes is not None and isinstance(first, Tensor) and first.layout is not None and "N" in first.layout

    # ------------------------------------------------------------------ the minimum cut

    def cut(self) -> list[str]:
        """Rebuild the region with the fewest transposes, if these are fewer; return the nodes that are gone."""
        if len(self.entries) + len(self.exits) < 2:
            return []
        flow, cost = nx.DiGraph(), 0
        flow.add_nodes_from((_AS_IT_IS, _BEFORE))
        for value in self._values():
            own, readers = self._side(value.node), self._sides_of_readers(value)
            others = sorted(readers - {own})
            cost += _BEFORE in others or (own == _BEFORE and bool(others))
            # One transpose serves all readers on the other side: an edge of capacity 1, behind which all is connected.
            for other in others:
                flow.add_edge((*value, "forth"), other)
                flow.add_edge(other, (*value, "back"))
            if others:
                flow.add_edge(own, (*value, "forth"), capacity=1)
                flow.add_edge((*value, "back"), own, capacity=1)
        least, (_, before) = nx.minimum_cut(flow, _AS_IT_IS, _BEFORE, flow_func=shortest_augmenting_path)
        if least >= cost:
            return []
        return _Rebuilding(self, [node for node in self.inside if (node,) in before]).run()

    def _values(self) -> list[Operand]:
        """All values that a transpose may follow."""
        values = dict.fromkeys(Operand(node) for node in self.entries)
        for node in self.inside:
            values.update(dict.fromkeys(self._results(node)))
            values.update(dict.fromkeys(self._permuted(node)))
        return list(values | dict.fromkeys(self.exits.values()))

    def _side(self, node: str) -> tuple[str, ...]:
        return _BEFORE if node in self.entries else (node,) if node in self.inside else _AS_IT_IS

    def _sides_of_readers(self, value: Operand) -> set[tuple[str, ...]]:
        readers = [reader for reader in self.graph.readers(value.node) if reader.result == value.result]
        return {self.side_read_by(reader.node, reader.slot) for reader in readers}

    def side_read_by(self, reader: str, slot: int) -> tuple[str, ...]:
        """Return the side on which a node reads an operand."""
        if reader in self.exits:
            return _BEFORE
        change = self.inside.get(reader)
        is_permuted = change is not None and (change.slots is None or slot < change.slots)
        return (reader,) if is_permuted else _AS_IT_IS


class _Rebuilding:
    """The region of a graph, with some of its ops before the transpose."""

    def __init__(self, region: _Region, moved_nodes: list[str]) -> None:
        self.region, self.graph, self.moved = region, region.graph, dict.fromkeys(moved_nodes)
        self.before: dict[Operand, Operand] = {}  # of values, those with axes as before the transpose
        self.behind: dict[Operand, Operand] = {}  # of values of ops that are moved, those with axes as they were
        for node, value in region.exits.items():
            self.before.setdefault(value, Operand(node))

    def run(self) -> list[str]:
        """Build the ops before the transpose, let all others read what they need, and remove the old ones."""
        graph, region = self.graph, self.region
        for node in self.moved:
            self.build(node)
        for node, value in region.exits.items():
            if value.node in self.moved or value.node in region.entries:
                rewire(graph, node, self.value_before(value))
        for node in self.moved:
            for reader in graph.readers(node):
                if reader.node not in self.moved and reader.node not in region.exits:
                    move_slot(graph, reader.node, reader.slot, self.value_behind(Operand(node, reader.result)))
        removed, _ = remove(graph, [*self.moved, *region.exits, *region.entries])
        return removed

    def build(self, node: str) -> None:
        """Build an op before the transpose."""
        graph, change = self.graph, self.region.inside[node]
        kind = graph.op(node)
        operands = [
            self.value_before(operand) if change.slots is None or slot < change.slots else operand
            for slot, operand in enumerate(graph.operands(node))
        ]
        attributes = {**attributes_in(graph.nodes[node], kind), **change.attributes}
        made = graph.add(kind, [graph.value(*o) for o in operands], attributes, origin=graph.origin(node))
        first, *_ = made if isinstance(made, tuple) else (made,)
        inherit(graph, first.node, node)
        graph.set_predicate(first.node, graph.predicate(node))
        for index in range(len(made) if isinstance(made, tuple) else 1):
            self.before[Operand(node, index)] = Operand(first.node, index)

    def value_before(self, value: Operand) -> Operand:
        """Return a value with its axes as before the transpose."""
        region, graph = self.region, self.graph
        if value.node in region.entries:
            return self.value_behind(region.entries[value.node])
        if value.node not in self.moved and value not in self.before:
            if graph.nodes[value.node]["type"] == "constant":
                self.before[value] = self.constant_before(value)
            elif len(graph.result_type(*value).shape) < len(region.perm):
                self.before[value] = value
            else:
                self.before[value] = self.transposed(value, inverse(region.perm))
        return self.before[value]

    def constant_before(self, value: Operand) -> Operand:
        """Return a constant with its axes as before the transpose; a single number broadcasts as it is."""
        graph, kind = self.graph, self.graph.result_type(*value)
        if set(kind.shape) <= {1} and len(kind.shape) < len(self.region.perm):
            return value
        entries = stretched(graph.nodes[value.node]["value"], self.region.perm)
        made = graph.constant(entries, type=Tensor(kind.element, entries.shape), origin=graph.origin(value.node))
        return Operand(made.node)

    def value_behind(self, value: Operand) -> Operand:
        """Return a value with its axes as they were."""
        if value.node not in self.moved:
            return value
        if value not in self.behind:
            self.behind[value] = self.transposed(self.before[value], self.region.perm)
            self.graph.set_predicate(self.behind[value].node, self.graph.predicate(value.node))
        return self.behind[value]

    def transposed(self, value: Operand, perm: tuple[int, ...]) -> Operand:
        """Return the transpose of a value."""
        graph = self.graph
        return Operand(graph.add(op.transpose, [graph.value(*value)], {"perm": perm}, origin=[value.node]).node)
