"""Region tracking: views of a graph stay up to date while the graph is rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.edit import Edit, difference
from graphrewrite.hierarchy.border import arranged, in_graph_order, operands_of
from graphrewrite.hierarchy.graph_ops import nested_ops
from graphrewrite.hierarchy.replaced_values import Replaced

__all__ = ["RegionTracking", "tracking_regions"]


def tracking_regions(graph: nx.DiGraph, watcher: Any = None) -> Any:
    """Return a watcher that updates the views of a graph and calls `watcher`; `watcher` itself if there are none.

    Those of nested graphs, and of the graphs of its module, count: they become the graph's own where nodes are inlined.
    """
    return RegionTracking(graph, watcher) if any(each.graph.get("views") for each in _reached(graph)) else watcher


def _reached(graph: nx.DiGraph) -> Iterator[nx.DiGraph]:
    """Yield a graph, and those that may be nodes of it, at any depth."""
    work, seen = [graph], {id(graph)}
    for each in work:  # grows as it goes
        yield each
        bodies = [op.library.get(op.name) for op in nested_ops(each)] if isinstance(each, Graph) else []
        for body in (*bodies, *((each.library or {}).values() if each is graph and isinstance(each, Graph) else ())):
            if body is not None and id(body) not in seen:
                seen.add(id(body))
                work.append(body)


class _State:
    """A tracked view: its members, and the positions of its inputs and outputs."""

    def __init__(self, data: dict[str, Any], graph: nx.DiGraph) -> None:
        self.members: dict[Any, None] = dict.fromkeys(n for n in data["nodes"] if n in graph)
        self.inputs = {Operand(*value): i for i, value in enumerate(data["inputs"])}
        self.outputs = {Operand(*value): i for i, value in enumerate(data["outputs"])}


class RegionTracking:
    r"""A watcher of a rewrite that keeps the views of the graph up to date.

    The cost of a step depends on its edit, not on the size of the views, which `settle` stores at the end.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rewrite, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nm = neg(n)\nb = exp(m)\ny = output(b)")
    >>> _ = g.view("tail", ["m", "b"])
    >>> _ = g.view("middle", ["n", "m"])
    >>> after = rewrite(g, drop_double_negation)
    >>> after.view("tail"), after.view("middle")
    (<view tail: 1 node, (x) -> (b)>, <view middle: 0 nodes, (x) -> (x)>)
    """

    def __init__(self, graph: nx.DiGraph, watcher: Any = None) -> None:
        self.graph, self.watcher = graph, watcher
        self.states = {name: _State(data, graph) for name, data in graph.graph.get("views", {}).items()}
        self.by_node: dict[Any, dict[str, None]] = {}
        self.by_value: dict[Operand, dict[str, None]] = {}
        for name in self.states:
            self._index(name)
        self.old: Any = None
        self.has_moved = False

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        """Pass on that a rule was tried, which changes no view."""
        if self.watcher is not None:
            self.watcher.tried(member, node, outcome)

    def rewritten(self, graph: Any, member: Any, change: Any) -> None:
        """Update the views after a step."""
        self.follow(change.edit)
        if self.watcher is not None:
            self.watcher.rewritten(graph, member, change)

    def passing(self, graph: Any) -> None:
        """Store the views before a pass, and copy the graph."""
        self.settle()
        self.old = graph.copy()
        if self.watcher is not None:
            self.watcher.passing(graph)

    def passed(self, graph: Any, name: str, removed: list[str]) -> None:
        """Update the views after a pass."""
        self.follow(difference(self.old, graph), before=self.old)
        self.old = None
        if self.watcher is not None:
            self.watcher.passed(graph, name, removed)

    def settle(self) -> None:
        """Store the views in the graph, with their present inputs and outputs, if anything has changed."""
        if not self.has_moved or not self.states:
            return
        updated: dict[str, Any] = {}
        order = in_graph_order(self.graph, self.graph._node)  # the same for all views
        for name, state in self.states.items():
            members = tuple([node for node in order if node in state.members])
            inputs, outputs = (sorted(side, key=side.__getitem__) for side in (state.inputs, state.outputs))
            entering, leaving = arranged(self.graph, members, inputs, outputs)
            sides = {"inputs": tuple(map(tuple, entering)), "outputs": tuple(map(tuple, leaving))}
            updated[name] = {"nodes": members, **sides}
        # Views that a pass has made are kept; one that it has removed stays removed.
        stored = self.graph.graph.get("views", {})
        self.graph.graph["views"] = {name: updated.get(name, data) for name, data in stored.items()}

    # ------------------------------------------------------------------ one step

    def follow(self, edit: Edit, before: Any = None) -> None:
        """Update the views after an edit.

        `before` is the graph before a pass: the edit of a pass combines many replacements, which only the wiring of the
        old graph tells apart.
        """
        self.has_moved = True
        replacements = Replaced(self.graph, edit, before)
        affected: dict[str, None] = {}
        for node in replacements.nodes:
            affected.update(self.by_node.get(node, ()))
        for value in replacements.readers:
            affected.update(self.by_value.get(value, ()))
        if before is not None and edit.added:
            affected = dict.fromkeys(self.states)
        for name in affected:
            self._follow(name, self.states[name], replacements)
        for name, data in edit.views.items():
            self.states[name] = _State(data, self.graph)
            self._index(name)

    def _index(self, name: str) -> None:
        state = self.states[name]
        self._enter(name, state.members)
        for value in (*state.inputs, *state.outputs):
            self.by_value.setdefault(value, {})[name] = None

    def _follow(self, name: str, state: _State, replacements: Replaced) -> None:
        # Members: nodes that replaced a member join, and new nodes of a pass between members.
        members = state.members
        lost = [node for node in replacements.gone if node in members]
        replaced = [v for v in replacements.readers if v.node in members and replacements.is_replaced(v)]
        joining = replacements.joining(replaced, lost, state.inputs)
        for node in lost:
            del members[node]
            self.by_node[node].pop(name, None)
        self._enter(name, joining)
        members.update(dict.fromkeys(joining))
        between = replacements.between(members)
        self._enter(name, between)
        members.update(dict.fromkeys(between))
        # Outputs first: an output may be replaced by a value from outside.
        positions = {
            v: state.outputs.pop(v) for v in replacements.readers if v in state.outputs and replacements.is_replaced(v)
        }
        # A value that was removed with all its readers passes its position on to the values that replaced these.
        for value in sorted(positions, key=lambda v: (replacements.went_with_readers(v), positions[v])):
            for other in replacements.successors(value):
                if not (replacements.went_with_readers(value) and other in state.outputs):
                    state.outputs[other] = min(positions[value], state.outputs.get(other, positions[value]))
                    self.by_value.setdefault(other, {})[name] = None
        # Inputs: a value that a member reads instead takes the position; the position of an input whose readers were
        # removed goes to the values that the nodes in their place read.
        freed = []
        for value in [v for v in replacements.readers if v in state.inputs]:
            position = state.inputs[value]
            for reader, slot in replacements.readers[value]:
                operand = replacements.now.get((reader, slot))
                if reader in replacements.gone:
                    freed += [position] if reader in lost else []
                elif reader in members and operand is not None and operand.node not in members:
                    self._let_enter(name, state, operand, position)
        if freed:
            outside = [o for node in (*joining, *between) for o in operands_of(self.graph, node)]
            outside += [o for v in replaced for o in replacements.successors(v)]
            for value in outside:
                if value.node not in members and self.graph._node[value.node].get("type") != "constant":
                    self._let_enter(name, state, value, min(freed))

    def _let_enter(self, name: str, state: _State, value: Operand, position: int) -> None:
        state.inputs.setdefault(value, position)
        self.by_value.setdefault(value, {})[name] = None

    def _enter(self, name: str, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self.by_node.setdefault(node, {})[name] = None
