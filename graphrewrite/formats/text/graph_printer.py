"""Printing of graphs and modules in the text form, one node per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.formats.text.line_printer import written, written_attributes
from graphrewrite.formats.text.literal_parser import BodyName
from graphrewrite.formats.text.literal_printer import PEOPLE, WHOLE, Form, format_exactly, quote
from graphrewrite.formats.text.node_edges import reads_of
from graphrewrite.formats.text.node_order import in_writing_order
from graphrewrite.formats.text.regular_nodes import is_regular
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_graphs, nested_ops
from graphrewrite.op import find_op
from graphrewrite.op.op import Op

__all__ = ["Bodies", "inner_graphs", "lines_of", "text_in", "to_text"]

Shared = Mapping[str, np.ndarray]


def to_text(thing: Any, *, whole: bool = False) -> str:
    """Return the text form of a graph or module.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        A graph is followed by its nested graphs, and by the bodies of nodes: the graphs that are their attributes.
    whole : bool
        Whether to print large arrays in full, so that `parse` restores an equal graph.

    Returns
    -------
    str
        The same text for equal graphs.

    Raises
    ------
    GraphError
        With `whole`, if a value cannot be printed such that it can be parsed.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor
    >>> g = Graph("g", author="me")
    >>> _ = g.output("y", -g.input("x", Tensor("f32", ("N",))))
    >>> print(to_text(g))
    graph g(author='me')
    x = input() : f32[N]
    neg_1 = neg(x) : f32[N]
    y = output(neg_1)
    >>> Graph.parse(to_text(g, whole=True)) == g
    True
    """
    return text_in(thing, WHOLE if whole else PEOPLE)


def text_in(thing: Any, form: Form) -> str:
    """Return the text form of a graph or module; `form` prints arrays."""
    if isinstance(thing, nx.DiGraph):
        inner = inner_graphs(thing, strict=form.strict)
        bodies = Bodies([thing, *inner.values()], taken=inner)
        form = replace(form, body=bodies.text)
        sections = [_section(thing, None, inner, form), *(_section(g, name, inner, form) for name, g in inner.items())]
        return "\n\n".join([*sections, *bodies.sections(inner, form)])
    return "\n\n".join(_module(thing, form))


def lines_of(graph: nx.DiGraph, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each node's name and its line, operands before readers."""
    form = WHOLE if whole else PEOPLE
    inner = inner_graphs(graph, strict=form.strict)
    form = replace(form, body=Bodies([graph, *inner.values()], taken=inner).text)
    return _lines(graph, inner, form)


def inner_graphs(graph: nx.DiGraph, *, strict: bool = True) -> dict[str, nx.DiGraph]:
    """Return the graphs nested in a graph at any depth, by name; if strict, two of one name must be equal."""
    graphs: dict[str, nx.DiGraph] = {}
    for each in nested_graphs(graph) if isinstance(graph, Graph) else ():
        for op in nested_ops(each):
            body = op.library.get(op.name)
            other = graphs.get(op.name)
            if body is None or body is other:
                continue
            if other is None:
                graphs[op.name] = body
            elif strict and other != body:
                raise GraphError(f"two different nested graphs have the name {op.name!r}; rename one of them")
    return dict(sorted(graphs.items()))


class Bodies:
    """Names of the bodies in some graphs, at any depth: their own, where it is free; equal ones share one."""

    def __init__(self, graphs: Iterable[nx.DiGraph], taken: Iterable[str]) -> None:
        self.by_name: dict[str, Graph] = {}
        self.names: dict[int, str] = {}
        taken = set(taken)
        work = [graph for graph in graphs if isinstance(graph, Graph)]
        for graph in work:  # grows as it goes
            for body in _bodies_of(graph):
                if id(body) in self.names:
                    continue
                stem = name = body.name if isinstance(body.name, str) and body.name else "body"
                number = 1
                while name in taken or self.by_name.get(name, body) != body:
                    name, number = f"{stem}_{number}", number + 1
                if name not in self.by_name:
                    self.by_name[name] = body
                    work.append(body)
                self.names[id(body)] = name

    def text(self, body: Any) -> str:
        """Return the text of an attribute that is a body."""
        if id(body) not in self.names:
            raise GraphError("a graph in a list or mapping cannot be written; make it an attribute of its own")
        return f"body({quote(self.names[id(body)])})"

    def named(self, data: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return the data of a node with the names of bodies in their place."""
        if not any(isinstance(value, Graph) for value in data.values()):
            return data
        return {key: BodyName(self.names[id(v)]) if isinstance(v, Graph) else v for key, v in data.items()}

    def sections(self, inner: Mapping[str, Any], form: Form) -> Iterator[str]:
        """Yield the section of each body, by name."""
        for name, body in sorted(self.by_name.items()):
            yield _section(body, name, inner, form, word="body")


def _bodies_of(graph: Graph) -> list[Graph]:
    """Return the bodies of a graph in the order in which they are written."""
    held = list(graph.bodies())
    order = {node: i for i, node in enumerate(in_writing_order(graph))} if held else {}

    def place(entry: tuple[str, str, Graph]) -> tuple[int, int, str]:
        node, key, _ = entry
        op = find_op(graph.nodes[node].get("type"), graph.ops)
        keys = [] if op is None else list(op.attributes)
        return order[node], keys.index(key) if key in keys else len(keys), key

    return [body for _, _, body in sorted(held, key=place)]


def _module(module: Any, form: Form) -> Iterator[str]:
    """Yield the sections of a module: constants and placeholders, then its graphs by name."""
    lines = [_header("module", {**module.attributes, "name": module.name}, None, form)]
    nothing = reads_of({})
    for name, array in sorted(module.constants.items()):
        data = {"type": "constant", "value": array, "result": module.type_of(name)}
        lines.append(written(name, data, nothing, form, is_regular=True))
    for name, kind in sorted(module.placeholders.items()):
        lines.append(written(name, {"type": "placeholder", "result": kind}, nothing, form, is_regular=True))
    yield "\n".join(lines)
    inner = dict(module)
    bodies = Bodies([inner[name] for name in sorted(inner)], taken=inner)
    form = replace(form, body=bodies.text)
    for name in sorted(inner):
        yield _section(inner[name], name, inner, form, module.constants)
    yield from bodies.sections(inner, form)


def _section(
    graph: nx.DiGraph,
    name: str | None,
    inner: Mapping[str, Any],
    form: Form,
    shared: Shared | None = None,
    *,
    word: str = "graph",
) -> str:
    return "\n".join(
        [_header(word, graph.graph, name, form), *(line for _, line in _lines(graph, inner, form, shared))]
    )


def _header(word: str, attributes: Mapping[Any, Any], known_as: str | None, form: Form) -> str:
    """Return the first line of a graph: its name (in the library, if it is in one) and its attributes."""
    own = attributes.get("name")
    listed: dict[Any, Any] = {key: value for key, value in attributes.items() if key != "name"}
    name = own if known_as is None else known_as
    if ("name" in attributes and not isinstance(name, str)) or (known_as is not None and own != name):
        listed["name"] = own
    inside = ", ".join(written_attributes(listed, form))
    return word + (f" {quote(name)}" if isinstance(name, str) else "") + (f"({inside})" if inside else "")


def _lines(
    graph: nx.DiGraph, inner: Mapping[str, Any], form: Form, shared: Shared | None = None
) -> Iterator[tuple[Any, str]]:
    ops: Mapping[str, Op] = getattr(graph, "ops", {})
    nodes = graph.nodes
    foreign = {op.name for op in nested_ops(graph) if not _is_one_of(op, inner)} if ops else set()
    if foreign and form.strict:
        raise GraphError(f"the nested graph {min(foreign)!r} differs from the graph of that name in the module")
    count = {"input": 0, "output": 0}
    for node in in_writing_order(graph):
        data, reads = nodes[node], reads_of(graph.pred[node])
        kind = data.get("type")
        op = find_op(kind, ops) if isinstance(kind, str) and kind not in foreign else None
        is_plain = is_regular(
            data,
            reads,
            op,
            count.get(kind) if isinstance(kind, str) else None,
            lambda source: nodes[source].get("result"),
        )
        if kind in ("input", "output"):
            count[kind] += 1
        hidden = ("value",) if shared and is_plain and _is_shared(data, shared) else ()
        yield node, written(node, data, reads, form, op, is_regular=is_plain, hidden=hidden)


def _is_one_of(op: GraphOp, inner: Mapping[str, Any]) -> bool:
    """Tell whether the graph of an op is among some graphs."""
    body, graph = op.library.get(op.name), inner.get(op.name)
    return graph is not None and (body is graph or body == graph)


def _is_shared(data: Mapping[str, Any], shared: Shared) -> bool:
    """Tell whether a constant is one of the module's."""
    name = data.get("shared")
    if data.get("type") != "constant" or not isinstance(name, str) or name not in shared:
        return False
    return data["value"] is shared[name] or format_exactly(data["value"]) == format_exactly(shared[name])
