"""An index of rules: those to try at a node, by its type and its operands' types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.pattern import Either, Pattern, PatternNode, Repeated, Result, kinds_of, top_of

__all__ = ["ANY", "Entry", "Index", "entries_of", "root_kinds"]

ANY = "*"
"""The type of a node that has none, and a wildcard for all types."""


@dataclass(eq=False)
class Entry:
    """A way into a rule: a type of node at which to try it.

    Attributes
    ----------
    member : object
        The rule.
    kinds : frozenset of str
        Types of the node; empty for any.
    needs : frozenset of str
        One of the node's operands must have one of these types; empty for any.
    root : int
        The index of the root of the pattern that the node is.
    attempt : callable, optional
        Tries the rule at a node; made when it is first needed.
    """

    member: Any
    kinds: frozenset[str]
    needs: frozenset[str] = frozenset()
    root: int = 0
    attempt: Callable[[Any], bool] | None = None


def entries_of(member: Any) -> list[Entry]:
    """Return the ways into a rule: a pattern of several roots can be entered at each of them."""
    if not isinstance(member, PatternRule):
        return [Entry(member, member.kinds or frozenset())]
    return [Entry(member, kinds, needs, root) for root, (kinds, needs) in enumerate(_ways(member.pattern))]


def root_kinds(members: Iterable[Any], most: int | None = None) -> frozenset[str] | None:
    """Return the types of the nodes at which members can be tried, by so many of their roots; None for any."""
    found: set[str] = set()
    for member in members:
        if isinstance(member, PatternRule):
            each = [top_of(root).kinds for root in member.pattern.roots[:most]]
        else:
            each = [member.kinds or frozenset()]
        if not all(each):
            return None
        found.update(*each)
    return frozenset(found)


@lru_cache(maxsize=1024)
def _ways(pattern: Pattern) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return for each root its types, and those of which one of its operands must be."""
    ways = []
    for top in map(top_of, pattern.roots):
        operands = [(_depth(term), kinds) for term in top.operands if (kinds := kinds_of(term))]
        # The rarest would rule out most, but is not known; the deepest is the next best.
        ways.append((top.kinds, max(operands, key=itemgetter(0), default=(0, frozenset()))[1]))
    return tuple(ways)


def _depth(term: Any) -> int:
    """Return the number of nodes on the longest path below a term, of alternatives the shortest of these."""
    match term:
        case Either():
            return min(map(_depth, term.options))
        case Result():
            return _depth(term.node)
        case PatternNode():
            return 1 + max(map(_depth, term.operands), default=0)
        case Repeated():
            return min(term.least, 1)
    return 0


class _ByKind(dict[str, tuple[tuple[Entry, ...], dict[str, tuple[Entry, ...]]]]):
    """From the type of a node to the entries that are always tried, and to all entries by the type of an operand."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.entries = entries

    def __missing__(self, kind: str) -> tuple[tuple[Entry, ...], dict[str, tuple[Entry, ...]]]:
        here = tuple(e for e in self.entries if not e.kinds or kind in e.kinds)
        needed = {k for e in here for k in e.needs}
        by_operand = {need: tuple(e for e in here if not e.needs or need in e.needs) for need in needed}
        self[kind] = tuple(e for e in here if not e.needs), by_operand
        return self[kind]


class Index:
    """Entries by the type of the node and of one of its operands: many rules cost little more than those that fit.

    Attributes
    ----------
    kinds : frozenset of str, optional
        Types of the nodes to look at; None for all types.
    by_kind : dict
        Type of a node to the entries that are always tried, and to those by the type of an operand.
    """

    def __init__(self, entries: Sequence[Entry], kinds: frozenset[str] | None) -> None:
        self.entries, self.kinds = entries, kinds
        self.by_kind = _ByKind(entries)
        self._together: dict[tuple[int, int], tuple[Entry, ...]] = {}

    def at(self, kind: str, sources: Iterable[Any], nodes: dict[Any, dict[str, Any]]) -> tuple[Entry, ...]:
        """Return the entries to try at a node of a type, with some operands."""
        always, by_operand = self.by_kind[kind]
        entries = always
        if by_operand:
            for source in sources:
                more = by_operand.get(nodes[source].get("type", ANY))
                if more is not None and more is not entries:
                    entries = more if entries is always else self._merged(entries, more)
        return entries

    # Entries of different operands are put back into the order of the rules.
    def _merged(self, a: tuple[Entry, ...], b: tuple[Entry, ...]) -> tuple[Entry, ...]:
        found = self._together.get((id(a), id(b)))  # both are kept, here or by kind
        if found is None:
            together = {*a, *b}
            found = self._together[id(a), id(b)] = tuple(e for e in self.entries if e in together)
        return found
