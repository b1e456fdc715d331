"""Graphs built from parsed lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.formats.text.line_parser import NodeLine
from graphrewrite.formats.text.literal_parser import array_of
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import EFFECT, one_slot
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.unknown_sizes import first_free_number, local_names, numbered, settled
from graphrewrite.graph.validation import unsound_node
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic_op import generic
from graphrewrite.op.given_ops import unknown_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS, STRUCTURAL, is_attribute
from graphrewrite.types import Tensor, Type, element_dtype, element_of, handed_over, is_local, one_object

__all__ = ["constant_of", "fill"]


def fill(
    graph: Graph, lines: Sequence[NodeLine], ops: Mapping[str, Op], shared: Mapping[str, np.ndarray] | None = None
) -> None:
    """Add the nodes and edges of lines to an empty graph.

    A node may be above its operands if their lines state types. `shared` holds the module's constants.
    """
    names: dict[Any, NodeLine] = {}
    for line in lines:
        if line.name in names:
            line.cursor.fail(f"node {line.name!r}: another node has the same name; rename one of them", at=0)
        names[line.name] = line
    types: dict[Any, tuple[Type, ...]] = {}
    ports = {"input": 0, "output": 0}
    for line in lines:
        data = {**_data(graph, line, names, types, ops, shared or {}, ports), **line.annotations}
        line.cursor.check(unsound_node(data), at=line.columns["kind"])
        if data.get("type") in ports:
            ports[data["type"]] += 1
        graph.add_node(line.name)
        graph.nodes[line.name].update(data)
        result = data.get("result")
        types[line.name] = result if isinstance(result, tuple) else () if result is None else (result,)
    for line in lines:
        for source, data in _edges(line, names):
            graph.add_edge(source, line.name)
            graph.edges[source, line.name].update(data)
    if not any(kind == EFFECT for line in lines for _, kind in line.controls):
        order_effects(graph, names)  # where the text does not say it, the order of its lines is meant


def _data(
    graph: Graph,
    line: NodeLine,
    names: Mapping[Any, NodeLine],
    types: Mapping[Any, tuple[Type, ...]],
    ops: Mapping[str, Op],
    shared: Mapping[str, np.ndarray],
    ports: Mapping[str, int],
) -> dict[Any, Any]:
    """Return the attribute dictionary of a node."""
    kind = line.kind
    if line.is_raw or kind is None:
        return _raw(graph, line, ops)
    _sort(line, ops.get(kind) or graph.ops.get(kind) or LIBRARY.get(kind))
    if kind == "output":
        if len(line.operands) != 1:
            _fail(line, f"an output has one operand, got {len(line.operands)}")
        _operand_types(line, names, types)
        _refuse_attributes(line, line.attributes)
        return {"type": kind, "index": ports[kind], "origin": (line.name,)}
    if kind in ("input", "constant"):
        if line.operands:
            line.cursor.fail(f"{kind} takes no operands", at=line.columns["operand", 0])
        if kind == "constant":
            return constant_of(line, shared)
        result = one_object(_one_type(line, "an input needs a type, as in 'x = input() : f32[N,4]'"))
        _refuse_attributes(line, line.attributes)
        return {"type": kind, "index": ports[kind], "result": result, "origin": (line.name,)}
    return _of_op(graph, line, _operand_types(line, names, types), ops, names)


def _raw(graph: Graph, line: NodeLine, ops: Mapping[str, Op]) -> dict[Any, Any]:
    """Return the data of a raw node."""
    for key in ("origin", *(("type",) if line.kind is not None else ())):
        if key in line.attributes:
            line.cursor.fail(f"{key!r} is a reserved key, not an attribute", at=line.columns.get(("attribute", key), 0))
    types = line.types
    _refuse_in_braces(line, lambda key: key in line.attributes)
    if types is not None and "result" in line.attributes:
        line.cursor.fail("the type is written after ':'", at=line.columns.get(("attribute", "result"), 0))
    if line.kind and line.kind not in LIBRARY and line.kind not in graph.ops:
        _adopt(graph, line, ops.get(line.kind) or generic(line.kind, 1 if types is None else len(types)))
    results = {} if types is None else {"result": one_object(types[0]) if len(types) == 1 else types}
    return {**({} if line.kind is None else {"type": line.kind}), **line.attributes, **results, "origin": ()}


def _of_op(
    graph: Graph, line: NodeLine, types: tuple[Type, ...], ops: Mapping[str, Op], names: Mapping[Any, NodeLine]
) -> dict[Any, Any]:
    """Return the data of a node whose type its op infers from operands and attributes."""
    kind = str(line.kind)
    op = ops.get(kind) or graph.ops.get(kind) or LIBRARY.get(kind)
    if op is None:
        _fail(line, f"{unknown_op(kind, ops, line.types)}, or write ?{kind} for a generic op")
    try:
        attributes = op.as_attributes(line.attributes)
        op.check(len(types), attributes)
        attributes = op.settled(attributes, types)
        results = op.result_types(types, attributes)
        stored = op.stored(attributes)
    except GraphRewriteError as error:
        _fail(line, str(error), error)
    except Exception as error:  # inference of an op may raise anything for wrong attributes
        _fail(line, f"{kind} rejects these attributes: {type(error).__name__}: {error}", error)
    if local_names(results):  # they are what the text says, or get numbers that no line has
        stated = (kind for other in names.values() for kind in other.types or ())
        numbers = (int(name[1:]) for kind in stated for name in kind.unknowns if not is_local(name))
        results = numbered(settled(results, line.types), max(first_free_number(graph), 1 + max(numbers, default=0)))
    if line.types is not None and line.types != results:
        declared, inferred = (", ".join(map(str, types)) for types in (line.types, results))
        line.cursor.fail(
            f"the type of {kind} is {inferred} here, and the text says {declared}", at=line.columns["types"]
        )
    _adopt(graph, line, op)
    result = results[0] if len(results) == 1 else results
    return {"type": kind, **stored, "result": result, "origin": ()}


def _sort(line: NodeLine, op: Op | None) -> None:
    """Move marks, which earlier versions wrote among the attributes, to the annotations; refuse attributes there."""
    for key in [key for key in line.attributes if key in RESERVED_ANNOTATIONS and not is_attribute(key, op)]:
        if key in line.annotations:
            line.cursor.fail(f"duplicate annotation {key!r}", at=line.columns.get(("attribute", key), 0))
        line.annotations[key] = line.attributes.pop(key)
    _refuse_in_braces(line, lambda key: is_attribute(key, op) and op is not None)


def _refuse_in_braces(line: NodeLine, is_taken: Callable[[Any], bool]) -> None:
    for key in line.annotations:
        at = line.columns.get(("attribute", key), 0)
        if key in STRUCTURAL:
            line.cursor.fail(f"{key!r} is a reserved key, not an annotation", at=at)
        if is_taken(key):
            line.cursor.fail(f"{key!r} is an attribute of {line.kind}: write it in the parentheses", at=at)


def _adopt(graph: Graph, line: NodeLine, op: Op) -> None:
    if isinstance(op, GraphOp) and op.name not in graph.ops:
        graph.ops[op.name] = op  # nesting was checked before any graph is built
        return
    with line.cursor.reporting(line.columns["kind"]):
        graph.adopt(op)


def constant_of(line: NodeLine, shared: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the data of a constant, whose value may be one of the module's.

    Examples
    --------
    >>> from graphrewrite.formats.text.cursor import Cursor
    >>> from graphrewrite.formats.text.line_parser import read_line
    >>> constant_of(read_line(Cursor("c = constant(value=[1, 2]) : i8[2]", 1)), {})["value"]
    array([1, 2], dtype=int8)
    """
    attributes = dict(line.attributes)
    name = line.annotations.get("shared")
    if "value" not in attributes and isinstance(name, str) and name in shared:
        attributes["value"] = shared[name]
    if "value" not in attributes:
        _fail(line, "a constant needs a value, as in 'c = constant(value=[1, 2]) : f32[2]'")
    value, at = attributes.pop("value"), line.columns.get(("attribute", "value"), 0)
    declared = None if line.types is None else _one_type(line, "")
    if declared is not None and not isinstance(declared, Tensor):
        line.cursor.fail(f"the type of a constant is a tensor, got {declared}", at=line.columns["types"])
    if not isinstance(value, np.ndarray):
        value = handed_over(_numbers(line, value, declared, at))
    elif declared is not None and value.shape != declared.shape:
        _refuse_shape(line, value, declared, at)
    with line.cursor.reporting(line.columns["kind"]):
        kind = Tensor(element_of(value.dtype), value.shape) if declared is None else declared
    _refuse_attributes(line, attributes)
    return {"type": "constant", "value": value, "result": one_object(kind), "origin": ()}


def _numbers(line: NodeLine, entries: Any, declared: Tensor | None, at: int) -> np.ndarray:
    """Return the array of a constant whose entries are written as lists."""
    if declared is None:
        try:
            return np.asarray(entries)
        except ValueError as error:
            line.cursor.fail("expected numbers in lists of equal lengths", at=at, cause=error)
    array = array_of(line.cursor, entries, declared.element, at=at)
    shape = tuple(declared.shape)
    if not array.size and all(isinstance(size, int) and size < 2**31 for size in shape) and 0 in shape:
        try:  # the lists of an empty array do not determine its shape
            array = np.zeros(shape, element_dtype(declared.element))  # type: ignore[arg-type]  # they are numbers
        except ValueError as error:
            line.cursor.fail(str(error), at=line.columns["types"], cause=error)
    if array.shape != shape:
        _refuse_shape(line, array, declared, at)
    return array


def _refuse_shape(line: NodeLine, array: np.ndarray, declared: Tensor, at: int) -> NoReturn:
    shown = ",".join(map(str, array.shape))
    line.cursor.fail(f"the value has the shape [{shown}], and the type is {declared}", at=at)


def _refuse_attributes(line: NodeLine, attributes: Mapping[str, Any]) -> None:
    """Raise if a node whose op has no attributes has some."""
    for key in attributes:
        at = line.columns.get(("attribute", key), 0)
        line.cursor.fail(
            f"{line.kind} has no attribute {key!r}; write an annotation in braces: {line.kind}(…) {{{key}=…}}", at=at
        )


def _one_type(line: NodeLine, message: str) -> Type:
    if line.types is None or len(line.types) != 1:
        _fail(line, message or f"{line.kind} has one result")
    return line.types[0]


def _operand_types(
    line: NodeLine, names: Mapping[Any, NodeLine], types_of: Mapping[Any, tuple[Type, ...]]
) -> tuple[Type, ...]:
    """Return the operand types of a node."""
    operands: list[Type] = []
    for i, (source, result) in enumerate(line.operands):
        at = line.columns["operand", i]
        _check_source(line, source, names)
        types = types_of.get(source, names[source].types)
        if line.kind == "output" and not types:
            continue
        if types is None:
            line.cursor.fail(f"{source!r} is defined further below, where its line must state its type", at=at)
        if result >= len(types):
            what = f"has no result {result}" if types else "has no type"
            line.cursor.fail(f"expected an operand, and {source!r} {what}", at=at)
        operands += types[result : result + 1]
    return tuple(operands)


def _check_source(line: NodeLine, source: Any, names: Mapping[Any, NodeLine]) -> None:
    if source not in names:
        hint = did_you_mean(str(source), map(str, names))
        line.cursor.fail(f"node {source!r}: is not in the graph{hint}", at=line.columns.get(("source", source), 0))


def _edges(line: NodeLine, names: Mapping[Any, NodeLine]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the edges into a node."""
    edges: dict[Any, dict[str, Any]] = {}
    for slot, (source, result) in enumerate(line.operands):
        _check_source(line, source, names)
        data = edges.get(source)
        if data is None:
            edges[source] = {"slots": one_slot(slot, result)}
        else:
            data["slots"] += ((slot, result),)
    for source, kind in line.controls:
        _check_source(line, source, names)
        data = edges.setdefault(source, {"slots": ()})
        if "kind" in data:
            line.cursor.fail(f"two control edges from {source!r}", at=line.columns["kind"])
        data["kind"] = kind
    for source, data in line.others:
        _check_source(line, source, names)
        if source in edges:
            line.cursor.fail(f"two edges from {source!r}", at=line.columns["kind"])
        edges[source] = data
    yield from edges.items()


def _fail(line: NodeLine, message: str, cause: BaseException | None = None) -> NoReturn:
    line.cursor.fail(message, at=line.columns["kind"], cause=cause)
