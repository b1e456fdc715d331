"""Graph: a networkx DiGraph with ordered operands, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np

from graphrewrite import op as ops
from graphrewrite.errors import GraphError, GraphRewriteError, UnknownOpError, did_you_mean
from graphrewrite.op.define import Op
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.types import Tensor, Type, element_of

__all__ = ["RESERVED", "Graph", "Operand", "Reader", "Value"]

RESERVED = frozenset({"type", "result", "origin"})
"""Keys of a node's data that are not attributes of its op."""


class Operand(NamedTuple):
    """Where an operand comes from: a node and which of its results."""

    node: str
    result: int = 0


class Reader(NamedTuple):
    """Who reads a value: a node, the slot of its operand, and which result it reads."""

    node: str
    slot: int
    result: int = 0


class Value(Symbolic):
    """One result of a node of a graph; ops applied to it add nodes to that graph.

    Examples
    --------
    >>> from graphrewrite import op
    >>> g = Graph("double")
    >>> x = g.input("x", Tensor("f32", ("N", 4)))
    >>> y = x + x
    >>> y.node, str(y.type)
    ('add_1', 'f32[N,4]')
    """

    __slots__ = ("graph", "node", "result")

    def __init__(self, graph: Graph, node: str, result: int = 0) -> None:
        self.graph, self.node, self.result = graph, node, result

    @property
    def type(self) -> Type:
        """What the value carries."""
        return self.graph.result_type(self.node, self.result)

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Add a node of that op to the graph; return its value, or its values."""
        return self.graph.add(op, operands, attributes)

    def __iter__(self) -> Iterator[Value]:
        raise GraphError("has one result, which cannot be unpacked", node=self.node)

    def __repr__(self) -> str:
        return f"<value {self.node}{f':{self.result}' if self.result else ''}>"


class Graph(nx.DiGraph):
    """A directed graph of ops; every networkx function works on it.

    Parameters
    ----------
    incoming_graph_data : str or networkx graph data, optional
        A name, or whatever networkx makes a graph of.
    ops : iterable of Op, optional
        Ops beside the library's that its nodes may name.
    **attributes
        Attributes of the graph.

    Examples
    --------
    >>> from graphrewrite import op
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

    def __init__(self, incoming_graph_data: Any = None, *, ops: Iterable[Op] = (), **attributes: Any) -> None:
        if isinstance(incoming_graph_data, str):
            attributes["name"], incoming_graph_data = incoming_graph_data, None
        super().__init__(incoming_graph_data, **attributes)
        self.ops: dict[str, Op] = {op.name: op for op in ops}
        if isinstance(incoming_graph_data, Graph):
            self.ops = {**incoming_graph_data.ops, **self.ops}
        self._fresh: dict[str, int] = {}

    # ------------------------------------------------------------------ building

    def fresh(self, stem: str) -> str:
        """Return a name ``stem_1``, ``stem_2``, … that no node has.

        Parameters
        ----------
        stem : str
            What the name starts with.

        Returns
        -------
        str
        """
        count = self._fresh.get(stem, 0) + 1
        while f"{stem}_{count}" in self._node:
            count += 1
        self._fresh[stem] = count
        return f"{stem}_{count}"

    def input(self, name: str, type: Type) -> Value:
        """Add an input and return its value.

        Parameters
        ----------
        name : str
            A name that is still free.
        type : Tensor or Stream
            What it carries.

        Returns
        -------
        Value
        """
        self._new(name, {"type": "input", "index": len(self.inputs), "result": type, "origin": (name,)})
        return Value(self, name)

    def constant(
        self, value: Any, *, name: str | None = None, type: Type | None = None, origin: Iterable[str] = ()
    ) -> Value:
        """Add a constant and return its value.

        Parameters
        ----------
        value : array-like
            The array, or mantissas where ``type`` has a fixed-point element.
        name : str, optional
            A fresh ``constant_…`` where not given.
        type : Tensor, optional
            Follows from the array where not given.
        origin : iterable of str
            Names in the graph that it was made from.

        Returns
        -------
        Value
        """
        array = np.asarray(value)
        name = self.fresh("constant") if name is None else name
        result = Tensor(element_of(array.dtype), array.shape) if type is None else type
        self._new(name, {"type": "constant", "value": array, "result": result, "origin": tuple(origin)})
        return Value(self, name)

    def output(self, name: str, value: Value) -> str:
        """Add an output that gives a value.

        Parameters
        ----------
        name : str
            A name that is still free.
        value : Value
            What it gives.

        Returns
        -------
        str
            The name.
        """
        self._new(name, {"type": "output", "index": len(self.outputs), "origin": (name,)})
        self._connect(value.node, name, 0, value.result)
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
            Arrays and numbers become constants, numbers of the element type of the first value.
        attributes : mapping, optional
            Attributes; lists are stored as tuples, defaults are not stored.
        name : str, optional
            A fresh one where not given.
        origin : iterable of str
            Names in the graph that it was made from.

        Returns
        -------
        Value or tuple of Value

        Raises
        ------
        TypeMismatchError
            If operands or attributes do not fit the op; the graph is as it was.
        """
        given = [x for x in operands if x is not None]
        attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in (attributes or {}).items()}
        op.check(len(given), attributes)
        # One form for equal nodes: an attribute at its default is not stored.
        attributes = {
            k: v
            for k, v in attributes.items()
            if isinstance(v, np.ndarray) or (v is not op.attributes[k] and v != op.attributes[k])
        }
        like = next((x for x in given if isinstance(x, Value)), None)
        for value in given:
            if isinstance(value, Value) and value.graph is not self:
                raise GraphError(
                    f"belongs to another graph than the one that {op.name} is added to; copy it over first",
                    node=value.node,
                )
        constants = {
            i: ops.as_constant(x, like.type if like else None) for i, x in enumerate(given) if not isinstance(x, Value)
        }
        types = [
            x.type if isinstance(x, Value) else Tensor(element_of(constants[i].dtype), constants[i].shape)
            for i, x in enumerate(given)
        ]
        results = op.infer(*types, **attributes)
        values = [x if isinstance(x, Value) else self.constant(constants[i]) for i, x in enumerate(given)]
        name = self.fresh(op.name) if name is None else name
        data = {
            "type": op.name,
            **attributes,
            "result": results[0] if len(results) == 1 else results,
            "origin": tuple(origin),
        }
        self._new(name, data)
        if op.name not in ops.LIBRARY:
            self.ops.setdefault(op.name, op)
        for slot, value in enumerate(values):
            self._connect(value.node, name, slot, value.result)
        made = tuple(Value(self, name, i) for i in range(len(results)))
        return made[0] if len(made) == 1 else made

    def _new(self, name: str, data: dict[str, Any]) -> None:
        if name in self._node:
            raise GraphError("that name is taken; choose another or leave it out for a fresh one", node=name)
        self.add_node(name)
        self._node[name].update(data)

    def _connect(self, source: str, destination: str, slot: int, result: int = 0) -> None:
        data = self._succ[source].get(destination)
        if data is None:
            self.add_edge(source, destination, slots=((slot, result),))
        else:
            data["slots"] = (*data["slots"], (slot, result))

    # ------------------------------------------------------------------ reading

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return self._ports("input")

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in order."""
        return self._ports("output")

    def _ports(self, kind: str) -> tuple[str, ...]:
        found = [(data.get("index", 0), str(n), n) for n, data in self._node.items() if data.get("type") == kind]
        return tuple(n for _, _, n in sorted(found))

    def operands(self, node: str) -> tuple[Operand, ...]:
        """Return the operands of a node, in order.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of Operand

        Raises
        ------
        GraphError
            If slots are missing or collide, or there is no such node.
        """
        try:
            sources = self._pred[node]
        except KeyError:
            raise GraphError(f"is not in the graph{did_you_mean(str(node), map(str, self._node))}", node=node) from None
        found = {}
        count = 0
        for source, data in sources.items():
            for slot, result in data.get("slots", ()):
                found[slot] = Operand(source, result)
                count += 1
        if len(found) != count or (count and max(found) != count - 1) or (len(sources) and not count):
            raise GraphError(
                "the slots of its operands are missing or collide; number them 0, 1, … on the edges", node=node
            )
        return tuple(found[slot] for slot in range(count))

    def readers(self, node: str) -> tuple[Reader, ...]:
        """Return who reads the results of a node, by name and slot.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        tuple of Reader
        """
        return tuple(sorted(Reader(n, s, r) for n, data in self._succ[node].items() for s, r in data.get("slots", ())))

    def op(self, node: str) -> Op:
        """Return the op that a node's type names.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        Op

        Raises
        ------
        UnknownOpError
            With the nearest known name.
        """
        name = self._node[node].get("type")
        found = self.ops.get(name) or ops.LIBRARY.get(name)
        if found is None:
            hint = did_you_mean(str(name), [*ops.LIBRARY, *self.ops])
            raise UnknownOpError(
                f"no op is called {name!r}{hint}; pass it as Graph(ops=[…]) or replace the node by a rule", node=node
            )
        return found

    def attributes(self, node: str) -> dict[str, Any]:
        """Return the attributes of a node's op, defaults filled in.

        Parameters
        ----------
        node : str
            A node.

        Returns
        -------
        dict
        """
        data = self._node[node]
        given = {k: v for k, v in data.items() if k not in RESERVED}
        return {**self.op(node).attributes, **given}

    def result_type(self, node: str, result: int = 0) -> Type:
        """Return the type of a node's result.

        Parameters
        ----------
        node : str
            A node.
        result : int
            Which result.

        Returns
        -------
        Tensor or Stream
        """
        found = self._node[node].get("result")
        if found is None:
            raise GraphError("has no result type", node=node)
        chosen: Type = found[result] if isinstance(found, tuple) else found
        return chosen

    def value(self, node: str, result: int = 0) -> Value:
        """Return a handle on a node's result, to build on.

        Parameters
        ----------
        node : str
            A node.
        result : int
            Which result.

        Returns
        -------
        Value
        """
        if node not in self._node:
            raise GraphError(f"is not in the graph{did_you_mean(str(node), map(str, self._node))}", node=node)
        return Value(self, node, result)

    # ------------------------------------------------------------------ walking

    def order(self) -> tuple[str, ...]:
        """Return the nodes, operands first, in an order that does not depend on how the graph was built.

        Inputs come first, then each output with what it needs, in the order of the operands, then dead nodes by name.

        Returns
        -------
        tuple of str

        Raises
        ------
        GraphError
            If there is a cycle; names its nodes.
        """
        done: dict[str, None] = dict.fromkeys(self.inputs)
        outputs = self.outputs
        for root in (*outputs, *sorted(self._node, key=str)) if len(outputs) < len(self._node) else outputs:
            if root in done:
                continue
            path: dict[str, Iterator[str]] = {root: self._sources(root)}
            while path:
                node = next(reversed(path))
                source = next((s for s in path[node] if s not in done), None)
                if source is None:
                    path.popitem()
                    done[node] = None
                elif source in path:
                    cycle = [*list(path)[list(path).index(source) :], source]
                    raise GraphError(
                        f"is on a cycle {' -> '.join(cycle)}; break it or put a register on it", node=source
                    )
                else:
                    path[source] = self._sources(source)
        return (*(n for n in done if n not in set(outputs)), *outputs)

    def _sources(self, node: str) -> Iterator[str]:
        return iter([operand.node for operand in self.operands(node)])

    def upstream(self, node: str) -> frozenset[str]:
        """Return every node that a node depends on."""
        return frozenset(nx.ancestors(self, node))

    def downstream(self, node: str) -> frozenset[str]:
        """Return every node that depends on a node."""
        return frozenset(nx.descendants(self, node))

    def dead_nodes(self) -> frozenset[str]:
        """Return the nodes from which no output can be reached."""
        return self._unreached(self.outputs, self._pred)

    def independent_nodes(self) -> frozenset[str]:
        """Return the nodes that no input reaches; they need not be constant (a counter)."""
        return self._unreached(self.inputs, self._succ)

    def _unreached(self, roots: Iterable[str], neighbours: Mapping[str, Any]) -> frozenset[str]:
        seen, work = set(roots), list(roots)
        while work:
            for other in neighbours[work.pop()]:
                if other not in seen:
                    seen.add(other)
                    work.append(other)
        return frozenset(self._node.keys() - seen)

    # ------------------------------------------------------------------ whole graphs

    def copy(self, as_view: bool = False) -> Self:
        """Return a copy whose nodes and edges can be changed freely; arrays are shared.

        Parameters
        ----------
        as_view : bool
            As networkx has it: a read-only view.

        Returns
        -------
        Graph
        """
        if as_view:
            return super().copy(as_view=True)  # type: ignore[no-any-return]  # networkx is untyped here
        new = self.__class__(**self.graph)
        new.ops, new._fresh = dict(self.ops), dict(self._fresh)
        new.add_nodes_from((n, dict(data)) for n, data in self._node.items())
        new.add_edges_from((a, b, dict(data)) for a, readers in self._succ.items() for b, data in readers.items())
        return new

    def __eq__(self, other: object) -> bool:
        """Whether both have the same nodes, data, operands and graph attributes."""
        from graphrewrite.text import fingerprint  # the text form is built on graphs

        return isinstance(other, Graph) and fingerprint(self) == fingerprint(other)

    __hash__ = nx.DiGraph.__hash__  # graphs are mutable: hashed by identity, as networkx does

    @classmethod
    def parse(cls, text: str, *, ops: Iterable[Op] = ()) -> Graph:
        """Return the graph that a text form writes; see `graphrewrite.text.parse`."""
        from graphrewrite.text import parse  # see above

        return parse(text, ops=ops)

    def show(self, **options: Any) -> Any:
        """Return a picture for a notebook; see `graphrewrite.show`."""
        from graphrewrite.view import show  # the view is a leaf that knows graphs, loaded when asked for

        return show(self, **options)

    def __str__(self) -> str:
        from graphrewrite.text import to_text  # see above

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self)} nodes, {self.number_of_edges()} edges>"

    def _repr_svg_(self) -> str | None:
        """Let Jupyter draw the graph where pydot and Graphviz are there."""
        try:
            from graphrewrite.view import to_svg

            return to_svg(self)
        except GraphRewriteError:
            return None
