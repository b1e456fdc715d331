"""Operator: an op with attributes and parameters that several nodes of a graph share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphrewrite.errors import GraphError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import infer
from graphrewrite.graph.value import Value
from graphrewrite.hierarchy.region_conversion import MARKS, mark
from graphrewrite.op import as_constant
from graphrewrite.op.library import find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in, is_attribute
from graphrewrite.runtime.display import Displayed
from graphrewrite.schema.equality import same_data

__all__ = ["Operator", "disagreements"]


class Operator(Displayed):
    """An op with attributes and parameters, shared by the nodes that apply it.

    Each call adds a node. The annotation ``operator`` of the nodes names the operator; their attributes are changed
    together.

    Parameters
    ----------
    graph : Graph
        The graph of the nodes.
    op : Op
        The op of the nodes.
    *parameters : Value or array
        The last operands of each node, such as weights. An array becomes one constant.
    name : str, optional
        Name of the operator; a fresh name if not given.
    **attributes
        Attributes of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> layer = Operator(g, op.linear, np.ones((2, 2), np.float32), name="fc")
    >>> y = layer(layer(g.input("x", Tensor("f32", ("N", 2)))))
    >>> layer.nodes, g.operands("linear_1")[1] == g.operands("linear_2")[1]
    (('linear_1', 'linear_2'), True)
    """

    def __init__(self, graph: Graph, op: Op, *parameters: Any, name: str | None = None, **attributes: Any) -> None:
        operators = operators_of(graph)
        if name in operators:
            raise GraphError(
                f"the graph {graph.name!r} already has an operator {name!r}; use Operator.of(graph, {name!r})"
            )
        stems = (f"{op.name}_operator_{i}" for i in range(1, len(operators) + 2))
        self.name = name or next(stem for stem in stems if stem not in operators)
        for value in parameters:
            if isinstance(value, Value) and value.graph is not graph:
                raise GraphError("is a value of another graph; copy it to this graph first", node=value.node)
        # Attributes of an operator without nodes; afterwards the nodes hold them.
        self._given = op.as_attributes(attributes)
        op.check(max(len(op.operands), len(parameters)), self._given)
        arrays = [None if isinstance(x, Value) else as_constant(x) for x in parameters]
        self.graph, self.op = graph, op
        self.parameters = tuple(
            value if array is None else graph.constant(array) for value, array in zip(parameters, arrays, strict=True)
        )

    @classmethod
    def of(cls, graph: Graph, name: str) -> Operator:
        """Return an operator of a graph by its name.

        Parameters
        ----------
        graph : Graph
            The graph.
        name : str
            Name of the operator.

        Returns
        -------
        Operator
            Its parameters are the last operands that all its nodes have in common, except the first operand.

        Raises
        ------
        GraphError
            If no node has this operator.
        """
        nodes = operators_of(graph).get(name)
        if nodes is None:
            hint = did_you_mean(str(name), operators_of(graph))
            raise GraphError(f"no node of the graph {graph.name!r} has the operator {name!r}{hint}")
        operator = cls.__new__(cls)
        operator.graph, operator.op, operator.name = graph, graph.op(nodes[0]), name
        operator._given = _stated(graph, nodes[0])
        # The longest common tail of all operand lists; the first operand is never a parameter.
        common = [*graph.operands(nodes[0])[1:]]
        for node in nodes[1:]:
            here = graph.operands(node)
            while common and [*here[len(here) - len(common) :]] != common:
                del common[0]
        operator.parameters = tuple(graph.value(*operand) for operand in common)
        return operator

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that apply it, in the order of the graph."""
        own = set(operators_of(self.graph).get(self.name, ()))
        return tuple(node for node in self.graph.in_order() if node in own)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of each node, with defaults."""
        nodes = operators_of(self.graph).get(self.name)
        return {**self.op.attributes, **(_stated(self.graph, nodes[0]) if nodes else self._given)}

    def __call__(self, *operands: Any) -> Any:
        """Add a node and return its value, or its values."""
        nodes = operators_of(self.graph).get(self.name)
        attributes = _stated(self.graph, nodes[0]) if nodes else self._given
        value = self.graph.add(self.op, [*operands, *self.parameters], attributes)
        node = (value[0] if isinstance(value, tuple) else value).node
        self.graph.nodes[node]["operator"] = self.name
        return value

    def set(self, **attributes: Any) -> None:
        """Change attributes of all nodes and infer types again; if this fails for one of them, change nothing.

        Parameters
        ----------
        **attributes
            New values. ``backend``, ``implementation`` and ``use_kernel`` annotate each node; None removes the
            annotation.

        Raises
        ------
        TypeMismatchError
            If the op does not have the attribute, or type inference fails; the graph is unchanged.
        """
        marks = {key: attributes.pop(key) for key in MARKS if key in attributes and key not in self.op.attributes}
        new = {**self.attributes, **self.op.as_attributes(attributes)}
        self.op.check(len(self.op.operands), new)
        nodes = self.nodes
        if nodes:
            new = self.op.settled(new, [self.graph.result_type(*each) for each in self.graph.operands(nodes[0])])
        before = [dict(self.graph.nodes[node]) for node in nodes]
        try:
            for node, old in zip(nodes, before, strict=True):
                data = self.graph.nodes[node]
                # Attributes that are set to their defaults are removed: defaults are not stored.
                data.clear()
                data.update({key: value for key, value in old.items() if not is_attribute(key, self.op)})
                data.update(self.op.stored(new))
            mark(self.graph, nodes, marks)
            infer(self.graph, nodes)
        except BaseException:
            for node, old in zip(nodes, before, strict=True):
                self.graph.nodes[node].clear()
                self.graph.nodes[node].update(old)
            raise
        self._given = self.op.stored(new)

    def __repr__(self) -> str:
        count = len(operators_of(self.graph).get(self.name, ()))
        return f"<operator {self.name!r}: {self.op.name}, {count} node{'' if count == 1 else 's'}>"


def operators_of(graph: Any) -> dict[str, list[Any]]:
    """Return the nodes of each operator, in the order of the graph's dictionary."""
    nodes: dict[str, list[Any]] = {}
    for node, data in graph._node.items():
        if (name := data.get("operator")) is not None:
            nodes.setdefault(name, []).append(node)
    return nodes


def disagreements(graph: Any) -> Iterator[tuple[Any, str]]:
    """Yield each node that differs from others of the same operator, with a message."""
    for name, nodes in operators_of(graph).items():
        first, *others = sorted(nodes, key=str)
        expected = _signature(graph, first)
        for node in others:
            for what, value in _signature(graph, node).items():
                if not same_data(value, expected.get(what)):
                    yield node, f"differs in {what} from {first!r} of the same operator {name!r}; set both alike"
                    break


def _stated(graph: Any, node: Any) -> dict[str, Any]:
    data = graph._node[node]
    return attributes_in(data, find_op(data.get("type"), graph.ops))


def _signature(graph: Any, node: Any) -> dict[str, Any]:
    """Return the data that nodes of an operator must have in common."""
    attributes = _stated(graph, node)
    read = sorted((slot, str(s), r) for s, edge in graph._pred[node].items() for slot, r in edge.get("slots", ()))
    parameters = [(s, r) for slot, s, r in read if slot and graph._node.get(s, {}).get("type") == "constant"]
    return {
        "its op": graph._node[node].get("type"),
        "its attributes": sorted(attributes),
        **attributes,
        "the number of its operands": len(read),
        "its parameters": parameters,
    }
