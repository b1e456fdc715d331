"""Graph views: a set of nodes of a graph with ordered inputs and outputs of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, GraphError, did_you_mean, not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.value import Value
from graphrewrite.hierarchy.border import arranged, in_graph_order, label_of
from graphrewrite.hierarchy.extraction import extract
from graphrewrite.hierarchy.region_conversion import settle_view
from graphrewrite.runtime.display import Displayed

__all__ = ["GraphView", "make_view", "region"]


class GraphView(Displayed):
    """Some nodes of a graph, with the values that enter and leave them, in order.

    Made by ``graph.view(name, nodes)``, which stores it in the graph, and by set operations, which do not. Stored views
    are kept up to date: when `graphrewrite.rewrite` replaces a member, the replacement becomes a member. Views may
    overlap.

    Attributes
    ----------
    graph : Graph
        The graph of the nodes.
    name : str or None
        The name of a stored view.

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
        """The stored data: node names, inputs and outputs as pairs of node and result index; never changed in place."""
        if self._own is not None:
            return self._own
        views = self.graph.graph.get("views", {})
        if self.name not in views:
            raise GraphError(
                f"graph {self.graph.name!r} has no view {self.name!r}{did_you_mean(str(self.name), views)}"
            )
        data: Mapping[str, Any] = views[self.name]
        return data

    def __iter__(self) -> Iterator[str]:
        """Iterate over the nodes, operands first as of the last update of the view."""
        return (node for node in self.data["nodes"] if node in self.graph)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, node: object) -> bool:
        return node in self.data["nodes"] and node in self.graph

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of the view."""
        return frozenset(self)

    @property
    def input_operands(self) -> tuple[Operand, ...]:
        """Values that members read from outside, in order; constants only if they were named as inputs."""
        return self._arranged()[0]

    @property
    def output_operands(self) -> tuple[Operand, ...]:
        """Values of members that are read outside, or were named as outputs; in order."""
        return self._arranged()[1]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, as `evaluate` takes them: the node, or ``node:1`` for its second result."""
        return tuple(map(label_of, self.input_operands))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, as `evaluate` returns them."""
        return tuple(map(label_of, self.output_operands))

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
        # The inputs and outputs of both keep their order, as far as they enter and leave the combined nodes.
        nodes = combine(self.nodes, _names(self.graph, other))
        sides = [self, other] if isinstance(other, GraphView) else [self]
        inputs = dict.fromkeys(value for side in sides for value in side.input_operands)
        outputs = dict.fromkeys(value for side in sides for value in side.output_operands if value.node in nodes)
        members = in_graph_order(self.graph, nodes)
        entering, leaving = arranged(self.graph, members, inputs, ())
        ordered = [*(value for value in outputs if value in leaving), *(v for v in leaving if v not in outputs)]
        return GraphView(self.graph, None, _stored(members, entering, ordered))

    # ------------------------------------------------------------------ use

    def forget(self) -> None:
        """Remove the view from its graph; the nodes stay."""
        if self._own is None:
            self._own = self.data
            views = {name: data for name, data in self.graph.graph.pop("views").items() if name != self.name}
            self.graph.graph.update({"views": views} if views else {})

    def set(self, **settings: Any) -> Graph:
        r"""Return a graph in which the nodes of the view have another backend, element type, layout or kernel.

        Parameters
        ----------
        **settings
            ``backend``, ``use_kernel`` and ``implementation`` annotate every node; None removes the annotation.
            ``element`` converts all floats, ``layout`` all tensors of that rank: constants directly, values by ops at
            the boundary. Nodes of graph ops and of unknown ops are not converted.

        Returns
        -------
        Graph
            With the same views; this view also contains the nodes inserted at its boundary.

        Raises
        ------
        GraphError
            If there is no such setting, or an annotation is not a string.
        TypeMismatchError
            If an op does not support the setting, or no node of the view can be converted.

        Examples
        --------
        >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        >>> print(g.view("all", ["r"]).set(backend="gpu"))
        graph g(views={'all': {'nodes': ['r'], 'inputs': [['x', 0]], 'outputs': [['r', 0]]}})
        x = input() : f32[N]
        r = relu(x) {backend='gpu'} : f32[N]
        y = output(r)
        """
        return settle_view(self, settings)

    def subgraph(self) -> Graph:
        """Return the view as a graph of its own.

        Its inputs have the names in `inputs`; an output has the name of the graph's output for that value, if there is
        one, else a fresh name.
        """
        return extract(self).graph

    def evaluate(
        self, /, *inputs: Any, implementations: Any = (), backend: str | None = None, **named: Any
    ) -> dict[str, np.ndarray]:
        """Return the values of the outputs for values of the inputs, batch first.

        Parameters
        ----------
        *inputs : array-like, or one mapping of str to array-like
            In the order of `inputs`, or by these names.
        **named : array-like
            By name.
        implementations : iterable of Implementation, or mapping of str to Graph, Op or Component
            As `graphrewrite.evaluate` takes them.
        backend : str, optional
            Another engine, ``"onnxruntime"``.

        Returns
        -------
        dict of str to ndarray
            By the names in `outputs`.

        Raises
        ------
        EvaluationError
            If an input is missing, surplus or of the wrong shape.
        """
        part = extract(self)

        def inside(given: Mapping[str, Any]) -> dict[str, Any]:
            for label in given:
                if label not in part.inputs:
                    hint, names = did_you_mean(str(label), part.inputs), ", ".join(part.inputs) or "none"
                    raise EvaluationError(f"{self!r} has no input {label!r}{hint}; its inputs are {names}")
            return {part.inputs[label]: value for label, value in given.items()}

        arrays = [inside(each) if isinstance(each, Mapping) else each for each in inputs]
        results = part.graph.evaluate(*arrays, implementations=implementations, backend=backend, **inside(named))
        return {label: results[name] for label, name in part.outputs.items()}

    def summary(self) -> str:
        """Return a table of its nodes with types, parameters and multiply-accumulates; see `graphrewrite.summary`."""
        return self.subgraph().summary()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(label_of, operands)) for operands in self._arranged())
        name = "view" if self.name is None else f"view {self.name}"
        return f"<{name}: {len(self)} node{'s' if len(self) != 1 else ''}, ({inputs}) -> ({outputs})>"


def whole(graph: Graph) -> GraphView:
    r"""Return the view of all nodes of a graph, which is not stored.

    Examples
    --------
    >>> whole(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"))
    <view: 2 nodes, (x) -> (x)>
    """
    return GraphView(graph, None, _stored(in_graph_order(graph, graph), (), ()))


def make_view(graph: Graph, name: Any, nodes: Any = None, inputs: Any = None, outputs: Any = None) -> GraphView:
    """Return the view of a graph that has a name; if nodes are given, make and store it.

    Making it again changes nothing; a view of that name that is another one has to be forgotten first.
    """
    view = GraphView(graph, name) if nodes is None else region(graph, name, nodes, inputs, outputs)
    if nodes is None:  # look up a stored view
        if inputs is not None or outputs is not None:
            raise GraphError(f"the view {name!r} has inputs or outputs but no nodes; pass nodes=…")
        _ = view.data  # raises if there is no such view
        return view
    views = graph.graph.get("views", {})
    if views.get(name, view.data) != view.data:
        raise GraphError(
            f"graph {graph.name!r} has another view {name!r}; choose another name, or remove it by "
            f"graph.view({name!r}).forget()"
        )
    graph.graph["views"] = {**views, name: view.data}
    return GraphView(graph, name)


def region(graph: Graph, name: Any, nodes: Any, inputs: Any = None, outputs: Any = None) -> GraphView:
    """Return a view of some nodes, which is not stored.

    `inputs` and `outputs` come first, in their order; further ones follow in the order of the graph.
    """
    if not isinstance(name, str) or not name:
        raise GraphError(f"names of views are non-empty strings, got {name!r}")
    members = in_graph_order(graph, _names(graph, nodes))
    first_inputs, first_outputs = _ports(graph, inputs), _ports(graph, outputs)
    results = {node: _count(graph, node) for node in members}
    for value in first_outputs:
        if value.result >= results.get(value.node, 0):
            raise GraphError(
                f"is not an output of the view {name!r}: {label_of(value)} is not a result of a member", node=value.node
            )
    entering, leaving = arranged(graph, members, first_inputs, first_outputs)
    for value in first_inputs:
        if value not in entering:
            raise GraphError(
                f"is not an input of the view {name!r}: no member reads {label_of(value)} from outside", node=value.node
            )
    return GraphView(graph, name, _stored(members, entering, leaving))


def _stored(nodes: Iterable[str], inputs: Iterable[Operand], outputs: Iterable[Operand]) -> dict[str, Any]:
    return {"nodes": tuple(nodes), "inputs": tuple(map(tuple, inputs)), "outputs": tuple(map(tuple, outputs))}


def _values(stored: Iterable[Any]) -> list[Operand]:
    return [Operand(node, result) for node, result in stored]


def _names(graph: Graph, nodes: Any) -> frozenset[str]:
    """Return node names from names, values or another view."""
    if isinstance(nodes, GraphView):
        if nodes.graph is not graph:
            raise GraphError(f"{nodes!r} is a view of another graph than {graph!r}; name the nodes of this one")
        return nodes.nodes
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise GraphError(f"nodes are given as a list of names, such as [{nodes!r}], got {nodes!r}")
    return frozenset(_port(graph, node).node for node in nodes)


def _ports(graph: Graph, values: Any) -> list[Operand]:
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise GraphError(f"inputs and outputs are given as lists, such as [{values!r}], got {values!r}")
    operands = [_port(graph, value) for value in values]
    for value in operands:
        if operands.count(value) > 1:
            raise GraphError(f"the value {label_of(value)} is named twice", node=value.node)
    return operands


def _port(graph: Graph, port: Any) -> Operand:
    """Return a value from a value, a node, or a pair of a node and a result."""
    if isinstance(port, Value):
        if port.graph is not graph:
            raise GraphError("is a value of another graph", node=port.node)
        return Operand(port.node, port.result)
    is_pair = isinstance(port, tuple | list) and len(port) == 2 and type(port[1]) is int and port not in graph
    value = Operand(*port) if is_pair else Operand(port)
    if value.node not in graph:
        raise not_there(value.node, graph)
    return value


def _count(graph: Graph, node: str) -> int:
    """Return the number of results of a node."""
    result = graph.nodes[node].get("result")
    return len(result) if isinstance(result, tuple) else int(graph.nodes[node].get("type") != "output")
