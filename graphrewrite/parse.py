"""The text form of a graph, read."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, ParseError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.types import element_dtype, parse_element, parse_type

__all__ = ["parse"]

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
            return parse_element(f"{name}-{value}")
        case ast.Name(name) if name in _NUMBERS:
            return _NUMBERS[name]
        case ast.Name(name) if _FORMAT.match(name):
            return parse_element(name)
        case ast.Subscript(ast.Name(name), inside):
            entries = _literal(inside)
            return np.asarray(entries if isinstance(inside, ast.Tuple) else [entries], element_dtype(name))
    raise ValueError("neither a literal nor a format")
