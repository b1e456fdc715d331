"""The text form of a graph: one node a line, printed and parsed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graphrewrite.errors import ParseError, TypeMismatchError
from graphrewrite.graph import RESERVED, Graph
from graphrewrite.op.define import Op
from graphrewrite.types import FixedPoint, Tensor, Type, element_dtype, parse_type

__all__ = ["fingerprint", "format_attribute", "format_exactly", "line_of", "lines_of", "parse", "to_text"]

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
        return format_attribute(value.tolist())
    if isinstance(value, np.generic):
        return format_attribute(value.item())
    if isinstance(value, tuple | list):
        return "[" + ", ".join(format_attribute(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {format_attribute(v)}" for k, v in value.items()) + "}"
    return repr(value)


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
    for node in graph.order():
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
    data = graph.nodes[node]
    arguments = [_quote(o.node) + (f":{o.result}" if o.result else "") for o in graph.operands(node)]
    arguments += [
        f"{k}={format_attribute(v, whole=whole)}" for k, v in data.items() if k not in RESERVED and k != "index"
    ]
    result = data.get("result")
    shown = "" if result is None else " : " + ", ".join(map(str, result if isinstance(result, tuple) else (result,)))
    return f"{_quote(node)} = {data.get('type', 'node')}({', '.join(arguments)}){shown}"


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
    """Return a text that two graphs share if and only if their nodes, data and operands are equal.

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
    return "\n".join([repr(graph.name), *lines])


def format_exactly(value: Any) -> str:
    """Return a text that two attribute values share if and only if they are equal, arrays bit for bit."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    return format_attribute(value)


_LINE = re.compile(r"(?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s=]+)\s*=\s*(?P<op>\w+)\(")


def parse(text: str, *, ops: Iterable[Op] = ()) -> Graph:
    r"""Return the graph that a text form writes.

    Parameters
    ----------
    text : str
        What `to_text` gives; a line that starts with ``#`` is a comment.
    ops : iterable of Op
        Ops beside the library's.

    Returns
    -------
    Graph

    Raises
    ------
    ParseError
        With line, column, and what was expected there.

    Examples
    --------
    >>> print(parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    graph g
    x = input() : f32[N]
    r = relu(x) : f32[N]
    y = output(r)
    """
    graph = Graph(ops=ops)
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("graph") and not len(graph):
            graph.name = _name(stripped[5:].strip() or "''")
            continue
        found = _LINE.match(stripped)
        if found is None:
            raise ParseError(
                f"line {number}, column 1: expected 'name = op(operands, attribute=value) : type', got {stripped[:60]!r}"
            )
        inside, rest = _split_call(stripped, found.end(), number)
        _add_line(graph, _name(found["name"]), found["op"], inside, rest, number)
    return graph


def _name(word: str) -> str:
    return str(ast.literal_eval(word)) if word[:1] in "'\"" else word


def _split_call(line: str, start: int, number: int) -> tuple[list[tuple[int, str]], str]:
    """Split what stands between the parentheses at its outer commas; return that and what follows."""
    parts, depth, begin, quote, i = [], 0, start, "", start
    while i < len(line):
        c = line[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c == ")" or (c == "," and not depth):
            parts.append((begin + 1, line[begin:i].strip()))
            begin = i + 1
            if c == ")":
                return [p for p in parts if p[1]], line[i + 1 :].strip()
        i += 1
    raise ParseError(f"line {number}, column {len(line) + 1}: expected ')'")


def _add_line(graph: Graph, name: str, op_name: str, inside: list[tuple[int, str]], rest: str, number: int) -> None:
    operands: list[Any] = []
    attributes: dict[str, Any] = {}
    for column, word in inside:
        try:
            key, equals, value = word.partition("=")
            if equals and key.strip().isidentifier():
                attributes[key.strip()] = _literal(value.strip())
            else:
                base, colon, result = (
                    word.rpartition(":") if word[:1] not in "'\"" or word[-1:] not in "'\"" else (word, "", "")
                )
                operands.append(graph.value(_name(base if colon else word), int(result) if colon else 0))
        except (ValueError, SyntaxError, KeyError) as error:
            raise ParseError(
                f"line {number}, column {column}: expected an operand or attribute=value, got {word[:60]!r}"
            ) from error
    if rest and not rest.startswith(":"):
        raise ParseError(f"line {number}, column {len(rest)}: expected ': type', got {rest[:60]!r}")
    declared = parse_type(rest[1:]) if rest and op_name in ("input", "constant") else None
    if op_name == "input":
        if declared is None:
            raise ParseError(f"line {number}: an input needs a type, as in 'x = input() : f32[N,4]'")
        graph.input(name, declared)
    elif op_name == "output":
        graph.output(name, operands[0])
    elif op_name == "constant":
        dtype = element_dtype(declared.element) if declared is not None else None
        graph.constant(np.asarray(attributes["value"], dtype), name=name, type=declared)
    else:
        graph.add_node("__op__", type=op_name)
        try:
            op = graph.op("__op__")
        except Exception as error:
            raise ParseError(f"line {number}: {str(error).partition(': ')[2]}") from None
        finally:
            graph.remove_node("__op__")
        try:
            graph.add(op, operands, attributes, name=name)
        except TypeMismatchError as error:
            raise ParseError(f"line {number}: {error}") from error


_FORMAT = re.compile(r"[su]\d+f-?\d+\Z")


def _literal(word: str) -> Any:
    if _FORMAT.match(word):
        found: Type = parse_type(f"{word}[]")
        return found.element
    return ast.literal_eval(word)
