"""Plans with other types or attributes: sizes of leaves that then do not fit are mended."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.fitting import accepted_case, fit
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.tracing import Trace, traced
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output
from graphrewrite.types import Dimension, Type

__all__ = ["inferred", "resized", "stretched"]

_MENDED = 6
"""Nodes whose operands are mended before giving up."""
_STRIDES = (1, 2, 3)
"""By how much an axis grows that is read with strides, for each entry that a result is to have more."""


def inferred(
    plan: Plan,
    types: Mapping[Leaf, Type],
    attributes: Mapping[Node, Mapping[str, Any]],
    pick: Pick,
    *,
    kept: Collection[Leaf] = (),
    nodes: Sequence[Node] | None = None,
) -> Plan:
    """Return a plan of the same reading with other types or attributes; sizes of leaves that do not fit are mended.

    Parameters
    ----------
    nodes : sequence of Node, optional
        Those to plan, operands first; by default all.
    """
    current = dict(types)
    for _ in range(_MENDED):
        made = Plan(plan.reading)
        for node in plan.reading.nodes if nodes is None else nodes:
            kinds = tuple(current[o] if isinstance(o, Leaf) else made.result(o) for o in node.operands)
            case = accepted_case(node.op, kinds, attributes[node])
            if case is None:
                current.update(
                    _mended(node, kinds, attributes[node], kept)
                    or _computed(made, node, kinds, attributes, current, kept)
                )
                break
            made.place(node, case)
        else:
            for leaf, kind in current.items():
                made.fill(leaf, kind, pick)
            return made
    raise Unfit("mended, and still no fit")


def _mended(
    node: Node, kinds: tuple[Type, ...], attributes: Mapping[str, Any], kept: Collection[Leaf]
) -> dict[Leaf, Type]:
    loose = [i for i, o in enumerate(node.operands) if isinstance(o, Leaf) and o not in kept]
    case = fit(node.op, kinds, attributes, loose, random.Random(0), guesses=0)
    if case is None:
        return {}
    found = {o: t for o, t in zip(node.operands, case.types, strict=True) if isinstance(o, Leaf)}
    if found == {o: t for o, t in zip(node.operands, kinds, strict=True) if isinstance(o, Leaf)}:
        raise Unfit(f"{node.op.name}: the result does not fit its format")
    return found


def _computed(
    made: Plan,
    node: Node,
    kinds: tuple[Type, ...],
    attributes: Mapping[Node, Mapping[str, Any]],
    types: Mapping[Leaf, Type],
    kept: Collection[Leaf],
) -> dict[Leaf, Type]:
    """Give another size to what a computed operand comes of."""
    notes: Trace = []
    with suppress(Exception):  # an inference of a user's, asked about what it may not foresee
        node.op.infer(*traced(kinds, notes), **attributes[node])
    wanted = [(node.operands[operand], axis, size) for (operand, axis), size in reversed(notes)]
    for port, axis, size in wanted:
        if isinstance(port, Output) and made.result(port).shape[axis] != size:
            found = _renamed(made.result(port).shape[axis], size, types, kept)
            if found:
                return found
    for port, axis, size in wanted:
        if isinstance(port, Output) and isinstance(size, int):
            found = stretched(made, port, axis, size, types, kept)
            if found:
                return found
    raise Unfit(f"{node.op.name} takes no {', '.join(map(str, kinds))}")


def _renamed(old: Dimension, size: Dimension, types: Mapping[Leaf, Type], kept: Collection[Leaf]) -> dict[Leaf, Type]:
    """Give another size to every axis of a size."""
    return {
        leaf: retyped(kind, shape=tuple(size if each == old else each for each in kind.shape))
        for leaf, kind in types.items()
        if old in kind.shape and leaf not in kept
    }


def resized(plan: Plan, old: Dimension, new: Dimension) -> dict[Leaf, Type]:
    """Return the types of all leaves, with another size wherever one is met."""
    return {
        leaf: retyped(kind, shape=tuple(new if size == old else size for size in kind.shape))
        for leaf, kind in plan.types.items()
    }


def stretched(
    made: Plan, port: Output, axis: int, size: int, types: Mapping[Leaf, Type], kept: Collection[Leaf]
) -> dict[Leaf, Type]:
    """Give another size to the axis of a leaf that makes up for what windows, borders and strides do to it."""
    old = made.result(port).shape[axis]
    below = [port.node]
    for node in below:
        below += [o.node for o in node.operands if isinstance(o, Output) and o.node not in below]
    nodes = [node for node in made.reading.nodes if node in below]
    leaves = dict.fromkeys(o for node in nodes for o in node.operands if isinstance(o, Leaf) and o not in kept)
    for leaf, factor in product(leaves, _STRIDES) if isinstance(old, int) else ():
        shape = types[leaf].shape
        for at, each in enumerate(shape):
            if not isinstance(each, int) or each + factor * (size - old) < 1:
                continue
            kind = retyped(types[leaf], shape=(*shape[:at], each + factor * (size - old), *shape[at + 1 :]))
            given = _result(made, nodes, {**types, leaf: kind}, port)
            if given is not None and given.shape[axis : axis + 1] == (size,):  # it may have fewer axes
                return {leaf: kind}
    return {}


def _result(made: Plan, nodes: Sequence[Node], types: Mapping[Leaf, Type], port: Output) -> Type | None:
    """Return what some nodes give with other types of leaves, if they take them."""
    results: dict[Node, tuple[Type, ...]] = {}
    for node in nodes:
        kinds = tuple(types[o] if isinstance(o, Leaf) else results[o.node][o.index] for o in node.operands)
        case = accepted_case(node.op, kinds, made.cases[node].attributes)
        if case is None:
            return None
        results[node] = case.results
    return results[port.node][port.index]
