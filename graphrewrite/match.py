"""Find a pattern in a graph: every embedding, and the reason where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from graphrewrite.graph import Graph, Operand
from graphrewrite.pattern import Literal, Pattern, PatternNode, Term, Variable

__all__ = ["Found", "Obstacle", "find_at"]

Goal = tuple[Term, Operand]


@dataclass(frozen=True)
class Found:
    """An embedding of a pattern.

    Attributes
    ----------
    nodes : tuple of str
        Node of the graph for each node of the pattern, in the pattern's order.
    bindings : dict
        Variable name to `Operand` or attribute value.
    """

    nodes: tuple[str, ...]
    bindings: dict[str, Any]


class Obstacle:
    """Keeps the reason that stopped the search furthest into the pattern."""

    def __init__(self) -> None:
        self.progress = -1
        self.reason = "nothing in the graph has the type of the pattern's root"
        self.node: str | None = None

    def note(self, progress: int, node: str, reason: str) -> None:
        """Remember a reason if the search came further than before."""
        if progress > self.progress:
            self.progress, self.node, self.reason = progress, node, reason


def find_at(
    pattern: Pattern, graph: Graph, root: str, *, shared: str = "refuse", obstacle: Obstacle | None = None
) -> Iterator[Found]:
    """Yield every embedding of a pattern whose first root is a given node, none twice.

    Parameters
    ----------
    pattern : Pattern
        What to look for.
    graph : Graph
        Where to look.
    root : str
        The node for the pattern's first root.
    shared : {"refuse", "keep"}
        What a reader outside the match does to a matched node that is no root.
    obstacle : Obstacle, optional
        Collects the reason why there is no embedding.

    Yields
    ------
    Found
    """
    search = _Search(pattern, graph, shared, obstacle or Obstacle())
    seen = set()
    for found in search.roots(0, root, {}, {}):
        key = (
            found.nodes,
            tuple((k, v if isinstance(v, Operand) else repr(v)) for k, v in sorted(found.bindings.items())),
        )
        if key not in seen:
            seen.add(key)
            yield found


class _Search:
    def __init__(self, pattern: Pattern, graph: Graph, shared: str, obstacle: Obstacle) -> None:
        self.pattern, self.graph, self.shared, self.obstacle = pattern, graph, shared, obstacle

    def roots(self, index: int, node: str, nodes: dict[PatternNode, str], bound: dict[str, Any]) -> Iterator[Found]:
        """Embed the root with that index at a node, then the roots behind it wherever they fit."""
        for more, bindings in self.solve([(self.pattern.roots[index], Operand(node))], nodes, bound):
            if index + 1 < len(self.pattern.roots):
                wanted = self.pattern.roots[index + 1].op.name
                for candidate in self.graph.in_order():
                    if self.graph.nodes[candidate].get("type") == wanted:
                        yield from self.roots(index + 1, candidate, more, bindings)
            elif self.nothing_lost(more):
                yield Found(tuple(more[n] for n in self.pattern.nodes), bindings)

    def solve(
        self, goals: list[Goal], nodes: dict[PatternNode, str], bound: dict[str, Any]
    ) -> Iterator[tuple[dict[PatternNode, str], dict[str, Any]]]:
        """Yield every way to meet all goals, extending the assignments made so far."""
        if not goals:
            yield nodes, bound
            return
        (term, value), rest = goals[0], goals[1:]
        if isinstance(term, PatternNode):
            yield from self.node(term, value, rest, nodes, bound)
        elif isinstance(term, Literal):
            if self.literal(term, value, len(nodes)):
                yield from self.solve(rest, nodes, bound)
        elif term.name in bound:
            if bound[term.name] == value:
                yield from self.solve(rest, nodes, bound)
            else:
                self.obstacle.note(
                    len(nodes),
                    value.node,
                    f"{term.name!r} is already bound to {bound[term.name].node!r}, and this is another value",
                )
        elif term.constant and self.graph.nodes[value.node].get("type") != "constant":
            self.obstacle.note(
                len(nodes),
                value.node,
                f"{term.name!r} must be a constant, and this is {self.graph.nodes[value.node].get('type')}",
            )
        else:
            yield from self.solve(rest, nodes, {**bound, term.name: value})

    def node(
        self, term: PatternNode, value: Operand, rest: list[Goal], nodes: dict[PatternNode, str], bound: dict[str, Any]
    ) -> Iterator[tuple[dict[PatternNode, str], dict[str, Any]]]:
        name, progress = value.node, len(nodes)
        if term in nodes:
            if nodes[term] == name:
                yield from self.solve(rest, nodes, bound)
            else:
                self.obstacle.note(
                    progress, name, f"the pattern needs the same {term.op.name} here as before, {nodes[term]!r}"
                )
            return
        kind = self.graph.nodes[name].get("type")
        if kind != term.op.name:
            self.obstacle.note(progress, name, f"is {kind}, and the pattern needs {term.op.name}")
            return
        if name in nodes.values():
            self.obstacle.note(progress, name, "is already matched by another node of the pattern")
            return
        bindings = self.attributes(term, name, bound, progress)
        if bindings is None:
            return
        operands = self.graph.operands(name)
        if len(operands) != len(term.operands):
            self.obstacle.note(
                progress, name, f"has {len(operands)} operands, and the pattern needs {len(term.operands)}"
            )
            return
        more = {**nodes, term: name}
        orders = [operands]
        if term.op.commutative:
            orders = list(dict.fromkeys((a, b, *operands[2:]) for a, b in permutations(operands[:2])))
        for order in orders:
            yield from self.solve([*zip(term.operands, order, strict=True), *rest], more, bindings)

    def attributes(self, term: PatternNode, name: str, bound: dict[str, Any], progress: int) -> dict[str, Any] | None:
        if not term.attributes:
            return bound
        actual = self.graph.attributes(name)
        bindings = dict(bound)
        for key, wanted in term.attributes.items():
            found = actual.get(key)
            if isinstance(wanted, Variable):
                if not same(bindings.setdefault(wanted.name, found), found):
                    self.obstacle.note(
                        progress,
                        name,
                        f"{key} is {found!r}, and {wanted.name!r} is already bound to {bindings[wanted.name]!r}",
                    )
                    return None
            elif not same(wanted, found):
                self.obstacle.note(progress, name, f"{key} is {found!r}, and the pattern needs {wanted!r}")
                return None
        return bindings

    def literal(self, term: Literal, value: Operand, progress: int) -> bool:
        data = self.graph.nodes[value.node]
        if data.get("type") != "constant":
            self.obstacle.note(
                progress, value.node, f"is {data.get('type')}, and the pattern needs the constant {term!r}"
            )
            return False
        try:
            equal = bool(np.all(data["value"] == term.value)) and data["value"].size > 0
        except ValueError:  # shapes that do not broadcast are not equal
            equal = False
        if not equal:
            self.obstacle.note(progress, value.node, f"is a constant, but not {term!r}")
        return equal

    def nothing_lost(self, nodes: dict[PatternNode, str]) -> bool:
        """Tell whether no node that is to disappear has a reader outside the match."""
        if self.shared != "refuse":
            return True
        matched = set(nodes.values())
        for term, name in nodes.items():
            if term not in self.pattern.roots:
                for reader in self.graph.successors(name):
                    if reader not in matched:
                        self.obstacle.note(
                            len(nodes), name, f"would disappear, but {reader!r} outside the match reads it"
                        )
                        return False
        return True


def same(a: Any, b: Any) -> bool:
    """Tell whether two attribute values are equal, arrays and sequences included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
