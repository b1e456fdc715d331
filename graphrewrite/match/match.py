"""A match of a rule, for people and programs to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrewrite.graph import Operand
from graphrewrite.match.found import Several
from graphrewrite.pattern import Every, Repeated, Result

__all__ = ["Match", "Root"]

Root = tuple[str, int | None]
"""A node whose value is replaced, and which result; None where it goes as a whole."""


@dataclass(frozen=True, repr=False)
class Match:
    """A place where a rule applies.

    Attributes
    ----------
    rule : Rule
        The rule.
    made : tuple
        What each term of ``rule.pattern.made`` is: a name, an `Operand`, `Several`, or None where it is not there.
    values : tuple
        What each parameter of the rule binds.
    """

    rule: Any
    made: tuple[Any, ...]
    values: tuple[Any, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All matched nodes, in the order in which the rule's source makes them."""
        found: list[str] = []
        for term in self.made:
            if isinstance(term, str):
                found.append(term)
            elif isinstance(term, Several):
                found += [name for names in term.nodes for name in names]
        return tuple(dict.fromkeys(found))

    @property
    def fits(self) -> dict[Any, Any]:
        """Terms of the pattern to what they are."""
        return {t: found for t, found in zip(self.rule.pattern.made, self.made, strict=True) if found is not None}

    @property
    def bindings(self) -> dict[str, Any]:
        """Variable name to `Operand`, a tuple of them, an attribute's value, or None for what is missing."""
        return {v.name: value for v, value in zip(self.rule.pattern.variables, self.values, strict=True)}

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes whose values are replaced."""
        return tuple(dict.fromkeys(node for group in self.replaced() for node, _ in group))

    def replaced(self) -> list[list[Root]]:
        """For each root of the pattern the nodes that it is, and which of their results."""
        pattern = self.rule.pattern
        at = dict(zip(map(id, pattern.made), self.made, strict=True))
        found: list[list[Root]] = []
        for root in pattern.roots:
            match root:
                case Result():
                    found.append([(at[id(root.node)], root.index)])
                case Repeated():
                    found.append([(at[id(root)].tops[-1], None)])
                case Every():
                    found.append([(top, None) for top in at[id(root)].tops])
                case _ if root.results > 1:
                    found.append([(at[id(root)], i) for i in range(root.results)])
                case _:
                    found.append([(at[id(root)], None)])
        return found

    def __repr__(self) -> str:
        return f"<match: {self}>"

    def __str__(self) -> str:
        pattern = self.rule.pattern
        # Of what must not be there, and of an alternative that was not taken, variables stand for nothing.
        shown = [
            f"{variable.name}={_shown(value)}"
            for variable, kind, value in zip(pattern.variables, pattern.kinds, self.values, strict=True)
            if value is not None or variable.optional or kind == "attribute"
        ]
        place = f"{self.rule.name} at {', '.join(map(_printable, self.roots))}"
        return f"{place} with {', '.join(shown)}" if shown else place


def _shown(value: Any) -> str:
    if isinstance(value, Operand):
        return f"{_printable(value.node)}:{value.result}" if value.result else _printable(value.node)
    if isinstance(value, tuple) and any(isinstance(v, Operand) for v in value):
        return f"({', '.join(map(_shown, value))})"
    return repr(value)


def _printable(name: str) -> str:
    """A name as it is, unless it holds what would steer a terminal."""
    return name if name.isprintable() else repr(name)
