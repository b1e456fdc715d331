"""Where a rule, a rule set or an op can be imported from."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from graphrewrite.testing.failure.culprit import members_of
from graphrewrite.view.source import place_of

__all__ = ["Origin", "origin_of"]


@dataclass(frozen=True)
class Origin:
    """How a test gets hold of something.

    Attributes
    ----------
    name : str
        What it is called there.
    lines : tuple of str
        Code that makes the name known: an import, a comment where nothing can be imported, a tuple of what is imported.
    """

    name: str
    lines: tuple[str, ...]


def origin_of(thing: Any) -> Origin:
    """Return how a test gets hold of a rule, a pass, a function, an op, or a tuple of them.

    Examples
    --------
    >>> from graphrewrite.rules import RULES, drop_identity
    >>> origin_of(drop_identity)
    Origin(name='drop_identity', lines=('from graphrewrite.rules.identities import drop_identity',))
    >>> origin_of(RULES).lines
    ('from graphrewrite.rules import RULES',)
    >>> origin_of((drop_identity,)).lines[1:]
    ('', 'RULES = (drop_identity,)')
    """
    found = _imported(thing)
    if found is not None:
        return found
    if isinstance(thing, Iterable) and not hasattr(thing, "__name__") and not hasattr(thing, "phases"):
        members = [origin_of(member) for member in members_of(thing)]
        known = [line for line in dict.fromkeys(line for each in members for line in each.lines) if line]
        names = ", ".join(each.name for each in members) + ("," if len(members) == 1 else "")
        return Origin("RULES", (*known, "", f"RULES = ({names})"))
    name = str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or "transformation")
    name = name if name.isidentifier() else "transformation"
    return Origin(name, (f"# {name}: {place_of(thing) or 'made while the program ran'}; import it here",))


def _imported(thing: Any) -> Origin | None:
    """The import of something that is a global of a module: of that where it is made, else of one that offers it."""
    made_by = getattr(thing, "function", thing)
    own = getattr(made_by, "__module__", None) if hasattr(made_by, "__qualname__") else None
    for places in ([own] if isinstance(own, str) else [], list(sys.modules)):  # a tuple does not say where it was made
        holders = [(name, place) for place in places for name in _names_in(place, thing)]
        if holders:
            name, place = min(holders, key=_rank)
            return Origin(name, (f"from {place} import {name}",))
    return None


def _names_in(place: str, thing: Any) -> list[str]:
    """What a module calls something."""
    if place == "__main__" or place.startswith("_"):
        return []
    space = getattr(sys.modules.get(place), "__dict__", {})
    return [name for name, value in list(space.items()) if value is thing and name.isidentifier() and name[:2] != "__"]


def _rank(holder: tuple[str, str]) -> tuple[bool, int, str, str]:
    name, place = holder
    offered = name in getattr(sys.modules[place], "__all__", ())
    return not offered, place.count("."), place, name
