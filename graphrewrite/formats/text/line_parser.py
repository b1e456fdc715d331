"""Syntax of one line of the text form, without its meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.errors import ParseError
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_parser import BodyName, read_name, read_own_type, read_value
from graphrewrite.graph.validation import unsound_edge
from graphrewrite.types import Type, parse_type
from graphrewrite.types.text import split_types

__all__ = ["Header", "NodeLine", "read_header", "read_line"]

_NUMBER = re.compile(r"[0-9]{1,9}(?![\w.])")
_HEADER = re.compile(r"(graph|body|module)\b(?!\s*=)")
_KEY = re.compile(r"(?:([^\W\d][\w.]*)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*=")


@dataclass
class Header:
    """The first line of a graph, body or module: its keyword, optional name, and attributes."""

    cursor: Cursor
    word: str
    name: str | None = None
    attributes: dict[Any, Any] = field(default_factory=dict)


@dataclass
class NodeLine:
    """The parsed line of a node.

    Attributes
    ----------
    cursor : Cursor
        For errors.
    name : hashable
        The node's name.
    is_raw : bool
        Whether a question mark precedes the op.
    kind : str or None
        The op; None after a question mark without an op.
    operands : list of (source, result)
    controls : list of (source, kind)
    others : list of (source, data)
    attributes, annotations : dict
        What is in parentheses, and in braces.
    types : tuple of Type, or None
        Result types, if they are stated.
    columns : dict
        Columns, from 0, of the op (``"kind"``), types, attributes, annotations and sources.
    """

    cursor: Cursor
    name: Any
    is_raw: bool = False
    kind: str | None = None
    operands: list[tuple[Any, int]] = field(default_factory=list)
    controls: list[tuple[Any, str]] = field(default_factory=list)
    others: list[tuple[Any, dict[Any, Any]]] = field(default_factory=list)
    attributes: dict[Any, Any] = field(default_factory=dict)
    annotations: dict[Any, Any] = field(default_factory=dict)
    types: tuple[Type, ...] | None = None
    columns: dict[Any, int] = field(default_factory=dict)


def read_header(cursor: Cursor) -> Header | None:
    """Read the first line of a graph, body or module; None if the line is not one.

    Examples
    --------
    >>> header = read_header(Cursor("graph net(author='me')", 1))
    >>> header.word, header.name, header.attributes
    ('graph', 'net', {'author': 'me'})
    >>> read_header(Cursor("graph = relu(x)", 1))
    """
    word = cursor.take(_HEADER)
    if word is None:
        return None
    header = Header(cursor, word[1])
    if not cursor.is_at_end and not cursor.sees("("):
        start = cursor.at
        name = read_name(cursor)
        if not isinstance(name, str):
            cursor.fail("expected a word or a quoted name", at=start)
        header.name = name
    if cursor.takes("("):
        columns: dict[Any, int] = {}
        for _ in cursor.until(")"):
            if not _attribute(cursor, header.attributes, columns):
                cursor.fail("expected key=value")
        if any(isinstance(value, BodyName) for value in header.attributes.values()):
            cursor.fail("a body is an attribute of a node")
    _end(cursor)
    return header


def read_line(cursor: Cursor) -> NodeLine:
    """Read the line of a node.

    Examples
    --------
    >>> line = read_line(Cursor("m = ?Foo(x, b:1, ^c, pads=[1]) {taps=[2, (3,)]} : f32[N]", 1))
    >>> line.name, line.kind, line.operands, line.controls, line.attributes, line.annotations
    ('m', 'Foo', [('x', 0), ('b', 1)], [('c', 'control')], {'pads': (1,)}, {'taps': [2, (3,)]})
    """
    try:
        line = NodeLine(cursor, read_name(cursor))
        cursor.expect("=")
    except ParseError as error:
        shape = "expected 'name = op(operands, key=value) {annotation=value} : type'"
        cursor.fail(
            f"{shape}, got {cursor.text.strip()[:50]!r}", at=len(cursor.text) - len(cursor.text.lstrip()), cause=error
        )
    line.is_raw = cursor.takes("?")
    line.columns["kind"] = cursor.at
    if not (line.is_raw and cursor.sees("(")):
        kind = read_name(cursor)
        if not isinstance(kind, str):
            cursor.fail("expected the name of an op", at=line.columns["kind"])
        line.kind = kind
    cursor.expect("(")
    for _ in cursor.until(")"):
        _argument(line)
    if cursor.takes("{"):
        cursor.sequence = list
        for _ in cursor.until("}"):
            if not _attribute(cursor, line.annotations, line.columns):
                cursor.fail("expected annotation=value")
    if not cursor.is_at_end:
        cursor.expect(":", " and a type")
        _read_types(line)
    _end(cursor)
    return line


def _end(cursor: Cursor) -> None:
    if not cursor.is_at_end:
        cursor.fail("expected the end of the line")


def _argument(line: NodeLine) -> None:
    cursor = line.cursor
    start = cursor.at
    if _attribute(cursor, line.attributes, line.columns):
        return
    if cursor.takes("^"):
        source, kind = read_name(cursor), "control"
        if cursor.takes(":"):
            at = cursor.at
            kind = read_name(cursor)
            if not isinstance(kind, str):
                cursor.fail("expected a string for the kind of control edge", at=at)
        line.controls.append((source, kind))
    elif cursor.takes("~"):
        source, data = read_name(cursor), {}
        if cursor.sees("{"):
            at = cursor.at
            data = read_value(cursor)
            cursor.check(unsound_edge(data), at=at)
        line.others.append((source, data))
    else:
        if cursor.is_at_end:
            cursor.fail("expected ')', an operand or attribute=value")
        source = _operand(cursor)
        result = 0
        if cursor.takes(":"):
            number = cursor.take(_NUMBER)
            if number is None:
                cursor.fail("expected a result index after ':'")
            result = int(number[0])
        line.operands.append((source, result))
        line.columns["operand", len(line.operands) - 1] = start
    line.columns.setdefault(("source", source), start)


def _operand(cursor: Cursor) -> Any:
    """Read the name of an operand."""
    start = cursor.at
    try:
        return read_name(cursor)
    except ParseError as error:
        if cursor.at > start:
            raise
        cursor.at = start
        rest = cursor.text[start : start + 20]
        cursor.fail(f"expected an operand or attribute=value, got {rest!r}", at=start, cause=error)


def _attribute(cursor: Cursor, attributes: dict[Any, Any], columns: dict[Any, int]) -> bool:
    """Read ``key=value`` or ``**{…}``; return whether there was one."""
    start = cursor.at
    if cursor.takes("**"):
        mapping = read_value(cursor) if cursor.sees("{") else cursor.fail("expected '{' after '**'")
        for key, value in mapping.items():
            _set(cursor, attributes, key, value, start)
        return True
    match = cursor.take(_KEY)
    if match is None:
        return False
    key = match[1]
    if key is None:  # a quoted string
        cursor.at = start
        key = read_value(cursor)
        cursor.expect("=")
    _set(cursor, attributes, key, read_value(cursor), start)
    columns["attribute", key] = start
    return True


def _set(cursor: Cursor, attributes: dict[Any, Any], key: Any, value: Any, start: int) -> None:
    if key in attributes:
        cursor.fail(f"duplicate attribute {key!r}", at=start)
    attributes[key] = value


def _read_types(line: NodeLine) -> None:
    cursor = line.cursor
    line.columns["types"] = cursor.at
    types: list[Type] = []
    while not types or cursor.takes(","):
        own: Type | None = read_own_type(cursor)
        if own is None:
            part = next(split_types(cursor.text[cursor.at :].partition("#")[0]))
            try:
                own = parse_type(part)
            except ParseError as error:
                cursor.fail(str(error), at=cursor.at, cause=error)
            cursor.at += len(part)
        types.append(own)
    line.types = tuple(types)
