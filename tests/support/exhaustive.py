"""A reference matcher: the written meaning of a match, followed to the letter by trying everything.

It knows the pattern as data and the graph, and nothing of the matcher that is tested. Every graph node is tried for
every pattern node, in every arrangement of operands. The price is time, so that it is for graphs of about ten nodes and
patterns of a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.rewriting.pattern import (
    Either,
    Every,
    Pattern,
    PatternNode,
    Repeated,
    Result,
    Unit,
    Variable,
    Without,
)
from tests.support.assigning import Assigning, Several, State, comparable, order_of, reached

__all__ = ["Found", "reference"]


@dataclass(frozen=True)
class Found:
    """A match in a form that can be compared.

    Two matches are the same where `nodes`, `several` and `bindings` are.
    """

    nodes: tuple[str | None, ...]
    several: tuple[Several | None, ...]
    bindings: tuple[Any, ...]
    made: tuple[Any, ...]
    roots: tuple[str, ...]
    all_nodes: frozenset[str]
    order: tuple[Any, ...]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes it this match and no other."""
        return self.nodes, self.several, tuple(map(comparable, self.bindings))


class Reference(Assigning):
    """Everything that one pattern matches in one graph."""

    def __init__(self, pattern: Pattern, graph: Graph, shared: str) -> None:
        super().__init__(graph)
        self.pattern, self.shared = pattern, shared

    # ------------------------------------------------------------------ the whole match

    def matches(self) -> list[Found]:
        """Every match once, in the documented order where one is documented."""
        found: dict[Any, list[Found]] = {}
        for state, _ in self.solutions(list(self.pattern.roots), State(), frozenset()):
            for complete in self.complete(state):
                match = self.canonical(complete)
                found.setdefault(match.identity, []).append(match)
        position = {n: i for i, n in enumerate(self.graph.in_order())}
        first = [min(same_match, key=lambda m: m.order) for same_match in found.values()]
        return sorted(first, key=lambda m: (position[m.roots[0]], m.order))

    def complete(self, state: State) -> Iterator[State]:
        """Check what concerns the match as a whole."""
        matched = self.matched(state)
        if len(set(matched)) < len(matched):
            return
        if not self.is_whole(state):
            return
        roots = set(self.roots(state))
        if self.shared == "refuse":
            for node in set(matched) - roots:
                if self.readers[node] - set(matched):
                    return
            for node, result in self.unyielded(state):
                if any(r.result == result and r.node not in matched for r in self.graph.readers(node)):
                    return
        if not self.denies(state, State()):
            return
        for term in self.pattern.forbidden:
            if self.there(term, [v for v in self.values if v.result == 0], state):
                return
        yield state

    def is_whole(self, state: State) -> bool:
        """Whether no link fits where a run of no links stands, with all that is bound."""
        empty = [t for t, run in state.runs.items() if isinstance(t, Repeated) and not run.nodes]
        return not any(self.ways(t.unit, state.standing[t], state) for t in empty)

    def there(self, term: Any, values: Iterable[Operand], state: State) -> bool:
        """Whether a term that must not be there is, at one of some values and with nodes outside of the match."""
        taken = frozenset(self.matched(state))
        return any(
            self.is_whole(found) and self.denies(found, state)
            for value in values
            for found, own in self.solutions([term], state, taken, at=value)
            if len(set(own)) == len(own)
        )

    def denies(self, state: State, before: State) -> bool:
        """Whether nothing is there that must not be, as far as it was not asked before."""
        new = [t for t in state.standing if isinstance(t, Without) and t not in before.standing]
        return not any(self.there(t.term_, [state.standing[t]], state) for t in new)

    def matched(self, state: State) -> list[str]:
        return [*state.image.values(), *(n for run in state.runs.values() for link in run.nodes for n in link)]

    def roots(self, state: State) -> list[str]:
        found = []
        for root in self.pattern.roots:
            match root:
                case PatternNode():
                    found.append(state.image[root])
                case Result():
                    found.append(state.image[root.node])
                case Repeated():
                    found.append(state.standing[root].node)
                case Every():
                    top = root.unit.nodes.index(root.unit.top)
                    found.extend(member[top] for member in state.runs[root].nodes)
        return list(dict.fromkeys(found))

    def unyielded(self, state: State) -> Iterator[tuple[str, int]]:
        """Results of a root that are not yielded, and so would go."""
        whole = {root for root in self.pattern.roots if isinstance(root, PatternNode)}
        partly = {root.node for root in self.pattern.roots if isinstance(root, Result)} - whole
        yielded = {(root.node, root.index) for root in self.pattern.roots if isinstance(root, Result)}
        for term in partly:
            node = state.image[term]
            yield from ((node, i) for i in range(self.graph.op(node).results) if (term, i) not in yielded)

    def canonical(self, state: State) -> Found:
        once = [t for t in self.pattern.terms if isinstance(t, PatternNode)]
        several = [t for t in self.pattern.terms if isinstance(t, Repeated | Every)]
        made = []
        for term in self.pattern.terms:
            if isinstance(term, PatternNode):
                made.append(state.image.get(term))
            elif isinstance(term, Repeated | Every):
                made.append(state.runs.get(term))
            else:
                made.append(state.standing.get(term))
        return Found(
            nodes=tuple(state.image.get(t) for t in once),
            several=tuple(state.runs.get(t) for t in several),
            bindings=tuple(state.bound.get(v) for v in self.pattern.variables),
            made=tuple(made),
            roots=tuple(self.roots(state)),
            all_nodes=frozenset(self.matched(state)),
            order=order_of(self.pattern.roots, state),
        )

    def solutions(
        self, terms: list[Any], given: State, taken: frozenset[str], at: Operand | None = None
    ) -> Iterator[tuple[State, list[str]]]:
        """Every state in which some terms match, at a value if one is given, and the nodes that they have of their own.

        First an option is chosen wherever there are several, then all graph nodes are tried for the pattern's nodes,
        then what stands on a chain or in a group is computed.
        """
        for options in self.choices(terms):
            state: State | None = given
            for term, option in options.items():
                state = state.knows("arranged", term, (option,))
            parts = reached(terms, options)
            nodes = [t for t in parts if isinstance(t, PatternNode) and t not in given.image]
            runs = [t for t in parts if isinstance(t, Repeated | Every) and t not in given.runs]
            if at is not None:
                state = self.stands(terms[0], at, state, options)
                if state is None:
                    continue
            for assigned in self.assigned(nodes, state, taken, options):
                for finished in self.finished(runs, assigned, terms, options):
                    own = [finished.image[t] for t in nodes]
                    own += [n for t in runs for link in finished.runs[t].nodes for n in link]
                    if not taken & set(own):
                        yield finished, own

    # ------------------------------------------------------------------ chains and groups

    def finished(
        self, runs: list[Repeated | Every], state: State, terms: list[Any], options: dict[Either, int]
    ) -> Iterator[State]:
        """Compute what the runs are, for every value of the variables that only their units have."""
        if not runs:
            yield state
            return
        # A chain stands where what reads it has put it, so that chains come before those that they stand on.
        term = next(
            (t for t in runs if isinstance(t, Every) or t in state.standing or any(t is root for root in terms)), None
        )
        if term is None:
            return
        others = [t for t in runs if t is not term]
        if isinstance(term, Repeated) and term not in state.standing:
            places = [state.knows("standing", term, value) for value in self.values if value.result == 0]
        elif isinstance(term, Every):
            places = [s for v in self.values if (s := self.stands(term.of, v, state, options)) is not None]
        else:
            places = [state]
        for place in places:
            if isinstance(term, Repeated) and not term.least:
                none = self.stands(term.base, place.standing[term], place.knows("runs", term, Several((), ())), options)
                if none is not None:
                    yield from self.finished(others, none, terms, options)
            for known in self.known(term.unit, place):
                if isinstance(term, Repeated):
                    runs_of = self.runs(term, known, options, root=any(t is term for t in terms))
                else:
                    runs_of = self.groups(term, known)
                for done in runs_of:
                    yield from self.finished(others, done, terms, options)

    def known(self, unit: Unit, state: State) -> Iterator[State]:
        """Every choice of what a rule's variables bind that occur in a unit and are not bound by then."""
        possible: dict[Variable, list[Any]] = {}
        for node in unit.nodes:
            for operand in node.operands:
                if isinstance(operand, Variable) and operand is not unit.hole:
                    possible[operand] = list(self.values)
            for name, wanted in node.attributes.items():
                if isinstance(wanted, Variable):
                    there = [self.graph.attributes(n) for n in self.graph]
                    possible[wanted] = list({comparable(a[name]): a[name] for a in there if name in a}.values())
        free = [v for v in possible if v not in unit.own and v not in state.bound]
        for values in product(*(possible[v] for v in free)):
            yield replace(state, bound={**state.bound, **dict(zip(free, values, strict=True))})

    def runs(self, term: Repeated, state: State, options: dict[Either, int], *, root: bool) -> Iterator[State]:
        """The longest chains that end in the value at which a term stands: they differ in the lowest link only."""
        unit, value, links = term.unit, state.standing[term], list[State]()
        if root and self.continues(unit, value, state):
            return
        ways = self.ways(unit, value, state)
        lowest: list[State] = []
        while ways:
            # A link matches in the first way in which the chain goes on below it; the lowest one in any way.
            inside = {n for link in links for n in self.of_unit(unit, link)}
            below = [(w, self.below(unit, w, inside | set(self.of_unit(unit, w)), state)) for w in ways]
            lowest = ways
            going_on = next(((way, further) for way, further in below if further), None)
            if going_on is None:
                break
            links.append(going_on[0])
            ways = going_on[1]
        for last in lowest:
            if len(links) + 1 >= term.least:
                known = state.knows("runs", term, _several(unit, [last, *links[::-1]]))
                done = self.stands(term.base, last.bound[unit.hole], known, options)
                if done is not None:
                    yield done

    def below(self, unit: Unit, link: State, inside: set[str], state: State) -> list[State]:
        """The ways in which a chain goes on below a link: none where that value is wanted outside of it."""
        value = link.bound[unit.hole]
        if self.shared == "refuse" and self.readers[value.node] - inside:
            return []
        return self.ways(unit, value, state)

    def continues(self, unit: Unit, value: Operand, state: State) -> bool:
        """Whether a chain goes on above a value."""
        for node in self.graph:
            for link in self.ways(unit, Operand(node), state):
                only = not self.readers[value.node] - set(self.of_unit(unit, link))
                if link.bound[unit.hole] == value and (only or self.shared != "refuse"):
                    return True
        return False

    def groups(self, term: Every, state: State) -> Iterator[State]:
        """All nodes that have a form, each in the first way in which it has."""
        ways = [self.ways(term.unit, Operand(node), state) for node in sorted(self.graph)]
        members = [of_node[0] for of_node in ways if of_node]
        if len(members) >= term.least:
            yield state.knows("runs", term, _several(term.unit, members))

    def ways(self, unit: Unit, top: Operand, state: State) -> list[State]:
        """The ways in which a unit matches with its top at a value, in the order of the operands."""
        own = list(unit.nodes)
        start = State(state.image, state.bound, state.standing)
        placed = self.stands(unit.top, top, start, {})
        found: dict[Any, State] = {}
        for way in self.assigned(own, placed, frozenset(), {}) if placed is not None else ():
            if len({way.image[t] for t in own}) < len(own):
                continue
            found.setdefault((*(way.image[t] for t in own), *(way.bound.get(v) for v in (*unit.own, unit.hole))), way)
        return sorted(found.values(), key=lambda way: order_of([unit.top], way))

    def of_unit(self, unit: Unit, link: State) -> list[str]:
        return [link.image[t] for t in unit.nodes]


def reference(pattern: Pattern, graph: Graph, *, shared: str = "refuse") -> list[Found]:
    """Every match of a pattern in a graph by trying everything."""
    return Reference(pattern, graph, shared).matches()


def _several(unit: Unit, states: list[State]) -> Several:
    return Several(
        tuple(tuple(s.image[t] for t in unit.nodes) for s in states),
        tuple(tuple(s.bound.get(v) for v in unit.own) for s in states),
    )
