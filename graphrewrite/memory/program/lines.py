"""Syntax of the lines of a program, without their meaning."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.errors import ParseError
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_parser import read_name, read_own_type, read_value
from graphrewrite.types import Tensor, Type, element_dtype, parse_type
from graphrewrite.types.text import split_types

__all__ = ["Declaration", "Instruction", "read_declaration", "read_instruction", "region_type"]

_MARK = re.compile(r"@(inout|in|out|const|if)\b")
_KEY = re.compile(r"([A-Za-z_][\w.]*)\s*=")
_AT = re.compile(r"at\b(?!\s*=)")
_NUMBER = re.compile(r"[0-9]+")
_MOST = 1 << 63
"""Bytes of which a memory has less."""


@dataclass
class Declaration:
    """A region that the caller has: its mark, name, type, the output of a variable, its first value or a constant's."""

    cursor: Cursor
    mark: str
    name: str
    type: Type
    after: str | None = None
    value: Any = None
    columns: dict[str, int] = field(default_factory=dict)


@dataclass
class Instruction:
    """An instruction, or a region that is allocated or named.

    Attributes
    ----------
    kind : str
        The op, or ``alloc``, ``view``, ``dealloc``.
    name : str or None
        Of the node, or of the region.
    operands : list of (mark, name, column)
    attributes, annotations : dict
    type : Type or None
        Of what is allocated or named.
    place : int or None
        Where it lies, or where the regions of the programs lie that an instruction runs.
    """

    cursor: Cursor
    kind: str
    name: str | None = None
    operands: list[tuple[str, str, int]] = field(default_factory=list)
    attributes: dict[Any, Any] = field(default_factory=dict)
    annotations: dict[Any, Any] = field(default_factory=dict)
    type: Type | None = None
    place: int | None = None
    columns: dict[str, int] = field(default_factory=dict)


def read_declaration(cursor: Cursor) -> Declaration:
    """Read the line of a declaration.

    Examples
    --------
    >>> line = read_declaration(Cursor("@inout s -> after : f32[2]", 1))
    >>> line.mark, line.name, line.after, str(line.type)
    ('inout', 's', 'after', 'f32[2]')
    """
    start = cursor.at
    mark = cursor.take(_MARK)
    if mark is None or mark[1] == "if":
        cursor.fail(
            "expected @in, @out, @inout or @const and a name with its type, or '}' after the last one", at=start
        )
    columns = {"name": cursor.at}
    name, after = _name(cursor), None
    if mark[1] == "inout" and cursor.takes("->"):
        columns["after"] = cursor.at
        after = _name(cursor)
    line = Declaration(cursor, mark[1], name, _type(cursor), after, columns=columns)
    if line.mark == "const" or (line.mark == "inout" and cursor.sees("=")):
        cursor.expect("=", ", and the value of the constant")
        columns["value"] = cursor.at
        line.value = read_value(cursor)
    _end(cursor)
    return line


def read_instruction(cursor: Cursor) -> Instruction:
    """Read the line of an instruction.

    Examples
    --------
    >>> line = read_instruction(Cursor("n: clip @out b, @in v, high=6.0 {latency=3}", 1))
    >>> line.name, line.kind, line.operands, line.attributes, line.annotations
    ('n', 'clip', [('out', 'b', 13), ('in', 'v', 20)], {'high': 6.0}, {'latency': 3})
    >>> read_instruction(Cursor("a = alloc at 64 : f32[4]", 1)).place
    64
    """
    at = cursor.at
    word = _name(cursor)
    line = Instruction(cursor, word, columns={"name": at, "kind": at})
    if cursor.takes("="):
        line.columns["kind"] = cursor.at
        line.name, line.kind = word, _name(cursor)
        if line.kind not in ("alloc", "view"):
            cursor.fail("only alloc and view name memory; an instruction is written 'name: op @out …'", at=at)
    elif cursor.takes(":"):
        line.columns["kind"] = cursor.at
        line.name, line.kind = word, _name(cursor)
    if cursor.take(_AT):
        line.columns["place"] = cursor.at
        number = cursor.take(_NUMBER)
        line.place = int(number[0]) if number else cursor.fail("expected a place in bytes")
    first = True
    while not (cursor.is_at_end or cursor.sees("{") or cursor.sees(":")):
        if not first:
            cursor.expect(",", ", '{', ':' or the end of the line")
        _argument(line)
        first = False
    if cursor.takes("{"):
        cursor.sequence = list
        for _ in cursor.until("}"):
            key = cursor.take(_KEY) or cursor.fail("expected annotation=value")
            line.annotations[key[1]] = read_value(cursor)
        cursor.sequence = tuple
    if line.name is not None and line.kind in ("alloc", "view"):
        line.type = _type(cursor)
    _end(cursor)
    return line


def _argument(line: Instruction) -> None:
    cursor, start = line.cursor, line.cursor.at
    if (mark := cursor.take(_MARK)) is not None:
        if mark[1] == "const":
            cursor.fail("a constant is read as @in", at=start)
        at = cursor.at
        line.operands.append((mark[1], _name(cursor), at))
        return
    key = cursor.take(_KEY)
    if key is None:
        cursor.fail("expected @in, @out or @inout with the name of a region, or attribute=value", at=start)
    if key[1] in line.attributes:
        cursor.fail(f"duplicate attribute {key[1]!r}", at=start)
    line.columns.setdefault("attributes", start)
    line.attributes[key[1]] = read_value(cursor)


def _name(cursor: Cursor) -> str:
    at = cursor.at
    name = read_name(cursor)
    if not isinstance(name, str):
        cursor.fail("a name is a word, or a text in quotes", at=at)
    return name


def _type(cursor: Cursor) -> Type:
    cursor.expect(":", " and a type")
    own: Type | None = read_own_type(cursor)
    if own is not None:
        return own
    part = next(split_types(cursor.text[cursor.at :].partition("#")[0].partition("=")[0]))
    try:
        own = parse_type(part)
    except ParseError as error:
        cursor.fail(str(error), at=cursor.at, cause=error)
    cursor.at += len(part)
    cursor.skip()
    return own


def _end(cursor: Cursor) -> None:
    if not cursor.is_at_end:
        cursor.fail("expected the end of the line")


def region_type(cursor: Cursor, kind: Type | None, at: int) -> Tensor:
    """Return the type of a region, which may be no larger than a memory."""
    if not isinstance(kind, Tensor) or not all(isinstance(size, int) for size in kind.shape):
        cursor.fail(f"a region is a tensor whose sizes are numbers, got {kind}", at=at)
    size = math.prod(map(int, kind.shape)) * element_dtype(kind.element).itemsize
    if size >= _MOST:
        cursor.fail(f"a region has less than 2**63 bytes, and {kind} takes {size:,}; split it", at=at)
    return kind
