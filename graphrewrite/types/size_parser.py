"""Parser of symbolic sizes."""

from __future__ import annotations

import re

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.polynomial import Polynomial
from graphrewrite.types.rounding import divided, extreme

__all__ = ["parse_polynomial"]

_TOKEN = re.compile(r"\s*(?P<token>//|[-+*%(),]|[^\s+*/%(),-]+|$)")
_UNKNOWN = re.compile(r"\?(?:[1-9][0-9]{0,8}|[a-z]{1,4})\Z")
_MOST_DIGITS = 19
_LONGEST = 2000
_DEEPEST = 50
_HINT = "write names, integers, + - * // %, parentheses, min(a, b) and max(a, b), as in '2*seq + 1'"


def parse_polynomial(text: str) -> Polynomial:
    """Return what a text says, in normal form.

    Raises
    ------
    TypeMismatchError
        If it is no expression, or too large.

    Examples
    --------
    >>> parse_polynomial("seq*2+1").text
    '2*seq + 1'
    """
    if len(text) > _LONGEST:
        raise TypeMismatchError(f"sizes have at most {_LONGEST} characters, got {len(text)}: '{text[:40]}…'")
    parser = _Parser(text)
    try:
        result = parser.sum()
        if parser.token:
            parser.fail(f"{parser.token!r} is not expected")
    except TypeMismatchError as error:
        if str(error).startswith(repr(text)):
            raise
        raise TypeMismatchError(f"{text!r} is not a size: {error}") from error
    return result


class _Parser:
    """Recursive descent over tokens, one ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.end = 0
        self.depth = 0
        self.token = ""
        self.advance()

    def advance(self) -> str:
        """Return the token that is read, and look at the next."""
        read = self.token
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :].lstrip()
            self.start = len(self.text) - len(rest)
            self.fail(f"{rest[:1]!r} is not expected")
        else:
            self.token, self.start, self.end = match["token"], match.start("token"), match.end()
        return read

    def fail(self, reason: str) -> None:
        where = "at its end" if not self.text[self.start :].strip() else f"at character {self.start + 1}"
        raise TypeMismatchError(f"{self.text!r} is not a size: {reason} {where}; {_HINT}")

    def sum(self) -> Polynomial:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"parentheses are more than {_DEEPEST} deep")
        result = self.product()
        while self.token in ("+", "-"):
            result = result + self.product() if self.advance() == "+" else result - self.product()
        self.depth -= 1
        return result

    def product(self) -> Polynomial:
        result = self.factor()
        while self.token in ("*", "//", "%"):
            sign, other = self.advance(), self.factor()
            whole = result * other if sign == "*" else divided(result, other)
            result = result - whole * other if sign == "%" else whole
        return result

    def factor(self) -> Polynomial:
        negative = False
        while self.token in ("+", "-"):
            negative ^= self.advance() == "-"
        result = self.part()
        return -result if negative else result

    def part(self) -> Polynomial:
        if self.token == "(":
            (result,) = self.arguments(1)
            return result
        if self.token.isdecimal() and self.token.isascii():
            if len(self.token) > _MOST_DIGITS:
                self.fail(f"a number has more than {_MOST_DIGITS} digits")
            return Polynomial.constant(int(self.advance()))
        if not (self.token.isidentifier() or _UNKNOWN.match(self.token)):
            self.fail(f"{self.token!r} is no name" if self.token else "a size is missing")
        name = self.advance()
        if name in ("min", "max") and self.token == "(":
            return extreme(name, self.arguments(None))
        return Polynomial.symbol(name)

    def arguments(self, count: int | None) -> list[Polynomial]:
        """Return what stands in parentheses, separated by commas."""
        self.advance()
        found = [self.sum()]
        while self.token == "," and len(found) != count:
            self.advance()
            found.append(self.sum())
        if self.token != ")":
            self.fail("a ')' is missing" if not self.token else f"{self.token!r} is not expected")
        self.advance()
        return found
