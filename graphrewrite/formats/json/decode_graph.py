"""Graphs and modules decoded from untrusted nested dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.formats.elastic_ai import from_elastic_ai, is_elastic_ai
from graphrewrite.formats.json.decode import Decoder, Refused, check_keys, mapping, text
from graphrewrite.formats.json.encode_graph import FORMAT, VERSION
from graphrewrite.formats.json.path import JsonPath, name_of
from graphrewrite.formats.stored_ops import STORED, check_version, difference, upgraded
from graphrewrite.formats.text.literal_printer import DEPTH
from graphrewrite.formats.text.nesting import inner_first
from graphrewrite.graph import Graph
from graphrewrite.graph.validation import unsound_edge, unsound_node
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_ops
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import LIBRARY, find_op
from graphrewrite.op.generic_op import generic
from graphrewrite.op.given_ops import GivenOps, OpOrDialect, unknown_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import STRUCTURAL, attributes_in, is_attribute
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.types import Tensor, Type

__all__ = ["from_dict"]

_GRAPH = ("attributes", "ops", "nodes", "edges")
_KEYS = {
    "graph": ("format", "version", "kind", *_GRAPH, "graphs", "bodies"),
    "module": ("format", "version", "kind", "name", "attributes", "constants", "placeholders", "graphs", "bodies"),
}
_BESIDE = ("result", "origin", "annotations")
"""Entries of a node that are neither its type nor an attribute."""
_RESULTS = 2**16
"""Maximum number of results of an op."""


@gc_paused()
def from_dict(data: Any, *, ops: Iterable[OpOrDialect] = (), decoder: Decoder | None = None) -> Graph | Module:
    r"""Return the graph or module that nested dictionaries describe.

    The data need not be trusted: nothing in it is executed, and memory is bounded by its size. The graph is not
    verified; see `graphrewrite.verify`.

    Parameters
    ----------
    data : dict
        A result of `to_dict`, or what elastic-ai.creator serialises (`graphrewrite.formats.elastic_ai`).
    ops : iterable of Op and Dialect
        Ops of the graph that are not in the library. Generic ops and graph ops are restored without it.
    decoder : Decoder, optional
        Reads arrays that are in a separate file.

    Raises
    ------
    SerialError
        With the JSON path of the error.

    Examples
    --------
    >>> from graphrewrite.formats.json.encode_graph import to_dict
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> from_dict(to_dict(graph)) == graph
    True
    >>> from_dict({"format": "graphrewrite", "version": 99})
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: version: 99 is newer than the supported version 2; update graphrewrite
    """
    path = JsonPath()
    if is_elastic_ai(data):
        return from_elastic_ai(data, ops=ops)
    data = mapping(data, path)
    if data.get("format") != FORMAT:
        (path / "format").fail(f"expected {FORMAT!r}; the document was not written by this library")
    version = data.get("version")
    if isinstance(version, Refused):
        (path / "version").fail(str(version))
    if type(version) is not int or version < 1:
        (path / "version").fail("expected a positive version number")
    if version > VERSION:
        number = f"{version}" if version < 10**9 else "this"
        (path / "version").fail(f"{number} is newer than the supported version {VERSION}; update graphrewrite")
    kind = data.get("kind")
    if kind not in ("graph", "module"):
        (path / "kind").fail("expected 'graph' or 'module'")
    check_keys(data, _KEYS[kind], path)
    reading = _Reading(decoder or Decoder(), GivenOps.of(ops), version)
    return reading.module(data, path) if kind == "module" else reading.nested(data, path)


class _Reading:
    """State of reading one document."""

    def __init__(self, decoder: Decoder, given: GivenOps, version: int) -> None:
        self.decoder, self.own_ops, self.dialects, self.version = decoder, given.ops, given.dialects, version
        decoder.types = given.types
        self.module_op: Callable[[str], Op] | None = None

    def nested(self, data: Mapping[str, Any], path: JsonPath) -> Graph:
        """Return a graph, with its nested graphs."""
        graphs = mapping(data.get("graphs", {}), path / "graphs")
        library = {name: Graph() for name in graphs}
        self._expect_bodies(data, library, path)
        self._fill_all(library, graphs, path)
        graph = Graph()
        self._fill(graph, data, library, path)
        _check_nesting(library, path)
        return graph

    def module(self, data: Mapping[str, Any], path: JsonPath) -> Module:
        """Return a module."""
        module = Module(text(data.get("name", ""), path / "name"))
        self.module_op = module.op
        constants = path / "constants"
        for name, each in mapping(data.get("constants", {}), constants).items():
            here = constants / name
            each = mapping(each, here)
            check_keys(each, ("value", "result"), here)
            value = self.decoder.decode(each.get("value"), here / "value")
            kind = self.decoder.decode(each.get("result"), here / "result")
            if not isinstance(value, np.ndarray) or not isinstance(kind, Tensor):
                here.fail("expected an array as value and its type as result")
            with here.reporting():
                module.constant(name, value, kind)
        self.decoder.shared = dict(module.constants)
        placeholders = path / "placeholders"
        for name, each in mapping(data.get("placeholders", {}), placeholders).items():
            here = placeholders / name
            kind = self.decoder.decode(each, here)
            if not isinstance(kind, Type):
                here.fail("expected a type")
            with here.reporting():
                module.placeholder(name, kind)
        module.attributes.update(self._object(data.get("attributes", {}), path / "attributes"))
        graphs = mapping(data.get("graphs", {}), path / "graphs")
        for name in graphs:
            with (path / "graphs" / name).reporting():
                module.add_graph(name)
        self._expect_bodies(data, module, path)
        self._fill_all(module, graphs, path)
        _check_nesting(module, path)
        return module

    def _expect_bodies(self, data: Mapping[str, Any], library: Mapping[str, Graph], path: JsonPath) -> None:
        """Let the decoder read each body of a document when a node first names it."""
        bodies = mapping(data.get("bodies", {}), path / "bodies")
        done: dict[str, Graph] = {}
        path_of: list[str] = []

        def body(name: str, at: JsonPath) -> Graph:
            if name in done:
                return done[name]
            here = path / "bodies" / name
            if name not in bodies:
                at.fail(f"there is no body {name!r:.60} in the document{did_you_mean(name, bodies)}")
            if name in path_of or len(path_of) > DEPTH:
                at.fail(
                    f"the body {name!r:.60} contains itself" if name in path_of else f"bodies nest deeper than {DEPTH}"
                )
            check_keys(mapping(bodies[name], here), _GRAPH, here)
            path_of.append(name)
            graph = Graph()
            self._fill(graph, bodies[name], library, here)
            path_of.pop()
            done[name] = nx.freeze(graph)
            return graph

        self.decoder.body = body

    def _fill_all(self, library: Mapping[str, Graph], graphs: Mapping[str, Any], path: JsonPath) -> None:
        for name, each in graphs.items():
            here = path / "graphs" / name
            check_keys(mapping(each, here), _GRAPH, here)
            self._fill(library[name], each, library, here)

    def _fill(self, graph: Graph, data: Mapping[str, Any], library: Mapping[str, Graph], path: JsonPath) -> None:
        """Fill an empty graph from its description."""
        attributes = self._object(data.get("attributes", {}), path / "attributes")
        graph.graph.clear()
        graph.graph.update(attributes)
        names = self._nodes(graph, data, path / "nodes")
        self._ops(graph, data, library, path / "ops")
        if self.version > 1:
            self._annotations(graph, path / "nodes")
        else:
            _in_one_form(graph)
        self._edges(graph, data, names, path / "edges")

    def _object(self, value: Any, path: JsonPath) -> dict[Any, Any]:
        decoded = self.decoder.decode(value, path)
        if not isinstance(decoded, dict):
            path.fail("expected an object {...}")
        return decoded

    def _nodes(self, graph: Graph, data: Mapping[str, Any], path: JsonPath) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for key, each in mapping(data.get("nodes", {}), path).items():
            name = names[key] = name_of(key, path / key)
            if name in graph:
                (path / name).fail("another node has the same name")
            attributes = self._object(each, path / name)
            (path / name).check(unsound_node(attributes))
            graph.add_node(name)
            graph.nodes[name].update(attributes)
        return names

    def _annotations(self, graph: Graph, path: JsonPath) -> None:
        """Move the annotations of nodes to the data itself, all else being structural or an attribute; read sizes."""
        for name, data in graph._node.items():
            op, here = find_op(data.get("type"), graph.ops), path / name
            annotations = data.pop("annotations", {})
            if not isinstance(annotations, dict):
                (here / "annotations").fail("expected an object {...}")
            for key in data:
                if key not in STRUCTURAL and not is_attribute(key, op):
                    known = () if op is None else op.attributes
                    (here / key).fail(
                        f"{data.get('type')} has no attribute {key!r:.60}{did_you_mean(str(key), known)}; "
                        "an annotation stands under 'annotations'"
                    )
            for key in annotations:
                if key in STRUCTURAL or is_attribute(key, op):
                    (here / "annotations" / key).fail("is no annotation: write it beside them")
            if op is not None:
                for key in op.sized & data.keys():
                    with suppress(GraphRewriteError):  # the verifier says what is wrong with it
                        data[key] = op.as_attributes({key: data[key]})[key]  # symbolic sizes are written as texts
            data.update(annotations)
            here.check(unsound_node(data))

    def _ops(self, graph: Graph, data: Mapping[str, Any], library: Mapping[str, Graph], path: JsonPath) -> None:
        used = _kinds(graph)
        for name, each in mapping(data.get("ops", {}), path).items():
            here = path / name
            each = mapping(each, here)
            try:
                if self._upgrade(graph, name, each, here):
                    continue
                op = self._op(name, each, library, here)
                if isinstance(op, GraphOp):
                    graph.ops[name] = op  # nesting is checked when all graphs are read
                elif op is not None:
                    graph.adopt(op)
                elif name in used:
                    result = next(data.get("result") for data in graph._node.values() if data.get("type") == name)
                    here.fail(unknown_op(name, self.own_ops, result))
            except GraphRewriteError as error:
                if str(error).startswith(str(here)):
                    raise
                here.fail(str(error), error)
        for name in sorted(_kinds(graph) & self.own_ops.keys() - LIBRARY.keys() - graph.ops.keys()):
            graph.adopt(self.own_ops[name])

    def _op(self, name: str, data: Mapping[str, Any], library: Mapping[str, Graph], path: JsonPath) -> Op | None:
        """Return an op; None if it is not in `ops` and should be."""
        kind = data.get("kind")
        check_keys(data, ("kind", *{"generic": ("results",), "given": STORED}.get(str(kind), ())), path)
        if kind == "graph":
            if name not in library:
                path.fail(f"there is no graph {name!r:.60} in the document{did_you_mean(name, library)}")
            return GraphOp(name, library) if self.module_op is None else self.module_op(name)
        if kind == "generic":
            results = data.get("results")
            if type(results) is not int or not 0 <= results <= _RESULTS:
                (path / "results").fail("expected the number of results of the op")
            return self.own_ops.get(name) or generic(name, results)
        if kind != "given":
            (path / "kind").fail("expected 'generic', 'graph' or 'given'")
        op = self.own_ops.get(name)
        if op is not None and "operands" in data:  # earlier versions of this library stored names only
            operands = self.decoder.decode(data["operands"], path / "operands")
            attributes = mapping(data.get("attributes"), path / "attributes")
            if type(operands) is not tuple or not all(
                isinstance(each, str) for each in (*operands, *attributes.values())
            ):
                path.fail("expected names of operands, and texts of the defaults of attributes")
            if changed := difference(op, operands, attributes):
                path.fail(changed)
        return op

    def _upgrade(self, graph: Graph, name: str, data: Mapping[str, Any], path: JsonPath) -> bool:
        """Convert the nodes of an op that was stored with an earlier version of its dialect; tell whether it was."""
        dialect = self.dialects.get(name.partition(".")[0])
        version = data.get("version")
        if data.get("kind") != "given" or version is None or dialect is None:
            return False
        if type(version) is not int or version < 1:
            (path / "version").fail("expected a positive version number")
        check_version(dialect, version)
        if version == dialect.version:
            return False
        for node in graph._node.values():
            if node.get("type") == name:
                kept = {key: node[key] for key in _BESIDE if key in node}
                own = {key: value for key, value in node.items() if key not in kept}
                node.clear()
                node.update({**upgraded(own, dialect, version), **kept})
        return True

    def _edges(self, graph: Graph, data: Mapping[str, Any], names: Mapping[str, Any], path: JsonPath) -> None:
        for source, targets in mapping(data.get("edges", {}), path).items():
            for destination, each in mapping(targets, path / source).items():
                here = path / source / destination
                for key in (source, destination):
                    if key not in names:
                        here.fail(f"there is no node {key!r:.60}{did_you_mean(key, names)}")
                attributes = self._object(each, here)
                here.check(unsound_edge(attributes))
                graph.add_edge(names[source], names[destination])
                graph.edges[names[source], names[destination]].update(attributes)


def _in_one_form(graph: Graph) -> None:
    """Bring attributes, which version 1 stored as they were written, into the form in which nodes have them."""
    for data in graph._node.values():
        op = find_op(data.get("type"), graph.ops)
        own = attributes_in(data, op)
        if op is not None and not op.any_attributes and op.name not in ("input", "output", "constant"):
            with suppress(GraphRewriteError):  # the verifier says what is wrong with them
                stored = op.stored(op.as_attributes(own))
                derived = [key for key in data if key not in own and callable(op.derived.get(key))]
                for key in (*own, *derived):  # earlier versions stored the size of recurrent states
                    del data[key]
                data.update(stored)


def _kinds(graph: Graph) -> set[str]:
    return {kind for _, kind in graph.nodes(data="type") if isinstance(kind, str)}


def _check_nesting(graphs: Mapping[str, Graph], path: JsonPath) -> None:
    """Raise if a graph contains itself."""

    def refuse(name: str, message: str) -> None:
        (path / "graphs" / name).fail(message)

    def inside(name: str) -> list[str]:
        return [op.name for op in nested_ops(graphs[name])]

    inner_first(graphs, inside, refuse)
