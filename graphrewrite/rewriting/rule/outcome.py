"""What a rule returns instead of a replacement: a refusal with its reason, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.rewriting.match import MatchedValue

__all__ = ["NOTHING", "Declined", "decline"]


@dataclass(frozen=True, repr=False)
class Declined:
    """A rule's refusal of a match, with the reason, of which what is told is put in where somebody reads it."""

    text: str
    at: str | None = None
    told: tuple[Any, ...] = ()

    @property
    def reason(self) -> str:
        """The reason."""
        return self.text.format(*self.told) if self.told else self.text

    def __repr__(self) -> str:
        return f"Declined(reason={self.reason!r}, at={self.at!r})"


def decline(reason: str, *told: Any, at: Any = None) -> Declined:
    """Refuse a match for a reason; ``return decline(...)`` below the yield of a rule.

    Parameters
    ----------
    reason : str
        Shown by `Rule.explain`.
    *told : object
        What takes the places of ``{}`` in the reason, as of `str.format`: put in where it is shown only, for most
        matches of a rule may be refused.
    at : matched node or value, optional
        The node to which the reason applies.

    Raises
    ------
    RuleError
        If the reason has no place for what is told.

    Examples
    --------
    >>> decline("grouped convolutions keep their norm")
    Declined(reason='grouped convolutions keep their norm', at=None)
    >>> decline("has {} groups", 4).reason
    'has 4 groups'
    """
    if told and "{" not in reason:
        raise RuleError(f"the reason {reason!r} has no {{}} for {told[0]!r}; where that is the node, write at=…")
    return Declined(reason, at.node if isinstance(at, MatchedValue) else at, told)


class _Nothing:
    """Returned by a rule for nodes that are removed without a replacement, because nothing reads them."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
