"""Quoted strings and bytes."""

from __future__ import annotations

import re

from graphrewrite.formats.text.cursor import Cursor

__all__ = ["QUOTED", "unquote"]

QUOTED = re.compile(r"""(b?)(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""", re.DOTALL)
"""A string or bytes in quotation marks."""
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SINGLE = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def unquote(cursor: Cursor, match: re.Match[str], start: int) -> str | bytes:
    r"""Return the string or bytes of a quoted text; `start` is its column.

    Examples
    --------
    >>> text = r"'it\'s\n\xe9'"
    >>> unquote(Cursor(text, 1), QUOTED.match(text), 0)
    "it's\né"
    """
    inside = match[2] if match[2] is not None else match[3]

    def meaning(escape: re.Match[str]) -> str:
        word = escape[1]
        if len(word) > 1:
            code = int(word[1:], 16)
            if code <= 0x10FFFF:
                return chr(code)
        elif word in _SINGLE:
            return _SINGLE[word]
        return cursor.fail(rf"expected one of \\ \' \" \n \r \t \xhh \uhhhh \Uhhhhhhhh, got {escape[0]!r}", at=start)

    text = _ESCAPE.sub(meaning, inside) if "\\" in inside else inside
    if not match[1]:
        return text
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        cursor.fail("bytes are written with characters below 256", at=start, cause=error)
