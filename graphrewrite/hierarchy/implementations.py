"""Implementations: the graph, op or component that a node names as what computes it, found in a library."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

from graphrewrite.errors import ImplementationError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.type_inference import declared_types
from graphrewrite.hierarchy.graph_ops import (
    GraphOp,
    check_nesting,
    graphs_in,
    innermost_first,
    nested_graphs,
    nested_ops,
)
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import STRUCTURAL, annotations_in, attributes_in
from graphrewrite.op.transport import enter, leave
from graphrewrite.types import FixedPoint, Stream, Tensor, Type

__all__ = ["Implementing", "Library", "graph_op_of", "implemented", "implementing", "is_implemented"]

Library = Mapping[str, Any]
"""Graphs, ops, and components, which stand for their ops, by name; a module is one."""

_OF_THE_OP = frozenset({"implementation", "use_kernel", "operator"})
"""Annotations that say something about a node's op, which another op has not."""
_PORTS = frozenset({"input", "output", "constant"})


def implemented(graph: Graph, library: Library | None = None) -> Graph:
    r"""Return a graph in which each node that names its implementation is a node of that, in nested graphs as well.

    A node's annotation ``implementation`` names a graph, an op or a hardware component. A graph gets the node's
    operands; an op also its attributes, and constant operands that are attributes of that op. What is hardware is put
    between `graphrewrite.lowering.enter` and ``leave``, where the node is none.

    Hardware computes with mantissas, and is rounded to the format of the node. Where that has floats, its op computes
    it, and it keeps the name for `to_stream`.

    Rules leave a node alone that a graph of its module computes. What is passed they do not know: it should compute
    what the op of the node does.

    Parameters
    ----------
    graph : Graph
        Any graph; untouched.
    library : mapping of str to Graph, Op or Component, optional
        Where names are looked up first, then in the module of the graph. None for the module alone: a name that it does
        not have stays, to be passed later.

    Returns
    -------
    Graph
        The graph itself if no node names an implementation.

    Raises
    ------
    ImplementationError
        If an implementation is missing, does not fit its node, or is implemented by itself.

    Examples
    --------
    >>> fast = Graph.parse("graph fast\nx = input() : f32[M]\na = abs(x)\nb = add(a, x)\ny = output(b)")
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> g.nodes["r"]["implementation"] = "fast"
    >>> implemented(g, {"fast": fast}).op("r")
    <op fast>
    >>> implemented(g, {"fats": fast})
    Traceback (most recent call last):
    ...
    graphrewrite.errors.ImplementationError: node 'r': is implemented by 'fast', and there is no such graph, op or
    component; did you mean 'fats'?
    """
    for name, entry in () if library is None or isinstance(library, Module) else library.items():
        if not isinstance(entry, Graph) and not isinstance(getattr(entry, "op", entry), Op):
            raise ImplementationError(f"the implementation {name!r} is no graph, op or component but {entry!r}")
    if not any("implementation" in data for each in nested_graphs(graph) for data in each._node.values()):
        return graph
    check_nesting(graph)
    # What libraries a nested graph sees follows from the graphs around it; inner ones come first, so that no depth of
    # nesting recurses.
    seen: dict[int, tuple[Library, ...]] = {id(graph): () if library is None else (library,)}
    for each in nested_graphs(graph):
        seen[id(each)] = _with_own(seen[id(each)], each)
        for inner in graphs_in(each):
            seen.setdefault(id(inner), seen[id(each)])
    resolution = _Resolution(is_strict=library is not None)
    for each in innermost_first(graph):
        resolution.graph(each, seen[id(each)])
    return resolution.graph(graph, seen[id(graph)])


def _with_own(libraries: tuple[Library, ...], graph: Graph) -> tuple[Library, ...]:
    """Return libraries, and after them the module of a graph."""
    if graph.library is None or any(graph.library is each for each in libraries):
        return libraries
    return (*libraries, graph.library)


class Implementing(NamedTuple):
    """What implements a node: an op, its attributes and operands, and the annotations that the node keeps.

    The types are those that the op takes: streams, where it is hardware. What hardware gives may be rounded to the
    format of the node.
    """

    op: Op
    attributes: dict[str, Any]
    operands: tuple[Operand, ...]
    types: tuple[Type, ...]
    annotations: dict[Any, Any]
    rounding: tuple[FixedPoint, FixedPoint] | None = None


def implementing(graph: Graph, node: str, libraries: Sequence[Library]) -> Implementing | None:
    r"""Return what implements a node; raise if that is missing, or does not fit the node.

    None for hardware, where the node has floats: it waits until they are mantissas.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x) {implementation='fast'}\ny = output(r)")
    >>> implementing(g, "r", [{"fast": find_op("abs")}]).op
    <op abs>
    """
    wanted = graph._node[node]["implementation"]
    held = _holding(wanted, libraries)
    if held is None:
        hint = did_you_mean(str(wanted), [str(name) for each in libraries for name in each])
        advice = f"; put it into the graph's module, pass implementations={{{wanted!r}: …}}, or remove the annotation"
        raise ImplementationError(
            f"is implemented by {wanted!r}, and there is no such graph, op or component{hint or advice}", node=node
        )
    entry = held[wanted]
    op: Any = _graph_op(wanted, entry, held) if isinstance(entry, Graph) else getattr(entry, "op", entry)
    if op.level == "stream" and _has_floats(graph, node):
        return None
    try:
        return _fitted(graph, node, op)
    except TypeMismatchError as error:
        raise ImplementationError(f"is implemented by {wanted!r}, which does not fit: {error}", node=node) from None


def _holding(name: Any, libraries: Sequence[Library]) -> Library | None:
    return next((each for each in libraries if isinstance(name, str) and name in each), None)


def graph_op_of(graph: Graph, node: str) -> GraphOp | None:
    r"""Return the graph op of a node: a graph of its module that implements it, or its own op if that is a graph.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> print(graph_op_of(g, "x"))
    None
    """
    data = graph._node[node]
    op: Op | None
    is_named = graph.library is not None and "implementation" in data and data.get("type") not in _PORTS
    libraries: tuple[Library, ...] = () if graph.library is None else (graph.library,)
    if is_named and (by := implementing(graph, node, libraries)) is not None:
        op = _Resolution().op(by.op, libraries)
    else:
        op = graph.ops.get(data.get("type", ""))
    return op if isinstance(op, GraphOp) else None


def is_implemented(graph: Graph, node: str) -> bool:
    r"""Tell whether a graph of the module computes a node whose op would compute something itself.

    Examples
    --------
    >>> module = Module("net")
    >>> module["fast"] = Graph.parse("graph fast\nx = input() : f32[M]\na = abs(x)\ny = output(a)")
    >>> module["main"] = Graph.parse("graph main\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> module["main"].nodes["r"]["implementation"] = "fast"
    >>> is_implemented(module["main"], "r"), is_implemented(module["main"], "x")
    (True, False)
    """
    data = graph._node[node]
    if graph.library is None or data.get("implementation") not in graph.library or data.get("type") in _PORTS:
        return False
    op, body = find_op(data["type"], graph.ops), graph.library[data["implementation"]]
    is_hardware = any(isinstance(body._node[name].get("result"), Stream) for name in body.inputs)
    return op is not None and op.level != "generic" and not (is_hardware and _has_floats(graph, node))


def _graph_op(name: str, graph: Graph, library: Library) -> GraphOp:
    """Return a graph of a library as an op, under a name that no op of the library has."""
    if name in LIBRARY:
        name = f"{name}_graph"
    return library.op(name) if isinstance(library, Module) and name in library else GraphOp(name, {name: graph})


def _fitted(graph: Graph, node: str, op: Op) -> Implementing:
    """Return an op as what implements a node; raise TypeMismatchError if it takes or gives something else."""
    data, own = graph._node[node], find_op(graph._node[node].get("type"), graph.ops)
    operands, attributes = list(graph.operands(node)), dict[str, Any]()
    stated, annotations = attributes_in(data, own), annotations_in(data, own)
    if own is None or own.any_attributes:  # nobody knows which of its keys are attributes: those of the op are
        annotations.update({key: value for key, value in stated.items() if key not in op.attributes})
        stated = {key: value for key, value in stated.items() if key in op.attributes}
    if data.get("type") == "lookup" and "table" not in (*op.operands, *op.attributes):
        operands, stated, own = operands[:1], {}, None  # a function as a table, which the op computes in its own way
    if not isinstance(op, GraphOp):
        defaults = {} if own is None else {k: v for k, v in own.attributes.items() if k in op.attributes}
        attributes = {**defaults, **stated}
        for name, operand in list(zip(() if own is None else own.operands, operands, strict=False)):
            held = graph._node[operand.node]
            if name in op.attributes and held.get("type") == "constant":
                attributes[name] = held["value"]
                operands.remove(operand)
    op.check(len(operands), attributes)
    types = tuple(graph.result_type(*operand) for operand in operands)
    if op.level == "stream":
        types = tuple(kind if isinstance(kind, Stream) else enter.infer(kind)[0] for kind in types)
    results, declared = op.infer(*types, **attributes), declared_types(graph, node)
    rounding = None
    if declared is not None and len(results) == len(declared) == 1:
        gives, kind = results[0], declared[0]
        if isinstance(gives, Stream) and isinstance(kind, Tensor) and isinstance(kind.element, FixedPoint):
            rounding = None if gives.element == kind.element else (gives.element, kind.element)
            results = (Stream(kind.element, gives.shape),)
    if declared is not None and not (len(results) == len(declared) and all(map(_agree, results, declared))):
        given, wanted = (", ".join(map(str, of)) for of in (op.infer(*types, **attributes), declared))
        raise TypeMismatchError(f"it gives {given}, and the node is {wanted}")
    kept = {key: value for key, value in annotations.items() if key not in (*_OF_THE_OP, *op.attributes)}
    return Implementing(op, attributes, tuple(operands), types, kept, rounding)


def _has_floats(graph: Graph, node: str) -> bool:
    """Tell whether a node reads a tensor of something else than mantissas."""
    kinds = (graph.result_type(*operand) for operand in graph.operands(node))
    return any(isinstance(kind, Tensor) and not isinstance(kind.element, FixedPoint) for kind in kinds)


def _agree(given: Type, declared: Type) -> bool:
    """Tell whether a result is what a node declares; of a stream that is to be a tensor, all but the batch is known."""
    if isinstance(given, Stream) and isinstance(declared, Tensor):
        return given.element == declared.element and given.shape == declared.shape[1:]
    return given == declared or bool(given.unknowns or declared.unknowns)


class _Resolution:
    """Graphs with implementations in place of the nodes that name them; each graph is resolved once.

    If it is not strict, nodes with names that nobody has stay as they are.
    """

    def __init__(self, *, is_strict: bool = True) -> None:
        self.is_strict = is_strict
        self.done: dict[int, tuple[Graph, Graph]] = {}
        self.open: dict[int, str] = {}

    def graph(self, graph: Graph, libraries: tuple[Library, ...]) -> Graph:
        """Return a graph with implementations; the graph itself, if it and its nested graphs name none."""
        if id(graph) in self.done:
            return self.done[id(graph)][1]
        if id(graph) in self.open:
            names = [*list(self.open.values())[list(self.open).index(id(graph)) :], graph.name]
            raise ImplementationError(
                f"the graph {graph.name!r} is implemented by itself: {' -> '.join(names)}; remove an annotation "
                "'implementation'"
            )
        self.open[id(graph)] = graph.name
        libraries = _with_own(libraries, graph)
        new = graph.copy()
        is_changed = False
        for op in nested_ops(graph):
            if op.name in op.library:
                new.ops[op.name] = self.op(op, libraries)
                is_changed |= new.ops[op.name] is not op
        for node, key, body in graph.bodies():
            if (inner := self.graph(body, libraries)) is not body:
                new._node[node][key] = inner.as_body()
                is_changed = True
        named = [n for n, data in graph._node.items() if "implementation" in data and data.get("type") not in _PORTS]
        if not self.is_strict or not libraries:
            named = [n for n in named if _holding(graph._node[n]["implementation"], libraries) is not None]
        by_node = {node: implementing(graph, node, libraries) for node in named}
        found = {node: by for node, by in by_node.items() if by is not None}
        for node, by in found.items():
            _put(new, node, by._replace(op=_adopted(new, self.op(by.op, libraries), found)))
        del self.open[id(graph)]
        self.done[id(graph)] = graph, new if is_changed or found else graph
        return self.done[id(graph)][1]

    def op(self, op: Op, libraries: tuple[Library, ...]) -> Op:
        """Return an op; of a graph with implementations in it."""
        if not isinstance(op, GraphOp) or (inner := self.graph(op.body, libraries)) is op.body:
            return op
        return GraphOp(op.name, {op.name: inner})


def _adopted(graph: Graph, op: Op, replaced: Container[str]) -> Op:
    """Let nodes of a graph be of an op; a graph op of a taken name gets another one."""
    present = graph.ops.get(op.name)
    if present is None or not present.stands_for(op):
        others = (n for n, data in graph._node.items() if data.get("type") == op.name and n not in replaced)
        if present is not None and next(others, None) is None:
            del graph.ops[op.name]  # it has no nodes any more
        elif present is not None and isinstance(op, GraphOp):
            return _adopted(graph, GraphOp(f"{op.name}_graph", {f"{op.name}_graph": op.body}), replaced)
    graph.adopt(op)
    return find_op(op.name, graph.ops) or op


def _put(graph: Graph, node: str, by: Implementing) -> None:
    """Make a node one of its implementation, in place; if that is hardware and the node is not, behind bridges."""
    kinds = [graph.result_type(*operand) for operand in by.operands]
    inside = {"type": by.op.name, **by.op.stored(by.op.as_attributes(by.attributes)), **by.annotations}
    data, operands = graph._node[node], by.operands
    structural = {key: value for key, value in data.items() if key in STRUCTURAL and key != "type"}
    if any(kind != wanted for kind, wanted in zip(kinds, by.types, strict=True)):
        entered = [
            graph.value(*operand) if kind == wanted else enter(graph.value(*operand))
            for operand, kind, wanted in zip(operands, kinds, by.types, strict=True)
        ]
        value = graph.add(by.op, entered, by.attributes, origin=graph.origin(node))
        graph._node[value.node].update(by.annotations)
        graph.adopt(leave)
        inside, operands = {"type": leave.name}, (Operand(value.node, value.result),)
        if by.rounding is not None:
            given, wanted = by.rounding
            left = graph.add(leave, [value], origin=graph.origin(node))
            graph._node[left.node]["result"] = Tensor(given, data["result"].shape)  # with the node's batch
            inside = {"type": "requantise", "shift": given.fraction - wanted.fraction, "element": wanted}
            operands = (Operand(left.node),)
    data.clear()
    data.update({**inside, **structural})
    for source, edge in list(graph._pred[node].items()):
        edge["slots"] = ()
        if "kind" not in edge:
            graph.remove_edge(source, node)
    for slot, operand in enumerate(operands):
        slots = graph._pred[node].get(operand.node, {}).get("slots", ())
        graph.add_edge(operand.node, node, slots=(*slots, (slot, operand.result)))
