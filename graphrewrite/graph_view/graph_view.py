"""Views: any set of nodes of a graph as a part with its own ordered inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite.dataflow import Operand
from graphrewrite.errors import EvaluationError, GraphError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph_view.border import arranged, in_graph_order, label_of
from graphrewrite.value import Value

__all__ = ["GraphView", "make_view"]


class GraphView:
    """Some nodes of a graph, with the values that they read from outside and those that are read outside, in order.

    Made by ``graph.view(name, nodes)``, which stores it in the graph, and by set operations, which do not. What is
    stored follows the graph: `graphrewrite.rewrite` puts in the place of a member what replaces it. Views may overlap.

    Attributes
    ----------
    graph : Graph
        Whose nodes they are.
    name : str or None
        Under which the graph stores it.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,2]
    ... n = neg(x)
    ... r = relu(n)
    ... s = add(r, x)
    ... y = output(s)''')
    >>> view = g.view("head", ["n", "r"])
    >>> view
    <view head: 2 nodes, (x) -> (r)>
    >>> view.evaluate({"x": [[-1, 2]]})["r"].tolist()
    [[1.0, 0.0]]
    >>> sorted((view | ["s"]).nodes), g.views, g.views_of("n")
    (['n', 'r', 's'], ('head',), ('head',))
    """

    def __init__(self, graph: Graph, name: str | None, data: Mapping[str, Any] | None = None) -> None:
        self.graph, self.name, self._own = graph, name, data

    @property
    def data(self) -> Mapping[str, Any]:
        """What is stored: names of nodes, inputs and outputs as pairs of node and result; plain and never changed."""
        if self._own is not None:
            return self._own
        found = self.graph.graph.get("views", {})
        if self.name not in found:
            raise GraphError(
                f"graph {self.graph.name!r} has no view {self.name!r}{did_you_mean(str(self.name), found)}"
            )
        data: Mapping[str, Any] = found[self.name]
        return data

    def __iter__(self) -> Iterator[str]:
        """Go through the nodes, operands first as they were when the view was made or followed."""
        return (node for node in self.data["nodes"] if node in self.graph)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, node: object) -> bool:
        return node in self.data["nodes"] and node in self.graph

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that are in it."""
        return frozenset(self)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Values that members read from outside, constants left out unless they were named; in order."""
        return self._arranged()[0]

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """Values of members that are read outside, or were named as outputs; in order."""
        return self._arranged()[1]

    def _arranged(self) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
        data = self.data
        return arranged(self.graph, self, _values(data["inputs"]), _values(data["outputs"]))

    # ------------------------------------------------------------------ set operations

    def __or__(self, other: Any) -> GraphView:
        return self._combined(other, lambda mine, its: mine | its)

    def __and__(self, other: Any) -> GraphView:
        return self._combined(other, lambda mine, its: mine & its)

    def __sub__(self, other: Any) -> GraphView:
        return self._combined(other, lambda mine, its: mine - its)

    def __xor__(self, other: Any) -> GraphView:
        return self._combined(other, lambda mine, its: mine ^ its)

    __ror__ = __or__
    __rand__ = __and__
    __rxor__ = __xor__

    def __le__(self, other: Any) -> bool:
        return self.nodes <= _names(self.graph, other)

    def __ge__(self, other: Any) -> bool:
        return self.nodes >= _names(self.graph, other)

    def isdisjoint(self, other: Any) -> bool:
        """Tell whether no node is in both."""
        return self.nodes.isdisjoint(_names(self.graph, other))

    def _combined(self, other: Any, combine: Any) -> GraphView:
        nodes = combine(self.nodes, _names(self.graph, other))
        sides = [self, other] if isinstance(other, GraphView) else [self]
        inputs = dict.fromkeys(value for side in sides for value in side.inputs)
        outputs = dict.fromkeys(value for side in sides for value in side.outputs if value.node in nodes)
        members = in_graph_order(self.graph, nodes)
        entering, leaving = arranged(self.graph, members, inputs, ())
        ordered = [*(value for value in outputs if value in leaving), *(v for v in leaving if v not in outputs)]
        return GraphView(self.graph, None, _stored(members, entering, ordered))

    # ------------------------------------------------------------------ use

    def forget(self) -> None:
        """Take it out of its graph; the nodes stay."""
        if self.name is not None:
            self._own = self.data
            views = {name: data for name, data in self.graph.graph["views"].items() if name != self.name}
            self.graph.graph["views"] = views

    def set(self, **settings: Any) -> Graph:
        r"""Return the graph with all of the view on another backend, with another element type, layout or kernel.

        Parameters
        ----------
        **settings
            ``backend``, ``use_kernel`` and ``implementation`` mark every node; None takes the mark away. ``element``
            converts all floats, ``layout`` all tensors of that rank: constants at once, values at the boundary. Nodes
            that are graphs, or of unknown ops, compute as before.

        Returns
        -------
        Graph
            With the same views; this one holds what was inserted at its boundary.

        Raises
        ------
        GraphError
            If there is no such setting, or a mark is no word.
        TypeMismatchError
            If an op does not take such operands, or none in the view can be converted; names the node.

        Examples
        --------
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> print(g.view("all", ["r"]).set(backend="gpu"))
        graph g(views={'all': {'nodes': ['r'], 'inputs': [['x', 0]], 'outputs': [['r', 0]]}})
        x = input() : f32[N]
        r = relu(x, backend='gpu') : f32[N]
        y = output(r)
        """
        from graphrewrite.conversion.region import settle_view  # rebuilds nodes, which a view as such does not

        return settle_view(self, settings)

    def subgraph(self) -> Graph:
        """Return a graph of its own that computes what the view does: its inputs and outputs are those of the view.

        Inputs are called as `label_of` calls the values; an output like the output of the graph that gives that value,
        or afresh.

        Returns
        -------
        Graph
        """
        from graphrewrite.graph_view.extraction import extract  # makes graphs of views

        return extract(self).graph

    def evaluate(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the values of the outputs for given values of the inputs.

        Parameters
        ----------
        inputs : mapping of str to array-like
            By the name of the node, or ``node:1`` for its second result; batch first.

        Returns
        -------
        dict of str to ndarray
            By the same kind of name.

        Raises
        ------
        EvaluationError
            If an input is missing, surplus or of the wrong shape.
        """
        from graphrewrite.evaluate import evaluate  # evaluates graphs, and is built on them
        from graphrewrite.graph_view.extraction import extract  # see above

        part = extract(self)
        known = ", ".join(part.inputs) or "none"
        for label in inputs:
            if label not in part.inputs:
                hint = did_you_mean(str(label), part.inputs)
                raise EvaluationError(f"{self!r} has no input {label!r}{hint}; its inputs are {known}")
        for label in part.inputs:
            if label not in inputs:
                raise EvaluationError(f"{self!r} needs the input {label!r}; its inputs are {known}")
        found = evaluate(part.graph, {part.inputs[label]: value for label, value in inputs.items()})
        return {label: found[name] for label, name in part.outputs.items()}

    def summary(self) -> str:
        """Return a table of its nodes with types, parameters and multiply-accumulates; see `graphrewrite.summary`."""
        return self.subgraph().summary()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(label_of, values)) for values in self._arranged())
        name = "view" if self.name is None else f"view {self.name}"
        return f"<{name}: {len(self)} node{'s' if len(self) != 1 else ''}, ({inputs}) -> ({outputs})>"


def make_view(graph: Graph, name: Any, nodes: Any = None, inputs: Any = None, outputs: Any = None) -> GraphView:
    """Return a view of a graph, made and stored if nodes are given.

    Parameters
    ----------
    graph : Graph
        Its graph attribute ``views`` is replaced.
    name : str
        What it is called. A view that is stored under this name gives way.
    nodes : iterable of str or Value, optional
        The members.
    inputs, outputs : iterable of str, Value or (node, result), optional
        Values in the order that is wanted; further ones follow in the order of the graph.

    Returns
    -------
    GraphView

    Raises
    ------
    GraphError
        If there is no such view or node, or a value is no input or output of the view; nothing is stored.
    """
    if nodes is None:
        if inputs is not None or outputs is not None:
            raise GraphError(f"the view {name!r} needs nodes=… beside its inputs and outputs")
        view = GraphView(graph, name)
        _ = view.data  # complains where there is none
        return view
    if not isinstance(name, str) or not name:
        raise GraphError(f"a view needs a name, not {name!r}")
    members = in_graph_order(graph, _names(graph, nodes))
    given = [_ports(graph, side) for side in (inputs, outputs)]
    inside = set(members)
    results = {node: _count(graph, node) for node in inside}
    for value in given[1]:
        if value.node not in inside or value.result >= results[value.node]:
            raise GraphError(f"is no output of the view {name!r}: no member gives {label_of(value)}", node=value.node)
    entering, leaving = arranged(graph, members, given[0], given[1])
    for value in given[0]:
        if value not in entering:
            raise GraphError(
                f"is no input of the view {name!r}: no member reads {label_of(value)} from outside", node=value.node
            )
    data = _stored(members, entering, leaving)
    graph.graph["views"] = {**graph.graph.get("views", {}), name: data}
    return GraphView(graph, name)


def _stored(nodes: Iterable[str], inputs: Iterable[Operand], outputs: Iterable[Operand]) -> dict[str, Any]:
    return {"nodes": tuple(nodes), "inputs": tuple(map(tuple, inputs)), "outputs": tuple(map(tuple, outputs))}


def _values(stored: Iterable[Any]) -> list[Operand]:
    return [Operand(node, result) for node, result in stored]


def _names(graph: Graph, nodes: Any) -> frozenset[str]:
    """Return the names of nodes that are given as names, values or another view."""
    if isinstance(nodes, GraphView):
        if nodes.graph is not graph:
            raise GraphError(f"{nodes!r} is of another graph than {graph!r}; name the nodes of this one")
        return nodes.nodes
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise GraphError(f"nodes are given as a list of names, such as [{nodes!r}]")
    return frozenset(_port(graph, node).node for node in nodes)


def _ports(graph: Graph, values: Any) -> list[Operand]:
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise GraphError(f"inputs and outputs are given as lists, such as [{values!r}]")
    found = [_port(graph, value) for value in values]
    for value in found:
        if found.count(value) > 1:
            raise GraphError(f"the value {label_of(value)} is named twice", node=value.node)
    return found


def _port(graph: Graph, given: Any) -> Operand:
    if isinstance(given, Value):
        if given.graph is not graph:
            raise GraphError("is of another graph", node=given.node)
        return Operand(given.node, given.result)
    is_pair = isinstance(given, tuple | list) and len(given) == 2 and type(given[1]) is int and given not in graph
    value = Operand(*given) if is_pair else Operand(given)
    if value.node not in graph:
        raise GraphError(
            f"is not in the graph{did_you_mean(str(value.node), map(str, graph))}; a view has nodes of one graph",
            node=value.node,
        )
    return value


def _count(graph: Graph, node: str) -> int:
    found = graph.nodes[node].get("result")
    return len(found) if isinstance(found, tuple) else int(graph.nodes[node].get("type") != "output")
