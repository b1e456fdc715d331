"""Random well-typed graphs, node by node, and pattern instances embedded in them."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph, Value
from graphrewrite.marks import attributes_in
from graphrewrite.op.op import Op
from graphrewrite.pattern import Pattern
from graphrewrite.testing.generation.arrays import constant_array
from graphrewrite.testing.generation.demand import Demand, Pick, Unfit
from graphrewrite.testing.generation.instance import Plan, kinds_given_by, plan_instance, tensor_of
from graphrewrite.testing.generation.tables import CONTINUOUS, meet
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output
from graphrewrite.types import Tensor, Type

__all__ = ["Builder"]


class Builder:
    """A graph that grows by random, well-typed nodes.

    Parameters
    ----------
    pick : Pick
        Makes every choice.
    ops : sequence of Op
        What random nodes may be.
    """

    def __init__(self, pick: Pick, ops: Sequence[Op]) -> None:
        self.pick, self.ops = pick, ops
        self.graph = Graph("generated")
        self.pool: dict[Type, list[Value]] = {}
        self.computed: list[Value] = []

    def chance(self, count: int) -> bool:
        """Return true once in that many times; shrinks to false."""
        return self.pick(range(count)) == count - 1

    def offer(self, value: Value) -> Value:
        """Let later nodes read a value."""
        self.pool.setdefault(value.type, []).append(value)
        return value

    def input(self, kind: Type) -> Value:
        """Add an input."""
        count = len(self.graph.inputs)
        return self.offer(self.graph.input("x" if not count else f"x{count}", kind))

    def constant(self, kind: Type, *, positive: bool = False) -> Value:
        """Add a constant."""
        return self.offer(self.graph.constant(constant_array(kind, self.pick(range(6)), positive=positive), type=kind))

    def value(self, kind: Type, *, constant: bool = False, positive: bool = False) -> Value:
        """Return a value of a type: one that is there, an input, or a constant.

        Parameters
        ----------
        kind : Tensor or Stream
            What it carries.
        constant : bool
            Whether it must be a constant.
        positive : bool
            Whether, as a constant, it should be above zero.
        """
        whole = isinstance(kind, Tensor) and all(isinstance(d, int) for d in kind.shape)
        if constant:
            return self.constant(kind, positive=positive)
        there = self.pool.get(kind, [])
        ways = ["there"] if there else ["input"]
        ways += ["constant", "constant"] if whole else ["input"]
        way = self.pick(ways)
        if way == "there":
            return self.pick(there)
        return self.constant(kind, positive=positive) if way == "constant" else self.input(kind)

    def node(self, op: Op, *, result: Type | None = None, like: Value | None = None) -> Value | None:
        """Add a node of an op if one fits, and return its value.

        Parameters
        ----------
        op : Op
            The op.
        result : Type, optional
            What it must give.
        like : Value, optional
            A value to be read, of the type of the result.
        """
        if result is None:
            given = kinds_given_by(op)
            elements = {element for element, _ in given}
            there = [k for k in self.pool if isinstance(k, Tensor) and k.element in elements]
            if not given:
                return None
            result = self.pick(there) if there and not self.chance(3) else tensor_of(*self.pick(given), self.pick)
        most = len(op.operands) + (1 if op.variadic else 0)
        count = self.pick(range(max(op.required, 1), most + 1)) if most > op.required else op.required
        try:
            need = meet(Demand(op, result, count, self.pick))
        except Unfit:
            return None
        values = [self.value(kind, positive=i in need.positive) for i, kind in enumerate(need.types)]
        if like is not None and like.type in need.types:
            values[self.pick([i for i, k in enumerate(need.types) if k == like.type])] = like
        made = self.graph.add(op, values, need.attributes)
        value: Value = made[0] if isinstance(made, tuple) else made
        self.computed.append(value)
        return self.offer(value)

    def repeat(self) -> None:
        """Add a node that is equal to one that is there, or equal but for the order of its operands."""
        if not self.computed:
            return
        node = self.pick(self.computed).node
        operands = [self.graph.value(o.node, o.result) for o in self.graph.operands(node)]
        if self.chance(2):
            operands.reverse()
        attributes = attributes_in(self.graph.nodes[node], self.graph.op(node).attributes)
        try:
            made = self.graph.add(self.graph.op(node), operands, attributes)
        except TypeMismatchError:
            return
        self.computed.append(self.offer(made[0] if isinstance(made, tuple) else made))

    def instance(self, pattern: Pattern, *, spoiled: bool = False) -> list[Value]:
        """Add an instance of a pattern and return the values of its roots.

        Parameters
        ----------
        pattern : Pattern
            Of a rule.
        spoiled : bool
            Whether one of its inner nodes may get a reader outside of the match.

        Raises
        ------
        Unfit
            If none was found.
        """
        return self.build(plan_instance(pattern, self.pick), spoiled=spoiled)

    def build(self, plan: Plan, *, spoiled: bool = False) -> list[Value]:
        """Add what is planned and return the values of its roots.

        Parameters
        ----------
        plan : Plan
            A typed instance.
        spoiled : bool
            Whether one of its inner nodes may get a reader outside of the match.
        """
        made: dict[Leaf | Node, tuple[Value, ...]] = {}
        roots = [self._made(root, plan, made) for root in plan.reading.roots]
        outer = {root.node for root in plan.reading.roots}
        inner = [made[node][0] for node in plan.reading.nodes if node not in outer]
        if inner and spoiled and self.chance(3):
            self.read(self.pick(inner))
        return roots

    def _made(self, port: Leaf | Output, plan: Plan, made: dict[Leaf | Node, tuple[Value, ...]]) -> Value:
        key, index = (port, 0) if isinstance(port, Leaf) else (port.node, port.index)
        if key not in made:
            if isinstance(key, Leaf):
                made[key] = (self._leaf(key, plan),)
            else:
                operands = [self._made(operand, plan, made) for operand in key.operands]
                value = self.graph.add(key.op, operands, plan.needs[key].attributes)
                made[key] = value if isinstance(value, tuple) else (value,)
                self.computed.append(made[key][0])
        return made[key][index]

    def _leaf(self, leaf: Leaf, plan: Plan) -> Value:
        kind = plan.types[leaf]
        if leaf in plan.arrays:
            return self.graph.constant(plan.arrays[leaf], type=kind)
        if leaf.fresh or leaf.condition is not None:  # a value that is there may be another op's
            return self.input(kind)
        return self.value(kind, constant=leaf.constant, positive=leaf in plan.positive)

    def read(self, value: Value) -> Value:
        """Add a node that reads a value, by an op that makes small errors no larger, or none where no op fits."""
        names = set(CONTINUOUS)
        fitting = [op for op in self.ops if op.name in names]
        if not isinstance(value.type, Tensor) or not fitting:
            return value
        return self.node(self.pick(fitting), result=value.type, like=value) or value

    def finish(self, wanted: Sequence[Value]) -> Graph:
        """Add outputs: for wanted values, and for some of those that nothing reads, so that the others are dead.

        Parameters
        ----------
        wanted : sequence of Value
            Must reach an output.

        Returns
        -------
        Graph
        """
        chosen = list(wanted)
        loose = [v for v in self.computed if not self.graph.succ[v.node] and not any(v.node == w.node for w in wanted)]
        chosen += [v for v in loose if not self.chance(3)]
        if not chosen:
            chosen = loose[:1] or self.computed[-1:] or [self.value(Tensor("f32", ("N", 1)))]
        for index, value in enumerate(chosen):
            self.graph.output("y" if not index else f"y{index}", value)
        return self.graph
