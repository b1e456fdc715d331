"""Graph: a networkx DiGraph with ordered operands, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Self

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError, TypeMismatchError, UnknownOpError
from graphrewrite.graph.argument_errors import check_value, invalid_name, no_digraph, parallel_edge, unknown_result
from graphrewrite.graph.dataflow import Dataflow, Operand, Reader, one_slot
from graphrewrite.graph.edit_lock import check_readable, without_lock
from graphrewrite.graph.effects import add_effect, effects_in_order, nodes_with_effects
from graphrewrite.graph.fresh_names import GreatestNumbers
from graphrewrite.graph.methods import GraphMethods
from graphrewrite.graph.storage import adds_plainly, copy_into, own
from graphrewrite.graph.unknown_sizes import first_free_number, numbered
from graphrewrite.graph.value import Value
from graphrewrite.op.body import Body
from graphrewrite.op.given_ops import GivenOps, OpOrDialect, hides_library, hiding, unknown_op
from graphrewrite.op.library import find_op
from graphrewrite.op.literals import as_constant, constant_type, met_by
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import RESERVED, annotations_in, attributes_in
from graphrewrite.types import (
    EdgeType,
    Element,
    Type,
    arrays_in,
    as_type,
    element_of,
    fitted,
    handed_over,
    one_object,
    owned,
)

__all__ = ["RESERVED", "Graph", "Operand", "Reader", "Value"]


class Graph(GraphMethods, Dataflow, Body):
    """A directed graph of ops; every networkx function works on it.

    Its arrays are read-only and nobody else's: one that comes in is copied, unless it and all its bases are read-only.
    Who writes an array into the dictionary of a node still has it; copies of the graph get their own.

    Parameters
    ----------
    incoming_graph_data : str or networkx graph data, optional
        A name, or whatever networkx makes a graph of.
    ops : iterable of Op and Dialect, optional
        Ops beside the library's that its nodes may name.
    **attributes
        Attributes of the graph.

    Attributes
    ----------
    ops : dict of str to Op
        Ops beside the library's that its nodes may name.
    library : Mapping or None
        The module that it is a graph of, in which implementations of its nodes are found by name.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("twice")
    >>> x = g.input("x", Tensor("f32", ("N", 2)))
    >>> _ = g.output("y", op.relu(x) + x)
    >>> print(g)
    graph twice
    x = input() : f32[N,2]
    relu_1 = relu(x) : f32[N,2]
    add_1 = add(relu_1, x) : f32[N,2]
    y = output(add_1)
    >>> g.operands("add_1")
    (Operand(node='relu_1', result=0), Operand(node='x', result=0))
    """

    def __init__(self, incoming_graph_data: Any = None, *, ops: Iterable[OpOrDialect] = (), **attributes: Any) -> None:
        if isinstance(incoming_graph_data, str):
            attributes["name"], incoming_graph_data = incoming_graph_data, None
        if parallel_edge(incoming_graph_data) is not None:
            raise GraphError(f"a Graph has one edge from a node to another; {no_digraph(incoming_graph_data)}")
        super().__init__(incoming_graph_data, **attributes)
        for data in self._node.values():
            data.update(own(data))  # networkx shares what is in the dictionaries
        self.ops: dict[str, Op] = {} if ops == () else GivenOps.of(ops).ops
        self.library: Mapping[str, Graph] | None = None
        if isinstance(incoming_graph_data, Graph):
            self.ops = {**incoming_graph_data.ops, **self.ops}
            self.library = incoming_graph_data.library
        self._fresh = GreatestNumbers(self._node)

    # ------------------------------------------------------------------ building

    def fresh(self, stem: str) -> str:
        """Return a name ``stem_1``, ``stem_2``, … that no node has.

        Parameters
        ----------
        stem : str
            The beginning of the name.
        """
        return self._fresh.fresh(stem, self._node)

    def input(self, name: str, type: Type) -> Value:
        """Add an input and return its value.

        Parameters
        ----------
        name : str
            A name that is still free.
        type : Tensor or Stream
            Its type.
        """
        kind = one_object(type)
        if kind.unknowns:
            (kind,) = numbered((kind,), first_free_number(self))
        data = {"type": "input", "index": len(self.inputs), "result": kind, "origin": (name,)}
        self._new(name, data)
        return Value(self, name)

    def constant(
        self, value: Any, *, name: str | None = None, type: Type | Element | None = None, origin: Iterable[str] = ()
    ) -> Value:
        """Add a constant and return its value.

        Parameters
        ----------
        value : array-like
            The array, or mantissas where ``type`` has a fixed-point element; kept in the dtype of a given type. It is
            copied, unless it and all its bases are read-only; the constant's array is.
        name : str, optional
            A fresh ``constant_…`` where not given.
        type : Tensor or element type, optional
            Follows from the array where not given.
        origin : iterable of str
            Names in the graph that it was made from.
        """
        array = owned(value)
        result = as_type(element_of(array.dtype) if type is None else type, array.shape)
        if isinstance(result, EdgeType):
            raise TypeMismatchError(f"a constant is a tensor, and no {result}; an op without operands can give one")
        if type is not None or array.dtype.kind == "U":
            fit = fitted(result, array if isinstance(value, np.ndarray) else value)
            array = array if fit is array else owned(fit)
        name = self.fresh("constant") if name is None else name
        self._new(name, {"type": "constant", "value": array, "result": one_object(result), "origin": tuple(origin)})
        return Value(self, name)

    def output(self, name: str, value: Value) -> str:
        """Add an output of a value.

        Parameters
        ----------
        name : str
            A name that is still free.
        value : Value
            The value.

        Returns
        -------
        str
            The name.
        """
        check_value(self, value, "output")
        self._new(name, {"type": "output", "index": len(self.outputs), "origin": (name,)}, (value,))
        return name

    def add(
        self,
        op: Op,
        operands: Iterable[Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        origin: Iterable[str] = (),
    ) -> Any:
        """Add a node and return its value, or a tuple of values if the op has several results.

        Parameters
        ----------
        op : Op
            The op.
        operands : iterable of Value, array or number
            Arrays and numbers become constants. A number has the element type of the first value with which the op
            takes it.
        attributes : mapping, optional
            Attributes; lists, sets and ranges are stored as tuples, defaults are not stored.
        name : str, optional
            A fresh one where not given.
        origin : iterable of str
            Names in the graph that it was made from.

        Raises
        ------
        TypeMismatchError
            If operands or attributes do not fit the op; the graph is as it was.
        """
        attributes = op.as_attributes(attributes or {})
        operands = op.completed(operands, attributes)
        op.check(len(operands), attributes)
        types: list[Any] = []
        literals: list[int] = []
        for i, x in enumerate(operands):
            if isinstance(x, Value):
                if x.graph is not self or x.node not in self._node:
                    check_value(self, x, op.name)
                types.append(self.result_type(x.node, x.result))
            else:
                types.append(None)
                literals.append(i)
        # Types first: if they do not fit, no constant has been added yet.
        constants: dict[int, np.ndarray] = {}
        if literals:
            like = met_by(op, operands, types, attributes)
            constants = {i: as_constant(operands[i], like) for i in literals}
            for i in literals:
                types[i] = constant_type(constants[i], operands[i], like)
        attributes = op.settled(attributes, types)
        results = op.result_types(tuple(types), attributes)
        for kind in results:
            if kind.unknowns:
                results = numbered(results, first_free_number(self))
                break
        if name is None:
            name = self.fresh(op.stem)
        elif constants:
            self._free(name)
        self.adopt(op)
        for i, array in constants.items():
            operands[i] = self.constant(array, type=types[i])
        data = {
            "type": op.name,
            **op.stored(attributes),
            "result": results[0] if len(results) == 1 else results,
            "origin": tuple(origin),
        }
        self._new(name, data, operands)
        if op.has_effects(attributes):
            add_effect(self, name)
        if len(results) == 1:
            return Value(self, name)
        return tuple([Value(self, name, i) for i in range(len(results))])

    def adopt(self, op: Op) -> None:
        """Register an op that is not the library's, so that nodes may name it.

        Parameters
        ----------
        op : Op
            The op. One that was defined again, by the same function, replaces the old one.

        Raises
        ------
        GraphError
            If the graph has another op of that name, or the op is a graph that contains this one.
        """
        present = find_op(op.name, self.ops)  # of the library, or this graph's own
        if present is op:
            return
        if present is not None and not present.stands_for(op):
            taken = (
                hiding(op) if hides_library(op) else f"the graph has another op named {op.name!r}; rename one of them"
            )
            raise GraphError(taken)
        op.enter(self)
        self.ops[op.name] = op

    def _free(self, name: Any) -> str:
        if not isinstance(name, str) or not name or name in self._node:
            raise invalid_name(name)
        return name

    def _new(self, name: str, data: dict[str, Any], operands: Sequence[Value] = ()) -> None:
        """Add a node with operands that are values of this graph."""
        self._free(name)
        if not adds_plainly(self):
            self.add_node(name)
            self._node[name].update(data)
            for slot, value in enumerate(operands):
                self._connect(value.node, name, slot, value.result)
            return
        edges: dict[str, dict[str, Any]] = {}
        self._node[name], self._succ[name], self._pred[name] = data, {}, edges
        for slot, value in enumerate(operands):
            source = value.node
            if source in edges:
                edges[source]["slots"] = (*edges[source]["slots"], (slot, value.result))
            else:
                edges[source] = self._succ[source][name] = {"slots": one_slot(slot, value.result)}
        nx._clear_cache(self)

    def _connect(self, source: str, destination: str, slot: int, result: int = 0) -> None:
        data = self._succ[source].get(destination)
        if data is None:
            self.add_edge(source, destination, slots=one_slot(slot, result))
        else:
            data["slots"] = (*data["slots"], (slot, result))

    # ------------------------------------------------------------------ reading

    def op(self, node: str) -> Op:
        """Return the op that a node's type names.

        Parameters
        ----------
        node : str
            A node.

        Raises
        ------
        UnknownOpError
            With the nearest known name.
        """
        if node not in self._node:
            raise unknown_result(self._node, node)
        name = self._node[node].get("type")
        op = find_op(name, self.ops)
        if op is None:
            raise UnknownOpError(f"{unknown_op(str(name), self.ops)} or replace the node by a rule", node=node)
        return op

    def attributes(self, node: str) -> dict[str, Any]:
        """Return the attributes of a node's op, defaults filled in.

        Parameters
        ----------
        node : str
            A node.
        """
        op = self.op(node)
        stated = attributes_in(self._node[node], op)
        first = next(iter(self.operands(node)), None) if op.forms else None
        if first is None:
            return {**op.attributes, **stated}
        kind = self._node[first.node].get("result")
        return {**op.defaults(kind[first.result] if isinstance(kind, tuple) else kind, stated), **stated}

    def annotations(self, node: str) -> dict[Any, Any]:
        """Return the annotations of a node: all that its dictionary holds beside the attributes of its op.

        Parameters
        ----------
        node : str
            A node.

        Examples
        --------
        >>> from graphrewrite import Tensor, op
        >>> g = Graph("g")
        >>> _ = op.clip(g.input("x", Tensor("f32", ("N", 2))), low=0)
        >>> g.nodes["clip_1"]["latency"] = 3
        >>> g.attributes("clip_1"), g.annotations("clip_1")
        ({'low': 0, 'high': None}, {'latency': 3})
        """
        data = self._node.get(node)
        if data is None:
            raise unknown_result(self._node, node)
        return annotations_in(data, find_op(data.get("type"), self.ops))

    @property
    def effects(self) -> tuple[str, ...]:
        """Nodes with effects, in the order in which they happen: that in which they were added."""
        return effects_in_order(self)

    def dead_nodes(self) -> frozenset[str]:
        """Return the nodes from which neither an output nor a node with an effect can be reached."""
        return self._without_way_to((*self.outputs, *nodes_with_effects(self)))

    def bodies(self) -> Iterator[tuple[str, str, Graph]]:
        """Yield the graphs that are attributes of nodes, each with its node and the name of the attribute."""
        held = set(map(type, chain.from_iterable(map(dict.values, self._node.values()))))
        if not any(issubclass(kind, Graph) for kind in held):
            return  # as most graphs
        for node, data in self._node.items():
            for key, value in data.items():
                if isinstance(value, Graph):
                    yield node, key, value

    def result_type(self, node: str, result: int = 0) -> Type:
        """Return the type of a node's result.

        Parameters
        ----------
        node : str
            A node.
        result : int
            Index of the result.
        """
        try:
            types = self._node[node].get("result")
            if result == 0 and types is not None and type(types) is not tuple:
                return types  # type: ignore[no-any-return]  # as most nodes have
            chosen: Type | None = types[result] if isinstance(types, tuple) else (types,)[result]
        except (KeyError, IndexError):
            raise unknown_result(self._node, node, result) from None
        if chosen is None:
            raise GraphError("has no result type; do not read outputs, and give every other node a `result`", node=node)
        return chosen

    def value(self, node: str, result: int = 0) -> Value:
        """Return a handle on a node's result, to build on.

        Parameters
        ----------
        node : str
            A node.
        result : int
            Index of the result.
        """
        if node not in self._node:
            raise unknown_result(self._node, node)
        return Value(self, node, result)

    def copy(self, as_view: bool = False) -> Self:
        """Return a copy that can be changed freely; read-only arrays are shared, which `copy.deepcopy` copies, too.

        Parameters
        ----------
        as_view : bool
            As networkx has it: a read-only view.
        """
        if as_view:
            return super().copy(as_view=True)  # type: ignore[no-any-return]  # networkx is untyped here
        check_readable(self)
        new = self.__class__(**own(self.graph))
        new.ops, new.library = self.ops.copy(), self.library
        copy_into(self, new)
        return new

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(without_lock(state))  # of a pickle or a deep copy, whose arrays are nobody else's
        edges = (data for readers in self._succ.values() for data in readers.values())
        for data in (*self._node.values(), *edges, self.graph):
            for array in arrays_in(data):
                handed_over(array)
