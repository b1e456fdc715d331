"""Calls of ops by the order of their arguments, printed and read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphrewrite.errors import SerialError, TypeMismatchError, did_you_mean

__all__ = ["KINDS", "OrderedCall", "check_kinds", "without_ends"]

KINDS = ("inputs", "outputs", "floats", "integers", "booleans", "types", "strings", "others")
"""Kinds of arguments; each has places of its own, counted from 0."""


@dataclass(frozen=True)
class OrderedCall:
    """A call of an op by the order of its arguments; None stands for one that is left out before others.

    Attributes
    ----------
    op : str
        The op's name.
    values : mapping of str to tuple
        For each kind of `KINDS` that has any, the values in order.

    Examples
    --------
    >>> call = OrderedCall("conv", {"inputs": ("x", "w"), "integers": ((2, 2), None, 1)})
    >>> print(call)
    conv(inputs=("x", "w"), integers=((2, 2), None, 1))
    >>> OrderedCall.parse(str(call)) == call
    True
    """

    op: str
    values: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        check_kinds(self.values)
        # Ends of missing values say nothing, and neither does the order of kinds.
        kept = {kind: without_ends(map(_frozen, self.values[kind])) for kind in KINDS if kind in self.values}
        object.__setattr__(self, "values", MappingProxyType({kind: found for kind, found in kept.items() if found}))

    def __str__(self) -> str:
        parts = (f"{kind}={_shown(values)}" for kind, values in self.values.items())
        return f"{self.op}({', '.join(parts)})"

    @classmethod
    def parse(cls, text: str) -> OrderedCall:
        """Read a call as it is printed.

        Raises
        ------
        SerialError
            If the text is no call; says at which character.
        """
        reader = _Reader(text)
        call = cls(reader.name(), reader.values())
        reader.end()
        return call


def check_kinds(kinds: Iterable[str]) -> None:
    """Raise if there are no arguments of a kind."""
    for kind in kinds:
        if kind not in KINDS:
            near = did_you_mean(str(kind), KINDS)
            raise TypeMismatchError(f"no arguments are of kind {kind!r}{near}; kinds: {', '.join(KINDS)}")


def without_ends(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values without those that are missing at the end."""
    kept = list(values)
    while kept and kept[-1] is None:
        kept.pop()
    return tuple(kept)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, tuple | list) else value


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    raise SerialError(
        f"a call is printed with numbers, strings and tuples of them, not {type(value).__name__}", path=""
    )


class _Reader:
    """Reads the text of a call."""

    TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[-+]?[\w.]+(?:(?<=[eE])[-+]\d+)?|[(),=])')
    NAMES = MappingProxyType({"None": None, "True": True, "False": False})

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def peek(self) -> str:
        found = self.TOKEN.match(self.text, self.at)
        return found.group(1) if found else ""

    def take(self, expected: str = "") -> str:
        found = self.TOKEN.match(self.text, self.at)
        token = found.group(1) if found else ""
        if not token or (expected and token != expected):
            got = repr(token) if token else "the end" if not self.text[self.at :].strip() else repr(self.text[self.at])
            raise SerialError(f"expected {expected or 'a value'!s}, got {got}", path=f"character {self.at + 1}")
        assert found is not None
        self.at = found.end()
        return token

    def name(self) -> str:
        name = self.take()
        if not re.fullmatch(r"[\w.]+", name):
            raise SerialError(f"expected the name of an op, got {name!r}", path="character 1")
        return name

    def values(self) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        self.take("(")
        while self.peek() != ")":
            start, kind = self.at, self.take()
            if kind in found:
                raise SerialError(f"{kind} stands there twice", path=f"character {start + 1}")
            self.take("=")
            value = self.value()
            found[kind] = value if isinstance(value, tuple) else (value,)
            if self.peek() != ")":
                self.take(",")
        self.take(")")
        return found

    def value(self) -> Any:
        start, token = self.at, self.take()
        if token == "(":
            entries = []
            while self.peek() != ")":
                entries.append(self.value())
                if self.peek() != ")":
                    self.take(",")
            self.take(")")
            return tuple(entries)
        if token[0] == '"':
            return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m.group(1), m.group(1)), token[1:-1])
        if token in self.NAMES:
            return self.NAMES[token]
        for number in (int, float):
            try:
                return number(token)
            except ValueError:
                continue
        raise SerialError(f"expected a number, a string or a tuple, got {token!r}", path=f"character {start + 1}")

    def end(self) -> None:
        if self.text[self.at :].strip():
            raise SerialError("expected the end of the call", path=f"character {self.at + 1}")
