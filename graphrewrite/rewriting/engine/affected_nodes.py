"""Affected nodes: those at which an edit can have enabled a match, which are looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any

from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.engine.rule_index import ANY
from graphrewrite.rewriting.pattern import (
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Variable,
    Where,
    Without,
    top_of,
    walk,
)

__all__ = ["AffectedNodes", "Position", "affected_nodes_of"]


@lru_cache(maxsize=64)
def affected_nodes_of(patterns: tuple[Pattern, ...], *, is_conjunctive: bool) -> AffectedNodes:
    """Return the `AffectedNodes` for some patterns, which are to be entered; cached, for sets rewrite many graphs."""
    return AffectedNodes(is_conjunctive=is_conjunctive)


@dataclass(eq=False)
class Position:
    """A position in a pattern, seen from below: the node that may read it there.

    Attributes
    ----------
    kinds : frozenset of str
        Types of the node that reads it; empty for any.
    above : list of Position
        The positions at which that node may itself be read; empty for a root that nothing reads.
    is_root : bool
        Whether that node may be a root.
    """

    kinds: frozenset[str]
    above: list[Position] = field(default_factory=list)
    is_root: bool = False


class Positions(dict[Any, "tuple[bool, Positions | None]"]):
    """Some positions: from the type of a node that may read there to whether it may be a root, and who may read it.

    Each is made once for the same positions, so that the way up takes one step a reader, however many rules there are.

    Parameters
    ----------
    positions : tuple of Position
        Different ones.
    known : dict
        Those that have been made.
    """

    def __init__(self, positions: tuple[Position, ...], known: dict[frozenset[int], Positions]) -> None:
        super().__init__()
        self.positions, self.known = positions, known

    @classmethod
    def of(cls, positions: Iterable[Position], known: dict[frozenset[int], Positions]) -> Positions | None:
        """Return that of some positions; None where there are none."""
        different = {id(p): p for p in positions}
        if not different:
            return None
        key = frozenset(different)
        if key not in known:
            known[key] = cls(tuple(different.values()), known)
        return known[key]

    def __missing__(self, kind: Any) -> tuple[bool, Positions | None]:
        fitting = [p for p in self.positions if not p.kinds or kind in p.kinds]
        above = self.of((higher for p in fitting for higher in p.above), self.known)
        step = self[kind] = any(p.is_root for p in fitting), above
        return step

    def climb(self, graph: Any, readers: Iterable[Any], affected: dict[Any, None]) -> None:
        """Add the roots that are reached from some nodes, which read at these positions."""
        node, succ = graph._node, graph._succ
        seen: set[tuple[int, Any]] = set()
        work: list[tuple[Positions, Iterable[Any]]] = [(self, readers)]
        while work:
            positions, names = work.pop()
            for name in names:
                is_root, above = positions[node[name].get("type")]
                if is_root:
                    affected[name] = None
                if above is not None and (key := (id(above), name)) not in seen:
                    seen.add(key)
                    work.append((above, succ[name]))


class AffectedNodes:
    """Finds the roots of matches that an edit can have enabled.

    A new match holds a new node, or an edge that is new, or a node that lost a reader. From there, the way up to a root
    leads along the positions of the patterns, and over readers of fitting types only.

    Several threads may ask, and enter patterns.
    """

    def __init__(self, patterns: Iterable[tuple[Pattern, bool]] = (), *, is_conjunctive: bool = False) -> None:
        # By the type of a node: positions of its readers if it is new, and if it lost a reader; sets that keep order.
        self.starts: dict[str, dict[Position, None]] = {}
        self.inner: dict[str, dict[Position, None]] = {}
        self._same: dict[Any, Position] = {}  # equal positions of several patterns are one
        self._known: dict[frozenset[int], Positions] = {}
        self._above: dict[str, Positions | None] = {}
        self._beside: dict[str, Positions | None] = {}
        self.widest = 0
        self.boundless = False
        self.is_conjunctive = is_conjunctive
        self.entered: set[Pattern] = set()
        self._waiting: list[tuple[Pattern, bool]] = []  # as most graphs are left as they are
        self._lock = Lock()
        for pattern, depends_on_values in patterns:
            self.enter(pattern, depends_on_values)

    def enter(self, pattern: Pattern, depends_on_values: bool) -> None:
        """Add a pattern, whose rule may look at the values that variables bind."""
        if pattern not in self.entered:
            with self._lock:
                self._waiting.append((pattern, depends_on_values))
                self._above.clear()
                self._beside.clear()
                self.entered.add(pattern)

    def _enter(self, pattern: Pattern, depends_on_values: bool) -> None:
        self.widest = max(self.widest, len(pattern.nodes))
        # A run holds any number of readers of a value only where its links read values from beside it.
        self.boundless |= any(isinstance(t, Repeated) and (t.unit.own or t.unit.variables) for t in pattern.terms)
        parents: dict[int, list[tuple[PatternNode, bool]]] = {}
        terms = [t for root in pattern.roots for t in walk(root)]
        # A run of no links matches where no link fits any more: its nodes enable a match like negated ones.
        denied = {id(n) for t in terms if isinstance(t, Repeated) and not t.least for n in t.unit.nodes}
        for node in (t for t in terms if isinstance(t, PatternNode)):
            for operand in node.operands:
                for term in _alternatives(operand):
                    negated = isinstance(operand, Without) or id(node) in denied
                    parents.setdefault(id(term), []).append((node, negated))
        tops = {id(top_of(root)) for root in pattern.roots}
        for repeated in (t for t in terms if isinstance(t, Repeated)):
            top, hole = repeated.unit.top, repeated.unit.hole
            # A link is read by the readers of the run, and by the readers of the hole in the next link.
            parents.setdefault(id(top), []).extend([*parents.get(id(repeated), []), *parents.get(id(hole), [])])
            below = parents.setdefault(id(repeated.base), [])
            below.extend(parents.get(id(hole), []))
            if not repeated.least:
                below.extend(parents.get(id(repeated), []))
        cyclic = any(isinstance(t, Repeated) for t in terms)
        positions: dict[int, Position] = {}

        def position(node: PatternNode) -> Position:
            existing = positions.get(id(node))
            if existing is not None:
                return existing
            new = Position(node.kinds, [], id(node) in tops)
            positions[id(node)] = new
            new.above = [position(parent) for parent, _ in parents.get(id(node), [])]
            if not cyclic:
                key = (new.kinds, new.is_root, tuple(map(id, new.above)))
                new = positions[id(node)] = self._same.setdefault(key, new)
            return new

        uses: dict[int, int] = {}
        for term in terms:
            for operand in term.operands if isinstance(term, PatternNode) else ():
                for inner in _alternatives(operand):
                    uses[id(inner)] = uses.get(id(inner), 0) + 1
        shared = {id(t.of) for t in terms if isinstance(t, Every)}
        for term in {id(t): t for t in terms}.values():
            above = dict.fromkeys(position(parent) for parent, _ in parents.get(id(term), []))
            watched = depends_on_values or uses.get(id(term), 0) > 1 or id(term) in shared
            for kind in _triggers(term, watched, parents.get(id(term), [])):
                self.starts.setdefault(kind, {}).update(above)
            if isinstance(term, PatternNode):
                for kind in term.kinds or (ANY,):
                    self.inner.setdefault(kind, {}).update(above)

    def above(self, kind: str) -> Positions | None:
        """Return the positions of readers of a new node of some type."""
        return self._kept(self._above, self.starts, kind)

    def beside(self, kind: str) -> Positions | None:
        """Return the positions of readers of a node of some type that lost another one."""
        return self._kept(self._beside, self.inner, kind)

    def _kept(
        self, kept: dict[str, Positions | None], every: dict[str, dict[Position, None]], kind: str
    ) -> Positions | None:
        """Return the positions for a type, among those for every type, or for any."""
        try:
            return kept[kind]
        except KeyError:
            with self._lock:  # what another thread enters meanwhile is not forgotten
                while self._waiting:
                    self._enter(*self._waiting.pop())
                found = Positions.of([*every.get(kind, ()), *every.get(ANY, ())], self._known)
                kept[kind] = found
                return found

    def after(self, graph: Any, edit: Edit, kinds: frozenset[str] | None) -> dict[Any, None]:
        """Return the nodes, as keys, at which an edit can have enabled a match.

        The graph is as it is after the edit; ``kinds`` are the types of nodes that can be roots, None for all.
        """
        node = graph._node
        affected: dict[Any, None] = {}
        new = {name for name, _ in edit.added}
        for name, data in edit.added:
            if kinds is None or data.get("type", ANY) in kinds:
                affected[name] = None
        for source, reader, _ in edit.linked:
            # A match of conjunctive patterns with a new node has its reader as well, or the node is a root.
            if not (self.is_conjunctive and reader in new):
                self.over(graph, source, (reader,), affected)
        for entry in edit.lost:
            released = entry[2] if len(entry) == 4 else entry[:1] if len(entry) == 3 else ()
            for name in released:
                if name in node:
                    if kinds is None or node[name].get("type", ANY) in kinds:
                        affected[name] = None
                    self.around(graph, name, affected)
        return affected

    def over(self, graph: Any, source: Any, readers: Iterable[Any], affected: dict[Any, None]) -> None:
        """Add the roots of matches that readers with a new operand may have enabled."""
        positions = self.above(graph._node[source].get("type", ANY))
        if positions is not None:
            positions.climb(graph, readers, affected)

    def around(self, graph: Any, name: Any, affected: dict[Any, None]) -> None:
        """Add the roots of matches that a value with fewer readers may have enabled."""
        # Of more readers than the largest pattern has nodes, one is still outside, and blocks any match.
        readers = graph._succ[name]
        positions = self.beside(graph._node[name].get("type", ANY))
        if positions is not None and (len(readers) <= self.widest or self.boundless):
            positions.climb(graph, readers, affected)


def _alternatives(term: Any) -> Iterator[Any]:
    """Yield the terms that an operand may match: through alternatives, results and negations."""
    yield term
    if isinstance(term, Either):
        for option in term.options:
            yield from _alternatives(option)
    elif isinstance(term, Result):
        yield from _alternatives(term.node)
    elif isinstance(term, Without):
        yield from _alternatives(term.term_)
    elif isinstance(term, Rest):
        yield term.variable


def _triggers(term: Any, watched: bool, parents: list[tuple[PatternNode, bool]]) -> Iterator[str]:
    """Yield the types of nodes that, new at a position, can enable a match."""
    if any(negated for _, negated in parents):
        yield ANY
    elif isinstance(term, PatternNode):
        yield from term.kinds or (ANY,)
    elif isinstance(term, Literal):
        yield "constant"
    elif isinstance(term, Where | Without) or (isinstance(term, Repeated) and not term.least):
        yield ANY
    elif isinstance(term, Variable):
        if watched or term.condition is not None:
            yield ANY
        elif term.constant:
            yield "constant"
