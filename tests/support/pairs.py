"""Random pairs of a rule, as source text, and a graph that was built for it or that happens to be there."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Operand
from graphrewrite.op import Op
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
)
from tests.support.assigning import Seen
from tests.support.sources import NAMES, ORDERED, OWN_OPS, PAIRED, SHAPES, UNARY, Writer, rule_of

__all__ = ["Pair", "RuleSet", "graph_of"]


class Planter:
    """Builds a graph."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.graph = rng, Graph("g", ops=OWN_OPS)
        for i in range(rng.choice((1, 1, 2))):
            self.graph.input(f"x{i + 1}", Tensor("f32", rng.choice(SHAPES)))

    @property
    def pool(self) -> list[Any]:
        graph = self.graph
        return [
            graph.value(n, i) for n in graph if graph.nodes[n]["type"] != "output" for i in range(graph.op(n).results)
        ]

    def constant(self) -> Any:
        shape = self.rng.choice(((), (), (3,), (1,)))
        return self.graph.constant(np.full(shape, self.rng.choice((0, 1, 2)), np.float32))

    def some(self) -> Any:
        return self.constant() if self.rng.random() < 0.06 else self.rng.choice(self.pool)

    # ------------------------------------------------------------------ whatever

    def noise(self, names: list[str]) -> None:
        """Any node that reads what is there."""
        rng = self.rng
        name = rng.choice(names)
        found: Op = NAMES.get(name) or op.LIBRARY[name]
        count = rng.choice((1, 2, 3)) if found.variadic else rng.randint(found.required, len(found.operands))
        attributes = {"by": rng.choice((1, 2, 3)), "axes": rng.choice(((0,), (0, 1)))} if name == "scale" else {}
        recent = self.pool[-4:]
        operands = [rng.choice(recent) if rng.random() < 0.6 else self.some() for _ in range(count)]
        self.graph.add(found, operands, attributes)

    # ------------------------------------------------------------------ what a pattern says

    def plant(self, pattern: Any) -> None:
        memo: dict[Any, Any] = {}
        for root in pattern.roots:
            value = self.place(root, memo)
            if isinstance(root, Repeated) and self.rng.random() < 0.3:
                self.unit(root.unit, memo, {root.unit.hole: value})  # so that the chain goes on
        for term in pattern.forbidden:
            if self.rng.random() < 0.5:
                self.place(term, memo)

    def place(self, term: Any, memo: dict[Any, Any]) -> Any:
        if isinstance(term, Result):
            made = self.place_node(term.node, memo)
            return made[term.index] if isinstance(made, tuple) else made
        if isinstance(term, PatternNode):
            made = self.place_node(term, memo)
            return made[0] if isinstance(made, tuple) else made
        if isinstance(term, Literal | Where) or term not in memo:
            memo[term] = self.new(term, memo)
        return memo[term]

    def place_node(self, term: PatternNode, memo: dict[Any, Any]) -> Any:
        if term not in memo:
            memo[term] = self.new(term, memo)
        return memo[term]

    def new(self, term: Any, memo: dict[Any, Any]) -> Any:
        rng = self.rng
        match term:
            case Variable():
                if term.constant:
                    return self.constant()
                return self.fitting(term.condition)
            case Where():
                return self.fitting(term)
            case Literal():
                return self.graph.constant(
                    np.asarray(rng.choice(list(term.value)) if term.members else term.value, np.float32)
                )
            case Either():
                return self.place(rng.choice(term.options), memo)
            case Without():
                return self.place(term.term_, memo) if rng.random() < 0.4 else self.some()
            case PatternNode():
                return self.new_node(term, memo)
            case Repeated():
                value = self.place(term.base, memo)
                for _ in range(term.least + rng.choice((0, 0, 1))):
                    value = self.unit(term.unit, memo, {term.unit.hole: value})
                return value
            case Every():
                self.place(term.of, memo)
                for _ in range(term.least + rng.choice((0, 0, 1))):
                    self.unit(term.unit, memo, {})
                return None
        raise AssertionError(term)

    def unit(self, unit: Any, memo: dict[Any, Any], own: dict[Any, Any]) -> Any:
        for part in (*unit.nodes, *unit.own):
            memo.pop(part, None)
        memo |= own
        return self.place(unit.top, memo)

    def new_node(self, term: PatternNode, memo: dict[Any, Any]) -> Any:
        rng = self.rng
        operands: list[Any] = []
        for part in term.operands:
            if isinstance(part, Rest):
                operands += memo.setdefault(part.variable, [self.some() for _ in range(rng.choice((0, 1, 1, 2)))])
            elif isinstance(part, Variable) and part.optional:
                operands += memo.setdefault((part,), [self.some()] * rng.choice((0, 1)))
            else:
                operands.append(self.place(part, memo))
        operands = operands or [self.some()]
        found = rng.choice(term.ops) if term.ops else self.op_for(len(operands))
        free = found.interchangeable(len(operands))
        operands[:free] = rng.sample(operands[:free], free)
        return self.graph.add(found, operands, {k: self.attribute(k, v, memo) for k, v in term.attributes.items()})

    def op_for(self, count: int) -> Op:
        names = {1: (*UNARY, "scale"), 2: (*PAIRED, *ORDERED, "affine"), 3: ("fma", "affine")}.get(
            count, ("pack", "blend")
        )
        name = self.rng.choice(names)
        return NAMES.get(name) or op.LIBRARY[name]

    def attribute(self, key: str, wanted: Any, memo: dict[Any, Any]) -> Any:
        values = {"by": (1, 2, 3), "axes": ((0,), (0, 1), (1,)), "mode": ("a", "b")}[key]
        match wanted:
            case Variable():
                return memo.setdefault(wanted, self.rng.choice(values))
            case Where():
                return next(v for v in values if wanted.predicate(v))
            case set() | frozenset() | range():
                return self.rng.choice(sorted(wanted))
        return wanted

    def fitting(self, condition: Where | None) -> Any:
        values = self.pool
        self.rng.shuffle(values)
        fits = [
            v for v in values if condition is None or condition.predicate(Seen(self.graph, *Operand(v.node, v.result)))
        ]
        return (fits or values)[0]

    def finish(self) -> Graph:
        """Give most values that nothing reads an output; the others are dead."""
        unread = [v for v in self.pool if not self.graph.succ[v.node] and self.rng.random() < 0.8]
        for i, value in enumerate(unread[:3] or self.pool[-1:]):
            self.graph.output(f"out{i + 1}", value)
        return self.graph


class RuleSet:
    """Rules that shrink a graph, and a graph in which some of them match; the same for the same seed."""

    def __init__(self, rng: random.Random, count: int = 6, size: int = 20) -> None:
        writers = [Writer(rng) for _ in range(count)]
        self.sources = [writer.write(f"r{i}", shrinking=True) for i, writer in enumerate(writers)]
        self.rules = tuple(map(rule_of, self.sources))
        planter = Planter(rng)
        names = [o.name for found in self.rules for n in found.pattern.nodes for o in n.ops] or list(UNARY)
        while len(planter.graph) < size:
            if rng.random() < 0.3:
                planter.plant(rng.choice(self.rules).pattern)
            else:
                planter.noise(names)
        self.graph = planter.finish()

    def __str__(self) -> str:
        return "\n\n".join([*self.sources, str(self.graph)])


class Pair:
    """A rule and a graph; the same for the same seed."""

    def __init__(self, rng: random.Random) -> None:
        writer = Writer(rng)
        self.source = writer.write()
        self.kinds = {kind for kind, count in writer.kinds.items() if count}
        self.declining, self.grouped = writer.declining, writer.kinds["every"] > 0
        self.rule = rule_of(self.source)
        self.planted = rng.random() < 0.5
        planter = Planter(rng)
        names = [o.name for n in self.rule.pattern.nodes for o in n.ops] or list(UNARY)
        names = [*names * 3, *rng.sample((*UNARY, *PAIRED, *ORDERED, *NAMES), 3)]
        before = rng.choice((0, 0, 1, 2))
        for _ in range(before):
            planter.noise(names)
        if self.planted:
            planter.plant(self.rule.pattern)
        while len(planter.graph) < rng.randint(3, 7):
            planter.noise(names)
        if self.planted and rng.random() < 0.3:
            planter.noise(names)
        self.graph = planter.finish()

    def declines(self, bindings: dict[str, Any]) -> bool:
        """Whether what stands below the yield refuses a match."""
        if self.grouped:
            return True
        value = bindings.get(self.declining) if self.declining else None
        return value is not None and self.graph.nodes[value.node]["type"] == "constant"

    def __str__(self) -> str:
        return f"{self.source}\n\n{self.graph}"


def graph_of(lines: str) -> Graph:
    """A graph with inputs p, q, constants one, two, row, and outputs for what nobody reads."""
    head = ["graph g", "p = input() : f32[3]", "q = input() : f32[3]"]
    constants = {"one": "1.0) : f32[]", "two": "2.0) : f32[]", "row": "[1.0, 2.0, 1.0]) : f32[3]"}
    head += [f"{n} = constant(value={v}" for n, v in constants.items() if f"{n}," in lines or f"{n})" in lines]
    body = [line.strip() for line in lines.split(";")]
    names = [line.split(" = ")[0] for line in body]
    unread = [n for n in names if not any(f"({n}" in line or f", {n}" in line for line in body)]
    return Graph.parse("\n".join([*head, *body, *(f"out_{n} = output({n})" for n in unread)]), ops=OWN_OPS)
