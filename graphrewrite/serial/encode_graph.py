"""Graphs and modules as nested dictionaries of primitives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError, SerialError
from graphrewrite.nested import GraphOp
from graphrewrite.op.generic import Generic
from graphrewrite.serial.encode import PutArray, encode, inline
from graphrewrite.serial.place import Place, key_of
from graphrewrite.soundness import unsound_edge, unsound_node
from graphrewrite.text.edges import slots_of
from graphrewrite.text.printed import inner_graphs

if TYPE_CHECKING:
    from graphrewrite.module import Module

__all__ = ["FORMAT", "VERSION", "to_dict"]

FORMAT = "graphrewrite"
"""What a document says that it is."""
VERSION = 1
"""Of the format that this library writes; it reads this one and all before it."""


def to_dict(thing: nx.DiGraph | Module, *, put: PutArray = inline) -> dict[str, Any]:
    r"""Return a graph or module as nested dictionaries of primitive types, without loss.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        With the graphs that are nodes of it.
    put : callable
        What stands for an array: its dtype, shape and bytes in base 64 where not given.

    Returns
    -------
    dict
        `from_dict` gives an equal graph back: origins and the order of everything included. Ops that are neither the
        library's nor generic nor graphs are stored by name.

    Raises
    ------
    SerialError
        With the path of what cannot be stored, such as ``nodes.conv_1.weight``.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> data = to_dict(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"))
    >>> data["nodes"]["x"]["result"], data["edges"]
    ({'$type': 'f32[N]'}, {'x': {'y': {'slots': [[0, 0]]}}})
    """
    from graphrewrite.module import Module  # built on graphs

    head = {"format": FORMAT, "version": VERSION}
    place = Place()
    if isinstance(thing, Module):
        return {**head, "kind": "module", **_module(thing, place, put)}
    if not isinstance(thing, nx.DiGraph) or thing.is_multigraph():
        raise SerialError(f"a {type(thing).__name__} has no form here; give a Graph, networkx.DiGraph or Module")
    try:
        inner = inner_graphs(thing)
    except GraphRewriteError as error:
        (place / "graphs").fail(str(error), error)
    found = {**head, "kind": "graph", **_graph(thing, inner, place, put)}
    if inner:
        below = place / "graphs"
        found["graphs"] = {name: _graph(graph, inner, below / name, put) for name, graph in inner.items()}
    return found


def _module(module: Module, place: Place, put: PutArray) -> dict[str, Any]:
    shared = {id(array): name for name, array in module.constants.items()}

    def put_once(array: np.ndarray, where: Place) -> Any:
        name = shared.get(id(array))
        return put(array, where) if name is None else {"$shared": name}

    constants = {
        name: {
            "value": put(array, place / "constants" / name / "value"),
            "result": encode(module.type_of(name), place / "constants" / name / "result"),
        }
        for name, array in module.constants.items()
    }
    below = place / "graphs"
    return {
        "name": encode(module.name, place / "name"),
        "attributes": encode(module.attributes, place / "attributes", put),
        "constants": constants,
        "placeholders": {
            name: encode(kind, place / "placeholders" / name) for name, kind in module.placeholders.items()
        },
        "graphs": {name: _graph(graph, module, below / name, put_once) for name, graph in module.items()},
    }


def _graph(graph: nx.DiGraph, inner: Mapping[str, Any], place: Place, put: PutArray) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    edges: dict[str, dict[str, Any]] = {}
    for name, data in graph.nodes(data=True):
        key = key_of(name, place / "nodes" / name)
        here = place / "nodes" / name
        _check(unsound_node(data), here)
        nodes[key] = encode(data, here, put)
    for source, destination, data in graph.edges(data=True):
        here = place / "edges" / source / destination
        slots = slots_of(data)
        data = data if slots is None else {**data, "slots": slots}
        _check(unsound_edge(data), here)
        edges.setdefault(key_of(source, here), {})[key_of(destination, here)] = encode(data, here, put)
    attributes = encode(graph.graph, place / "attributes", put)
    ops = {name: _op(op, inner, place / "ops" / name) for name, op in getattr(graph, "ops", {}).items()}
    return {"attributes": attributes, **({"ops": ops} if ops else {}), "nodes": nodes, "edges": edges}


def _check(wrong: tuple[str, str] | None, place: Place) -> None:
    if wrong is not None:
        (place / wrong[0]).fail(wrong[1])


def _op(op: Any, inner: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """How an op is found again."""
    if isinstance(op, Generic):
        return {"kind": "generic", "results": op.results}
    if isinstance(op, GraphOp):
        body, known = op.library.get(op.name), inner.get(op.name)
        if body is not None and body is not known and body != known:
            place.fail("this graph is not in the module; put it there, or rename it if there is another one")
        return {"kind": "graph"}
    return {"kind": "given"}
