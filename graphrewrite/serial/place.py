"""Places in nested data, and names of nodes as keys."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from graphrewrite.errors import GraphRewriteError, ParseError, SerialError
from graphrewrite.parse.cursor import Cursor
from graphrewrite.parse.literal import read_name
from graphrewrite.text.literal import quote

__all__ = ["Place", "key_of", "name_of"]

_PLAIN = re.compile(r"[A-Za-z0-9_]+\Z")
_LONG = 200
"""Longer names are cut."""


class Place:
    """A place in nested data: a path of keys and indices, and how deep it is.

    Examples
    --------
    >>> print(Place() / "nodes" / "conv_1" / "a b" / 3)
    nodes.conv_1.'a b'.3
    """

    def __init__(self, above: Place | None = None, key: Any = None) -> None:
        self.above, self.key = above, key
        self.depth: int = 0 if above is None else above.depth + 1

    def __truediv__(self, key: Any) -> Place:
        return Place(self, key)

    def __str__(self) -> str:
        keys = []
        place: Place | None = self
        while place is not None and place.above is not None:
            keys.append(place.key)
            place = place.above
        shown = (str(k) if isinstance(k, int) or _PLAIN.match(str(k)) else repr(k) for k in keys[::-1])
        return ".".join(text if len(text) <= _LONG else f"{text[:_LONG]}…" for text in shown)

    def fail(self, message: str, cause: BaseException | None = None) -> NoReturn:
        """Raise an error whose message starts with the path."""
        raise SerialError(message, path=str(self)) from cause


def key_of(name: Any, place: Place) -> str:
    """Return the key that stands for the name of a node.

    Parameters
    ----------
    name : str, number, or tuple of them
        The name; one that is no string, or starts with an exclamation mark, is written as a literal behind one.
    place : Place
        Where it stands.

    Returns
    -------
    str

    Examples
    --------
    >>> key_of("conv_1", Place()), key_of((1, "a"), Place()), key_of("!", Place())
    ('conv_1', "!(1, 'a',)", "!'!'")
    """
    if isinstance(name, str):
        return f"!{str.__repr__(name)}" if name.startswith("!") else str(name)
    try:
        return f"!{quote(name)}"
    except GraphRewriteError as error:
        place.fail(str(error), error)


def name_of(key: str, place: Place) -> Any:
    """Return the name of a node that a key stands for.

    Parameters
    ----------
    key : str
        What `key_of` gives.
    place : Place
        Where it stands.

    Returns
    -------
    str, number, or tuple of them

    Examples
    --------
    >>> name_of("conv_1", Place()), name_of("!(1, 'a',)", Place())
    ('conv_1', (1, 'a'))
    """
    if not key.startswith("!"):
        return key
    cursor = Cursor(key[1:], 1)
    try:
        name = read_name(cursor)
    except ParseError as error:
        place.fail("expected the name of a node behind '!'", error)
    if cursor.at < len(cursor.text):
        place.fail("expected the name of a node behind '!'")
    return name
