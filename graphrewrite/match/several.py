"""The search's steps for what is matched several times: runs of links, and groups of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.match.found import Several
from graphrewrite.match.state import NONE, State
from graphrewrite.pattern import Every, PatternNode, Repeated, Result, Unit, Variable

__all__ = ["SeveralSteps", "height_of"]


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
        could_be: Callable[..., bool]
        leader: bool
        value_of: Callable[[Any], Operand | None]

    def run(self, term: Repeated, top: Operand, root: bool) -> Any:
        """Match a whole run from its top down; then its base, which is all of it where no link is needed and none fits.

        Each link matches in the first way that lets the run go on, and the lowest in every way. What variables of the
        rule are in it is settled before: each binding that the top link allows has a run of its own.
        """
        unit = term.unit
        free = [v for v in unit.variables if v not in self.bound]
        if free:
            ways: dict[str, tuple[Any, ...]] = {}
            for _ in self.solve([(self.result_of, unit.top, 0, top)]):
                way = tuple(self.bound[v] for v in free)
                ways.setdefault(repr(way), way)
            runs: Any = tuple(((self.bind, free, way), (self.linked, term, top, root)) for way in ways.values())
        else:
            runs = (((self.linked, term, top, root),),)
        return runs if term.least else (*runs, ((self.no_links, term, top),))

    def linked(self, term: Repeated, top: Operand, root: bool) -> Any:
        """Match the links of a run, the lowest in every way."""
        unit = term.unit
        links: list[Any] = []
        inside: set[str] = set()
        lower: Operand | None = top
        while lower is not None:
            at, lower = lower, self.next_link(unit, lower, links, inside)
            if root and lower is not None and len(links) == 1 and self.is_continued(unit, top.node):
                return self.inside(top)
        return (((self.result_of, unit.top, 0, at), (self.end, term, links, root and not links)),)

    def no_links(self, term: Repeated, value: Operand) -> Any:
        """Match the base where no link may be: as long as a run can be, this one is of none."""
        self.put(self.at, term, Several((), (), ()))
        self.put(self.empty, term, value)
        return (((self.term, term.base, value),),)

    def whole_runs(self) -> Any:
        """Accept runs of no links only where, with all that is bound by now, no link fits."""
        mark = len(self.trail)
        used, self.used = self.used, {}  # what other parts of the pattern match is a link as well
        for term, value in list(self.empty.items()):
            if next(self.solve([(self.result_of, term.unit.top, 0, value)]), NONE) is not NONE:
                self.undo(mark)
                self.used = used
                self.fail(value.node, f"is a link, and {term!r} is as long as it can be", term=term, beyond=1)
                return ()
        self.used = used
        return ((),)

    def bind(self, variables: list[Variable], values: tuple[Any, ...]) -> Any:
        """Bind some variables."""
        for variable, value in zip(variables, values, strict=True):
            self.put(self.bound, variable, value)
        return ((),)

    def next_link(self, unit: Unit, top: Operand, links: list[Any], inside: set[str]) -> Operand | None:
        """Match a link in the first way that lets the run go on; return where, or nothing at the last."""
        assert unit.hole is not None
        for _ in self.solve([(self.result_of, unit.top, 0, top)]):
            if self.goes_on(unit, self.bound[unit.hole], inside):
                link, lower = self.keep(unit)
                links.append(link)
                inside.update(link[0])
                return lower
        return None

    def end(self, term: Repeated, links: list[Any], root: bool) -> Any:
        """Take the lowest link as it is matched, and match the base."""
        link, value = self.keep(term.unit)
        links = [link, *reversed(links)]
        if len(links) < term.least:
            reason = f"is below a run of {len(links)}, and the pattern needs {term.least} or more"
            self.fail(value.node, f"{reason}{self.end_of_run(term.unit, value, links)}", term=term, beyond=1)
            return ()
        if root and self.is_continued(term.unit, links[-1][2]):
            return self.inside(Operand(links[-1][2]))
        self.put(self.at, term, _several(links))
        return (((self.term, term.base, value),),)

    def end_of_run(self, unit: Unit, lower: Operand, links: list[Any]) -> str:
        """Say which reader outside of a run ends it above what could be a link."""
        mine = {name for nodes, _, _ in links for name in nodes}
        others = [r for r in self.graph._succ[lower.node] if r not in mine]
        if self.shared != "refuse" or not others or lower.result or not self.could_be(unit.top, lower.node):
            return ""
        return f"; a run ends at what {others[0]!r} reads as well"

    def inside(self, top: Operand) -> Any:
        """Refuse a run that is part of a longer one."""
        self.fail(top.node, "is inside a longer run; the rule matches at its end", beyond=1)
        return ()

    def goes_on(self, unit: Unit, lower: Operand, inside: set[str]) -> bool:
        """Tell whether the value below a link is the top of another one that is the run's alone."""
        if lower.result or not self.could_be(unit.top, lower.node):
            return False
        mine = {self.at[n] for n in unit.nodes}
        readers = self.graph._succ[lower.node]
        if self.shared == "refuse" and not all(r in mine or r in inside for r in readers):
            return False
        # What other parts of the pattern match does not end a run: a node in both is no match at all.
        used, self.used = self.used, {}
        mark = len(self.trail)
        self.forget(unit)
        found = next(self.solve([(self.result_of, unit.top, 0, lower)]), NONE) is not NONE
        self.undo(mark)
        self.used = used
        return found

    def is_continued(self, unit: Unit, top: str) -> bool:
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
            self.fail(member, f"does not read {term.of!r}", term=term)
            return ()
        # All readers of the form are members: one that is matched elsewhere as well, or shares a node, makes no match.
        used, self.used = self.used, {}
        members: list[Any] = []
        for candidate in self.above(value.node, height_of(unit.top), unit.top):
            if next(self.solve([(self.node, unit.top, candidate)]), NONE) is not NONE:
                members.append(self.keep(unit)[0])
                self.used = {}
                if self.leader and members[0][2] != member:
                    break  # a group is found at its first member
        self.used = used
        if self.leader and members and members[0][2] != member:
            self.fail(member, f"is one of the group that is found at {members[0][2]!r}", term=term, beyond=1)
            return ()
        if len(members) < term.least or member not in {top for _, _, top in members}:
            reason = f"is one of a group of {len(members)}, and the pattern needs {term.least} or more"
            self.fail(member, reason, term=term, beyond=1)
            return ()
        for name in (name for nodes, _, _ in members for name in nodes):
            if name in self.used:
                self.fail(name, "is already matched by another node of the pattern", term=term)
                return ()
            self.put(self.used, name, True)
        self.put(self.at, term, _several(members))
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


def _several(rows: list[Any]) -> Several:
    return Several(*(tuple(column) for column in zip(*rows, strict=True)))


def height_of(term: Any) -> int:
    """Return how many nodes lie on the longest path from a term down to a variable, the term included."""
    if isinstance(term, Result):
        return height_of(term.node)
    if not isinstance(term, PatternNode):
        return 0
    return 1 + max(map(height_of, term.operands), default=0)
