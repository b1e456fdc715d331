"""A match of a rule, as users see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.rewriting.match.results import UnitMatches
from graphrewrite.rewriting.pattern import Every, Repeated, Result

__all__ = ["Match", "Root"]

Root = tuple[str, int | None]
"""A node whose value is replaced, and which result; None for all of them."""


@dataclass(frozen=True, repr=False)
class Match:
    """An embedding of a rule's pattern: a site at which the rule applies.

    Attributes
    ----------
    rule : Rule
        The rule.
    images : tuple
        For each of ``rule.pattern.terms`` a name, an `Operand`, `UnitMatches`, or None where it is not there.
    values : tuple
        The binding of each parameter of the rule.
    """

    rule: Any
    images: tuple[Any, ...]
    values: tuple[Any, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All matched nodes, in the order of the terms in the rule's source."""
        names: list[str] = []
        for image in self.images:
            if isinstance(image, str):
                names.append(image)
            elif isinstance(image, UnitMatches):
                names += [name for unit in image.nodes for name in unit]
        return tuple(dict.fromkeys(names))

    @property
    def fits(self) -> dict[Any, Any]:
        """Terms of the pattern, each with its match."""
        return {t: image for t, image in zip(self.rule.pattern.terms, self.images, strict=True) if image is not None}

    @property
    def bindings(self) -> dict[str, Any]:
        """Variable name to `Operand`, a tuple of them, an attribute's value, or None if it is unbound."""
        return {v.name: value for v, value in zip(self.rule.pattern.variables, self.values, strict=True)}

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes whose values are replaced."""
        return tuple(dict.fromkeys(node for group in self.replaced() for node, _ in group))

    def replaced(self, graph: Graph | None = None) -> list[list[Root]]:
        """Return for each root of the pattern its nodes, and which of their results are replaced.

        Of some roots only the graph knows how many results they have.
        """
        pattern = self.rule.pattern
        images = dict(zip(map(id, pattern.terms), self.images, strict=True))
        roots: list[list[Root]] = []
        for root in pattern.roots:
            match root:
                case Result():
                    roots.append([(images[id(root.node)], root.index)])
                case Repeated():
                    roots.append([(images[id(root)].tops[-1], None)])
                case Every():
                    roots.append([(top, None) for top in images[id(root)].tops])
                case _:
                    node, number = images[id(root)], root.results
                    if root.is_open and graph is not None:
                        number = graph.op(node).number_of_results(graph.attributes(node))
                    roots.append([(node, i) for i in range(number)] if number > 1 else [(node, None)])
        return roots

    def __repr__(self) -> str:
        return f"<match: {self}>"

    def __str__(self) -> str:
        pattern = self.rule.pattern
        # Variables of negated terms, and of alternatives that were not taken, are unbound.
        shown = [
            f"{variable.name}={_shown(value)}"
            for variable, kind, value in zip(pattern.variables, pattern.kinds, self.values, strict=True)
            if value is not None or variable.optional or kind == "attribute"
        ]
        site = f"{self.rule.name} at {', '.join(map(_printable, self.roots))}"
        return f"{site} with {', '.join(shown)}" if shown else site


def _shown(value: Any) -> str:
    if isinstance(value, Operand):
        return f"{_printable(value.node)}:{value.result}" if value.result else _printable(value.node)
    if isinstance(value, tuple) and any(isinstance(v, Operand) for v in value):
        return f"({', '.join(map(_shown, value))})"
    return repr(value)


def _printable(name: str) -> str:
    """Return a name, escaped if it holds control characters: a terminal would obey them."""
    return name if name.isprintable() else repr(name)
