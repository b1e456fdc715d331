"""Decisions of code that asks for numbers that are not known: each takes the path at hand one way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import z3

from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.rounding import subterms
from graphrewrite.testing.proof.sign import opposite

__all__ = [
    "INPUTS",
    "SYMBOLS",
    "Answers",
    "Decision",
    "SymbolPath",
    "decided",
    "names_in",
    "on_path",
    "pinned",
    "reach",
    "variables_in",
]

_GREATEST = 4096
"""Greatest number that is looked at as one value: sizes of arrays and numbers of steps may follow from it."""


class Answers(Protocol):
    """A path that answers conditions on inputs."""

    def answer(self, condition: Any) -> bool:
        """Return the truth of a condition on this path."""


@dataclass(frozen=True)
class Decision:
    """A condition that holds on a path.

    Attributes
    ----------
    condition : z3.BoolRef
        What holds.
    is_value : bool
        Whether code had to know a number, which has one value on this path.
    """

    condition: Any
    is_value: bool = False


class SymbolPath:
    """One path through the code of a rule, and of its ops, as far as attributes and constants decide.

    Parameters
    ----------
    model : mapping of str to int
        Values of the symbols that take this path.
    widths : mapping of str to int
        Bits of each symbol.

    Attributes
    ----------
    decisions : list of Decision
        What was asked, in order.
    """

    def __init__(self, model: Mapping[str, int], widths: Mapping[str, int]) -> None:
        self.model, self.decisions = dict(model), list[Decision]()
        self._values = {n: (z3.BitVec(n, widths[n]), z3.BitVecVal(v, widths[n])) for n, v in model.items()}
        self._known: dict[int, tuple[Any, bool]] = {}
        self._reach: dict[str, tuple[int, int]] = {}

    @property
    def conditions(self) -> list[Any]:
        """All that holds on this path."""
        return [each.condition for each in self.decisions]

    def knows(self, condition: Any) -> bool:
        """Tell whether a term depends on symbols alone."""
        return names_in([condition]) <= self.model.keys()

    def value(self, term: Any) -> Any:
        """Return the value of a term on this path."""
        # Of its own symbols only: of a large constant, each entry is asked for.
        return z3.simplify(z3.substitute(term, *(self._values[n] for n in names_in([term]) if n in self._values)))

    def decide(self, condition: Any, *, is_value: bool = False) -> bool:
        """Return the truth of a condition for the symbols' values, and keep it."""
        plain = z3.simplify(condition)
        if z3.is_true(plain) or z3.is_false(plain):
            return bool(z3.is_true(plain))
        if plain.get_id() in self._known:
            return self._known[plain.get_id()][1]
        answer = bool(z3.is_true(self.value(plain)))
        self._known[plain.get_id()] = plain, answer  # which keeps its id from being reused
        self.decisions.append(Decision(condition if answer else opposite(condition), is_value))
        return answer

    def narrow(self, name: str, low: int, high: int) -> None:
        """Keep the bounds of a symbol on this path."""
        self._reach[name] = low, high

    def reach(self, name: str, low: int, high: int) -> tuple[int, int]:
        """Return the bounds of a symbol."""
        return self._reach.get(name, (low, high))


INPUTS: ContextVar[Answers | None] = ContextVar("INPUTS", default=None)
"""The path through an op, as far as inputs decide it."""
SYMBOLS: ContextVar[SymbolPath | None] = ContextVar("SYMBOLS", default=None)
"""The path through a rule."""


@contextmanager
def on_path(path: SymbolPath) -> Iterator[None]:
    """Let code take a path."""
    token = SYMBOLS.set(path)
    try:
        yield
    finally:
        SYMBOLS.reset(token)


def variables_in(terms: Sequence[Any]) -> dict[str, Any]:
    """Return the variables in some terms, by name, in the order in which they appear."""
    found: dict[str, Any] = {}
    for term in subterms(terms):
        if not term.num_args() and (called := term.decl()).kind() == z3.Z3_OP_UNINTERPRETED:
            found[called.name()] = term
    return found


def names_in(terms: Sequence[Any]) -> set[str]:
    """Return the names of the variables in some terms."""
    return set(variables_in(terms))


def decided(condition: Any) -> bool:
    """Return the truth of a condition; if it depends on the input, that of the current path."""
    if isinstance(condition, bool):
        return condition
    symbols, inputs = SYMBOLS.get(), INPUTS.get()
    if symbols is not None and symbols.knows(condition):
        return symbols.decide(condition)
    if inputs is None:
        raise Untranslatable("an `if` depends on the input")
    return inputs.answer(condition)


def pinned(number: Number) -> int:
    """Return the value of a number on the current path, which goes on with this value alone."""
    number.check()
    if number.is_known:
        return int(number.value)
    path = SYMBOLS.get()
    if path is None or number.is_infinite or number.point > 0 or not path.knows(number.term):
        raise Untranslatable("it needs to know a number that depends on the input, so that it is not one formula")
    whole = number.at_point(0)
    value = int(path.value(whole.term).as_signed_long())
    if abs(value) > _GREATEST:
        raise Untranslatable(f"it needs to know a number, which may be {value:,}")
    path.decide(whole.term == value, is_value=True)
    return value


def reach(name: str, low: int, high: int) -> tuple[int, int]:
    """Return the bounds of a symbol on the current path."""
    path = SYMBOLS.get()
    return (low, high) if path is None else path.reach(name, low, high)
