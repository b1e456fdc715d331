"""Printing of graphs and modules in the text form, one node per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError
from graphrewrite.formats.text.line_printer import written, written_attributes
from graphrewrite.formats.text.literal_printer import PEOPLE, WHOLE, Form, format_exactly, quote
from graphrewrite.formats.text.node_edges import reads_of
from graphrewrite.formats.text.node_order import in_writing_order
from graphrewrite.formats.text.regular_nodes import is_regular
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_ops
from graphrewrite.op import find_op
from graphrewrite.op.op import Op

__all__ = ["inner_graphs", "lines_of", "text_in", "to_text"]

Shared = Mapping[str, np.ndarray]


def to_text(thing: Any, *, whole: bool = False) -> str:
    """Return the text form of a graph or module.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph or Module
        A graph is followed by its nested graphs.
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
        sections = [_section(thing, None, inner, form), *(_section(g, name, inner, form) for name, g in inner.items())]
        return "\n\n".join(sections)
    return "\n\n".join(_module(thing, form))


def lines_of(graph: nx.DiGraph, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each node's name and its line, operands before readers."""
    form = WHOLE if whole else PEOPLE
    return _lines(graph, inner_graphs(graph, strict=form.strict), form)


def inner_graphs(graph: nx.DiGraph, *, strict: bool = True) -> dict[str, nx.DiGraph]:
    """Return the graphs nested in a graph at any depth, by name; if strict, two of one name must be equal."""
    graphs: dict[str, nx.DiGraph] = {}
    work = [graph]
    for each in work:  # grows as it goes
        for op in nested_ops(each) if hasattr(each, "ops") else ():
            body = op.library.get(op.name)
            other = graphs.get(op.name)
            if body is None or body is other:
                continue
            if other is None:
                graphs[op.name] = body
                work.append(body)
            elif strict and other != body:
                raise GraphError(f"two different nested graphs have the name {op.name!r}; rename one of them")
    return dict(sorted(graphs.items()))


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
    for name in sorted(inner):
        yield _section(inner[name], name, inner, form, module.constants)


def _section(
    graph: nx.DiGraph, name: str | None, inner: Mapping[str, Any], form: Form, shared: Shared | None = None
) -> str:
    return "\n".join(
        [_header("graph", graph.graph, name, form), *(line for _, line in _lines(graph, inner, form, shared))]
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
        yield node, written(node, data, reads, form, is_regular=is_plain, hidden=hidden)


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
