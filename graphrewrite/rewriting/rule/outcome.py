"""What a rule returns instead of a replacement: a refusal with its reason, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrewrite.rewriting.match import MatchedValue

__all__ = ["NOTHING", "Declined", "decline"]


@dataclass(frozen=True)
class Declined:
    """A rule's refusal of a match, with the reason."""

    reason: str
    at: str | None = None


def decline(reason: str, *, at: Any = None) -> Declined:
    """Refuse a match for a reason; ``return decline(...)`` below the yield of a rule.

    Parameters
    ----------
    reason : str
        Shown by `Rule.explain`.
    at : matched node or value, optional
        The node to which the reason applies.

    Examples
    --------
    >>> decline("grouped convolutions keep their norm")
    Declined(reason='grouped convolutions keep their norm', at=None)
    """
    return Declined(reason, at.node if isinstance(at, MatchedValue) else at)


class _Nothing:
    """Returned by a rule for nodes that are removed without a replacement, because nothing reads them."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
