"""JSON paths, and node names as keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from graphrewrite.errors import GraphRewriteError, ParseError, SerialError
from graphrewrite.formats.text.cursor import Cursor
from graphrewrite.formats.text.literal_parser import read_name
from graphrewrite.formats.text.literal_printer import quote

__all__ = ["JsonPath", "key_of", "name_of"]

_PLAIN = re.compile(r"[A-Za-z0-9_]+\Z")
_LONG = 200
"""Longer names are truncated."""


class JsonPath:
    """A path of keys and indices in nested data, with its depth.

    Examples
    --------
    >>> print(JsonPath() / "nodes" / "conv_1" / "a b" / 3)
    nodes.conv_1.'a b'.3
    """

    def __init__(self, above: JsonPath | None = None, key: Any = None) -> None:
        self.above, self.key = above, key
        self.depth: int = 0 if above is None else above.depth + 1

    def __truediv__(self, key: Any) -> JsonPath:
        return JsonPath(self, key)

    def __str__(self) -> str:
        keys = []
        path: JsonPath | None = self
        while path is not None and path.above is not None:
            keys.append(path.key)
            path = path.above
        shown = (str(k) if isinstance(k, int) or _PLAIN.match(str(k)) else repr(k) for k in keys[::-1])
        return ".".join(text if len(text) <= _LONG else f"{text[:_LONG]}…" for text in shown)

    def fail(self, message: str, cause: BaseException | None = None) -> NoReturn:
        """Raise an error whose message starts with the path."""
        raise SerialError(message, path=str(self)) from cause

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Raise errors of a with-block anew, with the path."""
        try:
            yield
        except GraphRewriteError as error:
            self.fail(str(error), error)

    def check(self, wrong: tuple[str, str] | None) -> None:
        """Raise an error if a validation has returned a key and a message."""
        if wrong is not None:
            (self / wrong[0]).fail(wrong[1])


def key_of(name: Any, path: JsonPath) -> str:
    """Return the key for a node name: strings as they are, except that other names, and "!…", become ``!literal``.

    Examples
    --------
    >>> key_of("conv_1", JsonPath()), key_of((1, "a"), JsonPath()), key_of("!", JsonPath())
    ('conv_1', "!(1, 'a',)", "!'!'")
    """
    if isinstance(name, str):
        return f"!{str.__repr__(name)}" if name.startswith("!") else str(name)
    with path.reporting():
        return f"!{quote(name)}"


def name_of(key: str, path: JsonPath) -> Any:
    """Return the node name of a key; the inverse of `key_of`.

    Examples
    --------
    >>> name_of("conv_1", JsonPath()), name_of("!(1, 'a',)", JsonPath())
    ('conv_1', (1, 'a'))
    """
    if not key.startswith("!"):
        return key
    cursor = Cursor(key[1:], 1)
    try:
        name = read_name(cursor)
    except ParseError as error:
        path.fail("expected a node name after '!'", error)
    if cursor.at < len(cursor.text):
        path.fail("expected a node name after '!'")
    return name
