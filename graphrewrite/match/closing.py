"""The last step of a search: what must not be there, and what must not be lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.match.state import NONE, State
from graphrewrite.pattern import Every, Pattern, PatternNode, Repeated, Rest, Result, Variable

__all__ = ["Closing"]


class Closing(State):
    """Checks that need the whole match, and the places to look at for a node above what is bound."""

    if TYPE_CHECKING:
        graph: Graph
        pattern: Pattern
        shared: str
        solve: Callable[[Iterable[tuple[Any, ...]]], Iterator[None]]
        node: Callable[..., Any]
        term: Callable[..., Any]
        fail: Callable[..., None]
        whole_runs: Callable[[], Any]
        places: dict[Any, list[str]]

    def close(self) -> Any:
        """Accept a match or not."""
        accepted = self.keeps_readers() and self.whole_runs() and self.denies() and not self.has_forbidden()
        return ((),) if accepted else ()

    def keeps_readers(self) -> bool:
        """Tell whether no node that is to disappear has a reader outside the match."""
        if self.shared != "refuse":
            return True
        replaced = self.replaced()
        for name in self.used:
            results = replaced.get(name, ())
            if results is None:
                continue
            for reader, data in self.graph._succ[name].items():
                if reader not in self.used and ("kind" in data or any(r not in results for _, r in data["slots"])):
                    self.fail(name, f"would disappear, but {reader!r} outside the match reads it", beyond=1)
                    return False
        return True

    def replaced(self) -> dict[str, set[int] | None]:
        """The nodes of the roots with the results that are replaced; None for all of them."""
        found: dict[str, set[int] | None] = {}
        for root in self.pattern.roots:
            match root:
                case Result():
                    already = found.setdefault(self.at[root.node], set())
                    if already is not None:
                        already.add(root.index)
                case Every():
                    found.update(dict.fromkeys(self.at[root].tops))
                case Repeated():
                    found[self.at[root].tops[-1]] = None
                case _:
                    found[self.at[root]] = None
        return found

    def denies(self) -> bool:
        """Tell whether every value that must not be something is not."""
        mark = len(self.trail)
        for term, value in list(self.denied.items()):
            if next(self.solve([(self.term, term.term_, value), (self.whole_runs,)]), NONE) is not NONE:
                self.undo(mark)
                self.fail(value.node, f"is what the pattern forbids here: {term.term_!r}", term=term, beyond=1)
                return False
        return True

    def has_forbidden(self) -> bool:
        """Tell whether a node is there that must not be."""
        mark = len(self.trail)
        for term in self.pattern.forbidden:
            for name in self.candidates(term):
                goals = [(self.node, term, name), (self.whole_runs,)]
                if name not in self.used and next(self.solve(goals), NONE) is not NONE:
                    self.undo(mark)
                    self.fail(name, f"is there, and the pattern forbids {term!r}", term=term, beyond=1)
                    return True
        return False

    # ------------------------------------------------------------------ where to look

    def candidates(self, top: PatternNode) -> list[str]:
        """The nodes where a pattern node can be, given what is bound; in the order of their names."""
        layer: list[Any] = [top]
        for distance in range(1, len(self.pattern.made) + 2):
            below = [t for node in layer for t in node.operands]
            for term in below:
                value = self.value_of(term)
                if value is not None:
                    return self.above(value.node, distance, top)
            layer = [t.node if isinstance(t, Result) else t for t in below]
            layer = [t for t in layer if isinstance(t, PatternNode)]
            if not layer:
                break
        key = (None, 0, top.kinds)
        if key not in self.places:
            self.places[key] = sorted((n for n in self.graph._node if self.could_be(top, n)), key=str)
        return self.places[key]

    def value_of(self, term: Any) -> Operand | None:
        """Return the value that a term is bound to, if it is."""
        if isinstance(term, Rest):
            term = term.variable
        found = self.bound.get(term) if isinstance(term, Variable) else self.at.get(term)
        if isinstance(term, Result):
            found = self.at.get(term.node)
        if isinstance(found, str):
            return Operand(found)
        if isinstance(found, Operand):
            return found
        return found[0] if isinstance(found, tuple) and found and isinstance(found[0], Operand) else None

    def above(self, name: str, height: int, top: PatternNode) -> list[str]:
        """The nodes at most so many readers above a node that a pattern node could be, by name."""
        kinds = top.kinds
        key = (name, height, kinds)
        known = self.places.get(key)
        if known is not None:
            return known
        node, succ = self.graph._node, self.graph._succ
        seen: dict[str, None] = dict.fromkeys(succ[name])
        layer = list(seen)
        for _ in range(1, height):
            layer = [r for n in layer for r in succ[n] if r not in seen]
            seen.update(dict.fromkeys(layer))
        found = [n for n in seen if node[n].get("type") in kinds] if kinds else list(seen)
        found = self.places[key] = sorted(found, key=str)
        return found

    def could_be(self, top: PatternNode, name: str) -> bool:
        """Tell whether a node has a type that a pattern node allows."""
        return not top.ops or self.graph._node[name].get("type") in top.kinds
