"""Ops whose code branches on unknown numbers: all paths are followed, and their results are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import z3

from graphrewrite.testing.proof.array import SymbolicArray
from graphrewrite.testing.proof.choice import choice
from graphrewrite.testing.proof.decisions import INPUTS
from graphrewrite.testing.proof.refusal import Raised, Untranslatable, attentive

__all__ = ["followed"]

_MOST = 16
"""Maximum number of paths through one op."""


class _Path:
    def __init__(self, answers: tuple[bool, ...]) -> None:
        self.answers, self.conditions = answers, list[Any]()

    def answer(self, condition: Any) -> bool:
        index = len(self.conditions)
        self.conditions.append(condition)
        if index >= len(self.answers):
            self.answers = (*self.answers, True)
        return self.answers[index]


def followed(function: Callable[[], tuple[Any, ...]], possible: Callable[[Any], bool]) -> tuple[SymbolicArray, ...]:
    """Return the result of a function, merged over all paths through its code.

    Raises
    ------
    Untranslatable
        If there are too many paths, one of them raises, or they return arrays of different types.
    """
    ends: list[tuple[Any, tuple[SymbolicArray, ...]]] = []
    open_: list[tuple[bool, ...]] = [()]
    while open_:
        if len(ends) >= _MOST:
            raise Untranslatable(f"its code takes more than {_MOST} paths, depending on the input")
        path = _Path(open_.pop())
        answered = len(path.answers)
        token = INPUTS.set(path)
        try:
            with attentive():
                results = tuple(map(SymbolicArray.of, function()))
        except Untranslatable:
            raise
        except Exception as error:
            if path.conditions and not possible(_all(path)):
                continue  # no input takes this path
            kind = Untranslatable if path.conditions else Raised
            raise kind(f"it raises {type(error).__name__}: {error}") from error
        finally:
            INPUTS.reset(token)
            open_ += [(*path.answers[:i], False) for i in range(answered, len(path.conditions))]
        ends.append((_all(path), results))
    return _merged(ends)


def _all(path: _Path) -> Any:
    conditions = [c if yes else z3.Not(c) for c, yes in zip(path.conditions, path.answers, strict=False)]
    return z3.And(conditions) if conditions else True


def _merged(ends: list[tuple[Any, tuple[SymbolicArray, ...]]]) -> tuple[SymbolicArray, ...]:
    (_, first), *others = ends
    for condition, results in others:
        if [(r.dtype, r.shape) for r in results] != [(r.dtype, r.shape) for r in first]:
            raise Untranslatable("the type of its result depends on the input")
        join = np.frompyfunc(lambda yes, no, condition=condition: choice(condition, yes, no), 2, 1)
        first = tuple(SymbolicArray(join(a.entries, b.entries), a.dtype) for a, b in zip(results, first, strict=True))
    return first
