"""Every graph node for every pattern node, in every arrangement of operands: one half of `tests.support.exhaustive`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from graphrewrite.graph import Graph, Operand
from graphrewrite.rewriting.pattern import (
    Either,
    Every,
    Literal,
    PatternNode,
    Repeated,
    Rest,
    Result,
    Variable,
    Where,
    Without,
    identical,
    parts_of,
    same,
)

__all__ = ["Assigning", "Seen", "Several", "State", "comparable", "order_of", "reached"]


@dataclass(frozen=True)
class Several:
    """What a repeated chain or a group has matched: names a link or member, and what its own variables bind."""

    nodes: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...]


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
    def op_name(self) -> str:
        return str(self.graph.nodes[self.node]["type"])

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


class Assigning:
    """Everything that nodes and values can be in one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values = [
            Operand(n, i) for n in sorted(graph) for i in range(graph.op(n).results) if graph.op(n).name != "output"
        ]
        self.operands = {n: graph.operands(n) for n in graph}
        self.readers = {n: set(graph.successors(n)) for n in graph}

    def choices(self, terms: list[Any]) -> Iterator[dict[Either, int]]:
        eithers = [t for t in reached(terms, None) if isinstance(t, Either)]
        seen = set()
        for numbers in product(*(range(len(e.options)) for e in eithers)):
            options = dict(zip(eithers, numbers, strict=True))
            there = set(map(id, reached(terms, options)))
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
                    if wanted in state.bound and not identical(state.bound[wanted], value):
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
            case Either() | Without() | Repeated():
                if term in state.standing:
                    return state if state.standing[term] == value else None
                state = state.knows("standing", term, value)
                return self.stands(term.options[options[term]], value, state, options) if term in options else state
        raise AssertionError(f"{term!r} is no operand")

    def admitted(self, variable: Variable, seen: Seen) -> bool:
        if variable.constant and not seen.is_constant:
            return False
        return variable.condition is None or bool(variable.condition.predicate(seen))


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


def reached(terms: Iterable[Any], options: dict[Either, int] | None) -> list[Any]:
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


def order_of(roots: Iterable[Any], state: State) -> tuple[int, ...]:
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
