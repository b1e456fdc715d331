"""Nodes that are added to a graph in a relation to what is there: for passes, which look at many nodes at once."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from graphrewrite.graph import Value
from graphrewrite.op import LIBRARY
from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.experience import accepted, counts_of
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.joint import governed, joint_recipes
from graphrewrite.testing.generation.kinds import kind_of, retyped
from graphrewrite.testing.generation.proposing import TURNS, propose
from graphrewrite.testing.generation.relations import beside, undoing
from graphrewrite.testing.generation.sequences import VARIED, Recipe, values_made
from graphrewrite.types import Element, Type

__all__ = ["relate"]

_DEPTH = 3
"""Nodes one behind the other of which another copy is made."""
_LOOKS = 8
_SELDOM = (False, False, True)
_AGAIN = (True, True, False)


def relate(builder: Builder, ops: Sequence[Op], elements: Sequence[Element] = ()) -> None:
    """Add a node of one of some ops, or two; what undoes one, or takes the part beside it; a copy of several; or a sum.

    Where nothing fits, nothing is added.

    Parameters
    ----------
    elements : sequence of Element
        Element types that values are converted to.
    """
    node = _some_of(builder, ops)
    with suppress(Exception):  # an inference, which may be a user's, may refuse it in any way
        if len(elements) > 1 and LIBRARY["cast"] in ops and builder.pick(_SELDOM):
            _converted(builder, ops, elements)
            return
        if node is None or builder.pick(_SELDOM):
            ways = (
                _other,
                _other if node is None else _twin,
                _twin,
                _meet,
                _through,
                _through,
                _gathered,
                _same,
                _same,
                _results,
            )
            builder.pick(ways)(builder, ops)
        elif not _undo(builder, node) and not _part(builder, node):
            builder.pick((_twin, _twin, _behind, _same))(builder, ops)


def _other(builder: Builder, ops: Sequence[Op]) -> None:
    """Add a node whose attributes are not the simplest ones: which rules leave as they are."""
    op = builder.pick(ops)
    there = [value for value in builder.computed if counts_of(op, kind_of(value.type))]
    first = builder.pick((there[-1], builder.first(op))) if there else builder.first(op)
    counts = counts_of(op, kind_of(first.type)) if first is not None else ()
    if first is None or not counts:
        return
    case = propose(op, first.type, builder.pick(counts), builder.pick(range(TURNS)))
    if case is None:
        return
    rng = random.Random(builder.pick(range(256)))
    each = [{name: recipe} for name in op.attributes for recipe in _varied(op, name, case)]
    known: Sequence[Mapping[str, Recipe]] = list(joint_recipes(op)) if governed(op) else each
    for _ in range(_LOOKS if known else 0):
        values = values_made(rng.choice(known), first.type, rng)
        if values is not None and not op.attributes.items() >= values.items():
            with suppress(Exception):
                kinds = op.infer(*case.types, **{**case.attributes, **values})
                case = replace(case, attributes={**case.attributes, **values}, results=kinds)
                break
    builder.added(op, first, case)


def _behind(builder: Builder, ops: Sequence[Op]) -> None:
    """Let a node read another one of its op: with the same attributes, one of them other, or that one alone."""
    node = _some_of(builder, ops)
    if node is None:
        return
    op, value = builder.graph.op(node), builder.graph.value(node)
    own, others = attributes_in(builder.graph.nodes[node], op), _others(builder, node)
    case = Case((value.type, *(other.type for other in others)), own)
    name = builder.pick((None, None, *op.attributes, *op.attributes))
    if name is None:
        builder.add(op, [value, *others], own)
        return
    rng = random.Random(builder.pick(range(256)))
    values = values_made({name: rng.choice(_varied(op, name, case))}, value.type, rng) or {}
    is_alone = builder.pick((True, False))
    builder.add(op, [value, *others], values if is_alone else {**own, **values})


def _same(builder: Builder, ops: Sequence[Op]) -> None:
    """Let a node read one value twice, or a value and what that is computed of."""
    op, node = builder.pick([op for op in ops if op.required == 2] or ops), _some_of(builder, ops)
    first = builder.first(op) if node is None or builder.pick(_SELDOM) else builder.graph.value(node)
    if first is not None and 2 in counts_of(op, kind_of(first.type)):
        sources = [builder.graph.value(*each) for each in builder.graph.operands(first.node)]
        operands = [first, builder.pick((first, *sources))]
        builder.add(op, operands[:: builder.pick((1, -1))], {})


def _results(builder: Builder, ops: Sequence[Op]) -> None:
    """Let two nodes of one op read two results of one node."""
    op = builder.pick([op for op in ops if op.required == 1] or ops)
    first = builder.first(op)
    long = [] if first is None else [i for i, size in enumerate(first.shape) if isinstance(size, int) and size > 1]
    if first is None or not long:
        return
    axis = builder.pick(long)
    half = int(first.shape[axis]) // 2
    parts = {"axis": axis, "sizes": (half, int(first.shape[axis]) - half)}
    if (part := builder.add(LIBRARY["split"], [first], parts)) is not None:
        for result in (0, 1):
            builder.node(op, builder.graph.value(part.node, result))


def _through(builder: Builder, ops: Sequence[Op]) -> None:
    """Add a node of one of some ops that reads one of another: often with one number for all entries."""
    reader = builder.pick(ops)
    first = builder.first(reader)
    between = [op for op in ops if first is not None and counts_of(op, kind_of(first.type))]
    if first is None or not between:
        return
    op = builder.pick(between)
    if op.infer_types is elementwise and op.required == 2 and builder.pick(_AGAIN):
        value = builder.add(op, [first, builder.constant(retyped(first.type, shape=()))], {})
    else:
        value = builder.node(op, first)
    if value is not None:
        builder.node(reader, value)


def _converted(builder: Builder, ops: Sequence[Op], elements: Sequence[Element]) -> None:
    """Add a conversion between two of some element types, and a node that reads it."""
    old, new = builder.pick(elements), builder.pick(elements)
    made = builder.add(LIBRARY["cast"], [builder.input(builder.fresh(old, builder.pick((1, 2))))], {"element": new})
    readers = [op for op in ops if made is not None and counts_of(op, kind_of(made.type))]
    if made is not None and readers:
        reader = builder.pick(readers)
        binary = reader.infer_types is elementwise and reader.required == 2
        if binary and builder.pick(_AGAIN):
            shape = builder.pick(((), tuple(size if isinstance(size, int) else 1 for size in made.type.shape)))
            builder.add(reader, [made, builder.constant(retyped(made.type, shape=shape))], {})
        else:
            builder.node(reader, made)


def _gathered(builder: Builder, ops: Sequence[Op]) -> None:
    """Let a node of any number of operands read the results of one other node: in order, in another, or one twice."""
    graph = builder.graph
    several = [value for value in builder.computed if graph.op(value.node) in ops and value.result > 0]
    readers = [op for op in ops if op.variadic]
    if not several or not readers:
        return
    node, reader = builder.pick(several).node, builder.pick(readers)
    parts = [value for value in builder.computed if value.node == node]
    own = attributes_in(graph.nodes[node], graph.op(node))
    order = random.Random(builder.pick(range(256))).sample(parts, len(parts))
    chosen = builder.pick((parts, order, order, [*parts[1:], parts[0], parts[0]]))
    builder.add(reader, chosen, {name: own[name] for name in reader.attributes if name in own})


def _varied(op: Op, name: str, case: Case) -> list[Recipe]:
    """What an attribute may be, without what gives one value only where there is what gives many."""
    recipes = list(accepted(op, name, len(case.types), kind_of(case.types[0])))
    return [recipe for recipe in recipes if recipe.style in VARIED] or recipes


def _some_of(builder: Builder, ops: Collection[Op]) -> str | None:
    """A node of one of some ops, the last ones the likeliest."""
    graph = builder.graph
    found = [value.node for value in builder.computed if graph.op(value.node) in ops and graph.operands(value.node)]
    return builder.pick((found[-1], builder.pick(found))) if found else None


def _first_types(builder: Builder, node: str) -> tuple[Type, Type]:
    graph = builder.graph
    return graph.result_type(*graph.operands(node)[0]), graph.result_type(node)


def _undo(builder: Builder, node: str) -> bool:
    """Let a node undo another one, at once or behind others, or do the same twice; tell whether that is possible."""
    graph = builder.graph
    op, (before, after) = graph.op(node), _first_types(builder, node)
    own = attributes_in(graph.nodes[node], op)
    attributes = undoing(op, own, before)
    if attributes is None:
        return False
    if builder.pick(_SELDOM):
        return _twice(builder, op, own, before)
    behind = [v for v in builder.computed if v.type == after and node in {v.node, *graph.upstream(v.node)}]
    others = [value for value in behind if value.node != node] or behind
    if others:
        builder.add(op, [builder.pick((others[-1], builder.pick(behind))), *_others(builder, node)], attributes)
    return True


def _twice(builder: Builder, op: Op, attributes: Mapping[str, Any], kind: Type) -> bool:
    """Do the same twice to a value all of whose sizes are equal, as sizes may not show what that does."""
    size = builder.pick((2, 3))
    made = builder.add(op, [builder.input(retyped(kind, shape=(size,) * len(kind.shape)))], attributes)
    return made is not None and builder.add(op, [made], attributes) is not None


def _part(builder: Builder, node: str) -> bool:
    """Add a node that takes the part beside that of another one, or leaves room for it; tell whether there is one."""
    graph = builder.graph
    op, (before, after) = graph.op(node), _first_types(builder, node)
    part = beside(op, attributes_in(graph.nodes[node], op), before, after, builder.pick)
    if part is None:
        return False
    attributes, kind = part
    first = builder.value(kind) if _gives(op) else graph.value(*graph.operands(node)[0])
    added = builder.add(op, [first, *_others(builder, node)], attributes)
    if _gives(op) and added is not None and builder.pick(_AGAIN):
        _joined(builder, graph.value(node), added)
    return True


def _gives(op: Op) -> bool:
    """Whether what lies beside each other is what several nodes give, and not parts of what they read."""
    return "pads" in op.attributes


def _twin(builder: Builder, ops: Sequence[Op]) -> None:
    """Add a copy of a value's computation with other inputs, and often a node that reads both."""
    if not builder.computed:
        return
    value = builder.pick((builder.computed[-1], builder.pick(builder.computed)))
    copy = _copied(builder, value, _DEPTH)
    if builder.pick(_AGAIN) and copy.node != value.node:
        _joined(builder, value, copy)


def _copied(builder: Builder, value: Value, depth: int) -> Value:
    graph = builder.graph
    data = graph.nodes[value.node]
    operands = [graph.value(*each) for each in graph.operands(value.node)]
    if not operands or not depth:
        is_kept = data["type"] == "constant" or builder.pick((False, True))
        return value if is_kept else builder.input(value.type)
    op = graph.op(value.node)
    made = graph.add(op, [_copied(builder, each, depth - 1) for each in operands], attributes_in(data, op))
    values: tuple[Value, ...] = made if isinstance(made, tuple) else (made,)
    builder.computed += map(builder.offer, values)
    return values[value.result]


def _meet(builder: Builder, ops: Sequence[Op]) -> None:
    """Add a node that reads two values of one type that nothing reads yet."""
    loose = [value for value in builder.computed if not builder.graph.succ[value.node]]
    pairs = [(a, b) for at, a in enumerate(loose) for b in loose[:at] if a.type == b.type]
    if pairs:
        _joined(builder, *builder.pick(pairs))


def _joined(builder: Builder, one: Value, other: Value) -> None:
    readers = [op for op in builder.ops if op.infer_types is elementwise and len(op.operands) == op.required == 2]
    if readers:
        builder.add(builder.pick(readers), [one, other], {})


def _others(builder: Builder, node: str) -> list[Value]:
    return [builder.graph.value(*each) for each in builder.graph.operands(node)[1:]]
