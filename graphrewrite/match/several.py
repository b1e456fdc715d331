"""The search's steps for what is matched several times: runs of links, and groups of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.match.found import Several
from graphrewrite.match.state import State
from graphrewrite.pattern import Every, PatternNode, Repeated, Result, Unit

__all__ = ["SeveralSteps", "height_of"]

_NONE = object()


class SeveralSteps(State):
    """Steps that match a unit again and again, each time with fresh variables."""

    if TYPE_CHECKING:
        graph: Graph
        shared: str
        solve: Callable[[Iterable[tuple[Any, ...]]], Iterator[None]]
        node: Callable[..., Any]
        result_of: Callable[..., Any]
        term: Callable[..., Any]
        fail: Callable[..., None]
        above: Callable[..., list[str]]
        value_of: Callable[[Any], Operand | None]

    def run(self, term: Repeated, value: Operand, root: bool) -> Any:
        """Match a whole run from its top down; then its base."""
        unit, links = term.unit, []
        lower: Operand | None = value
        while lower is not None:
            link, value, goes_on = self.link(unit, lower)
            if link is None:
                break
            links.append(link)
            lower = value if goes_on else None
        if len(links) < term.least:
            self.fail(links[-1][2] if links else value.node, f"ends a run of {len(links)}, and the pattern needs {term.least} or more")
            return ()
        if root and self.is_continued(unit, links[0][2], links):
            self.fail(links[0][2], "is inside a longer run; the rule matches at its end")
            return ()
        links.reverse()
        self.put(self.at, term, Several(*(tuple(column) for column in zip(*links, strict=True))))
        return (((self.term, term.base, value),),)

    def link(self, unit: Unit, top: Operand) -> tuple[Any, Operand, bool]:
        """Match a link in the first way that lets the run go on, or else in the first way."""
        assert unit.hole is not None
        goal = [(self.result_of, unit.top, 0, top)]
        first = False
        for _ in self.solve(goal):
            first = True
            if self.goes_on(unit, self.bound[unit.hole]):
                return *self.keep(unit), True
        if not first:
            return None, top, False
        next(self.solve(goal))
        return *self.keep(unit), False

    def goes_on(self, unit: Unit, lower: Operand) -> bool:
        """Tell whether the value below a link is the top of another one that is the run's alone."""
        if lower.result or lower.node in self.used:
            return False
        mine = {self.at[n] for n in unit.nodes}
        if self.shared == "refuse" and not self.graph._succ[lower.node].keys() <= mine:
            return False
        mark = len(self.trail)
        self.forget(unit)
        found = next(self.solve([(self.result_of, unit.top, 0, lower)]), _NONE) is not _NONE
        self.undo(mark)
        return found

    def is_continued(self, unit: Unit, top: str, links: list[Any]) -> bool:
        """Tell whether a link above the top of a run would belong to it."""
        assert unit.hole is not None
        mark = len(self.trail)
        for candidate in self.above(top, height_of(unit.top), unit.top):
            for _ in self.solve([(self.node, unit.top, candidate)]):
                nodes = {self.at[n] for n in unit.nodes}
                alone = self.shared != "refuse" or self.graph._succ[top].keys() <= nodes
                if self.bound[unit.hole] == Operand(top) and alone:
                    self.undo(mark)
                    return True
        self.undo(mark)
        return False

    def gather(self, term: Every, member: str) -> Any:
        """Match all readers of a value, one of which was found."""
        unit = term.unit
        for node in unit.nodes:
            self.drop(self.used, self.at[node])
        self.forget(unit)
        value = self.value_of(term.of)
        if value is None:
            self.fail(member, f"does not read {term.of!r}")
            return ()
        members = []
        for candidate in self.above(value.node, height_of(unit.top), unit.top):
            if next(self.solve([(self.node, unit.top, candidate)]), _NONE) is not _NONE:
                members.append(self.keep(unit)[0])
        if len(members) < term.least or member not in {top for _, _, top in members}:
            self.fail(member, f"is one of a group of {len(members)}, and the pattern needs {term.least} or more")
            return ()
        self.put(self.at, term, Several(*(tuple(column) for column in zip(*members, strict=True))))
        return ((),)

    def keep(self, unit: Unit) -> tuple[Any, Operand]:
        """Return what a unit has matched, and the value in its hole; its variables are free again."""
        nodes = tuple(self.at[n] for n in unit.nodes)
        values = tuple(self.bound.get(v) for v in unit.own)
        top = self.at[unit.top]
        lower = self.bound[unit.hole] if unit.hole is not None else Operand(top)
        self.forget(unit)
        return (nodes, values, top), lower

    def forget(self, unit: Unit) -> None:
        """Free what a unit binds; the nodes that it matched stay taken."""
        for node in unit.nodes:
            self.drop(self.at, node)
        for variable in (*unit.own, *((unit.hole,) if unit.hole is not None else ())):
            self.drop(self.bound, variable)


def height_of(term: Any) -> int:
    """Return how many nodes lie on the longest path from a term down to a variable, the term included."""
    if isinstance(term, Result):
        return height_of(term.node)
    if not isinstance(term, PatternNode):
        return 0
    return 1 + max(map(height_of, term.operands), default=0)
