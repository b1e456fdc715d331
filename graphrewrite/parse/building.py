"""Graphs made of the lines that describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.marks import MARKS
from graphrewrite.nested import GraphOp
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic import generic
from graphrewrite.op.op import Op
from graphrewrite.parse.line import Line
from graphrewrite.parse.literal import array_of
from graphrewrite.soundness import unsound_node
from graphrewrite.types import Tensor, Type, element_dtype, element_of, one_object

__all__ = ["constant_of", "fill"]


def fill(
    graph: Graph, lines: Sequence[Line], ops: Mapping[str, Op], shared: Mapping[str, np.ndarray] | None = None
) -> None:
    """Add the nodes and edges that some lines describe to a graph.

    Parameters
    ----------
    graph : Graph
        Empty; changed.
    lines : sequence of Line
        Its nodes. Operands may stand below what reads them, if their lines say their types.
    ops : mapping of str to Op
        Ops beside the library's.
    shared : mapping of str to ndarray, optional
        Constants that need not be written out, by their mark `shared`.

    Raises
    ------
    ParseError
        With line, column, and what is wrong there.
    """
    names: dict[Any, Line] = {}
    for line in lines:
        if line.name in names:
            line.cursor.fail(f"node {line.name!r}: that name is taken; choose another", at=0)
        names[line.name] = line
    known: dict[Any, tuple[Type, ...]] = {}
    ports = {"input": 0, "output": 0}
    for line in lines:
        data = _data(graph, line, names, known, ops, shared or {}, ports)
        line.cursor.check(unsound_node(data), at=line.places["kind"])
        if data.get("type") in ports:
            ports[data["type"]] += 1
        graph.add_node(line.name)
        graph.nodes[line.name].update(data)
        result = data.get("result")
        known[line.name] = result if isinstance(result, tuple) else () if result is None else (result,)
    for line in lines:
        for source, data in _edges(line, names):
            graph.add_edge(source, line.name)
            graph.edges[source, line.name].update(data)


def _data(
    graph: Graph,
    line: Line,
    names: Mapping[Any, Line],
    known: Mapping[Any, tuple[Type, ...]],
    ops: Mapping[str, Op],
    shared: Mapping[str, np.ndarray],
    ports: Mapping[str, int],
) -> dict[Any, Any]:
    """The attribute dictionary of a node."""
    kind = line.kind
    if line.is_raw or kind is None:
        return _raw(graph, line, ops)
    if kind == "output":
        if len(line.operands) != 1:
            _fail(line, f"an output has one operand, this has {len(line.operands)}")
        _operand_types(line, names, known)
        return {"type": kind, "index": ports[kind], **_marks_alone(line), "origin": (line.name,)}
    if kind in ("input", "constant"):
        if line.operands:
            line.cursor.fail(f"{kind} takes no operands", at=line.places["operand", 0])
        if kind == "constant":
            return constant_of(line, shared)
        result = one_object(_one_type(line, "an input needs a type, as in 'x = input() : f32[N,4]'"))
        return {"type": kind, "index": ports[kind], **_marks_alone(line), "result": result, "origin": (line.name,)}
    return _of_op(graph, line, _operand_types(line, names, known), ops)


def _raw(graph: Graph, line: Line, ops: Mapping[str, Op]) -> dict[Any, Any]:
    """The data of a node that is taken as it is written."""
    for key in ("origin", *(("type",) if line.kind is not None else ())):
        if key in line.attributes:
            line.cursor.fail(f"{key!r} is no attribute", at=line.places.get(("attribute", key), 0))
    types = line.types
    if types is not None and "result" in line.attributes:
        line.cursor.fail("the type is written behind ':'", at=line.places.get(("attribute", "result"), 0))
    if line.kind and line.kind not in LIBRARY and line.kind not in graph.ops:
        _adopt(graph, line, ops.get(line.kind) or generic(line.kind, 1 if types is None else len(types)))
    results = {} if types is None else {"result": one_object(types[0]) if len(types) == 1 else types}
    return {**({} if line.kind is None else {"type": line.kind}), **line.attributes, **results, "origin": ()}


def _of_op(graph: Graph, line: Line, types: tuple[Type, ...], ops: Mapping[str, Op]) -> dict[Any, Any]:
    """The data of a node that is what its op makes of its operands and attributes."""
    kind = str(line.kind)
    op = ops.get(kind) or graph.ops.get(kind) or LIBRARY.get(kind)
    if op is None:
        hint = did_you_mean(kind, [*LIBRARY, *ops])
        _fail(line, f"no op is called {kind!r}{hint}; pass it as ops=[…], or write ?{kind} for one that nobody knows")
    attributes = {key: value for key, value in line.attributes.items() if key not in MARKS}
    try:
        op.check(len(types), attributes)
        results = op.result_types(types, attributes)
        stored = op.stored(attributes)
    except GraphRewriteError as error:
        _fail(line, str(error), error)
    except Exception as error:  # whatever an op says to attributes that are not its own
        _fail(line, f"{kind} does not take these attributes: {type(error).__name__}: {error}", error)
    if line.types is not None and line.types != results:
        said, found = (", ".join(map(str, each)) for each in (line.types, results))
        line.cursor.fail(f"{kind} gives {found} here, and the text says {said}", at=line.places["types"])
    _adopt(graph, line, op)
    return {
        "type": kind,
        **stored,
        **_marks(line),
        "result": results[0] if len(results) == 1 else results,
        "origin": (),
    }


def _adopt(graph: Graph, line: Line, op: Op) -> None:
    if isinstance(op, GraphOp) and op.name not in graph.ops:
        graph.ops[op.name] = op  # that no graph contains itself is known before any is made
        return
    try:
        graph.adopt(op)
    except GraphRewriteError as error:
        _fail(line, str(error), error)


def constant_of(line: Line, shared: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the data of a constant.

    Parameters
    ----------
    line : Line
        Of a constant.
    shared : mapping of str to ndarray
        Constants that need not be written out.

    Returns
    -------
    dict

    Raises
    ------
    ParseError
        If value and type do not go together.

    Examples
    --------
    >>> from graphrewrite.parse.cursor import Cursor
    >>> from graphrewrite.parse.line import read_line
    >>> constant_of(read_line(Cursor("c = constant(value=[1, 2]) : i8[2]", 1)), {})["value"]
    array([1, 2], dtype=int8)
    """
    given = dict(line.attributes)
    name = given.get("shared")
    if "value" not in given and isinstance(name, str) and name in shared:
        given["value"] = shared[name]
    if "value" not in given:
        _fail(line, "a constant needs a value, as in 'c = constant(value=[1, 2]) : f32[2]'")
    value, at = given.pop("value"), line.places.get(("attribute", "value"), 0)
    declared = None if line.types is None else _one_type(line, "")
    if declared is not None and not isinstance(declared, Tensor):
        line.cursor.fail(f"a constant is a tensor, not {declared}", at=line.places["types"])
    if not isinstance(value, np.ndarray):
        value = _numbers(line, value, declared, at)
    elif declared is not None and value.shape != declared.shape:
        _refuse_shape(line, value, declared, at)
    try:
        kind = Tensor(element_of(value.dtype), value.shape) if declared is None else declared
    except GraphRewriteError as error:
        _fail(line, str(error), error)
    return {"type": "constant", "value": value, **_marks_alone(line, given), "result": one_object(kind), "origin": ()}


def _numbers(line: Line, entries: Any, declared: Tensor | None, at: int) -> np.ndarray:
    """The array of a constant whose entries are written as lists."""
    if declared is None:
        try:
            return np.asarray(entries)
        except ValueError as error:
            line.cursor.fail("expected numbers in lists of equal lengths", at=at, cause=error)
    array = array_of(line.cursor, entries, declared.element, at=at)
    shape = tuple(declared.shape)
    if not array.size and all(isinstance(size, int) and size < 2**31 for size in shape) and 0 in shape:
        try:  # a list does not say the shape of nothing
            array = np.zeros(shape, element_dtype(declared.element))  # type: ignore[arg-type]  # they are numbers
        except ValueError as error:
            line.cursor.fail(str(error), at=line.places["types"], cause=error)
    if array.shape != shape:
        _refuse_shape(line, array, declared, at)
    return array


def _refuse_shape(line: Line, array: np.ndarray, declared: Tensor, at: int) -> NoReturn:
    shown = ",".join(map(str, array.shape))
    line.cursor.fail(f"the value has the shape [{shown}], and the type says {declared}", at=at)


def _marks(line: Line, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {key: value for key, value in (line.attributes if given is None else given).items() if key in MARKS}


def _marks_alone(line: Line, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The marks of a node whose op takes no attributes."""
    for key in line.attributes if given is None else given:
        if key not in MARKS:
            at = line.places.get(("attribute", key), 0)
            line.cursor.fail(f"{line.kind} has no attribute {key!r}; marks are {', '.join(sorted(MARKS))}", at=at)
    return _marks(line, given)


def _one_type(line: Line, message: str) -> Type:
    if line.types is None or len(line.types) != 1:
        _fail(line, message or f"{line.kind} has one result")
    return line.types[0]


def _operand_types(line: Line, names: Mapping[Any, Line], known: Mapping[Any, tuple[Type, ...]]) -> tuple[Type, ...]:
    """The types of what a node reads."""
    found: list[Type] = []
    for i, (source, result) in enumerate(line.operands):
        at = line.places["operand", i]
        _check_source(line, source, names)
        types = known.get(source, names[source].types)
        if line.kind == "output" and not types:
            continue
        if types is None:
            line.cursor.fail(f"{source!r} stands further below, and its line does not say its type", at=at)
        if result >= len(types):
            what = f"has no result {result}" if types else "has no type"
            line.cursor.fail(f"expected an operand, and {source!r} {what}", at=at)
        found += types[result : result + 1]
    return tuple(found)


def _check_source(line: Line, source: Any, names: Mapping[Any, Line]) -> None:
    if source not in names:
        hint = did_you_mean(str(source), map(str, names))
        line.cursor.fail(f"node {source!r}: is not in the graph{hint}", at=line.places.get(("source", source), 0))


def _edges(line: Line, names: Mapping[Any, Line]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The edges into a node."""
    found: dict[Any, dict[str, Any]] = {}
    for slot, (source, result) in enumerate(line.operands):
        _check_source(line, source, names)
        data = found.setdefault(source, {"slots": ()})
        data["slots"] += ((slot, result),)
    for source, kind in line.controls:
        _check_source(line, source, names)
        data = found.setdefault(source, {"slots": ()})
        if "kind" in data:
            line.cursor.fail(f"two control edges from {source!r}", at=line.places["kind"])
        data["kind"] = kind
    for source, data in line.others:
        _check_source(line, source, names)
        if source in found:
            line.cursor.fail(f"two edges from {source!r}", at=line.places["kind"])
        found[source] = data
    yield from found.items()


def _fail(line: Line, message: str, cause: BaseException | None = None) -> NoReturn:
    line.cursor.fail(message, at=line.places["kind"], cause=cause)
