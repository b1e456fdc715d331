"""Parsing of attribute values: literals, number formats, types, arrays."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, ParseError, did_you_mean
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_printer import DEPTH
from graphrewrite.formats.text.quoted import QUOTED, unquote
from graphrewrite.formats.text.raw_arrays import array_from
from graphrewrite.op.given_ops import missing_dialect
from graphrewrite.types import (
    HELD_WIDER,
    NAMES,
    TEXT,
    EdgeType,
    Element,
    ElementType,
    OwnType,
    Tensor,
    Type,
    element_dtype,
    handed_over,
    parse_element,
    parse_type,
)

__all__ = ["BodyName", "array_of", "read_element", "read_name", "read_own_type", "read_type", "read_value"]

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"[^\W\d][\w.]*")
_FORMAT = re.compile(r"(?:[su][0-9]+f-?[0-9]+|[iu][0-9]+<[^<>\[\]()]*>)(?!\w)")
_TYPE = re.compile(r"type\(([^()\[\]]*(?:\[[^\[\]]*\])?[^()\[\]]*)\)")
_FIELD = re.compile(r"([^\W\d]\w*)\s*=")
_SHAPE = re.compile(r"\[[^\[\]]*\](?:\s+[A-Z]+\b)?")
_OWN = re.compile(r"[^\W\d]\w*\.\w+\(")
_NUMBERS = re.compile(r"\[[-+0-9., eE]*\]")
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None, "nan": math.nan, "inf": math.inf}
_SETS: dict[str, Any] = {"set": set, "frozenset": frozenset}
_ENTRIES: dict[str, set[type]] = {"f": {int, float}, "b": {bool, int}, "U": {str}}
_HELD = frozenset({*NAMES, TEXT}) - HELD_WIDER
"""Element types that have a dtype of their own."""


class BodyName(str):
    """The name of a body, in the place of the graph until that is read."""

    __slots__ = ()


def read_name(cursor: Cursor) -> Any:
    """Read a node name: a word, a quoted string, or a literal for names that are not strings.

    Examples
    --------
    >>> read_name(Cursor("conv_1", 1)), read_name(Cursor("'a b'", 1)), read_name(Cursor("(1, 2,)", 1))
    ('conv_1', 'a b', (1, 2))
    """
    start = cursor.at
    word = cursor.take(_WORD)
    if word is not None and word[0] not in _WORDS and not cursor.sees("'") and not cursor.sees('"'):
        return word[0]
    cursor.at = start
    if cursor.is_at_end or cursor.text[start] not in "'\"-(0123456789bTFNni":
        cursor.fail("expected a name")
    name = read_value(cursor)
    try:
        hash(name)
    except TypeError:  # a tuple that contains an array or a mapping
        name = None
    if not isinstance(name, str | int | float | tuple | bytes):
        cursor.fail("a name is a word, a quoted string, a number or a tuple of them", at=start)
    return name


def read_value(cursor: Cursor, depth: int = 0) -> Any:
    """Read a value: a literal (lists become the cursor's `sequence`), a number format, a type or an array.

    Examples
    --------
    >>> read_value(Cursor("{'a': [1, -2.5], 'b': i8[1, 2]}", 1))
    {'a': (1, -2.5), 'b': array([1, 2], dtype=int8)}
    """
    if depth > DEPTH:
        cursor.fail(f"lists and mappings nest deeper than {DEPTH}", at=cursor.at)
    start = cursor.at
    if cursor.takes("-"):
        value = read_value(cursor, depth + 1)  # one deeper, so that a row of signs ends as well
        if not isinstance(value, int | float) or isinstance(value, bool):
            cursor.fail("expected a number after '-'", at=start)
        return -value
    first = cursor.text[start : start + 1]
    if first == "[":
        numbers = cursor.take(_NUMBERS)  # fast path: constants are long lists of numbers
        entries = None if numbers is None else _numbers(numbers[0])
        if entries is not None:
            return cursor.sequence(entries)
        cursor.at = start
        return cursor.sequence(_items(cursor, "[", "]", depth))
    if first == "(":
        return tuple(_items(cursor, "(", ")", depth))
    if first == "{":
        return _mapping(cursor, depth)
    if first == "@":
        return _array_aside(cursor)
    if first == "<":
        cursor.fail(
            "expected a value; this one is abbreviated: print it with whole=True, or store large arrays "
            "in a separate file with write_text",
            at=start,
        )
    number = cursor.take(_NUMBER)
    if number is not None:
        return _number(cursor, number[0], start)
    quoted = cursor.take(QUOTED)
    if quoted is not None:
        return unquote(cursor, quoted, start)
    return _worded(cursor, start, depth)


def _numbers(text: str) -> tuple[Any, ...] | None:
    """Return the numbers of a list, or None if it needs the general parser."""
    words = text[1:-1].split(",")
    if len(words) == 1 and not words[0].strip():
        return ()
    try:
        return tuple([int(word) if word.strip(" -").isdigit() else float(word) for word in words])
    except ValueError:
        return None


def _number(cursor: Cursor, word: str, start: int) -> int | float:
    try:
        if word.startswith("0x"):
            return int(word, 16)
        return int(word) if word.isdigit() else float(word)
    except ValueError as error:
        cursor.fail("the number is too long; write it as 0x…", at=start, cause=error)


def _items(cursor: Cursor, opening: str, closing: str, depth: int) -> list[Any]:
    cursor.expect(opening)
    return [read_value(cursor, depth + 1) for _ in cursor.until(closing)]


def _mapping(cursor: Cursor, depth: int) -> dict[Any, Any]:
    cursor.expect("{")
    entries: dict[Any, Any] = {}
    for _ in cursor.until("}"):
        start = cursor.at
        key = read_value(cursor, depth + 1)
        try:
            is_duplicate = key in entries
        except TypeError as error:
            cursor.fail("expected a key: a string, a number or a list of them", at=start, cause=error)
        if is_duplicate:
            cursor.fail("duplicate key", at=start)
        cursor.expect(":")
        entries[key] = read_value(cursor, depth + 1)
    return entries


def _worded(cursor: Cursor, start: int, depth: int) -> Any:
    """Read a value that begins with a word: a number format, a type, an array, a constant such as True."""
    for form, part, meaning in ((_FORMAT, 0, parse_element), (_TYPE, 1, parse_type)):
        match = cursor.take(form)
        if match is not None:
            try:
                return meaning(match[part])
            except ParseError as error:  # without line and column
                cursor.fail(str(error), at=start, cause=error)
    if isinstance(own := _read_own(cursor, depth), ElementType):
        return own
    if own is not None:
        cursor.fail(f"a type is written type({own}) as a value", at=start)
    word = cursor.take(_WORD)
    if word is None:
        return cursor.fail("expected a value")
    if word[0] in _WORDS:
        return _WORDS[word[0]]
    if word[0] in _HELD and cursor.sees("["):
        return array_of(cursor, read_value(cursor, depth + 1), word[0], at=start)
    if word[0] == "body" and cursor.takes("("):
        if depth:
            cursor.fail("a body is an attribute of its own, not part of a list or mapping", at=start)
        name = read_name(cursor)
        cursor.expect(")")
        return BodyName(name)
    if word[0] == "type" and cursor.takes("("):
        kind = read_own_type(cursor, depth)
        if kind is None:
            cursor.fail("expected a type")
        cursor.expect(")")
        return kind
    is_called = cursor.sees("(")
    parts = _items(cursor, "(", ")", depth) if is_called else []
    if word[0] in _HELD and len(parts) == 1:
        return array_of(cursor, parts[0], word[0], at=start)
    if word[0] == "array" and len(parts) == 3 and isinstance(parts[2], str):
        return _raw_array(cursor, parts[0], parts[1], parts[2], start)
    if word[0] == "scalar" and len(parts) == 1 and isinstance(parts[0], np.ndarray) and not parts[0].ndim:
        return parts[0][()]
    if is_called and word[0] in _SETS:
        try:
            return _SETS[word[0]](parts)
        except TypeError as error:
            cursor.fail("expected members: strings, numbers or tuples of them", at=start, cause=error)
    if word[0] == "complex" and len(parts) == 2 and all(isinstance(part, int | float) for part in parts):
        return complex(*parts)
    return cursor.fail("expected a value: a number, a quoted string, a list, a mapping, a format or an array", at=start)


def read_own_type(cursor: Cursor, depth: int = 0) -> Type | None:
    """Read a type of a dialect, such as ``rel.Relation(columns=['id'])``, or a tensor of an element type of one.

    None if something else is next.

    Examples
    --------
    >>> read_own_type(Cursor("f32[N]", 1))
    >>> read_own_type(Cursor("rel.Relation(columns=['id'])", 1))
    Traceback (most recent call last):
    graphrewrite.errors.ParseError: line 1, column 1: ... of the dialect 'rel', which is missing; pass ... as ops=[rel]
    ...
    """
    start, own = cursor.at, _read_own(cursor, depth)
    if not isinstance(own, ElementType):
        return own
    shape = cursor.take(_SHAPE)
    if shape is None:
        cursor.fail(f"{own} is an element type; expected a shape after it, as in {own}[N,3]")
    try:
        tensor = parse_type(f"f32{shape[0].rstrip()}")
        return Tensor(own, tensor.shape, tensor.layout if isinstance(tensor, Tensor) else None)
    except GraphRewriteError as error:
        cursor.fail(str(error), at=start, cause=error)


def _read_own(cursor: Cursor, depth: int) -> EdgeType | ElementType | None:
    """Read a type, or an element type, of a dialect, without a shape; None if something else is next."""
    start = cursor.at
    if not _OWN.match(cursor.text, start):
        return None
    name = cursor.take(_WORD)[0]  # type: ignore[index]  # it matches where `_OWN` does
    kind: Any = cursor.types.get(name)
    if kind is None:
        dialect = missing_dialect(name, cursor.types)
        advice = f" of the dialect {dialect!r}, which is missing; pass the dialect as ops=[{dialect}]"
        cursor.fail(f"unknown type {name!r}{advice if dialect else did_you_mean(name, cursor.types)}", at=start)
    given = dict[str, Any]()
    cursor.expect("(")
    for _ in cursor.until(")"):
        key = cursor.take(_FIELD)
        if key is None or key[1] in given:
            cursor.fail("expected another field=value")
        given[key[1]] = read_value(cursor, depth + 1)
    known = [each.name for each in fields(kind)]
    for word in given:
        if word not in known:
            cursor.fail(f"{name} has no field {word!r}; it has {', '.join(known)}{did_you_mean(word, known)}", at=start)
    try:
        own: EdgeType | ElementType = kind(**given)
        return own
    except Exception as error:  # a field is missing, or the class refuses a value in its own way
        cursor.fail(f"{name} cannot be made: {error}", at=start, cause=error)


def read_element(text: str, types: Mapping[str, type[OwnType]]) -> Element:
    """Return the element type that a whole text writes, of the library or of a dialect.

    Examples
    --------
    >>> read_element("s8f4", {})
    FixedPoint(signed=True, width=8, fraction=4)
    """
    cursor = Cursor(text, 1, types=types)
    own = _read_own(cursor, 0)
    if own is None:
        return parse_element(text)
    if not isinstance(own, ElementType) or not cursor.is_at_end:
        cursor.fail("expected an element type", at=0)
    return own


def read_type(text: str, types: Mapping[str, type[OwnType]]) -> Type:
    """Return the type that a whole text writes, of the library or of a dialect.

    Examples
    --------
    >>> print(read_type("f32[N]", {}))
    f32[N]
    """
    cursor = Cursor(text, 1, types=types)
    own = read_own_type(cursor)
    if own is None:
        return parse_type(text)
    if not cursor.is_at_end:
        cursor.fail("expected the end of the type")
    return own


def array_of(cursor: Cursor, entries: Any, element: Element, *, at: int) -> np.ndarray:
    """Return the array of nested lists of numbers; `at` is their column."""
    dtype = element_dtype(element)
    allowed = _ENTRIES.get(dtype.kind, {int})
    try:
        leaves = np.array(entries, object).ravel().tolist()
        kinds = set(map(type, leaves))
        if not kinds <= allowed or (dtype.kind == "b" and not set(leaves) <= {0, 1}):
            what = "texts" if element == TEXT else f"numbers of type {element}"
            cursor.fail(f"expected {what} in lists of equal lengths", at=at)
        with np.errstate(all="ignore"):
            array = np.array(entries, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        return cursor.fail(f"expected numbers of type {element} in lists of equal lengths: {error}", at=at)
    # More infinities than were written: numbers that overflow.
    if dtype.kind == "f" and np.isinf(array).any() and np.isinf(array).sum() > sum(abs(v) == math.inf for v in leaves):
        cursor.fail(f"a number is too large for {element}", at=at)
    return handed_over(array)


def _array_aside(cursor: Cursor) -> np.ndarray:
    start = cursor.at
    cursor.expect("@")
    quoted = cursor.take(QUOTED)
    name = None if quoted is None else unquote(cursor, quoted, start)
    if not isinstance(name, str):
        cursor.fail("expected the quoted name of an array after '@'")
    if name not in cursor.arrays:
        what = "which has no array of that name" if cursor.arrays else "which read_text reads"
        cursor.fail(f"the array {name!r} is in a separate file, {what}", at=start)
    return cursor.arrays[name]


def _raw_array(cursor: Cursor, dtype: Any, shape: Any, text: str, start: int) -> np.ndarray:
    """Return the array of ``array('<c8', [1], 'base 64')``."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        cursor.fail(f"expected bytes in base 64: {error}", at=start, cause=error)
    array = array_from(dtype, shape, data)
    if isinstance(array, str):
        cursor.fail(array, at=start)
    return array
