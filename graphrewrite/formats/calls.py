"""Graphs as lists of ordered calls: what a code generator, or another runtime, goes through line by line."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, SerialError
from graphrewrite.formats.json.decode import Decoder
from graphrewrite.formats.json.encode import encode
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.text.literal_parser import BodyName, read_element, read_type
from graphrewrite.formats.text.node_order import in_writing_order
from graphrewrite.graph.graph import Graph
from graphrewrite.graph.value import Value
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.given_ops import GivenOps, OpOrDialect
from graphrewrite.op.op import Op
from graphrewrite.op.ordered_call import OrderedCall
from graphrewrite.types import ElementType, FixedPoint, Quantised, Size

__all__ = ["CallList", "from_calls", "to_calls"]


@dataclass(frozen=True)
class CallList:
    """A graph as calls in the order in which they can be carried out.

    Attributes
    ----------
    name : str
        The graph's name.
    calls : tuple of OrderedCall
        One a node. The names of its ``outputs`` are those of its values, which the ``inputs`` of later calls read;
        ``input`` and ``constant`` state the type of theirs, and ``output`` has the name of an output of the graph.
    arrays : mapping of str to ndarray
        The numbers of constants, and arrays that are attributes.
    bodies : mapping of str to CallList
        Graphs that are attributes, such as branches.
    """

    name: str
    calls: tuple[OrderedCall, ...]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    bodies: Mapping[str, CallList] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", tuple(self.calls))
        object.__setattr__(self, "arrays", MappingProxyType(dict(self.arrays)))
        object.__setattr__(self, "bodies", MappingProxyType(dict(self.bodies)))

    def __str__(self) -> str:
        return "".join(f"{call}\n" for call in self.calls)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        name: str = "",
        arrays: Mapping[str, np.ndarray] | None = None,
        bodies: Mapping[str, CallList] | None = None,
    ) -> CallList:
        """Read the calls that are printed, one a line; lines that are empty or begin with ``#`` are left out.

        Raises
        ------
        SerialError
            If a line is no call; says which, and at which character.
        """
        calls = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    calls.append(OrderedCall.parse(line))
                except SerialError as error:
                    raise SerialError(str(error), path=f"line {number}") from None
        return cls(name, tuple(calls), arrays or {}, bodies or {})


def to_calls(graph: Graph) -> CallList:
    r"""Return a graph as a list of ordered calls, which are numbers, texts and tuples; arrays stand beside them.

    Annotations, origins and edges that carry no data are no arguments of an op, and left out; sizes that only values
    decide get new numbers.

    Parameters
    ----------
    graph : Graph
        Each node is of an op that has a descriptor: generic nodes are refused.

    Raises
    ------
    SerialError
        If a node cannot be a call.

    Examples
    --------
    >>> graph = Graph.parse("graph g\nx = input() : f32[N,4]\ns = softmax(x, axis=1)\ny = output(s)")
    >>> calls = to_calls(graph)
    >>> print(calls, end="")
    input(outputs=("x",), types=("f32[N,4]",))
    softmax(inputs=("x",), outputs=("s",), integers=(1,))
    output(inputs=("s",), outputs=("y",))
    >>> from_calls(CallList.parse(str(calls), name="g")) == graph
    True
    """
    arrays: dict[str, np.ndarray] = {}
    bodies: dict[str, CallList] = {}
    calls = []
    for node in in_writing_order(graph):
        data = graph._node[node]
        read = [_value_name(each.node, each.result) for each in graph.operands(node)]
        kind = data["type"]
        values: dict[str, tuple[Any, ...]] = {"inputs": tuple(read)}
        if kind == "output":
            values["outputs"] = (node,)
        elif kind in ("input", "constant"):
            values |= {"outputs": (node,), "types": (str(graph.result_type(node)),)}
            if kind == "constant":
                arrays[node] = data["value"]
        else:
            op = graph.op(node)
            if isinstance(op, Generic):
                told = "is generic, and nothing says what its arguments are; replace it with an op of your own"
                raise SerialError(f"the op {op.name!r} {told}", path=str(node))
            results = data["result"]
            count = len(results) if isinstance(results, tuple) else 1
            values["outputs"] = tuple(_value_name(node, i) for i in range(count))
            own = _by_kind(op, node, graph.attributes(node), arrays, bodies)
            values |= op.descriptor().ordered(own).values
        calls.append(OrderedCall(kind, values))
    return CallList(graph.name or "", tuple(calls), arrays, bodies)


def _value_name(node: str, result: int) -> str:
    return f"{node}:{result}" if result else node


def _by_kind(
    op: Op, node: str, attributes: Mapping[str, Any], arrays: dict[str, np.ndarray], bodies: dict[str, CallList]
) -> dict[str, dict[str, Any]]:
    """Return attributes by kind and name, in values that are printed; others are texts in JSON."""

    def put(array: np.ndarray, path: JsonPath) -> dict[str, str]:
        arrays[str(path)] = array
        return {"$array": str(path)}

    found: dict[str, dict[str, Any]] = {}
    for argument in op.descriptor().arguments:
        if argument.kind in ("inputs", "outputs") or (value := attributes.get(argument.name)) is None:
            continue
        if argument.kind == "others":
            place = f"{node}.{argument.name}"
            if isinstance(value, Graph):
                bodies[place] = to_calls(value)
                value = BodyName(place)
            value = json.dumps(encode(value, JsonPath() / node / argument.name, put), ensure_ascii=False)
        found.setdefault(argument.kind, {})[argument.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, ElementType | FixedPoint | Quantised | Size) else value


def from_calls(calls: CallList, *, ops: Iterable[OpOrDialect] | GivenOps = ()) -> Graph:
    """Return the graph of a list of ordered calls.

    Parameters
    ----------
    calls : CallList
        With the arrays that its calls name.
    ops : iterable of Op or Dialect
        Ops that the library does not have, and graphs that are ops: ``graph.ops.values()``.

    Raises
    ------
    SerialError
        If a call is of no known op, reads what no call before it gives, or has arguments that do not fit; says which.
    """
    given = GivenOps.of(ops)
    graph = Graph(calls.name, ops=given.ops.values()) if calls.name else Graph(ops=given.ops.values())
    values: dict[str, Value] = {}
    for number, call in enumerate(calls.calls, 1):
        try:
            _add(graph, call, calls, values, given)
        except (GraphRewriteError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise SerialError(f"{call.op}: {error}", path=f"call {number}") from error
    return graph


def _add(graph: Graph, call: OrderedCall, calls: CallList, values: dict[str, Value], given: GivenOps) -> None:
    names = call.values.get("outputs", ())
    for name in (*call.values.get("inputs", ()), *names):
        if not isinstance(name, str):
            raise SerialError(f"values are named by texts, not {name!r}", path="")
    read = []
    for name in call.values.get("inputs", ()):
        if name not in values:
            raise SerialError(f"no call before it gives {name!r}", path="")
        read.append(values[name])
    if not names:
        raise SerialError("it names no outputs", path="")
    node = str(names[0])
    if call.op == "output":
        graph.output(node, read[0])
        return
    if call.op in ("input", "constant"):
        kind = read_type(str(call.values["types"][0]), given.types)
        if call.op == "constant" and node not in calls.arrays:
            raise SerialError(f"there is no array {node!r}", path="")
        made = graph.input(node, kind) if call.op == "input" else None
        values[node] = made or graph.constant(calls.arrays[node], type=kind, name=node)
        return
    op = given.ops.get(call.op) or LIBRARY.get(call.op)
    if op is None:
        raise SerialError("there is no such op; pass your own in ops=", path="")
    results = graph.add(op, read, _attributes(op, call, calls, given), name=node)
    found = results if isinstance(results, tuple) else (results,)
    if len(found) != len(names):
        raise SerialError(f"it has {len(found)} results, and {len(names)} names", path="")
    values |= dict(zip(map(str, names), found, strict=True))


def _attributes(op: Op, call: OrderedCall, calls: CallList, given: GivenOps) -> dict[str, Any]:
    def array(name: str, path: JsonPath) -> np.ndarray:
        return calls.arrays[name] if name in calls.arrays else path.fail(f"there is no array {name!r}")

    def body(name: str, path: JsonPath) -> Graph:
        return (
            from_calls(calls.bodies[name], ops=given)
            if name in calls.bodies
            else path.fail(f"there is no body {name!r}")
        )

    decoder = Decoder(array)
    decoder.body = body
    own = {kind: each for kind, each in call.values.items() if kind not in ("inputs", "outputs")}
    descriptor = op.descriptor()
    # One that is left out and has no default is None.
    needed = (each for each in descriptor.arguments if each.kind not in ("inputs", "outputs"))
    found: dict[str, Any] = {each.name: None for each in needed if each.default is inspect.Parameter.empty}
    for kind, named in descriptor.named(OrderedCall(call.op, own)).items():
        for name, value in named.items():
            if kind == "others":
                value = decoder.decode(json.loads(value), JsonPath() / name)
            elif kind == "types":
                value = _elements(value, given)
            found[name] = value
    return found


def _elements(value: Any, given: GivenOps) -> Any:
    if isinstance(value, tuple):
        return tuple(_elements(each, given) for each in value)
    return read_element(str(value), given.types)
