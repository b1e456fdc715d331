"""Graphs and modules made of nested dictionaries that may come from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, did_you_mean
from graphrewrite.garbage import uncollected
from graphrewrite.given import ops_by_name
from graphrewrite.graph import Graph
from graphrewrite.nested import GraphOp, nested_ops
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic import generic
from graphrewrite.op.op import Op
from graphrewrite.parse.nesting import inner_first
from graphrewrite.serial.decode import Decoder, Refused, check_keys, mapping, text
from graphrewrite.serial.encode_graph import FORMAT, VERSION
from graphrewrite.serial.place import Place, name_of
from graphrewrite.soundness import unsound_edge, unsound_node
from graphrewrite.types import Stream, Tensor

if TYPE_CHECKING:
    from graphrewrite.module import Module

__all__ = ["from_dict"]

_GRAPH = ("attributes", "ops", "nodes", "edges")
_KEYS = {
    "graph": ("format", "version", "kind", *_GRAPH, "graphs"),
    "module": ("format", "version", "kind", "name", "attributes", "constants", "placeholders", "graphs"),
}
_RESULTS = 2**16
"""More results has no op."""


@uncollected()
def from_dict(data: Any, *, ops: Iterable[Op] = (), decoder: Decoder | None = None) -> Graph | Module:
    r"""Return the graph or module that nested dictionaries describe.

    The data may come from anywhere: nothing in it is executed, and what it declares is not larger than what it is made
    of. Whether the graph makes sense is another question, which `graphrewrite.verify` answers.

    Parameters
    ----------
    data : dict
        What `to_dict` gives.
    ops : iterable of Op
        Ops beside the library's, where the graph has nodes of them. Generic ops and graphs come back by themselves.
    decoder : Decoder, optional
        Knows the arrays that are in a file beside.

    Returns
    -------
    Graph or Module

    Raises
    ------
    SerialError
        With the path of the place where something is wrong.

    Examples
    --------
    >>> from graphrewrite.serial import to_dict
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> from_dict(to_dict(graph)) == graph
    True
    >>> from_dict({"format": "graphrewrite", "version": 99})
    Traceback (most recent call last):
    ...
    graphrewrite.errors.SerialError: version: 99 is newer than 1, which this library reads; update graphrewrite
    """
    place = Place()
    data = mapping(data, place)
    if data.get("format") != FORMAT:
        (place / "format").fail(f"expected {FORMAT!r}; this is no graph that this library has stored")
    version = data.get("version")
    if isinstance(version, Refused):
        (place / "version").fail(str(version))
    if type(version) is not int or version < 1:
        (place / "version").fail("expected the number of a version, from 1")
    if version > VERSION:
        number = f"{version}" if version < 10**9 else "this"
        (place / "version").fail(f"{number} is newer than {VERSION}, which this library reads; update graphrewrite")
    kind = data.get("kind")
    if kind not in ("graph", "module"):
        (place / "kind").fail("expected 'graph' or 'module'")
    check_keys(data, _KEYS[kind], place)
    work = _Reading(decoder or Decoder(), ops_by_name(ops))
    return work.module(data, place) if kind == "module" else work.nested(data, place)


class _Reading:
    """One document that is being read."""

    def __init__(self, decoder: Decoder, given: Mapping[str, Op]) -> None:
        self.decoder, self.given = decoder, given
        self.module_op: Callable[[str], Op] | None = None

    def nested(self, data: Mapping[str, Any], place: Place) -> Graph:
        """A graph, with those that are nodes of it."""
        graphs = mapping(data.get("graphs", {}), place / "graphs")
        library = {name: Graph() for name in graphs}
        for name, each in graphs.items():
            below = place / "graphs" / name
            check_keys(mapping(each, below), _GRAPH, below)
            self.fill(library[name], each, library, below)
        found = Graph()
        self.fill(found, data, library, place)
        _check_nesting(library, place)
        return found

    def module(self, data: Mapping[str, Any], place: Place) -> Module:
        """A module."""
        from graphrewrite.module import Module  # built on graphs

        module = Module(text(data.get("name", ""), place / "name"))
        self.module_op = module.op
        constants = place / "constants"
        for name, each in mapping(data.get("constants", {}), constants).items():
            here = constants / name
            each = mapping(each, here)
            check_keys(each, ("value", "result"), here)
            value = self.decoder.decode(each.get("value"), here / "value")
            kind = self.decoder.decode(each.get("result"), here / "result")
            if not isinstance(value, np.ndarray) or not isinstance(kind, Tensor):
                here.fail("expected an array as value and its type as result")
            try:
                module.constant(name, value, kind)
            except GraphRewriteError as error:
                here.fail(str(error), error)
        self.decoder.shared = dict(module.constants)
        placeholders = place / "placeholders"
        for name, each in mapping(data.get("placeholders", {}), placeholders).items():
            kind = self.decoder.decode(each, placeholders / name)
            if not isinstance(kind, Tensor | Stream):
                (placeholders / name).fail("expected a type")
            try:
                module.placeholder(name, kind)
            except GraphRewriteError as error:
                (placeholders / name).fail(str(error), error)
        attributes = self.decoder.decode(data.get("attributes", {}), place / "attributes")
        if not isinstance(attributes, dict):
            (place / "attributes").fail("expected an object {...}")
        module.attributes.update(attributes)
        graphs = mapping(data.get("graphs", {}), place / "graphs")
        for name in graphs:
            try:
                module.graph(name)
            except GraphRewriteError as error:
                (place / "graphs" / name).fail(str(error), error)
        for name, each in graphs.items():
            below = place / "graphs" / name
            check_keys(mapping(each, below), _GRAPH, below)
            self.fill(module[name], each, module, below)
        _check_nesting(module, place)
        return module

    def fill(self, graph: Graph, data: Mapping[str, Any], library: Mapping[str, Graph], place: Place) -> None:
        """Add what is described to an empty graph."""
        attributes = self.decoder.decode(data.get("attributes", {}), place / "attributes")
        if not isinstance(attributes, dict):
            (place / "attributes").fail("expected an object {...}")
        graph.graph.clear()
        graph.graph.update(attributes)
        names = self._nodes(graph, data, place / "nodes")
        self._ops(graph, data, library, place / "ops")
        self._edges(graph, data, names, place / "edges")

    def _nodes(self, graph: Graph, data: Mapping[str, Any], place: Place) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for key, each in mapping(data.get("nodes", {}), place).items():
            name = names[key] = name_of(key, place / key)
            if name in graph:
                (place / name).fail("there is a node of that name already")
            found = self.decoder.decode(each, place / name)
            if not isinstance(found, dict):
                (place / name).fail("expected an object {...}")
            wrong = unsound_node(found)
            if wrong is not None:
                (place / name / wrong[0]).fail(wrong[1])
            graph.add_node(name)
            graph.nodes[name].update(found)
        return names

    def _ops(self, graph: Graph, data: Mapping[str, Any], library: Mapping[str, Graph], place: Place) -> None:
        used = {kind for _, kind in graph.nodes(data="type") if isinstance(kind, str)}
        for name, each in mapping(data.get("ops", {}), place).items():
            here = place / name
            each = mapping(each, here)
            try:
                op = self._op(name, each, library, here)
                if isinstance(op, GraphOp):
                    graph.ops[name] = op  # that no graph contains itself is checked when all are there
                elif op is not None:
                    graph.adopt(op)
                elif name in used:
                    here.fail(f"the graph has nodes of this op; pass it as ops=[…]{did_you_mean(name, self.given)}")
            except GraphRewriteError as error:
                if str(error).startswith(str(here)):
                    raise
                here.fail(str(error), error)
        for name in sorted(used & self.given.keys() - LIBRARY.keys() - graph.ops.keys()):
            graph.adopt(self.given[name])

    def _op(self, name: str, data: Mapping[str, Any], library: Mapping[str, Graph], place: Place) -> Op | None:
        """An op; None if it should have been given, and was not."""
        kind = data.get("kind")
        check_keys(data, ("kind", "results") if kind == "generic" else ("kind",), place)
        if kind == "graph":
            if name not in library:
                place.fail(f"there is no graph {name!r:.60} in the document{did_you_mean(name, library)}")
            return GraphOp(name, library) if self.module_op is None else self.module_op(name)
        if kind == "generic":
            results = data.get("results")
            if type(results) is not int or not 0 <= results <= _RESULTS:
                (place / "results").fail("expected how many results the op has")
            return self.given.get(name) or generic(name, results)
        if kind != "given":
            (place / "kind").fail("expected 'generic', 'graph' or 'given'")
        return self.given.get(name)

    def _edges(self, graph: Graph, data: Mapping[str, Any], names: Mapping[str, Any], place: Place) -> None:
        for source, targets in mapping(data.get("edges", {}), place).items():
            for destination, each in mapping(targets, place / source).items():
                here = place / source / destination
                for key in (source, destination):
                    if key not in names:
                        here.fail(f"there is no node {key!r:.60}{did_you_mean(key, names)}")
                found = self.decoder.decode(each, here)
                if not isinstance(found, dict):
                    here.fail("expected an object {...}")
                wrong = unsound_edge(found)
                if wrong is not None:
                    (here / wrong[0]).fail(wrong[1])
                graph.add_edge(names[source], names[destination])
                graph.edges[names[source], names[destination]].update(found)


def _check_nesting(graphs: Mapping[str, Graph], place: Place) -> None:
    """Refuse graphs that contain themselves."""

    def refuse(name: str, message: str) -> None:
        (place / "graphs" / name).fail(message)

    def inside(name: str) -> list[str]:
        return [op.name for op in nested_ops(graphs[name])]

    inner_first(graphs, inside, refuse)
