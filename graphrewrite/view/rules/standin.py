"""The replacement of a rule as a picture shows it: what its function returns on symbols, tests answered in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphrewrite.rewriting.pattern import PatternNode
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.replacement import NOTHING, Declined
from graphrewrite.rewriting.rule.symbolic_run import NotDeterminedError, SymbolicRun

__all__ = ["Replacement", "replacement_of"]

_TESTS = 6
"""Of so many tests all outcomes are tried."""


@dataclass(frozen=True)
class Replacement:
    """What a rule returns.

    Attributes
    ----------
    terms : tuple of term
        One for each value that is replaced, or `graphrewrite.rewriting.rule.replacement.NOTHING`.
    guessed : bool
        Whether another match could give something else.
    """

    terms: tuple[Any, ...]
    guessed: bool


def replacement_of(rule: Rule) -> Replacement | None:
    """Run what stands below a rule's yield on stand-ins.

    Returns
    -------
    Replacement or None
        What is returned when few tests hold, and optional operands are there if that does; None where the function
        needs what only a match tells.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> replacement_of(drop_double_negation)
    Replacement(terms=(x,), guessed=False)
    """
    optional = any(v.optional for v in rule.pattern.variables)
    for has_optional in (True, False) if optional else (True,):
        for tests in range(_TESTS):
            for number in range(2**tests):
                answers = [bool(number >> i & 1) for i in range(tests)]
                run = SymbolicRun(rule.pattern, answers=answers, has_optional=has_optional)
                try:
                    terms = _terms(run, rule.function)
                except NotDeterminedError:  # it asks more than is foreseen
                    continue
                except Exception:  # what a rule does with real values only is not for a sketch
                    return None
                if terms is not None and not run.answers:
                    return Replacement(terms, run.is_guess or optional)
    return None


def _terms(run: SymbolicRun, function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """The terms that a rule returns; None if it declines."""
    returned = run.returned(function)
    values = _flat(returned)
    wanted = sum(root.results if isinstance(root, PatternNode) else 1 for root in run.pattern.roots)
    if isinstance(returned, Declined) or any(value is None for value in values):
        return None
    return tuple(map(run.term, values)) if len(values) == wanted or returned is NOTHING else None


def _flat(returned: Any) -> list[Any]:
    """All values of a replacement in a row; a list is what replaces a group."""
    if isinstance(returned, tuple | list):
        return [value for part in returned for value in _flat(part)]
    return [returned]
