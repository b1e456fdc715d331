"""Graphs and modules encoded as nested dictionaries of primitives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np

from graphrewrite.errors import SerialError
from graphrewrite.formats.elastic_ai import to_elastic_ai
from graphrewrite.formats.json.encode import PutArray, encode, inline
from graphrewrite.formats.json.path import JsonPath, key_of
from graphrewrite.formats.stored_ops import reference
from graphrewrite.formats.text.graph_printer import Bodies, inner_graphs
from graphrewrite.formats.text.node_edges import slots_of
from graphrewrite.graph.validation import unsound_edge, unsound_node
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import find_op
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import annotations_in

__all__ = ["FORMAT", "VERSION", "to_dict"]

FORMAT = "graphrewrite"
"""The `format` entry of a document."""
VERSION = 2
"""Version of the format that this library writes; it reads this version and all earlier ones.

In version 1, annotations stand among the attributes of a node; in version 2, beside them, under ``annotations``.
Version 1 stores numbers as they were written, and defaults such as ``strides=[1]``; version 2 stores one form.
"""


Form = Literal["graphrewrite", "elastic-ai", "elastic-ai-legacy"]


def to_dict(thing: nx.DiGraph | Module, *, form: Form = "graphrewrite", put: PutArray = inline) -> dict[str, Any]:
    r"""Return a graph or module as nested dictionaries of primitive types, without loss.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        Includes its nested graphs.
    form : str
        ``"elastic-ai"`` for the form of elastic-ai.creator, ``"elastic-ai-legacy"`` for that of its versions whose data
        are `IrData`; see `graphrewrite.formats.elastic_ai`.
    put : callable
        Encodes an array; by default as its dtype, shape and bytes in base 64.

    Returns
    -------
    dict
        `from_dict` restores an equal graph, including origins and orders. Ops that are not in the library, generic or
        graphs are stored by name.

    Raises
    ------
    SerialError
        If a value cannot be stored, with its path, such as ``nodes.conv_1.weight``.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> data = to_dict(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"))
    >>> data["nodes"]["x"]["result"], data["edges"]
    ({'$type': 'f32[N]'}, {'x': {'y': {'slots': [[0, 0]]}}})
    """
    if form != "graphrewrite":
        if form not in get_args(Form):
            raise SerialError(f"form={form!r} is unknown (known: {', '.join(get_args(Form))})")
        return to_elastic_ai(thing, legacy=form == "elastic-ai-legacy")
    head = {"format": FORMAT, "version": VERSION}
    path = JsonPath()
    if isinstance(thing, Module):
        return {**head, "kind": "module", **_module(thing, path, put)}
    if not isinstance(thing, nx.DiGraph) or thing.is_multigraph():
        raise SerialError(f"expected a Graph, networkx.DiGraph or Module, got {type(thing).__name__}")
    with (path / "graphs").reporting():
        inner = inner_graphs(thing)
        bodies = Bodies([thing, *inner.values()], taken=inner)
    document = {**head, "kind": "graph", **_graph(thing, inner, bodies, path, put)}
    for key, graphs in (("graphs", inner), ("bodies", bodies.by_name)):
        if graphs:
            below = path / key
            document[key] = {name: _graph(graph, inner, bodies, below / name, put) for name, graph in graphs.items()}
    return document


def _module(module: Module, path: JsonPath, put: PutArray) -> dict[str, Any]:
    shared = {id(array): name for name, array in module.constants.items()}

    def put_once(array: np.ndarray, where: JsonPath) -> Any:
        name = shared.get(id(array))
        return put(array, where) if name is None else {"$shared": name}

    constants = {
        name: {
            "value": put(array, path / "constants" / name / "value"),
            "result": encode(module.type_of(name), path / "constants" / name / "result"),
        }
        for name, array in module.constants.items()
    }
    bodies = Bodies(module.values(), taken=module)
    graphs = {
        key: {name: _graph(graph, module, bodies, path / key / name, put_once) for name, graph in members.items()}
        for key, members in (("graphs", module), ("bodies", bodies.by_name))
        if members or key == "graphs"
    }
    return {
        "name": encode(module.name, path / "name"),
        "attributes": encode(module.attributes, path / "attributes", put),
        "constants": constants,
        "placeholders": {
            name: encode(kind, path / "placeholders" / name) for name, kind in module.placeholders.items()
        },
        **graphs,
    }


def _graph(
    graph: nx.DiGraph, inner: Mapping[str, Any], bodies: Bodies, path: JsonPath, put: PutArray
) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    edges: dict[str, dict[str, Any]] = {}
    ops: Mapping[str, Op] = getattr(graph, "ops", {})
    for name, data in graph.nodes(data=True):
        here = path / "nodes" / name
        key = key_of(name, here)
        here.check(unsound_node(data))
        named = bodies.named(data)
        annotations = annotations_in(named, find_op(data.get("type"), ops))
        own = {key: value for key, value in named.items() if key not in annotations}
        nodes[key] = encode({**own, "annotations": annotations} if annotations else own, here, put)
    for source, destination, data in graph.edges(data=True):
        here = path / "edges" / source / destination
        slots = slots_of(data)
        data = data if slots is None else {**data, "slots": slots}
        here.check(unsound_edge(data))
        edges.setdefault(key_of(source, here), {})[key_of(destination, here)] = encode(data, here, put)
    attributes = encode(graph.graph, path / "attributes", put)
    # Ops of which rewriting left no node are not asked for when the graph is loaded.
    used = {data.get("type") for data in graph._node.values()}
    stored = {name: _op(op, inner, path / "ops" / name) for name, op in ops.items() if name in used}
    return {"attributes": attributes, **({"ops": stored} if stored else {}), "nodes": nodes, "edges": edges}


def _op(op: Any, inner: Mapping[str, Any], path: JsonPath) -> dict[str, Any]:
    """Return the reference from which an op is restored."""
    if isinstance(op, Generic):
        return {"kind": "generic", "results": op.results}
    if isinstance(op, GraphOp):
        body, nested = op.library.get(op.name), inner.get(op.name)
        if body is not None and body is not nested and body != nested:
            path.fail("this graph is not in the module; add it, or rename it if the name is taken")
        return {"kind": "graph"}
    return {"kind": "given", **reference(op)}
