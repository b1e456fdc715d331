"""Changes of a plan that bring several nodes into a relation: slices side by side, one node that undoes another one.

What a rule asks of two nodes together is seldom found by changing one attribute after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.attribute_changes import change_of, changed, is_open
from graphrewrite.testing.generation.demand import Pick, Unfit, some
from graphrewrite.testing.generation.kinds import LONG
from graphrewrite.testing.generation.mending import inferred, resized
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.relations import parts_of, undoing
from graphrewrite.testing.generation.unfolding import Node, Output

__all__ = ["related", "relations_of"]

_ORDERS = 24
"""Orders of parts to choose from."""
_BEFORE_ALL, _BEYOND = -(2**31) + 1, 2**31 - 1
"""Where a slice ends that has the first entry as well, backwards, or the last one."""
Relation = Callable[[Plan, Pick], Plan]


def relations_of(plan: Plan) -> list[Relation]:
    """Return the changes that a plan has nodes for."""
    found: list[Relation] = []
    if _sliced(plan):
        found += [_parts, _parts]
    if _slices_of(plan, LIBRARY["concat"]):
        found.append(_at_a_seam)
    if _slices_of(plan, LIBRARY["slice"]):
        found += [_turned_round, _part_of_part]
    if _pairs(plan):
        found.append(_undone)
    if _shaped(plan):
        found += [_shape_elsewhere, _regrouped]
    return found


def related(plan: Plan, pick: Pick) -> Plan:
    """Return a plan with nodes in a relation to each other.

    Raises
    ------
    Unfit
        If there are none, or it does not fit.
    """
    try:
        made = pick(some(relations_of(plan)))(plan, pick)
    except GraphRewriteError as error:  # the op takes no such value
        raise Unfit(str(error)) from error
    kinds = [*made.types.values(), *(kind for case in made.cases.values() for kind in case.results)]
    if any(sum(isinstance(size, str) for size in kind.shape) > 1 for kind in kinds):
        raise Unfit("a value as large as a power of the batch")
    return made


def _sliced(plan: Plan) -> list[list[Node]]:
    """Slices of one value, of each value that has several."""
    groups: dict[Any, list[Node]] = {}
    for node in plan.reading.nodes:
        if _is_open_slice(node):
            groups.setdefault(node.operands[0], []).append(node)
    return [nodes for nodes in groups.values() if len(nodes) > 1]


def _parts(plan: Plan, pick: Pick) -> Plan:
    """Let slices of one value be its parts along an axis: one behind the other, or its entries in turn."""
    nodes = pick(_sliced(plan))
    kind = plan.cases[nodes[0]].types[0]
    axes = [axis for axis, size in enumerate(kind.shape) if isinstance(size, int) and size > 1]
    axis = pick(some([*axes[-1:], *axes]))
    size, count = int(kind.shape[axis]), pick(range(2, len(nodes) + 1))
    in_turn = pick((False, False, True)) and size % count == 0
    parts = [(at, size) for at in range(count)] if in_turn else parts_of(size, count, pick)
    order = pick(list(permutations(range(count)))[:_ORDERS])
    change: dict[Node, dict[str, Any]] = {}
    steps = (count,) if in_turn else pick((None, None, (1,)))
    backwards = pick((*[-1] * 8, *range(count)))
    for number, node in enumerate(pick((nodes, nodes[::-1]))):
        start, end = parts[order[number]] if number < count else (0, size)
        change[node] = {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": steps}
        if number == backwards and not in_turn:
            change[node] = {"starts": (end - 1,), "ends": (start - 1 - size * (not start),), "axes": (axis,)}
            change[node]["steps"] = (-1,)
    for node in plan.reading.nodes:  # which puts them together again
        reads = any(isinstance(operand, Output) and operand.node in change for operand in node.operands)
        if reads and node.op is LIBRARY["concat"] and is_open(node, "axis"):
            change[node] = {"axis": axis}
    return _with(plan, change, pick)


def _slices_of(plan: Plan, op: Op) -> list[tuple[Node, Node]]:
    """Return nodes of an op, each with a slice that reads it and whose part is open."""
    return [
        (source.node, node)
        for node in plan.reading.nodes
        for source in node.operands[:1]
        if _is_open_slice(node) and isinstance(source, Output) and source.node.op is op
    ]


def _is_open_slice(node: Node) -> bool:
    return node.op is LIBRARY["slice"] and all(is_open(node, name) for name in ("starts", "ends", "axes", "steps"))


def _turned_round(plan: Plan, pick: Pick) -> Plan:
    """Let a slice turn round what another one gives, along one axis of it, or of all but an entry."""
    first, second = pick(_slices_of(plan, LIBRARY["slice"]))
    axes = plan.cases[first].attributes.get("axes") or tuple(range(len(plan.cases[first].types[0].shape)))
    axis, last = pick(some([*axes])), pick((-1, -1, -2))
    return _with(plan, {second: {"starts": (last,), "ends": (_BEFORE_ALL,), "axes": (axis,), "steps": (-1,)}}, pick)


def _part_of_part(plan: Plan, pick: Pick) -> Plan:
    """Let two slices, one of the other, begin behind the first entry, or leave entries out, along one long axis."""
    first, second = pick(_slices_of(plan, LIBRARY["slice"]))
    shape = plan.cases[first].types[0].shape
    axis = pick(some([at for at, size in enumerate(shape) if isinstance(size, int)]))
    size, new = shape[axis], pick(LONG)
    types = resized(plan, size, new)
    change: dict[Node, dict[str, Any]] = {}
    for node in (first, second):
        start, step, end = pick((0, 1, 1, 2)), pick((1, 1, 2, 3)), pick((_BEYOND, -1, new))
        change[node] = {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": (step,)}
        new = len(range(new)[start:end:step])
    return _with(inferred(plan, types, plan.attributes, pick), change, pick)


def _at_a_seam(plan: Plan, pick: Pick) -> Plan:
    """Let a slice begin, or end, where a part of a concatenation does, or one entry behind."""
    joined, node = pick(_slices_of(plan, LIBRARY["concat"]))
    axis = int(plan.cases[joined].attributes["axis"])
    seams = [0]
    for kind in plan.cases[joined].types:
        size = kind.shape[axis]
        if not isinstance(size, int):
            raise Unfit("it is not known where the parts end")
        seams.append(seams[-1] + size)
    places = sorted({place + by for place in seams for by in (0, 0, 1) if place + by <= seams[-1]})
    start = pick(places)
    end = pick([place for place in places if place > start] or [seams[-1]])
    return _with(plan, {node: {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": None}}, pick)


def _with(plan: Plan, change: Mapping[Node, Mapping[str, Any]], pick: Pick) -> Plan:
    """Return a plan with other attributes of some nodes, and with those that the pattern says are the same."""
    whole: dict[Node, dict[str, Any]] = {}
    for node, values in change.items():
        for other, each in change_of(plan, [node], values).items():
            whole.setdefault(other, {}).update(each)
    return changed(plan, whole, pick)


def _pairs(plan: Plan) -> list[tuple[Node, Node]]:
    """Pairs of nodes the second of which may undo the first one."""
    found = []
    for first, second in permutations(plan.reading.nodes, 2):
        attributes = _undoing(plan, first) if first.op is second.op else None
        if attributes is not None and all(is_open(second, name) for name in attributes):
            found.append((first, second))
    return found


def _undoing(plan: Plan, node: Node) -> dict[str, Any] | None:
    case = plan.cases[node]
    return undoing(node.op, case.attributes, case.types[0]) if case.types else None


def _undone(plan: Plan, pick: Pick) -> Plan:
    """Let a node undo another one."""
    first, second = pick(_pairs(plan))
    return _with(plan, {second: _undoing(plan, first) or {}}, pick)


def _shaped(plan: Plan) -> list[Node]:
    """Nodes that are told what shape to give."""
    return [node for node in plan.reading.nodes if "shape" in node.op.attributes and is_open(node, "shape")]


def _shape_elsewhere(plan: Plan, pick: Pick) -> Plan:
    """Let a node give the shape of another value."""
    node = pick(_shaped(plan))
    shapes = [kind.shape for case in plan.cases.values() for kind in (*case.types, *case.results)]
    return _with(plan, {node: {"shape": pick(shapes)}}, pick)


def _regrouped(plan: Plan, pick: Pick) -> Plan:
    """Let a node take an axis apart into several, put neighbours together, or repeat what has a size of 1."""
    node = pick(_shaped(plan))
    if not plan.cases[node].types:
        raise Unfit("it has no operand")
    shape = plan.cases[node].types[0].shape
    return _with(plan, {node: {"shape": pick((_split, _joined, _repeated))(shape, pick)}}, pick)


def _split(shape: Sequence[Any], pick: Pick) -> tuple[Any, ...]:
    axis = pick(some([at for at, size in enumerate(shape) if isinstance(size, int)]))
    size, parts = int(shape[axis]), []
    for _ in range(pick((1, 2))):
        parts.append(pick([each for each in range(1, size + 1) if size % each == 0] or [1]))
        size //= parts[-1]
    return (*shape[:axis], *parts, size, *shape[axis + 1 :])


def _repeated(shape: Sequence[Any], pick: Pick) -> tuple[Any, ...]:
    return tuple(pick((1, 2, 2, 3)) if size == 1 else size for size in shape)


def _joined(shape: Sequence[Any], pick: Pick) -> tuple[Any, ...]:
    found: list[Any] = []
    for size in shape:
        if found and isinstance(size, int) and isinstance(found[-1], int) and pick((False, True)):
            found[-1] *= size
        else:
            found.append(size)
    return tuple(found)
