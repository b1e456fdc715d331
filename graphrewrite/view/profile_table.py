"""A profile of rules as a table."""

from __future__ import annotations

from graphrewrite.rewriting.profile import HEAD, Profile
from graphrewrite.view.display import Display
from graphrewrite.view.table import Table

__all__ = ["show_profile"]


def show_profile(profile: Profile) -> Display:
    """Return the table of a profile, with the reasons of rules that declined."""
    reasons = (
        "; ".join(f"{count} times: {reason}" for reason, count in rule.declined.most_common())
        for rule in profile.values()
    )
    rows = tuple((*map(str, row), reason) for row, reason in zip(profile.rows, reasons, strict=True))
    table = Table((*HEAD, "declined because"), rows, frozenset(range(1, len(HEAD))))
    return Display(table, str(profile), template="table.html", title="what each rule did")
