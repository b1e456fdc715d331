"""One line of the text form, read: what it says, before anybody asks what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.errors import ParseError
from graphrewrite.parse.cursor import Cursor
from graphrewrite.parse.literal import read_name, read_value
from graphrewrite.soundness import unsound_edge
from graphrewrite.types import Type, parse_type

__all__ = ["Header", "Line", "read_header", "read_line"]

_NUMBER = re.compile(r"[0-9]{1,9}(?![\w.])")
_HEADER = re.compile(r"(graph|module)\b(?!\s*=)")
_KEY = re.compile(r"(?:[^\W\d][\w.]*|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*=")


@dataclass
class Header:
    """The first line of a graph or module: which it is, its name if it has one, its attributes."""

    cursor: Cursor
    word: str
    name: str | None = None
    attributes: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Line:
    """What the line of a node says.

    Attributes
    ----------
    cursor : Cursor
        Names the line in errors.
    name : hashable
        Of the node.
    is_raw : bool
        Whether a question mark stands before the op.
    kind : str or None
        The op; None where a question mark stands alone.
    operands : list of (source, result)
    controls : list of (source, kind)
    others : list of (source, data)
    attributes : dict
    types : tuple of Type, or None
        Of the results, where they are written.
    places : dict
        Columns, from 0: of the op (`"kind"`), the types, attributes and sources.
    """

    cursor: Cursor
    name: Any
    is_raw: bool = False
    kind: str | None = None
    operands: list[tuple[Any, int]] = field(default_factory=list)
    controls: list[tuple[Any, str]] = field(default_factory=list)
    others: list[tuple[Any, dict[Any, Any]]] = field(default_factory=list)
    attributes: dict[Any, Any] = field(default_factory=dict)
    types: tuple[Type, ...] | None = None
    places: dict[Any, int] = field(default_factory=dict)


def read_header(cursor: Cursor) -> Header | None:
    """Read the first line of a graph or module; None if it is no such line.

    Examples
    --------
    >>> found = read_header(Cursor("graph net(author='me')", 1))
    >>> found.word, found.name, found.attributes
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
        places: dict[Any, int] = {}
        _arguments(cursor, lambda: _attribute(cursor, header.attributes, places) or cursor.fail("expected key=value"))
    _end(cursor)
    return header


def read_line(cursor: Cursor) -> Line:
    """Read the line of a node.

    Examples
    --------
    >>> found = read_line(Cursor("m = ?Foo(x, b:1, ^c, alpha=1) : f32[N]", 1))
    >>> found.name, found.kind, found.operands, found.controls, found.attributes
    ('m', 'Foo', [('x', 0), ('b', 1)], [('c', 'control')], {'alpha': 1})
    """
    try:
        line = Line(cursor, read_name(cursor))
        cursor.expect("=")
    except ParseError as error:
        shape = "expected 'name = op(operands, key=value) : type'"
        cursor.fail(
            f"{shape}, got {cursor.text.strip()[:50]!r}", at=len(cursor.text) - len(cursor.text.lstrip()), cause=error
        )
    line.is_raw = cursor.takes("?")
    line.places["kind"] = cursor.at
    if not (line.is_raw and cursor.sees("(")):
        kind = read_name(cursor)
        if not isinstance(kind, str):
            cursor.fail("expected the name of an op", at=line.places["kind"])
        line.kind = kind
    cursor.expect("(")
    _arguments(cursor, lambda: _argument(line))
    if not cursor.is_at_end:
        cursor.expect(":", " and a type")
        _read_types(line)
    _end(cursor)
    return line


def _end(cursor: Cursor) -> None:
    if not cursor.is_at_end:
        cursor.fail("expected the end of the line")


def _arguments(cursor: Cursor, read: Any) -> None:
    """Read what stands between parentheses, the first of which is read."""
    is_first = True
    while not cursor.takes(")"):
        if not is_first:
            cursor.expect(",", " or ')'")
            if cursor.takes(")"):
                return
        is_first = False
        read()


def _argument(line: Line) -> None:
    cursor = line.cursor
    start = cursor.at
    if _attribute(cursor, line.attributes, line.places):
        return
    if cursor.takes("^"):
        source, kind = read_name(cursor), "control"
        if cursor.takes(":"):
            at = cursor.at
            kind = read_name(cursor)
            if not isinstance(kind, str):
                cursor.fail("expected a word for the kind of order", at=at)
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
                cursor.fail("expected the number of a result behind ':'")
            result = int(number[0])
        line.operands.append((source, result))
        line.places["operand", len(line.operands) - 1] = start
    line.places.setdefault(("source", source), start)


def _operand(cursor: Cursor) -> Any:
    """Read the name of an operand."""
    start = cursor.at
    try:
        return read_name(cursor)
    except ParseError as error:
        if cursor.at > start:
            raise
        cursor.at = start
        found = cursor.text[start : start + 20]
        cursor.fail(f"expected an operand or attribute=value, got {found!r}", at=start, cause=error)


def _attribute(cursor: Cursor, found: dict[Any, Any], places: dict[Any, int]) -> bool:
    """Read ``key=value`` or ``**{…}``, and tell whether it stood there."""
    start = cursor.at
    if cursor.takes("**"):
        given = read_value(cursor) if cursor.sees("{") else cursor.fail("expected '{' behind '**'")
        for key, value in given.items():
            _set(cursor, found, key, value, start)
        return True
    if not _KEY.match(cursor.text, start):
        return False
    key = read_value(cursor) if cursor.sees("'") or cursor.sees('"') else _word(cursor)
    cursor.expect("=")
    _set(cursor, found, key, read_value(cursor), start)
    places["attribute", key] = start
    return True


def _word(cursor: Cursor) -> str:
    found = cursor.take(re.compile(r"[\w.]+"))
    return found[0] if found is not None else cursor.fail("expected a name")


def _set(cursor: Cursor, found: dict[Any, Any], key: Any, value: Any, start: int) -> None:
    if key in found:
        cursor.fail(f"{key!r} was given before", at=start)
    found[key] = value


def _read_types(line: Line) -> None:
    cursor = line.cursor
    line.places["types"] = cursor.at
    text = cursor.text[cursor.at :].partition("#")[0]
    found: list[Type] = []
    for part in _parts(text):
        try:
            found.append(parse_type(part))
        except ParseError as error:
            cursor.fail(str(error), at=cursor.at, cause=error)
        cursor.at += len(part) + 1
    line.types = tuple(found)
    cursor.at = line.places["types"] + len(text)


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between the commas outside of brackets."""
    start = depth = 0
    for i, symbol in enumerate(text):
        if symbol in "[<":
            depth += 1
        elif symbol in "]>":
            depth -= 1
        elif symbol == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]
