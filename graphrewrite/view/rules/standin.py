"""The replacement of a rule for pictures: the result of its function on symbols, with tests answered in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphrewrite.rewriting.pattern import PatternNode
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.outcome import NOTHING, Declined
from graphrewrite.rewriting.rule.symbolic_run import NotDeterminedError, SymbolicRun

__all__ = ["Replacement", "replacement_of"]

_TESTS = 6
"""All outcomes of up to so many tests are tried."""


@dataclass(frozen=True)
class Replacement:
    """The result of a rule's function.

    Attributes
    ----------
    terms : tuple of term
        One for each value that is replaced, or `graphrewrite.rewriting.rule.outcome.NOTHING`.
    guessed : bool
        Whether another match could give something else.
    """

    terms: tuple[Any, ...]
    guessed: bool


def replacement_of(rule: Rule) -> Replacement | None:
    """Run the part below a rule's yield on symbols.

    Returns
    -------
    Replacement or None
        The result when few tests hold, with optional operands if that is possible; None where the function needs values
        of a match.

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
    # The fewest tests first, and among these the fewest that hold: the plainest result is drawn.
    optional = any(v.optional for v in rule.pattern.variables)
    for has_optional in (True, False) if optional else (True,):
        for tests in range(_TESTS):
            for number in range(2**tests):
                answers = [bool(number >> i & 1) for i in range(tests)]
                run = SymbolicRun(rule.pattern, answers=answers, has_optional=has_optional)
                try:
                    terms = _terms(run, rule.function)
                except NotDeterminedError:  # it makes more tests than there are answers
                    continue
                except Exception:  # code for values of a match may fail in any way on symbols
                    return None
                if terms is not None and not run.answers:
                    return Replacement(terms, run.is_guess or optional)
    return None


def _terms(run: SymbolicRun, function: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Return the terms that a rule returns; None if it declines."""
    returned = run.returned(function)
    values = _flat(returned)
    wanted = sum(root.results if isinstance(root, PatternNode) else 1 for root in run.pattern.roots)
    if isinstance(returned, Declined) or any(value is None for value in values):
        return None
    return tuple(map(run.term, values)) if len(values) == wanted or returned is NOTHING else None


def _flat(returned: Any) -> list[Any]:
    """Return all values of a replacement in a row; those of a group are in a list."""
    if isinstance(returned, tuple | list):
        return [value for part in returned for value in _flat(part)]
    return [returned]
