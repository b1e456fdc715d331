"""Profiles: counts of the tries, matches and refusals of each rule of a set, with reasons and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.runtime.display import Displayed

__all__ = ["HEAD", "Profile", "RuleProfile"]

HEAD = ("rule", "tried", "matched", "declined", "fired", "µs/try")
"""Columns of `Profile.rows`."""


@dataclass
class RuleProfile:
    """Counts and times of one rule.

    Attributes
    ----------
    tried : int
        Tries at nodes of its root's type.
    matched : int
        Matches.
    declined : Counter
        Refused matches, by reason.
    fired : int
        Applications.
    seconds : float
        Time of all of this.
    """

    tried: int = 0
    matched: int = 0
    declined: Counter[str] = field(default_factory=Counter)
    fired: int = 0
    seconds: float = 0.0

    @property
    def microseconds(self) -> float:
        """Time of one try, in µs."""
        return self.seconds / self.tried * 1e6 if self.tried else 0.0


class Profile(Displayed, dict[str, RuleProfile], shown_by="profile_table.show_profile"):
    """Rule name to counts and times, in the order of the set.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule, trace
    >>> @rule
    ... def drop_identity(x):
    ...     yield op.identity(x)
    ...     return x
    >>> @rule
    ... def drop_double_negation(x):
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... i = identity(x)
    ... y = output(i)''')
    >>> found = trace(g, [drop_identity, drop_double_negation]).profile
    >>> found["drop_identity"].fired, found.never_met, found.dead
    (1, ('drop_double_negation',), ('drop_double_negation',))
    >>> found
    <profile: 2 rules, 1 step>
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__((name, RuleProfile()) for name in names)

    @property
    def never_met(self) -> tuple[str, ...]:
        """Rules that were never tried: no node has the type of their root."""
        return tuple(name for name, profile in self.items() if not profile.tried)

    @property
    def dead(self) -> tuple[str, ...]:
        """Rules that never fired."""
        return tuple(name for name, profile in self.items() if not profile.fired)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Name, tried, matched, declined, fired and microseconds a try of each rule."""
        return [
            (name, p.tried, p.matched, sum(p.declined.values()), p.fired, round(p.microseconds, 1))
            for name, p in self.items()
        ]

    def __repr__(self) -> str:
        fired = sum(profile.fired for profile in self.values())
        rules, steps = ("rule" if len(self) == 1 else "rules"), ("step" if fired == 1 else "steps")
        return f"<profile: {len(self)} {rules}, {fired} {steps}>"

    def __str__(self) -> str:
        table = [tuple(map(str, row)) for row in (HEAD, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in table
        ]
        for name, profile in self.items():
            lines += [f"{name} declined {count} times: {reason}" for reason, count in profile.declined.most_common()]
        return "\n".join(line.rstrip() for line in lines)
