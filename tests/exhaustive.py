"""A reference matcher: the written meaning of a match, followed to the letter by trying everything.

It knows the pattern as data and the graph, and nothing of the matcher that is tested. Every graph node is tried for
every pattern node, in every arrangement of operands. The price is time, so that it is for graphs of about ten nodes and
patterns of a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.pattern import (
    Either,
    Every,
    Literal,
    Pattern,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Unit,
    Variable,
    Where,
    Without,
    parts_of,
    same,
)

__all__ = ["Found", "Seen", "Several", "comparable", "reference"]


@dataclass(frozen=True)
class Several:
    """What a repeated chain or a group has matched: names a link or member, and what its own variables bind."""

    nodes: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...]


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


@dataclass(frozen=True)
class Seen:
    """A value as a condition sees it."""

    graph: Graph
    node: str
    result: int

    @property
    def type(self) -> Any:
        return self.graph.result_type(self.node, self.result)

    @property
    def shape(self) -> Any:
        return self.type.shape

    @property
    def is_constant(self) -> bool:
        return self.graph.nodes[self.node]["type"] == "constant"

    @property
    def value(self) -> Any:
        return self.graph.nodes[self.node]["value"]

    @property
    def readers(self) -> int:
        return sum(reader.result == self.result for reader in self.graph.readers(self.node))


@dataclass(frozen=True)
class State:
    """What is assumed so far: nodes for pattern nodes, values for variables, and values at which other terms stand."""

    image: dict[PatternNode, str] = field(default_factory=dict)
    bound: dict[Variable, Any] = field(default_factory=dict)
    standing: dict[Any, Operand] = field(default_factory=dict)
    runs: dict[Repeated | Every, Several] = field(default_factory=dict)
    arranged: dict[PatternNode | Either, tuple[int, ...]] = field(default_factory=dict)

    def knows(self, kind: str, key: Any, value: Any) -> State:
        return replace(self, **{kind: {**getattr(self, kind), key: value}})


class Reference:
    """Everything that one pattern matches in one graph."""

    def __init__(self, pattern: Pattern, graph: Graph, shared: str) -> None:
        self.pattern, self.graph, self.shared = pattern, graph, shared
        self.values = [
            Operand(n, i) for n in sorted(graph) for i in range(graph.op(n).results) if graph.op(n).name != "output"
        ]
        self.operands = {n: graph.operands(n) for n in graph}
        self.readers = {n: set(graph.successors(n)) for n in graph}

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

    def there(self, term: Any, values: Iterable[Operand], state: State) -> bool:
        """Whether a term that must not be there is, at one of some values and with nodes outside of the match."""
        taken = frozenset(self.matched(state))
        return any(
            self.denies(found, state)
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
        once = [t for t in self.pattern.made if isinstance(t, PatternNode)]
        several = [t for t in self.pattern.made if isinstance(t, Repeated | Every)]
        made = []
        for term in self.pattern.made:
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
            order=_order(self.pattern.roots, state),
        )

    # ------------------------------------------------------------------ assigning

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
            parts = _reached(terms, options)
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

    def choices(self, terms: list[Any]) -> Iterator[dict[Either, int]]:
        eithers = [t for t in _reached(terms, None) if isinstance(t, Either)]
        seen = set()
        for numbers in product(*(range(len(e.options)) for e in eithers)):
            options = dict(zip(eithers, numbers, strict=True))
            there = set(map(id, _reached(terms, options)))
            kept = {e: n for e, n in options.items() if id(e) in there}
            if (key := tuple((id(e), n) for e, n in kept.items())) not in seen:
                seen.add(key)
                yield kept

    def assigned(
        self, nodes: list[PatternNode], state: State, taken: frozenset[str], options: dict[Either, int]
    ) -> Iterator[State]:
        """Try every graph node, and every arrangement of its operands, for every pattern node."""
        if not nodes:
            yield state
            return
        term, *others = nodes
        for node in self.graph:
            if node in taken or not self.may_be(term, node) or state.image.get(term, node) != node:
                continue
            chosen = self.attributes(term, node, state.knows("image", term, node))
            if chosen is None:
                continue
            for positions, pairs in self.arrangements(term, node):
                tried: State | None = chosen.knows("arranged", term, positions)
                for part, value in pairs:
                    tried = self.stands(part, value, tried, options)
                    if tried is None:
                        break
                else:
                    yield from self.assigned(others, tried, taken, options)

    def may_be(self, term: PatternNode, node: str) -> bool:
        kind = self.graph.nodes[node]["type"]
        if not term.ops:
            return kind not in ("input", "output", "constant")
        return kind in term.kinds and kind not in ("input", "output")

    def attributes(self, term: PatternNode, node: str, state: State) -> State | None:
        there = self.graph.attributes(node)
        for name, wanted in term.attributes.items():
            if name not in there:
                return None
            value = there[name]
            match wanted:
                case Variable():
                    if wanted.condition is not None and not wanted.condition.predicate(value):
                        return None
                    if wanted in state.bound and not same(state.bound[wanted], value):
                        return None
                    state = state.knows("bound", wanted, value)
                case Where():
                    good = wanted.predicate(value)
                case set() | frozenset() | range():
                    good = value in wanted
                case _:
                    good = same(wanted, value)
            if not isinstance(wanted, Variable) and not good:
                return None
        return state

    def arrangements(self, term: PatternNode, node: str) -> list[tuple[tuple[int, ...], list[tuple[Any, Any]]]]:
        """Every way in which the operands of a node can be the operand terms of a pattern node, the first ones first.

        Interchangeable operands are permuted: each term in turn has the choice of the values, and ``*xs`` takes what is
        left, in the order in which it is read.
        """
        there = self.operands[node]
        free = self.graph.op(node).interchangeable(len(there))
        optional = [t for t in term.operands if isinstance(t, Variable) and t.optional]
        found = []
        for order in permutations(range(free)):
            positions = [*order, *range(free, len(there))]
            for missing in range(len(optional) + 1):
                present = term.operands[: len(term.operands) - missing]
                gone: list[tuple[Any, Any]] = [(t, None) for t in term.operands[len(present) :]]
                rests = sum(isinstance(t, Rest) for t in present)
                for sizes in _parts(len(there) - len(present) + rests, rests):
                    taken = list(_cut(positions, present, sizes))
                    if all(run == sorted(run) for run in taken):
                        values = [tuple(there[i] for i in run) for run in taken]
                        pairs = [
                            (t.variable, v) if isinstance(t, Rest) else (t, v[0])
                            for t, v in zip(present, values, strict=True)
                        ]
                        single = [
                            i for t, run in zip(present, taken, strict=True) if not isinstance(t, Rest) for i in run
                        ]
                        found.append((tuple(single), len(found), [*gone, *pairs]))
        chosen: dict[Any, tuple[tuple[int, ...], list[tuple[Any, Any]]]] = {}
        for key, number, pairs in sorted(found, key=lambda entry: entry[:2]):
            chosen.setdefault(tuple(there[i] for i in key) if free else number, (key, pairs))
        return list(chosen.values())

    def stands(self, term: Any, value: Any, state: State, options: dict[Either, int]) -> State | None:
        """What else must hold if a term stands at a value; None if it cannot."""
        match term:
            case Variable():
                for one in value if isinstance(value, tuple) and not isinstance(value, Operand) else (value,):
                    if one is not None and not self.admitted(term, Seen(self.graph, *one)):
                        return None
                if term in state.bound:
                    return state if state.bound[term] == value else None
                return state.knows("bound", term, value)
            case PatternNode():
                return self.stands(Result(term.tracing, term, 0), value, state, options)
            case Result():
                if value.result != term.index or state.image.get(term.node, value.node) != value.node:
                    return None
                return state.knows("image", term.node, value.node)
            case Literal():
                seen = Seen(self.graph, *value)
                return state if seen.is_constant and term.admits(seen.value) else None
            case Where():
                return state if term.predicate(Seen(self.graph, *value)) else None
            case Either():
                if state.standing.get(term, value) != value:
                    return None
                return self.stands(term.options[options[term]], value, state.knows("standing", term, value), options)
            case Without() | Repeated():
                if state.standing.get(term, value) != value:
                    return None
                return state.knows("standing", term, value)
        raise AssertionError(f"{term!r} is no operand")

    def admitted(self, variable: Variable, seen: Seen) -> bool:
        if variable.constant and not seen.is_constant:
            return False
        return variable.condition is None or bool(variable.condition.predicate(seen))

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
            for known in self.known(term.unit, place):
                if isinstance(term, Repeated):
                    runs_of = self.runs(term, known, options, root=any(t is term for t in terms))
                else:
                    runs_of = self.groups(term, known)
                for done in runs_of:
                    yield from self.finished(others, done, terms, options)

    def known(self, unit: Unit, state: State) -> Iterator[State]:
        """Every choice of values for the variables of a rule that occur in a unit and are not bound by then."""
        parts = _reached([unit.top], {})
        own = {*unit.own, unit.hole}
        free = [t for t in parts if isinstance(t, Variable) and t not in own and t not in state.bound]
        for values in product(self.values, repeat=len(free)):
            chosen: State | None = state
            for variable, value in zip(free, values, strict=True):
                chosen = self.stands(variable, value, chosen, {}) if chosen is not None else None
            if chosen is not None:
                yield chosen

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
        own = [t for t in _reached([unit.top], {}) if t in unit.nodes]
        start = State(state.image, state.bound)
        placed = self.stands(unit.top, top, start, {})
        found: dict[Any, State] = {}
        for way in self.assigned(own, placed, frozenset(), {}) if placed is not None else ():
            if len({way.image[t] for t in own}) < len(own):
                continue
            found.setdefault((*(way.image[t] for t in own), *(way.bound.get(v) for v in (*unit.own, unit.hole))), way)
        return sorted(found.values(), key=lambda way: _order([unit.top], way))

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


def _parts(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as so many sizes, in a row."""
    if count == 0:
        yield from [()] if total == 0 else []
    elif total >= 0:
        for cuts in combinations_with_replacement(range(total + 1), count - 1):
            yield tuple(b - a for a, b in zip((0, *cuts), (*cuts, total), strict=True))


def _cut(positions: list[int], terms: Iterable[Any], sizes: tuple[int, ...]) -> Iterator[list[int]]:
    """Deal positions out: one to each term, to ``*xs`` as many as its size says."""
    at, left = 0, iter(sizes)
    for term in terms:
        size = next(left) if isinstance(term, Rest) else 1
        yield positions[at : at + size]
        at += size


def _reached(terms: Iterable[Any], options: dict[Either, int] | None) -> list[Any]:
    """The terms that belong to a match if some options are taken: not what must not be there, not what is in a unit."""
    found: list[Any] = []
    work = list(terms)[::-1]
    while work:
        term = work.pop()
        if any(term is other for other in found):
            continue
        found.append(term)
        match term:
            case Without():
                parts: tuple[Any, ...] = ()
            case Repeated():
                parts = (term.base,)
            case Every():
                parts = (term.of,)
            case Either() if options is not None:
                parts = (term.options[options[term]],)
            case Rest():
                parts = (term.variable,)
            case _:
                parts = parts_of(term)
        work.extend(parts[::-1])
    return found


def _order(roots: Iterable[Any], state: State) -> tuple[int, ...]:
    """What comes first: each operand term in turn has the choice of its value, then what is below it."""
    key: list[int] = []
    seen: set[int] = set()

    def visit(term: Any) -> None:
        if isinstance(term, Result):
            term = term.node
        if id(term) in seen or term not in state.arranged:
            return
        seen.add(id(term))
        places = state.arranged[term]
        if isinstance(term, Either):
            key.append(places[0])
            visit(term.options[places[0]])
            return
        left = iter(places)
        for operand in term.operands:
            if not isinstance(operand, Rest):
                key.append(next(left, -1))
                visit(operand)

    for root in roots:
        visit(root)
    return tuple(key)


def comparable(value: Any) -> Any:
    """A value of an attribute as a value that can be in a set."""
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value
