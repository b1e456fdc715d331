"""Exploration of a rule's code: which paths it takes, depending on symbols, and for which values.

A run follows the path of some values of the symbols, and keeps what was asked on it. Each answer turned round leads to
other values, and these to the next path (Godefroid, Klarlund and Sen 2005, "DART").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import z3

from graphrewrite.testing.proof.decisions import SymbolPath, names_in, on_path
from graphrewrite.testing.proof.refusal import Untranslatable, attentive
from graphrewrite.testing.proof.sign import opposite
from graphrewrite.testing.proof.solver import Question

__all__ = ["Exploration"]

Outcome = TypeVar("Outcome")
_EFFORT = 300_000
"""z3's units of work for the values of one path."""
_RUNS = 120
"""Maximum number of paths, those included that do not count."""


@dataclass(frozen=True)
class _Turn:
    """A path that is not run yet: conditions, of which the last one is turned round."""

    conditions: Sequence[Any]
    is_value: bool


@dataclass
class Exploration(Generic[Outcome]):
    """All paths through some code, or as many as are asked for.

    Parameters
    ----------
    run : callable
        Runs the code on a path; an `Untranslatable` leaves the values of that path open.
    model : mapping of str to int
        Values of the symbols that are tried first.
    widths : mapping of str to int
        Bits of each symbol.
    constraints : sequence of z3.BoolRef
        What holds of the symbols.
    most : int
        Maximum number of paths that count.

    Attributes
    ----------
    count : int
        Number of paths that count: who looks at them takes off those that cost nothing.
    open : dict of str to str
        Symbols for which not all values are looked at, each with the reason.
    """

    run: Callable[[SymbolPath], Outcome]
    model: Mapping[str, int]
    widths: Mapping[str, int]
    constraints: Sequence[Any]
    most: int
    open: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def __iter__(self) -> Iterator[tuple[SymbolPath, Outcome]]:
        # Values that had to be known come last: there may be many.
        branches: deque[_Turn] = deque()
        values: deque[_Turn] = deque()
        model: Mapping[str, int] | None = self.model
        given: Sequence[Any] = ()
        runs = 0
        while True:
            if model is not None:
                self.count, runs = self.count + 1, runs + 1
                path = SymbolPath(model, self.widths)
                try:
                    with on_path(path), attentive():
                        outcome = self.run(path)
                except Untranslatable as error:
                    self.leave(path.conditions, str(error))
                else:
                    yield path, outcome
                # What was given splits into this path and those that leave it at one of its decisions: none is lost,
                # whatever is asked on it.
                settled = {condition.get_id() for condition in given}
                for i, each in enumerate(path.decisions):
                    if each.condition.get_id() not in settled:
                        turned = _Turn((*given, *path.conditions[:i], opposite(each.condition)), each.is_value)
                        (values if each.is_value else branches).append(turned)
            if not branches and not values:
                return
            turn = (branches or values).popleft()
            answer = Question(self.constraints, z3.And(turn.conditions), effort=_EFFORT).some(self.widths)
            model, given = None, turn.conditions
            if answer.verdict == "never":
                continue
            is_enough = self.count >= self.most or runs >= _RUNS
            if answer.verdict == "unknown" or is_enough:
                self.leave(turn.conditions[-1:], "not every path of its code is followed")
                if is_enough and names_in([t.conditions[-1] for t in (*branches, *values)]) <= self.open.keys():
                    return
                continue
            model = answer.values

    def leave(self, conditions: Sequence[Any], why: str) -> None:
        """Leave the symbols of some conditions open, or all, for a reason."""
        for name in sorted(names_in(conditions) & self.widths.keys()) or sorted(self.widths):
            self.open.setdefault(name, why)
