"""The text form of a graph: one node a line, printed and parsed."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, ParseError, did_you_mean
from graphrewrite.graph import RESERVED, Graph
from graphrewrite.op import LIBRARY
from graphrewrite.op.define import Op
from graphrewrite.types import FixedPoint, Tensor, element_dtype, element_of, parse_type

__all__ = ["fingerprint", "format_attribute", "format_exactly", "line_of", "line_of_data", "lines_of", "parse", "to_text"]

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


_HEADER = re.compile(r"graph(\s+(?P<name>[^\s=].*))?\Z")
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
        header = _HEADER.match(stripped)
        if header is not None and not len(graph):
            graph.name = _name(header["name"] or "")
            continue
        found = _LINE.match(stripped)
        if found is None:
            raise ParseError(
                f"line {number}, column 1: expected 'name = op(operands, key=value) : type', got {stripped[:50]!r}"
            )
        inside, rest = _split_call(stripped, found.end(), number)
        try:
            _add_line(graph, _name(found["name"]), found["op"], inside, rest, number)
        except GraphRewriteError as error:
            placed = str(error).startswith("line ")
            raise ParseError(str(error) if placed else f"line {number}: {error}") from error
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
            word = line[begin:i]
            parts.append((begin + 1 + len(word) - len(word.lstrip()), word.strip()))
            begin = i + 1
            if c == ")":
                return [p for p in parts if p[1]], line[i + 1 :].strip()
        i += 1
    raise ParseError(f"line {number}, column {len(line) + 1}: expected ')'")


def _add_line(graph: Graph, name: str, op_name: str, inside: list[tuple[int, str]], rest: str, number: int) -> None:
    operands: list[Any] = []
    attributes: dict[str, Any] = {}
    for column, word in inside:
        key, equals, value = word.partition("=")
        try:
            if equals and key.strip().isidentifier():
                attributes[key.strip()] = _literal(ast.parse(value.strip(), mode="eval").body)
            else:
                operands.append(_operand(graph, word))
        except (ValueError, SyntaxError, TypeError) as error:
            raise ParseError(
                f"line {number}, column {column}: expected an operand or attribute=value, got {word[:60]!r}"
            ) from error
    if rest and not rest.startswith(":"):
        raise ParseError(f"line {number}, column {len(rest)}: expected ': type', got {rest[:60]!r}")
    declared = parse_type(rest[1:].strip()) if rest and op_name in ("input", "constant") else None
    if op_name == "input":
        if declared is None:
            raise ParseError(f"line {number}: an input needs a type, as in 'x = input() : f32[N,4]'")
        graph.input(name, declared)
    elif op_name == "output":
        if len(operands) != 1:
            raise ParseError(f"line {number}: an output has one operand, this has {len(operands)}")
        graph.output(name, operands[0])
    elif op_name == "constant":
        if "value" not in attributes:
            raise ParseError(f"line {number}: a constant needs a value, as in 'c = constant(value=[1, 2]) : f32[2]'")
        array = np.asarray(attributes["value"], None if declared is None else element_dtype(declared.element))
        if declared is not None and not array.size:  # a list does not say the shape of nothing
            array = array.reshape([int(d) for d in declared.shape])
        graph.constant(array, name=name, type=declared)
    else:
        op = graph.ops.get(op_name) or LIBRARY.get(op_name)
        if op is None:
            hint = did_you_mean(op_name, [*LIBRARY, *graph.ops])
            raise ParseError(f"line {number}: no op is called {op_name!r}{hint}; pass it as Graph.parse(text, ops=[…])")
        made = graph.add(op, operands, attributes, name=name)
        found = ", ".join(str(v.type) for v in (made if isinstance(made, tuple) else (made,)))
        if rest and rest[1:].replace(" ", "") != found.replace(" ", ""):
            raise ParseError(f"line {number}: {op_name} gives {found} here, and the text says{rest[1:]}")


def _operand(graph: Graph, word: str) -> Any:
    quoted = word[:1] in "'\"" and word[-1:] == word[:1]
    base, _, result = (
        (word, "", "") if quoted else word.partition(":") if word[:1] not in "'\"" else word.rpartition(":")
    )
    value = graph.value(_name(base), int(result or 0))
    results = graph.nodes[value.node].get("result")
    if value.result >= (len(results) if isinstance(results, tuple) else 1):
        raise ValueError(f"{value.node} has no result {value.result}")
    return value


_FORMAT = re.compile(r"[su]\d+f-?\d+\Z")
_NUMBERS = {"nan": math.nan, "inf": math.inf, "True": True, "False": False, "None": None}


def _literal(node: ast.AST) -> Any:
    """The value that an expression writes: a literal, a format, an array with its element type in front."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elements) | ast.Tuple(elements):
            return tuple(map(_literal, elements))
        case ast.Dict(keys, values):
            return {_literal(k): _literal(v) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.UnaryOp(ast.USub(), operand):
            return -_literal(operand)
        case ast.BinOp(ast.Name(name), ast.Sub(), ast.Constant(int(value))) if _FORMAT.match(f"{name}-{value}"):
            return parse_type(f"{name}-{value}[]").element
        case ast.Name(name) if name in _NUMBERS:
            return _NUMBERS[name]
        case ast.Name(name) if _FORMAT.match(name):
            return parse_type(f"{name}[]").element
        case ast.Subscript(ast.Name(name), inside):
            entries = _literal(inside)
            return np.asarray(entries if isinstance(inside, ast.Tuple) else [entries], element_dtype(name))
    raise ValueError("neither a literal nor a format")
