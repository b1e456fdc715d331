"""Dictionaries of elastic-ai.creator: graphs of nodes by name and nested edges, alone or as a registry by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import SerialError, TypeMismatchError
from graphrewrite.formats.border_values import joined, split
from graphrewrite.formats.json.decode import Decoder, mapping, text
from graphrewrite.formats.json.encode import encode
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.formats.text.node_edges import slots_of
from graphrewrite.graph import Graph
from graphrewrite.graph.validation import unsound_edge, unsound_node
from graphrewrite.hierarchy.graph_ops import nested_ops
from graphrewrite.hierarchy.module import Module
from graphrewrite.op.generic_op import generic
from graphrewrite.op.given_ops import GivenOps
from graphrewrite.op.library import find_op
from graphrewrite.op.reserved_keys import attributes_in

__all__ = ["from_elastic_ai", "is_elastic_ai", "to_elastic_ai"]

_PORTS = ("input", "output")


def is_elastic_ai(data: Any) -> bool:
    """Tell whether data look like a graph of elastic-ai.creator, or a registry of them.

    Examples
    --------
    >>> is_elastic_ai({"nodes": {}, "edges": {}}), is_elastic_ai({"mac": {"nodes": {}, "edges": {}}}), is_elastic_ai({})
    (True, True, False)
    """
    if not isinstance(data, Mapping) or "format" in data:
        return False
    return _is_graph(data) or (len(data) > 0 and all(map(_is_graph, data.values())))


def _is_graph(data: Any) -> bool:
    return isinstance(data, Mapping) and "nodes" in data and "edges" in data


def from_elastic_ai(data: Mapping[str, Any], *, ops: Iterable[Any] = ()) -> Graph | Module:
    """Return the graph that a dictionary of elastic-ai.creator describes, or the module of a registry of graphs.

    Attributes of the graph stand beside its nodes, as its earlier versions wrote them, or under ``attributes``. Nodes
    and edges may be lists of dictionaries with names. What the nodes compute is not known: types that are no ops are
    generic ones. Lists stay lists. A convolution of the library with a ``padding_value`` has a `pad` before it, which
    is called ``conv_1.border``, where the types of its operands are stated.

    Parameters
    ----------
    data : mapping
        The dictionary.
    ops : iterable of Op and Dialect
        Ops that the nodes' types may name, beside those of the library.

    Raises
    ------
    SerialError
        With the path of the error.

    Examples
    --------
    >>> nodes = {"x": {"type": "input"}, "mac_1": {"type": "mac", "input_shape": [2, 2]}, "y": {"type": "output"}}
    >>> graph = from_elastic_ai({"type": "net", "nodes": nodes, "edges": {"x": {"mac_1": {}}, "mac_1": {"y": {}}}})
    >>> graph.outputs, graph.nodes["mac_1"]["input_shape"], graph.graph["type"]
    (('y',), [2, 2], 'net')
    """
    path, given = JsonPath(), GivenOps.of(ops).ops
    if _is_graph(data):
        return _graph(Graph(), data, given, path)
    module = Module("elastic_ai")
    for name, each in data.items():
        with (path / name).reporting():
            graph = module.add_graph(name or "root")
        _graph(graph, mapping(each, path / name), given, path / name)
    return module


def _graph(graph: Graph, data: Mapping[str, Any], ops: Mapping[str, Any], path: JsonPath) -> Graph:
    rest = {key: value for key, value in data.items() if key not in ("nodes", "edges")}
    own = rest["attributes"] if set(rest) == {"attributes"} else rest
    graph.graph.update(_plain(mapping(own, path / "attributes"), path / "attributes"))
    counts = dict.fromkeys(_PORTS, 0)
    for name, each in _named(data["nodes"], path / "nodes"):
        here = path / "nodes" / name
        values = _plain(mapping(each, here), here)
        kind = text(values.get("type"), here / "type")
        if name in graph or not name:
            here.fail("names of nodes are not empty, and each is there once")
        if kind in _PORTS:
            values.setdefault("index", counts[kind])
            counts[kind] += 1
        op = ops.get(kind) or find_op(kind)
        with here.reporting():
            if op is None or kind in ops:
                graph.adopt(op or graph.ops.get(kind) or generic(kind))
        values["origin"] = tuple(values.get("origin", ()))
        if isinstance(values.get("result"), list):  # of an op with several results
            values["result"] = tuple(values["result"])
        here.check(unsound_node(values))
        graph.add_node(name)
        graph.nodes[name].update(values if op is None else {**values, **_attributes(op, values)})
    for source, destination, each in _edges(data["edges"], path / "edges"):
        here = path / "edges" / source / destination
        for node in (source, destination):
            if node not in graph:
                here.fail(f"there is no node {node!r:.60}")
        values = _plain(mapping(each, here), here)
        count = sum(len(edge["slots"]) for edge in graph.pred[destination].values())
        values["slots"] = _as_pairs(values.get("slots", ((count, 0),)))
        here.check(unsound_edge(values))
        graph.add_edge(source, destination)
        graph.edges[source, destination].update(values)
    split(graph, path)
    return graph


def _as_pairs(slots: Any) -> Any:
    return tuple(tuple(one) if isinstance(one, list) else one for one in slots) if isinstance(slots, list) else slots


def _attributes(op: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes in the form of the op; as they are where they do not fit it."""
    try:
        settled: dict[str, Any] = op.as_attributes(attributes_in(data, op))
    except TypeMismatchError:
        return {}
    return settled


def _named(nodes: Any, path: JsonPath) -> Iterator[tuple[str, Any]]:
    if isinstance(nodes, list):
        for i, each in enumerate(nodes):
            yield text(mapping(each, path / i).get("name"), path / i / "name"), each
    else:
        yield from mapping(nodes, path).items()


def _edges(edges: Any, path: JsonPath) -> Iterator[tuple[str, str, Any]]:
    if isinstance(edges, list):
        for i, each in enumerate(edges):
            source, destination = (text(mapping(each, path / i).get(key), path / i / key) for key in ("src", "dst"))
            yield source, destination, {key: value for key, value in each.items() if key not in ("src", "dst")}
        return
    for source, below in edges.items() if isinstance(edges, Mapping) else mapping(edges, path).items():
        if isinstance(source, tuple) and len(source) == 2:  # in memory, earlier versions have pairs as keys
            yield source[0], source[1], {key: value for key, value in below.items() if key not in ("src", "dst")}
            continue
        for destination, each in mapping(below, path / source).items():
            yield source, destination, each


def _plain(value: Any, path: JsonPath) -> Any:
    """Return decoded data in which lists stay lists."""
    if isinstance(value, Mapping):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return Decoder().decode(value, path)
        return {key: _plain(each, path / key) for key, each in value.items()}
    return [_plain(each, path / i) for i, each in enumerate(value)] if isinstance(value, list | tuple) else value


def to_elastic_ai(thing: nx.DiGraph | Module, *, legacy: bool = False) -> dict[str, Any]:
    """Return a graph as a dictionary of elastic-ai.creator, a module as a registry of them.

    Types of values and arrays, for which it has no form, are written as `to_dict` writes them.

    Parameters
    ----------
    legacy : bool
        Whether attributes of the graph stand beside its nodes, as in versions whose data are `IrData`.

    Raises
    ------
    SerialError
        If a value cannot be stored, with its path, or a graph alone has graphs in it.

    Examples
    --------
    >>> data = {"nodes": {"x": {"type": "input"}, "y": {"type": "output"}}, "edges": {"x": {"y": {}}}, "attributes": {}}
    >>> to_elastic_ai(from_elastic_ai(data)) == data
    True
    """
    path = JsonPath()
    if isinstance(thing, Module):
        return {name: _written(graph, legacy, path / name, name=name) for name, graph in thing.items()}
    if not isinstance(thing, nx.DiGraph) or thing.is_multigraph():
        raise SerialError(f"expected a Graph, networkx.DiGraph or Module, got {type(thing).__name__}")
    if isinstance(thing, Graph) and (inner := nested_ops(thing)):
        raise SerialError(f"a graph alone has no place for the graph {inner[0].name!r} in it; write a Module of both")
    return _written(thing, legacy, path)


def _written(graph: nx.DiGraph, legacy: bool, path: JsonPath, name: str | None = None) -> dict[str, Any]:
    """Return the dictionary of a graph; in a registry its name is its key."""
    nodes: dict[str, Any] = {}
    edges: dict[str, dict[str, Any]] = {}
    counts = dict.fromkeys(_PORTS, 0)
    graph = joined(graph) if isinstance(graph, Graph) else graph
    for node, data in graph.nodes(data=True):
        here = path / "nodes" / node
        written = {key: _stored(value, here / key) for key, value in data.items()}
        if not written.get("origin"):
            written.pop("origin", None)
        if (kind := data.get("type")) in counts:
            if written.get("index") == counts[kind]:
                del written["index"]
            counts[kind] += 1
        nodes[text(node, here)] = written
    seen = dict.fromkeys(graph, 0)
    for source, below in graph.adj.items():
        for destination, data in below.items():
            here = path / "edges" / source / destination
            slots = slots_of(data)
            others = {key: _stored(value, here / key) for key, value in data.items() if key != "slots"}
            is_next = slots == ((seen[destination], 0),)  # what reading it assumes
            seen[destination] += len(slots or ())
            stated = {} if slots is None or is_next else {"slots": _stored(slots, here / "slots")}
            edges.setdefault(source, {})[destination] = others | stated
    own = {
        key: _stored(value, path / "attributes" / key)
        for key, value in graph.graph.items()
        if key != "name" or value not in (name, "")
    }
    return {**own, "nodes": nodes, "edges": edges} if legacy else {"nodes": nodes, "edges": edges, "attributes": own}


def _stored(value: Any, path: JsonPath) -> Any:
    """Return data of primitive types; others as `encode` writes them."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, list | tuple):
        return [_stored(each, path / i) for i, each in enumerate(value)]
    if type(value) is dict:
        return {text(key, path): _stored(each, path / key) for key, each in value.items()}
    return encode(value, path)
