"""A condition that asks what is known of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import RuleError

if TYPE_CHECKING:
    from graphrewrite.rewriting.facts.analysis import Analysis

__all__ = ["Predicate"]


class Predicate:
    """A condition on a matched value: certainly true of it, as far as an analysis knows.

    ``rule.where(nonnegative)`` requires it in a pattern, ``nonnegative(x)`` asks below the yield, where
    ``rule.decline(nonnegative.lacking(x), at=x)`` says what is missing.

    Attributes
    ----------
    reason : str
        The condition in words.
    unless : callable, optional
        Tells of a value, at less cost than its fact, that the condition does not hold.
    """

    looks_around = True

    def __init__(
        self,
        analysis: Analysis[Any],
        holds: Callable[[Any], Any],
        reason: str,
        lacking: Callable[[Any], str] | None = None,
        unless: Callable[[Any], bool] | None = None,
    ) -> None:
        self.analysis, self.holds, self.reason, self._lacking = analysis, holds, reason, lacking
        self.unless = unless

    def __call__(self, value: Any) -> bool:
        """Tell whether the condition certainly holds for a matched value."""
        if self.unless is not None and hasattr(value, "fact") and self.unless(value):
            return False
        return bool(self.holds(self._fact(value)))

    def lacking(self, value: Any) -> str:
        """Return what is missing for the condition to hold, in words."""
        fact = self._fact(value)
        return f"does not meet: {self.reason}; known is {fact}" if self._lacking is None else self._lacking(fact)

    def _fact(self, value: Any) -> Any:
        if not hasattr(value, "fact"):
            raise RuleError(
                f"asks whether {self.reason} of {value!r}, of which nothing is known: only matched values have facts"
            )
        return value.fact(self.analysis)

    def __repr__(self) -> str:
        return f"<{self.reason}>"
