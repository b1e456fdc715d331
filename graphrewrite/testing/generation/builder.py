"""Random well-typed graphs, node by node, and pattern instances embedded in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from graphrewrite.errors import AttributeValueError, TypeMismatchError
from graphrewrite.graph import Graph, Value
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.op import LIBRARY
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.arrays import constant_array, nearly_equal
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.edges import WITHOUT_NAN
from graphrewrite.testing.generation.experience import counts_of, some_kind, taken
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.indices import Limits, bits_shifted, limits_in, limits_of_operand, within
from graphrewrite.testing.generation.kinds import FAMILIES, LAYOUTS, POSITIVE, SIZES, USUAL, Kind, kind_of, retyped
from graphrewrite.testing.generation.known_values import Source, known_source
from graphrewrite.testing.generation.open_sizes import EXPRESSIONS, extent, holds_for_all
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.proposing import (
    TURNS,
    Link,
    elements_taken,
    elements_with,
    links,
    propose,
    sources,
)
from graphrewrite.testing.generation.relations import beside
from graphrewrite.testing.generation.repeating import repeated
from graphrewrite.testing.generation.suggested import shapes_of
from graphrewrite.testing.generation.tables import CONTINUOUS
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output
from graphrewrite.types import Dimension, Element, Quantised, Stream, Tensor, Type

__all__ = ["Builder"]

_STYLES = (0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 10, 11, 12)
"""Of constants."""
_LOOKS = 4
"""Ops to look at for one that reads a value, and pairs for two one of which can read the other."""
_KNOWN = (False, True, True)
_LARGEST = 2000
"""Entries of a result, in each row of a batch."""


def _reads(op: Op, kind: Type) -> bool:
    return any(propose(op, kind, count, 0) is not None for count in counts_of(op, kind_of(kind)))


def _are_broadcast(one: Sequence[Dimension], other: Sequence[Dimension]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))


class Builder:
    """A graph that grows by random, well-typed nodes.

    Parameters
    ----------
    every_type : bool
        Whether values may be of any element type and in any layout; else of those alone that most graphs hold.
    open_sizes : bool
        Whether any size of an input may be symbolic; else that of the batch alone.
    sparingly : bool
        Whether as little as possible is found out about the ops: for graphs that have few ops of many.
    sizes : sequence of int
        Sizes of inputs; what they lead to may have others.
    known : sequence of float, optional
        Limits that a rule may ask for: then something is known of some values that it leaves open.
    """

    def __init__(
        self,
        pick: Pick,
        ops: Sequence[Op],
        batch: Dimension = "N",
        *,
        every_type: bool = False,
        open_sizes: bool = False,
        sparingly: bool = False,
        sizes: Sequence[int] = SIZES,
        known: Sequence[float] | None = None,
    ) -> None:
        self.pick, self.batch, self.every_type = pick, batch, every_type
        self.ops = tuple(op for op in ops if op.name != "constant")
        self.has_constants = len(self.ops) < len(ops)
        self.open_sizes, self.sparingly, self.sizes, self.known = open_sizes, sparingly, sizes, known
        self.graph = Graph("generated")
        self.pool: dict[Type, list[Value]] = {}
        self.computed: list[Value] = []
        self.arrays: list[np.ndarray] = []
        self.built: dict[Leaf | Node, tuple[Value, ...]] = {}
        """What the last plan that was built became."""

    def chance(self, count: int) -> bool:
        """Return true once in that many times; shrinks to false."""
        return self.pick(range(count)) == count - 1

    def offer(self, value: Value) -> Value:
        """Let later nodes read a value."""
        self.pool.setdefault(value.type, []).append(value)
        return value

    def input(self, kind: Type, *, alone: bool = False) -> Value:
        """Add an input, which others may read as well, or alone what it is made for."""
        count = len(self.graph.inputs)
        value = self.graph.input("x" if not count else f"x{count}", kind)
        return value if alone else self.offer(value)

    def constant(self, kind: Type, *, positive: bool = False) -> Value:
        """Add a constant: sometimes one that is equal to another one, but for its type or the signs of its zeros."""
        array = constant_array(kind, self.pick(_STYLES), positive=positive)
        there = [] if positive else [other for other in self.arrays if other.size == array.size]
        if there and self.chance(2 if self.has_constants else 3):
            alike = nearly_equal(self.pick(there), kind, signs=self.pick((True, False)))
            array = array if alike is None else alike
        self.arrays.append(array)
        return self.offer(self.graph.constant(array, type=kind))

    def another_constant(self) -> None:
        """Add a constant whose value a node or an output may be: often of the type of one that is there, or nearly."""
        there = [self.graph.result_type(n) for n, data in self.graph.nodes(data=True) if data["type"] == "constant"]
        is_alike = self.pick((True, True, False))
        if there and is_alike:
            kind = self.pick(there)
            with suppress(Unfit):  # scales of channels
                kind = retyped(kind, shape=self.pick((kind.shape, *[kind.shape[::-1]] * 2, (1, *kind.shape))))
        else:
            family = self.pick(("float", "float", "integer"))
            shape = tuple(self.pick(SIZES) for _ in range(self.pick((1, 0, 2, 2))))
            kind = Tensor(self.pick(self.wanted(FAMILIES[family], family)), shape)
        value = self.constant(kind)
        readers = [op for op in self.ops if op.infer_types is elementwise and len(op.operands) == 2]
        if self.pick((True, False)) and readers:
            others = [o for pooled in self.pool.values() for o in pooled if o.type.element == kind.element]
            others = [other for other in others if _are_broadcast(other.type.shape, kind.shape)]
            self.add(self.pick(readers), [self.pick(others), value], {})
        else:
            self.computed.append(value)

    def value(self, kind: Type, *, constant: bool = False, positive: bool = False) -> Value:
        """Return a value of a type: one that is there, another input, or a constant."""
        whole = isinstance(kind, Tensor) and all(isinstance(d, int) for d in kind.shape)
        if constant:
            return self.constant(kind, positive=positive)
        there = self.pool.get(kind, [])
        if whole and self.pick((False, True)):  # inputs have edge values, and constants small numbers
            return self.constant(kind, positive=positive)
        if bool(there) and self.pick((True, False)):
            return self.pick(there)
        return self.input(kind)

    def indices(self, kind: Type, limits: Limits) -> Value:
        """Return a value of a type whose entries lie between limits: an input, or a constant."""
        if any(isinstance(d, str) for d in kind.shape) or self.pick((True, False)):
            return self.input(kind)
        return self.graph.constant(within(constant_array(kind, self.pick(_STYLES)), limits), type=kind)

    def step(self) -> None:
        """Add a node: of an op that reads the last value, or of any; or one that is there, again."""
        if self.has_constants and self.chance(3):
            self.another_constant()
            return
        way = self.pick(range(16))
        if way > 13:
            self.repeat()
            return
        if way > 6 and not self.sparingly:
            self.pair()
            return
        last = self.computed[-1] if self.computed else None
        op = self.pick(self.ops)
        if last is not None and way < 6:
            for _ in range(1 if self.sparingly else _LOOKS):
                if op.operands and counts_of(op, kind_of(last.type)):
                    self.node(op, last)
                    return
                op = self.pick(self.ops)
        if not op.operands:
            self.source(op)
            return
        late = self.computed[-2 if self.sparingly else -8 :]
        there = [v for v in reversed(late) if counts_of(op, kind_of(v.type))]
        self.node(op, self.pick(there) if there and way % 2 else self.first(op))

    def pair(self) -> None:
        """Add two nodes one of which reads the other, so that all pairs are met alike, however rare what they share."""
        found: tuple[Link, ...] = ()
        for _ in range(_LOOKS):
            source, reader = self.pick(self.ops), self.pick(self.ops)
            if reader.operands and not source.operands:
                self.node(reader, self.source(source, reader))
                return
            found = links(source, reader) if reader.operands else ()
            if found:
                break
        else:
            return
        link = self.pick(found)
        family, elements = link.kind.family, [link.element]
        if family == link.result.family:  # hardly any op makes one element type of another within a family
            elements += self.wanted(elements_taken(reader, family), family)
        for attempt in range(2 * _LOOKS):
            kind = self.fresh(self.pick(elements), link.kind.rank, stream=family == "stream")
            turn = self.pick(range(TURNS)) if attempt or self.chance(3) else link.turn
            case = propose(source, kind, link.operands, turn)
            if case is not None and _reads(reader, case.results[0]):
                self.node(reader, self.added(source, self.value(kind), case))
                return

    def nest(self) -> None:
        """Add a node that is a graph of its own, of one or two nodes; none whose operands not every number may be."""
        inner = Builder(self.pick, self.ops, self.batch, every_type=self.every_type, sparingly=True)
        for _ in range(self.pick((1, 2))):
            inner.step()
        body = inner.finish([])
        body.name = f"block_{len(self.graph.ops)}"
        is_any = not limits_in(body) and not any(data["type"] in WITHOUT_NAN for data in body.nodes.values())
        if is_any and body.inputs and inner.computed:
            values = graph_op(body)(*(self.value(kind) for kind in body.input_types))
            for value in values if isinstance(values, tuple) else (values,):
                self.computed.append(self.offer(value))

    def source(self, op: Op, reader: Op | None = None) -> Value | None:
        """Add a node of an op without operands, such as a counter, which another one can read where that is given."""
        cases = [c for c in sources(op) if reader is None or counts_of(reader, kind_of(c.results[0]))]
        return self.add(op, [], self.pick(cases).attributes) if cases else None

    def first(self, op: Op) -> Value | None:
        """Return a value that an op takes as its first operand; None where nothing is known about it."""
        kind_taken = some_kind(op, self.pick) if self.sparingly else self.any_kind(op)
        if kind_taken is None:
            return None
        family, rank = kind_taken
        known = elements_with(op, kind_taken) if self.sparingly else elements_taken(op, family)
        elements = self.wanted(known, family)
        element = elements[0] if self.pick((True, False)) else self.pick(elements)
        kind = self.fresh(element, rank, stream=family == "stream")
        shapes = shapes_of(op, rank)
        if shapes and self.chance(2):
            kind = Tensor(element, tuple(self.batch if size == "N" else size for size in self.pick(shapes)))
        found = self.pool.get(kind, ())
        return self.pick(found) if found and self.pick((True, False)) else self.value(kind)

    def any_kind(self, op: Op) -> Kind | None:
        """Return one of all kinds of first operands that an op takes, or of those of floats; None if none is known."""
        kinds = list(taken(op))
        if not kinds:
            return None
        floats = [kind for kind in kinds if kind.family == "float"]
        return self.pick(floats or kinds) if self.pick((True, True, False)) else self.pick(kinds)

    def wanted(self, elements: Sequence[Element], family: str) -> list[Element]:
        """Return those of some element types of a family that values may be of."""
        return [e for e in elements if self.every_type or e in USUAL[family]]

    def fresh(self, element: Element, rank: int, *, stream: bool = False) -> Type:
        """Return a small type with so many axes."""
        sizes = (self.pick(self.sizes),) * rank  # equal sizes are common: only they hide that axes were exchanged
        sizes = sizes if self.pick((True, False)) else tuple(self.pick(self.sizes) for _ in range(rank))
        if stream:
            return Stream(element, sizes)  # type: ignore[arg-type]  # the elements of that family are formats
        shape: tuple[Dimension, ...] = (self.batch, *sizes[1:])[:rank]
        if self.open_sizes:
            shape = (*shape[:1], *(self.pick((size, size, self.pick(EXPRESSIONS))) for size in shape[1:]))
        if isinstance(element, Quantised) and rank > 1 and 0 != sizes[1] == shape[1] and self.chance(3):
            scales = (0.5, 0.25, 2.0) * int(sizes[1])
            element = Quantised("i8", scales[: int(sizes[1])], axis=1)
        layout = self.pick(LAYOUTS[rank]) if self.every_type and rank in LAYOUTS and self.chance(8) else None
        return Tensor(element, shape, layout)

    def node(self, op: Op, first: Value | None, *, result: Type | None = None) -> Value | None:
        """Add a node of an op if one fits, and return its first value."""
        if first is None:
            return None
        counts = counts_of(op, kind_of(first.type))
        if not counts:
            return None
        count, turn = self.pick(counts), self.pick(range(TURNS))
        case = propose(op, first.type, count, turn, sparingly=self.sparingly) or propose(op, first.type, count, 0)
        if case is None or (result is not None and case.results[0] != result):
            return None
        return self.added(op, first, case)

    def added(self, op: Op, first: Value, case: Case) -> Value | None:
        """Add a node as a case has it, with operands that are there or new."""
        if any("-" in str(size) for kind in case.types for size in kind.shape):
            return None  # it would be negative if the other size is large
        if any(kind.unknowns for kind in case.types[1:]):
            return None  # only the data decide what sizes the others must have
        names = (*op.operands[1:], *op.operands[-1:] * len(case.types))
        rest = []
        for position, (kind, name) in enumerate(zip(case.types[1:], names, strict=False), start=1):
            limits = limits_of_operand(op, position, case.types, case.attributes)
            rest.append(self.value(kind, positive=name in POSITIVE) if limits is None else self.indices(kind, limits))
        operands = [first, *rest]
        if op.commutative and rest and self.chance(2):
            operands[:2] = reversed(operands[:2])
        return self.add(op, operands, case.attributes)

    def add(self, op: Op, operands: list[Value], attributes: Mapping[str, Any]) -> Value | None:
        """Add a node if it fits and its result is not too large, and return its first value."""
        try:
            kinds = op.result_types(tuple(value.type for value in operands), attributes)
            if any(extent(kind, self.batch) > _LARGEST for kind in kinds):
                return None  # borders and joins of results of others grow without end
            if not holds_for_all(op, [value.type for value in operands], attributes, self.batch):
                return None
            if not self._are_within(op, operands, attributes):
                return None
            made = self.graph.add(op, operands, attributes)
        except TypeMismatchError:  # operands in another order
            return None
        values = made if isinstance(made, tuple) else (made,)
        for value in values:
            self.computed.append(self.offer(value))
        return values[0] if values else None

    def _are_within(self, op: Op, operands: list[Value], attributes: Mapping[str, Any]) -> bool:
        """Tell whether operands that must lie within an axis do so: inputs are made to, what is computed may not."""
        types = [value.type for value in operands]
        for position, value in enumerate(operands):
            limits = limits_of_operand(op, position, types, {**op.attributes, **attributes})
            data = self.graph.nodes[value.node]
            if limits is not None and limits[1] < limits[0]:
                return False
            if limits is None or data["type"] == "input":
                continue
            if data["type"] != "constant" or not np.array_equal(within(data["value"], limits), data["value"]):
                return False
        return True

    def repeat(self) -> None:
        """Add a node that is equal to one that is there, or nearly."""
        if not self.computed:
            return
        op, operands, attributes = repeated(self.graph, self.computed, self.ops, self.pick)
        with suppress(Exception):  # these operands and attributes do not fit, and an inference may not foresee them
            self.add(op, operands, attributes)

    def build(self, plan: Plan, *, spoiled: bool = False) -> list[Value]:
        """Add what is planned and return the values of its roots."""
        made = self.built = {}
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
                self._indices_of(key, plan, made)
                operands: list[Value] = []
                for operand in key.operands:
                    if isinstance(operand, Leaf) and operand not in made and key.op.variadic:
                        self._alike(operand, operands, plan, made)
                    operands.append(self._made(operand, plan, made))
                try:
                    value = self.graph.add(key.op, operands, plan.cases[key].attributes)
                except AttributeValueError as error:  # a value of a rule's code is none of the attribute's
                    raise Unfit(str(error)) from error
                made[key] = value if isinstance(value, tuple) else (value,)
                self.computed.append(made[key][0])
        return made[key][index]

    def _alike(
        self, leaf: Leaf, beside: Sequence[Value], plan: Plan, made: dict[Leaf | Node, tuple[Value, ...]]
    ) -> None:
        """Make an operand of any number as one beside it is made: rules look at what computes those they leave open."""
        computed = [v for v in beside if self.graph.operands(v.node) and not isinstance(v.type, Stream)]
        is_open = not leaf.constant and leaf.condition is None and leaf not in plan.arrays
        if not computed or not is_open or self.pick((True, False)):
            return
        node, kind = self.pick(computed).node, plan.types[leaf]
        op, (first, *rest) = self.graph.op(node), [self.graph.value(*operand) for operand in self.graph.operands(node)]
        shapes = [first.type.shape, kind.shape] if len(first.type.shape) == len(kind.shape) else [first.type.shape]
        ways: list[tuple[Mapping[str, Any], Type, Value | None]] = [
            (part, first.type, first) for part in self._parts_beside(node, first.type)
        ]
        with suppress(Unfit):
            ways += [(self.graph.attributes(node), retyped(first.type, shape=shape), None) for shape in shapes]
        for attributes, own, same in ways:
            with suppress(Unfit, TypeMismatchError):
                if op.result_types((own, *(value.type for value in rest)), attributes) == (kind,):
                    value = self.graph.add(op, [self.value(own) if same is None else same, *rest], attributes)
                    made[leaf] = value if isinstance(value, tuple) else (value,)
                    self.computed.append(made[leaf][0])
                    return

    def _parts_beside(self, node: str, before: Type) -> list[dict[str, Any]]:
        """Attributes with which another node would take the part beside that of a node, sometimes."""
        if not self.pick((True, False)):
            return []
        op, after = self.graph.op(node), self.graph.result_type(node)
        found = [beside(op, self.graph.attributes(node), before, after, self.pick) for _ in range(_LOOKS)]
        return [part[0] for part in found if part is not None and part[1] == before]

    def _indices_of(self, node: Node, plan: Plan, made: dict[Leaf | Node, tuple[Value, ...]]) -> None:
        """Add the operands of a node that are indices, which lie within their axes, and some amounts of shifts."""
        need = plan.cases[node]
        for position, leaf in enumerate(node.operands):
            if not isinstance(leaf, Leaf) or leaf.literal is not None or leaf in made or leaf.condition is not None:
                continue
            limits = limits_of_operand(node.op, position, need.types, need.attributes)
            kind = plan.types[leaf]
            if limits is not None and not leaf.constant:
                made[leaf] = (self.input(kind, alone=True) if leaf.fresh else self.indices(kind, limits),)
            elif limits is not None:
                array = plan.arrays[leaf] if leaf in plan.arrays else self._places(kind)
                made[leaf] = (self.graph.constant(within(array, limits), type=kind),)
            elif leaf.constant and leaf not in plan.arrays:
                bits = bits_shifted(node.op, position, need.types)
                if bits and self.pick((True, False)):
                    quarters = constant_array(kind, self.pick(_STYLES))  # of all bits
                    made[leaf] = (self.graph.constant(quarters * bits // 4, type=kind),)

    def _places(self, kind: Type) -> np.ndarray:
        """Any places, or places in a row, as most are."""
        array = constant_array(kind, self.pick(_STYLES))
        if self.chance(3):
            return (np.arange(array.size) + self.pick((0, 1))).reshape(array.shape).astype(array.dtype)
        return array

    def _leaf(self, leaf: Leaf, plan: Plan) -> Value:
        kind = plan.types[leaf]
        if self.known is not None and not leaf.constant and leaf.literal is None and self.pick(_KNOWN):
            source = known_source(kind, leaf.condition, self.known, self.pick)
            if source is not None:
                return self._computed(source)
        if leaf in plan.arrays:
            return self.graph.constant(plan.arrays[leaf], type=kind)
        if leaf.fresh or leaf.condition is not None:  # a value that is there may be another op's
            return self.input(kind, alone=leaf.fresh)
        return self.value(kind, constant=leaf.constant, positive=leaf in plan.positive)

    def _computed(self, source: Source) -> Value:
        value = self.input(source.kind)
        for name, attributes in source.steps:
            value = self.graph.add(LIBRARY[name], [value], attributes)
        self.computed.append(value)
        return self.offer(value)

    def read(self, value: Value) -> Value:
        """Add a node that reads a value, by an op that makes small errors no larger, or none where no op fits."""
        names = set(CONTINUOUS)
        fitting = [op for op in self.ops if op.name in names and counts_of(op, kind_of(value.type))]
        if not isinstance(value.type, Tensor) or not fitting:
            return value
        return self.node(self.pick(fitting), value, result=value.type) or value

    def finish(self, wanted: Sequence[Value]) -> Graph:
        """Add outputs: for wanted values, and for some of those that nothing reads, so that the others are dead."""
        if self.chance(8):
            self.input(Tensor("f32", (self.batch, 1)))  # which nothing reads
        chosen = list(wanted)
        loose = [v for v in self.computed if not self.graph.succ[v.node] and not any(v.node == w.node for w in wanted)]
        chosen += [v for v in loose if not self.chance(3)]
        if not chosen:
            chosen = loose[:1] or self.computed[-1:] or [self.value(Tensor("f32", ("N", 1)))]
        for index, value in enumerate(chosen):
            self.graph.output("y" if not index else f"y{index}", value)
        return self.graph
