"""Cursor: a position in a line of text, with error messages that show it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from graphrewrite.errors import GraphRewriteError, ParseError
from graphrewrite.types import OwnType

__all__ = ["Cursor"]

_SPACE = re.compile(r"\s*")
_WIDTH = 100
"""Number of characters of a long line that are shown."""
_LONG = 600
"""Longer messages are truncated."""


class Cursor:
    """A position in a line; `number` counts lines from 1.

    `arrays` holds the arrays of ``@'name'``, `types` those of dialects, by full names.

    A value in square brackets is a `sequence`: a tuple, as attributes are, or a list.

    Examples
    --------
    >>> cursor = Cursor("r = relu(x", 3)
    >>> cursor.take(re.compile(r"[a-z]+"))[0], cursor.at
    ('r', 2)
    """

    def __init__(
        self,
        text: str,
        number: int,
        arrays: Mapping[str, np.ndarray] | None = None,
        types: Mapping[str, type[OwnType]] | None = None,
    ) -> None:
        self.text, self.number, self.arrays, self.types = text, number, arrays or {}, types or {}
        self.sequence: type[list[Any]] | type[tuple[Any, ...]] = tuple
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Skip white space."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches everywhere

    def take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """Advance past a match of a pattern and the space after it; None if it does not match."""
        match = form.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            self.skip()
        return match

    def sees(self, symbol: str) -> bool:
        """Tell whether some characters are next."""
        return self.text.startswith(symbol, self.at)

    def takes(self, symbol: str) -> bool:
        """Advance past some characters if they are next, and tell whether they were."""
        is_there = self.sees(symbol)
        if is_there:
            self.at += len(symbol)
            self.skip()
        return is_there

    def until(self, closing: str) -> Iterator[None]:
        """Yield before each item of a list with commas, up to a closing bracket; the last comma may be superfluous."""
        is_first = True
        while not self.takes(closing):
            if not is_first:
                self.expect(",", f" or {closing!r}")
                if self.takes(closing):
                    return
            is_first = False
            yield

    def expect(self, symbol: str, what: str = "") -> None:
        """Advance past some characters, which must be next."""
        if not self.takes(symbol):
            self.fail(f"expected {symbol!r}{what}")

    @property
    def is_at_end(self) -> bool:
        """Whether only a comment follows."""
        return self.at >= len(self.text) or self.sees("#")

    def fail(self, message: str, *, at: int | None = None, cause: BaseException | None = None) -> NoReturn:
        """Raise an error with line, column and message that shows the line; `at` is a column from 0."""
        if at is None:
            at = self.at
            rest = self.text[at : at + 20]
            message += f", got {rest!r}" if rest else ", and the line ends"
        if len(message) > _LONG:
            message = f"{message[:_LONG]} …"
        start = max(0, min(at - _WIDTH // 2, len(self.text) - _WIDTH))
        shown = self.text[start : start + _WIDTH]
        printable = "".join(c if c.isprintable() else "?" for c in shown)
        raise ParseError(
            f"line {self.number}, column {at + 1}: {message}\n  {printable}\n  {' ' * (at - start)}^"
        ) from cause

    @contextmanager
    def reporting(self, at: int) -> Iterator[None]:
        """Raise errors of a with-block anew, with line and column; errors of parsing have them already."""
        try:
            yield
        except ParseError:
            raise
        except GraphRewriteError as error:
            self.fail(str(error), at=at, cause=error)

    def check(self, wrong: tuple[Any, str] | None, *, at: int) -> None:
        """Raise an error if a validation has returned a key and a message."""
        if wrong is not None:
            self.fail(f"{wrong[1]} as {wrong[0]}", at=at)
