"""Dataflow: a networkx DiGraph with operand positions on its edges, independent of ops and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.errors import GraphError, not_there

__all__ = [
    "EFFECT",
    "PREDICATE",
    "Dataflow",
    "Operand",
    "Reader",
    "is_ordered",
    "one_slot",
    "only_orders_effects",
    "predicate_edge",
    "predicate_in",
    "without_predicate",
]

EFFECT = "effect"
"""The kind of the edges that order the nodes with effects of a graph."""

PREDICATE = "predicate"
"""The kind of an edge from a predicate; its ``result`` says which result of the source, where it is not the first."""


class Operand(NamedTuple):
    """A source of an operand: a node and the index of its result."""

    node: str
    result: int = 0


class Reader(NamedTuple):
    """A reader of a value: a node, the slot of its operand, and the index of the result it reads."""

    node: str
    slot: int
    result: int = 0


@lru_cache(maxsize=1024)
def one_slot(slot: int, result: int = 0) -> tuple[tuple[int, int], ...]:
    """Return the slots of an edge that is one operand of its reader.

    Those of many edges are one object, which saves memory, and is compared at a glance.

    Examples
    --------
    >>> one_slot(1), one_slot(1) is one_slot(1)
    (((1, 0),), True)
    """
    return ((slot, result),)


def predicate_in(edge: Mapping[str, Any]) -> int | None:
    """Return the result of its source that an edge makes the predicate of its destination; None if it makes none.

    Examples
    --------
    >>> predicate_in({"slots": (), "kind": "predicate", "result": 1}), predicate_in({"slots": ((0, 0),)})
    (1, None)
    """
    return edge.get("result", 0) if edge.get("kind") == PREDICATE else None


def only_orders_effects(edge: Mapping[str, Any]) -> bool:
    """Tell whether an edge is there for the order of effects alone.

    Examples
    --------
    >>> only_orders_effects({"slots": (), "kind": "effect"}), only_orders_effects({"slots": ((0, 0),)})
    (True, False)
    """
    return edge.get("kind") == EFFECT and not edge["slots"]


def is_ordered(graph: nx.DiGraph, node: Any) -> bool:
    """Tell whether a node comes after another one, or before it, by a control edge; a predicate is no order.

    Examples
    --------
    >>> d = Dataflow([("a", "b")])
    >>> d.edges["a", "b"]["kind"] = "reset"
    >>> is_ordered(d, "a"), is_ordered(Dataflow([("a", "b")]), "a")
    (True, False)
    """
    for edges in (graph._pred[node], graph._succ[node]):
        for data in edges.values():
            if "kind" in data and data["kind"] != PREDICATE:
                return True
    return False


def predicate_edge(result: int, slots: tuple[tuple[int, int], ...] = ()) -> dict[str, Any]:
    """Return the data of an edge from a predicate.

    Examples
    --------
    >>> predicate_edge(1)
    {'slots': (), 'kind': 'predicate', 'result': 1}
    """
    return {"slots": slots, "kind": PREDICATE, **({"result": result} if result else {})}


def without_predicate(edge: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an edge without what makes it a predicate.

    Examples
    --------
    >>> without_predicate({"slots": ((0, 0),), "kind": "predicate", "result": 1})
    {'slots': ((0, 0),)}
    """
    return {k: v for k, v in edge.items() if predicate_in(edge) is None or k not in ("kind", "result")}


_operand = tuple.__new__
"""Makes an `Operand` of a pair, past the function of Python that a named tuple is made by."""

_IN_ORDER = [one_slot(slot) for slot in range(64)]


class Dataflow(nx.DiGraph):
    """A digraph with ordered operands, inputs and outputs; it knows no ops and no types.

    An edge's ``slots`` are pairs: the position of the operand, and which result of the source it is. An edge with a
    ``kind`` is no data flow, or not only: it says that its destination comes after its source.

    A node may have a predicate: a value, true where what the node computes is needed. Execution may ignore it.

    Examples
    --------
    >>> d = Dataflow()
    >>> d.add_nodes_from([("x", {"type": "input"}), ("s", {"type": "sub"}), ("y", {"type": "output"})])
    >>> d.add_edge("x", "s", slots=((0, 0), (1, 0)))
    >>> d.add_edge("s", "y", slots=((0, 0),))
    >>> d.operands("s")
    (Operand(node='x', result=0), Operand(node='x', result=0))
    >>> d.in_order()
    ('x', 's', 'y')
    """

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return self._ports("input")

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        return self._ports("output")

    def _ports(self, kind: str) -> tuple[str, ...]:
        ports = [(data.get("index", 0), str(n), n) for n, data in self._node.items() if data.get("type") == kind]
        return tuple(n for _, _, n in sorted(ports))

    def operands(self, node: str) -> tuple[Operand, ...]:
        """Return the operands of a node, in order.

        Parameters
        ----------
        node : str
            A node.

        Raises
        ------
        GraphError
            If slots are missing or collide, or there is no such node.
        """
        sources = self._known(self._pred, node)
        slots = [data.get("slots") for data in sources.values()]
        if slots == _IN_ORDER[: len(slots)]:  # first results in their order, as most nodes read
            return tuple([_operand(Operand, (source, 0)) for source in sources])
        try:  # one slot of each source
            placed = {slot: _operand(Operand, (a, i)) for a, ((slot, i),) in zip(sources, slots, strict=True)}
            return tuple([placed[slot] for slot in range(len(slots))])
        except (KeyError, TypeError, ValueError):
            pass
        operands = {}
        count = 0
        for source, data in sources.items():
            for slot, result in data.get("slots", ()):
                operands[slot] = Operand(source, result)
                count += 1
        if (
            len(operands) != count
            or (count and max(operands) != count - 1)
            or (count != len(sources) and any(not d.get("slots") and "kind" not in d for d in sources.values()))
        ):
            raise GraphError(
                "the slots of its operands are missing or collide; number them 0, 1, … on the edges", node=node
            )
        return tuple([operands[slot] for slot in range(count)])

    def _known(self, neighbours: Mapping[str, Any], node: str) -> Any:
        """Return the neighbours of a node; raise if it is not in the graph."""
        try:
            return neighbours[node]
        except (KeyError, TypeError):
            raise not_there(node, self._node) from None

    def readers(self, node: str) -> tuple[Reader, ...]:
        """Return who reads the results of a node, by name and slot.

        Parameters
        ----------
        node : str
            A node.
        """
        readers = self._known(self._succ, node)
        return tuple(sorted(Reader(n, s, r) for n, data in readers.items() for s, r in data.get("slots", ())))

    def add_control(self, source: str, destination: str, kind: str = "control") -> None:
        """Order a node after another one that it does not read.

        Parameters
        ----------
        source, destination : str
            The first node, and the one after it.
        kind : str
            Kind of the ordering.

        Raises
        ------
        GraphError
            If one of them is not in the graph, both are the same, or the kind is not a non-empty string.

        Examples
        --------
        >>> d = Dataflow()
        >>> d.add_nodes_from(["store", "load"])
        >>> d.add_control("store", "load", kind="memory")
        >>> d.controls("load"), d.operands("load")
        ((('store', 'memory'),), ())
        """
        for node in (source, destination):
            if node not in self._node:
                raise not_there(node, self._node)
        if source == destination:
            raise GraphError("cannot come after itself", node=source)
        if not kind or str(kind) != kind or kind == PREDICATE:
            wrong = "set_predicate gives a node one" if kind == PREDICATE else f"got {kind!r}"
            raise GraphError(f"the kind of an ordering edge is a non-empty string, {wrong}", node=destination)
        if predicate_in(self._succ[source].get(destination, {})) is not None:
            return  # a predicate comes first anyway
        self.add_edge(source, destination, slots=self._succ[source].get(destination, {}).get("slots", ()), kind=kind)

    def controls(self, node: str) -> tuple[tuple[str, str], ...]:
        """Return the nodes that a node comes after, whether it reads them or not, each with the kind of the order.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of (node, kind)
            By name.
        """
        sources = self._known(self._pred, node)
        kinds = [(source, data["kind"]) for source, data in sources.items() if "kind" in data]
        return tuple(sorted(pair for pair in kinds if pair[1] != PREDICATE))

    def sources(self, node: str) -> tuple[str, ...]:
        """Return the nodes without which a node cannot be computed: all that it reads or comes after but a predicate.

        Parameters
        ----------
        node : str
            A node.
        """
        edges = self._known(self._pred, node).items()
        return tuple([source for source, data in edges if data.get("slots") or predicate_in(data) is None])

    def predicate(self, node: str) -> Operand | None:
        """Return the predicate of a node; None where it has none.

        Parameters
        ----------
        node : str
            A node.
        """
        for source, data in self._known(self._pred, node).items():
            if "kind" in data and (result := predicate_in(data)) is not None:
                return Operand(source, result)
        return None

    def set_predicate(self, node: str, value: Any) -> None:
        r"""Give a node a predicate: a vector, true for the samples of the batch for which its value is needed.

        Parameters
        ----------
        node : str
            A node that computes something.
        value : Value, Operand or str, or None
            The predicate, in place of the present one: a value, or the name of its node; None for no predicate.

        Raises
        ------
        GraphError
            If the value is not in the graph or depends on the node, or nothing is computed for the node.

        Examples
        --------
        >>> from graphrewrite import Graph
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\np = input() : bool[N]\nr = relu(x)\ny = output(r)")
        >>> g.set_predicate("r", g.value("p"))
        >>> g.predicate("r"), g.operands("r")
        (Operand(node='p', result=0), (Operand(node='x', result=0),))
        """
        before = self.predicate(node)
        wanted = None if value is None else _as_operand(value)
        if wanted is not None:
            if getattr(value, "graph", self) is not self:
                raise GraphError(f"its predicate {wanted.node!r} is a value of another graph", node=node)
            if wanted.node not in self._node:
                raise not_there(wanted.node, self._node)
            if (kind := self._node[node].get("type")) in ("input", "constant"):
                raise GraphError(f"has no predicate: nothing is computed for a node of type {kind!r}", node=node)
            if nx.has_path(self, node, wanted.node):
                raise GraphError(f"its predicate {wanted.node!r} would depend on it", node=node)
        if before is not None:
            kept = without_predicate(self._succ[before.node][node])
            self.remove_edge(before.node, node)
            if kept["slots"]:
                self.add_edge(before.node, node, **kept)
        if wanted is not None:
            there = self._succ[wanted.node].get(node, {"slots": ()})
            self.add_edge(wanted.node, node, **predicate_edge(wanted.result, there["slots"]))

    def origin(self, node: str) -> tuple[str, ...]:
        """Return the nodes of the imported graph that a node comes from; itself where it does not say.

        Parameters
        ----------
        node : str
            A node.
        """
        return tuple(self._node[node].get("origin") or (node,))

    def in_order(self) -> tuple[str, ...]:
        """Return the nodes, operands first, in an order that does not depend on how the graph was built.

        Inputs come first, then each output with what it needs, in the order of the operands, then dead nodes by name.

        Raises
        ------
        GraphError
            If there is a cycle; names its nodes.
        """
        ports: dict[str, list[tuple[int, str, str]]] = {"input": [], "output": []}
        for node, data in self._node.items():
            if (kind := data.get("type")) in ports:
                ports[kind].append((data.get("index", 0), str(node), node))
        # Outputs are put last at the end, but what they need is walked in their order.
        outputs = [node for *_, node in sorted(ports["output"])]
        done: dict[str, None] = dict.fromkeys(node for *_, node in sorted(ports["input"]))
        self._finish(outputs, done)
        if len(done) < len(self._node):
            self._finish(sorted(self._node, key=str), done)
        for node in outputs:
            del done[node]
        return (*done, *outputs)

    def _finish(self, roots: Iterable[str], done: dict[str, None]) -> None:
        """Append nodes to ``done`` in depth-first post-order: what they need first, operands in their order."""
        # Without recursion: a node stays on the stack until its operands are done, and is then seen a second time.
        pred = self._pred
        begun: set[str] = set()
        for root in roots:
            work = [root]
            while work:
                node = work[-1]
                if node not in done and node not in begun:
                    begun.add(node)
                    waiting = [s for s in pred[node] if s not in done]
                    if waiting:
                        for source in waiting:
                            if source in begun:
                                raise self._cycle(source)
                        if len(waiting) > 1:
                            read = [o.node for o in reversed(self.operands(node)) if o.node not in done]
                            waiting = [*sorted(set(waiting) - set(read), reverse=True), *read]
                        work += waiting
                        continue
                done[node] = None
                work.pop()

    def _cycle(self, node: str) -> GraphError:
        """Return an error that names the nodes of a cycle through a node."""
        last = next(s for s in self._pred[node] if nx.has_path(self, node, s))
        cycle = [*nx.shortest_path(self, node, last), node]
        return GraphError(f"is on a cycle {' -> '.join(map(str, cycle))}; break it or put a register on it", node=node)

    def in_layers(self, nodes: Iterable[str] | None = None) -> list[str]:
        """Return nodes layer by layer: each after all that it depends on, in a layer by name.

        Parameters
        ----------
        nodes : iterable of str, optional
            The nodes; all where not given.

        Raises
        ------
        GraphError
            If there is a cycle; names its nodes.
        """
        layers: dict[str, int] = {}
        try:  # fast path: most graphs were built operands first, so that one pass finds all layers
            for node, sources in self._pred.items():
                if sources:
                    highest = 0
                    for source in sources:
                        below = layers[source]
                        if below > highest:
                            highest = below
                    layers[node] = highest + 1
                else:
                    layers[node] = 0
        except KeyError:
            layers = self._layers()
        found = list(layers if nodes is None else nodes)
        found.sort(key=str)
        found.sort(key=layers.__getitem__)
        return found

    def _layers(self) -> dict[str, int]:
        """Return the layer of each node, whatever the order in which they were added."""
        succ = self._succ
        missing = {node: len(sources) for node, sources in self._pred.items()}
        layer = [node for node, count in missing.items() if not count]
        layers: dict[str, int] = {}
        depth = 0
        while layer:
            layers.update(dict.fromkeys(layer, depth))
            depth += 1
            following: list[str] = []
            for node in layer:
                for reader in succ[node]:
                    if (count := missing[reader]) == 1:
                        following.append(reader)
                    else:
                        missing[reader] = count - 1
            layer = following
        if len(layers) < len(missing):
            self.in_order()  # names the cycle
        return layers

    def upstream(self, node: str) -> frozenset[str]:
        """Return every node that a node depends on."""
        self._known(self._pred, node)
        return frozenset(nx.ancestors(self, node))

    def downstream(self, node: str) -> frozenset[str]:
        """Return every node that depends on a node."""
        self._known(self._succ, node)
        return frozenset(nx.descendants(self, node))

    def dead_nodes(self) -> frozenset[str]:
        """Return the nodes from which no output can be reached."""
        return self._without_way_to(self.outputs)

    def independent_nodes(self) -> frozenset[str]:
        """Return the nodes whose values no input reaches; they need not be constant (a counter)."""
        seen, work = set(self.inputs), list(self.inputs)
        while work:
            for other, data in self._succ[work.pop()].items():
                if other not in seen and (data.get("slots") or predicate_in(data) is None):
                    seen.add(other)
                    work.append(other)
        return frozenset(self._node.keys() - seen)

    def _without_way_to(self, roots: Iterable[str]) -> frozenset[str]:
        """Return the nodes from which none of some others can be reached."""
        pred, seen = self._pred, set(roots)
        layer: set[str] = seen
        while layer:
            layer = set[str]().union(*map(pred.__getitem__, layer)) - seen
            seen |= layer
        return frozenset(self._node.keys() - seen)


def _as_operand(value: Any) -> Operand:
    """Return the operand that a value, a pair or a name stands for."""
    if isinstance(value, str):
        return Operand(value)
    if isinstance(value, tuple) and len(value) == 2:
        return Operand(*value)
    if not hasattr(value, "node") or not hasattr(value, "result"):
        raise GraphError(f"a predicate is a value of the graph, got {value!r}; write graph.value(name)")
    return Operand(value.node, value.result)
