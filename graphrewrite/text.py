"""The text form of a graph, printed: one node a line; `graphrewrite.parse` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite.graph import RESERVED, Graph
from graphrewrite.types import FixedPoint, Tensor, element_of

__all__ = ["fingerprint", "format_attribute", "format_exactly", "line_of", "line_of_data", "lines_of", "to_text"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_ABBREVIATE_ABOVE = 32


def format_attribute(value: Any, *, whole: bool = False) -> str:
    """Return the text of an attribute's value.

    Parameters
    ----------
    value : object
        A primitive, a nested sequence or mapping of them, a format, or an array.
    whole : bool
        Whether to write large arrays out; otherwise they are abbreviated, which people can read and nothing can parse.

    Returns
    -------
    str

    Examples
    --------
    >>> format_attribute((1, 2)), format_attribute(FixedPoint(True, 8, 4)), format_attribute(np.float32([0.5]))
    ('[1, 2]', 's8f4', '[0.5]')
    """
    if isinstance(value, FixedPoint | Tensor):
        return str(value)
    if isinstance(value, np.ndarray):
        if value.size > _ABBREVIATE_ABOVE and not whole:
            return f"<{value.size} values, {_number(value.min())} to {_number(value.max())}>"
        return format_attribute(_shortest(value).tolist(), whole=whole)
    if isinstance(value, np.generic):
        return format_attribute(_shortest(np.asarray(value)).item())
    if isinstance(value, tuple | list):
        return "[" + ", ".join(format_attribute(v, whole=whole) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {format_attribute(v, whole=whole)}" for k, v in value.items()) + "}"
    return repr(value)


def _shortest(value: np.ndarray) -> np.ndarray:
    """The nearest float64 numbers whose digits name the same float16 or float32: 0.1, not 0.10000000149011612."""
    if value.dtype.kind == "f" and value.dtype.itemsize < 8:
        return value.astype(str).astype(np.float64)
    return value


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)


def _quote(name: str) -> str:
    return name if _PLAIN.match(name) else repr(name)


def lines_of(graph: Graph, *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each node's name and its line, operands before readers.

    Parameters
    ----------
    graph : Graph
        Any graph.
    whole : bool
        Whether to write large arrays out.

    Yields
    ------
    name, line : str
    """
    for node in graph.in_order():
        yield node, line_of(graph, node, whole=whole)


def line_of(graph: Graph, node: str, *, whole: bool = False) -> str:
    """Return the line of one node.

    Parameters
    ----------
    graph : Graph
        Any graph.
    node : str
        A node of it.
    whole : bool
        Whether to write large arrays out.

    Returns
    -------
    str

    Examples
    --------
    >>> g = Graph("g")
    >>> line_of(g, g.input("x", Tensor("f32", ("N",))).node)
    'x = input() : f32[N]'
    """
    graph.operands(node)  # complains about slots that are missing or collide
    return line_of_data(node, graph.nodes[node], graph._pred[node], whole=whole)


def line_of_data(
    node: str, data: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]], *, whole: bool = False
) -> str:
    """Return the line of a node that need not be in a graph.

    Parameters
    ----------
    node : str
        Its name.
    data : mapping
        Its attributes.
    sources : mapping
        The nodes that it reads, each with the data of the edge.
    whole : bool
        Whether to write large arrays out.

    Returns
    -------
    str

    Examples
    --------
    >>> line_of_data("y", {"type": "sub"}, {"a": {"slots": ((1, 0),)}, "b": {"slots": ((0, 0),)}})
    'y = sub(b, a)'
    """
    read = sorted((slot, source, result) for source, edge in sources.items() for slot, result in edge.get("slots", ()))
    arguments = [_quote(source) + (f":{result}" if result else "") for _, source, result in read]
    kind = data.get("type", "node")
    hidden = RESERVED | {"index"} if kind in ("input", "output") else RESERVED
    for key, value in data.items():
        if key not in hidden:
            # The type of a constant says its dtype; elsewhere an array that is to be parsed says it itself.
            prefix = element_of(value.dtype) if whole and isinstance(value, np.ndarray) and kind != "constant" else ""
            arguments.append(f"{key}={prefix}{format_attribute(value, whole=whole)}")
    result = data.get("result")
    shown = "" if result is None else " : " + ", ".join(map(str, result if isinstance(result, tuple) else (result,)))
    return f"{_quote(node)} = {kind}({', '.join(arguments)}){shown}"


def to_text(graph: Graph, *, whole: bool = False) -> str:
    """Return the text form of a graph.

    Parameters
    ----------
    graph : Graph
        Any graph without a cycle.
    whole : bool
        Whether to write large arrays out, so that `parse` gives an equal graph whatever their size.

    Returns
    -------
    str

    Examples
    --------
    >>> g = Graph("g")
    >>> _ = g.output("y", -g.input("x", Tensor("f32", ("N",))))
    >>> Graph.parse(to_text(g, whole=True)) == g
    True
    """
    return "\n".join([f"graph {_quote(graph.name)}".rstrip(), *(line for _, line in lines_of(graph, whole=whole))])


def fingerprint(graph: Graph) -> str:
    """Return a text that two graphs share if and only if nodes, data, operands and graph attributes are equal.

    Parameters
    ----------
    graph : Graph
        Any graph.

    Returns
    -------
    str
    """
    lines = []
    for node in sorted(graph.nodes, key=str):
        data = {k: v for k, v in graph.nodes[node].items() if k != "origin"}
        shown = ", ".join(f"{k}={format_exactly(data[k])}" for k in sorted(data))
        lines.append(f"{node!r}({', '.join(map(repr, graph.operands(node)))}; {shown})")
    return "\n".join([format_exactly(dict(sorted(graph.graph.items()))), *lines])


def format_exactly(value: Any) -> str:
    """Return a text that two attribute values share if and only if they are equal, arrays bit for bit."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(format_exactly, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {format_exactly(v)}" for k, v in value.items()) + "}"
    return format_attribute(value)
