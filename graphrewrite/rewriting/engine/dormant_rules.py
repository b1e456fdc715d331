"""Dormant rules: those that can match nowhere yet, for the graph has no node of a type that they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphrewrite.rewriting.engine.members import PatternRule

__all__ = ["DormantRules"]


class DormantRules:
    """Rules that wait until the graph has nodes of all types that their patterns need.

    A graph has few of the library's ops, and so most rules of a large set are never prepared, indexed or tried.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def r(x):
    ...     yield op.abs(op.neg(x))
    ...     return op.abs(x)
    >>> dormant = DormantRules([r])
    >>> dormant.woken_by(["abs", "exp"]), dormant.woken_by(["neg"])
    ([], [<rule r>])
    """

    def __init__(self, rules: Sequence[PatternRule]) -> None:
        self.rules = list(rules)
        self.present: set[str] = set()

    def woken_by(self, kinds: Iterable[str]) -> list[PatternRule]:
        """Return the rules that may match now that there are nodes of some types; these no longer wait."""
        present = self.present.union(kinds)
        if len(present) == len(self.present):
            return []
        self.present = present
        woken: list[PatternRule] = []
        asleep: list[PatternRule] = []
        for rule in self.rules:
            (asleep if any(map(present.isdisjoint, rule.pattern.needed)) else woken).append(rule)
        self.rules = asleep
        return woken
