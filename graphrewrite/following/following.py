"""Views follow their graph: what replaces a member takes its place, in the order of what entered and left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from graphrewrite.dataflow import Operand
from graphrewrite.edit import Edit, difference
from graphrewrite.following.replaced import Replaced
from graphrewrite.graph_view.border import arranged, in_graph_order, operands_of

__all__ = ["Following", "followed"]


def followed(graph: nx.DiGraph, watcher: Any = None) -> Any:
    """Return a watcher that lets the views of a graph follow it, if it has views; else the watcher that is given.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        About to be rewritten.
    watcher : Watcher, optional
        Is told of every step all the same.

    Returns
    -------
    Following or Watcher or None
    """
    return Following(graph, watcher) if graph.graph.get("views") else watcher


class _State:
    """A view that is on the move: its members, and where the known values at its border stand."""

    def __init__(self, data: dict[str, Any], graph: nx.DiGraph) -> None:
        self.members: dict[Any, None] = dict.fromkeys(n for n in data["nodes"] if n in graph)
        self.inputs = {Operand(*value): i for i, value in enumerate(data["inputs"])}
        self.outputs = {Operand(*value): i for i, value in enumerate(data["outputs"])}


class Following:
    r"""A watcher of a rewrite that keeps the views of the graph up to date.

    A step costs what its edit costs, whatever the size of the views. They are written down when the rewrite is over.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        With views in its attribute ``views``.
    watcher : Watcher, optional
        Is told of every step as well.

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
        self.states = {name: _State(data, graph) for name, data in graph.graph["views"].items()}
        self.by_node: dict[Any, dict[str, None]] = {}
        self.by_value: dict[Operand, dict[str, None]] = {}
        for name, state in self.states.items():
            self._enter(name, state.members)
            for value in (*state.inputs, *state.outputs):
                self.by_value.setdefault(value, {})[name] = None
        self.old: Any = None
        self.has_moved = False

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        """Learn that a rule was tried, which moves nothing."""
        if self.watcher is not None:
            self.watcher.tried(member, node, outcome)

    def rewritten(self, graph: Any, member: Any, change: Any) -> None:
        """Let the views follow a step."""
        self.follow(change.edit)
        if self.watcher is not None:
            self.watcher.rewritten(graph, member, change)

    def passing(self, graph: Any) -> None:
        """Write the views down for the pass, and remember the graph as it is."""
        self.settle()
        self.old = graph.copy()
        if self.watcher is not None:
            self.watcher.passing(graph)

    def passed(self, graph: Any, name: str, removed: list[str]) -> None:
        """Let the views follow a pass."""
        self.follow(difference(self.old, graph), before=self.old)
        self.old = None
        if self.watcher is not None:
            self.watcher.passed(graph, name, removed)

    def settle(self) -> None:
        """Write the views into the graph, with what enters and leaves them now, if anything has changed."""
        if not self.has_moved:
            return
        found: dict[str, Any] = {}
        order = in_graph_order(self.graph, self.graph._node)  # the same for all views
        for name, state in self.states.items():
            members = tuple([node for node in order if node in state.members])
            inputs, outputs = (sorted(side, key=side.__getitem__) for side in (state.inputs, state.outputs))
            entering, leaving = arranged(self.graph, members, inputs, outputs)
            sides = {"inputs": tuple(map(tuple, entering)), "outputs": tuple(map(tuple, leaving))}
            found[name] = {"nodes": members, **sides}
        # Views that a pass has made stay as they are; one that it has taken away stays away.
        stored = self.graph.graph.get("views", {})
        self.graph.graph["views"] = {name: found.get(name, data) for name, data in stored.items()}

    # ------------------------------------------------------------------ one step

    def follow(self, edit: Edit, before: Any = None) -> None:
        """Let the views follow an edit that was carried out.

        Parameters
        ----------
        edit : Edit
            The edit.
        before : Graph, optional
            The graph as it was before, where this was a pass: its edit is many, which only the wiring tells apart.
        """
        self.has_moved = True
        moved = Replaced(self.graph, edit, before)
        concerned: dict[str, None] = {}
        for node in moved.nodes:
            concerned.update(self.by_node.get(node, ()))
        for value in moved.readers:
            concerned.update(self.by_value.get(value, ()))
        if before is not None and edit.added:
            concerned = dict.fromkeys(self.states)
        for name in concerned:
            self._follow(name, self.states[name], moved)

    def _follow(self, name: str, state: _State, moved: Replaced) -> None:
        members = state.members
        lost = [node for node in moved.gone if node in members]
        replaced = [v for v in moved.readers if v.node in members and moved.is_replaced(v)]
        joining = moved.joining(replaced, lost, state.inputs)
        for node in lost:
            del members[node]
            self.by_node[node].pop(name, None)
        self._enter(name, joining)
        members.update(dict.fromkeys(joining))
        between = moved.between(members)
        self._enter(name, between)
        members.update(dict.fromkeys(between))
        # First what leaves: what takes the place of an output may be a value that comes from outside.
        places = {v: state.outputs.pop(v) for v in moved.readers if v in state.outputs and moved.is_replaced(v)}
        # What went with all its readers is a part of what replaced these, and leaves that its own place.
        for value in sorted(places, key=lambda v: (moved.went_with_readers(v), places[v])):
            for other in moved.successors(value):
                if not (moved.went_with_readers(value) and other in state.outputs):
                    state.outputs[other] = min(places[value], state.outputs.get(other, places[value]))
                    self.by_value.setdefault(other, {})[name] = None
        freed = []
        for value in [v for v in moved.readers if v in state.inputs]:
            place = state.inputs[value]
            for reader, slot in moved.readers[value]:
                there = moved.now.get((reader, slot))
                if reader in moved.gone:
                    freed += [place] if reader in lost else []
                elif reader in members and there is not None and there.node not in members:
                    self._let_enter(name, state, there, place)
        if freed:
            outside = [o for node in (*joining, *between) for o in operands_of(self.graph, node)]
            outside += [o for v in replaced for o in moved.successors(v)]
            for value in outside:
                if value.node not in members and self.graph._node[value.node].get("type") != "constant":
                    self._let_enter(name, state, value, min(freed))

    def _let_enter(self, name: str, state: _State, value: Operand, place: int) -> None:
        state.inputs.setdefault(value, place)
        self.by_value.setdefault(value, {})[name] = None

    def _enter(self, name: str, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self.by_node.setdefault(node, {})[name] = None
