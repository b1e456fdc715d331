"""Imports of rules, rule sets and ops."""

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
    """An import of something in a test.

    Attributes
    ----------
    name : str
        Its name in the test.
    lines : tuple of str
        Code that defines the name: an import, a comment if nothing can be imported, a tuple of imported names.
    """

    name: str
    lines: tuple[str, ...]


def origin_of(thing: Any) -> Origin:
    """Return the import of a rule, a pass, a function, an op, or a tuple of them.

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
    imported = _imported(thing)
    if imported is not None:
        return imported
    if isinstance(thing, Iterable) and not hasattr(thing, "__name__") and not hasattr(thing, "phases"):
        members = [origin_of(member) for member in members_of(thing)]
        lines = [line for line in dict.fromkeys(line for each in members for line in each.lines) if line]
        names = ", ".join(each.name for each in members) + ("," if len(members) == 1 else "")
        return Origin("RULES", (*lines, "", f"RULES = ({names})"))
    name = str(getattr(thing, "name", None) or getattr(thing, "__name__", None) or "transformation")
    name = name if name.isidentifier() else "transformation"
    return Origin(name, (f"# {name}: {place_of(thing) or 'made while the program ran'}; import it here",))


def _imported(thing: Any) -> Origin | None:
    """Return the import of a global of a module: of the module that defines it, else of one that exports it."""
    made_by = getattr(thing, "function", thing)
    own = getattr(made_by, "__module__", None) if hasattr(made_by, "__qualname__") else None
    for modules in ([own] if isinstance(own, str) else [], list(sys.modules)):  # a tuple has no module
        holders = [(name, module) for module in modules for name in _names_in(module, thing)]
        if holders:
            name, module = min(holders, key=_rank)
            return Origin(name, (f"from {module} import {name}",))
    return None


def _names_in(module: str, thing: Any) -> list[str]:
    """Return the names of an object in a module."""
    if module == "__main__" or module.startswith("_"):
        return []
    space = getattr(sys.modules.get(module), "__dict__", {})
    return [name for name, value in list(space.items()) if value is thing and name.isidentifier() and name[:2] != "__"]


def _rank(holder: tuple[str, str]) -> tuple[bool, int, str, str]:
    name, module = holder
    offered = name in getattr(sys.modules[module], "__all__", ())
    return not offered, module.count("."), module, name
