"""A place in a line of text, and what is wrong there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import ParseError

__all__ = ["Cursor"]

_SPACE = re.compile(r"\s*")
_WIDTH = 100
"""So much of a long line is shown."""
_LONG = 600
"""Longer messages, which quote what was found, are cut."""


class Cursor:
    """A place in a line.

    Parameters
    ----------
    text : str
        The line.
    number : int
        Its number, from 1.
    arrays : mapping of str to ndarray
        What ``@'name'`` stands for.

    Examples
    --------
    >>> cursor = Cursor("r = relu(x", 3)
    >>> cursor.take(re.compile(r"[a-z]+"))[0], cursor.at
    ('r', 2)
    """

    def __init__(self, text: str, number: int, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        self.text, self.number, self.arrays = text, number, arrays or {}
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Go to what is no space."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches everywhere

    def take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """Go behind what has a form, and the space behind it; None where nothing has."""
        found = form.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            self.skip()
        return found

    def sees(self, symbol: str) -> bool:
        """Tell whether some characters come next."""
        return self.text.startswith(symbol, self.at)

    def takes(self, symbol: str) -> bool:
        """Go behind some characters if they come next, and tell whether they did."""
        is_there = self.sees(symbol)
        if is_there:
            self.at += len(symbol)
            self.skip()
        return is_there

    def expect(self, symbol: str, what: str = "") -> None:
        """Go behind some characters, which must come next."""
        if not self.takes(symbol):
            self.fail(f"expected {symbol!r}{what}")

    @property
    def is_at_end(self) -> bool:
        """Whether nothing but a comment follows."""
        return self.at >= len(self.text) or self.sees("#")

    def fail(self, message: str, *, at: int | None = None, cause: BaseException | None = None) -> NoReturn:
        """Raise an error that says line, column, and what is wrong, and shows the place.

        Parameters
        ----------
        message : str
            What was expected.
        at : int, optional
            Where, from 0; here, and with what stands here, where not given.
        cause : exception, optional
            What it comes from.

        Raises
        ------
        ParseError
            Always.
        """
        if at is None:
            at = self.at
            found = self.text[at : at + 20]
            message += f", got {found!r}" if found else ", and the line ends"
        if len(message) > _LONG:
            message = f"{message[:_LONG]} …"
        start = max(0, min(at - _WIDTH // 2, len(self.text) - _WIDTH))
        shown = self.text[start : start + _WIDTH]
        place = "".join(c if c.isprintable() else "?" for c in shown)
        raise ParseError(
            f"line {self.number}, column {at + 1}: {message}\n  {place}\n  {' ' * (at - start)}^"
        ) from cause

    def check(self, wrong: tuple[Any, str] | None, *, at: int) -> None:
        """Raise an error if something is not what it must be."""
        if wrong is not None:
            self.fail(f"{wrong[1]} as {wrong[0]}", at=at)
