"""Plans near to a plan: other attributes, sizes, element types and layouts, kept where all of it still fits.

A plan that was read backwards from what is wanted is the plainest one. What goes wrong with a rule goes wrong beside
that: where sizes happen to be equal, an operand is broadcast, a limit is tight, or numbers are of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from graphrewrite.testing.generation.attribute_changes import (
    change_attribute,
    changed,
    deal_numbers,
    is_open,
    redrawn,
    stirred,
    with_attribute,
)
from graphrewrite.testing.generation.demand import Pick, Unfit, some
from graphrewrite.testing.generation.joint import governed
from graphrewrite.testing.generation.kinds import FAMILIES, LAYOUTS, LONG, UNSIGNED, USUAL, retyped
from graphrewrite.testing.generation.mending import inferred, stretched
from graphrewrite.testing.generation.open_sizes import OPEN
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output
from graphrewrite.types import EdgeType, Element, Stream, Tensor, Type, element_kind

__all__ = ["in_each_layout", "vary", "with_element", "with_layout"]

_COUNTS = (0, 1, 2, 1, 2, 3, 0, 4)
"""How many changes to make; the first is the simplest."""
_SIZES = (2, 1, 3, 4)
_KINDS = ("float", "fixed", "integer", "bool", "quantised")


def vary(plan: Plan, pick: Pick, *, every_type: bool = False, stirs: Sequence[bool] = (False, True)) -> Plan:
    """Return a plan near to a plan.

    Parameters
    ----------
    stirs : sequence of bool
        Whether many attributes change as well, as likely as it is among these.
    every_type : bool
        Whether values may be of any element type and in any layout; else of those alone that most graphs hold.
    """
    if any(isinstance(kind, EdgeType) for kind in plan.types.values()):
        return plan  # what a dialect's ops accept is not known
    if pick(stirs):
        plan = stirred(plan, pick)
    parts = [_long for node in plan.reading.nodes if governed(node.op)] + [_left_open for _ in _reshapes(plan)]
    changes = (*_CHANGES, *parts, *_RARE) if every_type else (*_CHANGES, *parts, _element, _empty)
    for _ in range(pick(_COUNTS)):
        try:
            plan = pick(changes)(plan, pick)
        except Unfit:
            continue
    return plan


def _typed(plan: Plan, change: Callable[[Type], Type], pick: Pick, *, only: Leaf | None = None) -> Plan:
    """Change the types of all leaves, or of one; the others are mended where it stays as it is."""
    types = {leaf: change(kind) if only in (None, leaf) else kind for leaf, kind in plan.types.items()}
    if types == plan.types:
        raise Unfit("no change")
    return inferred(plan, types, plan.attributes, pick, kept=() if only is None else (only,))


def _equal_sizes(plan: Plan, pick: Pick) -> Plan:
    """Make all sizes one number, or all but those of 1: where axes may be exchanged, nothing but values shows it."""
    size = pick(_SIZES)
    symbolic, broadcast = pick((False, True)), pick((False, True))

    def change(kind: Type) -> Type:
        kept = [(symbolic and isinstance(d, str)) or (broadcast and d == 1) for d in kind.shape]
        return retyped(kind, shape=tuple(d if stays else size for d, stays in zip(kind.shape, kept, strict=True)))

    return _typed(plan, change, pick)


def _equal_results(plan: Plan, pick: Pick) -> Plan:
    """Make all sizes of what a node computes one number, whatever windows and borders do to those of its operands."""
    port = Output(pick(some(plan.reading.nodes)))
    sizes = [d for d in plan.result(port).shape if isinstance(d, int) and d > 1]
    size = pick(sizes or (2, 3))  # axes of one entry are like any others: what is confused with them shows nothing
    found = plan
    for axis, old in enumerate(plan.result(port).shape):
        if isinstance(old, int) and old != size:
            types = {**found.types, **stretched(found, port, axis, size, found.types, ())}
            found = inferred(found, types, found.attributes, pick)
    if found is plan:
        raise Unfit("no change")
    return found


def _renamed_size(plan: Plan, pick: Pick) -> Plan:
    """Change one size wherever it is."""
    sizes = sorted({d for kind in plan.types.values() for d in kind.shape}, key=str)
    old = pick(some(sizes))
    new = pick((*_SIZES, 2 * old) if isinstance(old, int) else _SIZES)
    return _typed(plan, lambda kind: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape)), pick)


def _long(plan: Plan, pick: Pick) -> Plan:
    """Make one size larger wherever it is, and take other parts along the same axes: some of it is left for others."""
    taking = [node for node in plan.reading.nodes if governed(node.op) and plan.cases[node].types]
    shapes = [(plan.cases[node].types[0].shape, plan.cases[node].results[0].shape) for node in taking]
    cut = {
        d for whole, part in shapes for d, left in zip(whole, part, strict=False) if d != left and isinstance(d, int)
    }
    sizes = {d for kind in plan.types.values() for d in kind.shape if isinstance(d, int)}
    old, new = pick(some(sorted(sizes & cut or sizes))), pick(LONG)
    plan = _typed(plan, lambda kind: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape)), pick)
    for node in taking:
        with suppress(Unfit):
            plan = changed(plan, redrawn(plan, node, governed(node.op), pick, kept=("axes", "axis")), pick)
    return plan


def _reshapes(plan: Plan) -> list[Node]:
    return [node for node in plan.reading.nodes if node.op.name == "reshape" and is_open(node, "shape")]


def _left_open(plan: Plan, pick: Pick) -> Plan:
    """Let a reshape copy sizes, and one be what is left: with any other sizes it merges the same axes."""
    node = pick(some(_reshapes(plan)))
    case = plan.cases[node]
    old, new = case.types[0].shape, list(case.results[0].shape)
    kept = len([*takewhile(lambda sizes: sizes[0] == sizes[1], zip(old, new, strict=False))])
    new[:kept] = [0] * kept
    new[pick(some(range(len(new))))] = -1
    return with_attribute(plan, node, "shape", tuple(new), pick)


def _empty(plan: Plan, pick: Pick) -> Plan:
    """Make one size 0 wherever it is, but of streams and of constants.

    Hardware has no streams without lanes, and code that looks at a constant means one with entries.
    """
    if any(isinstance(kind, Stream) for case in plan.cases.values() for kind in (*case.types, *case.results)):
        raise Unfit("a stream has lanes")
    old = pick(some(sorted({d for kind in plan.types.values() for d in kind.shape if isinstance(d, int)})))
    found = _typed(plan, lambda kind: retyped(kind, shape=tuple(0 if d == old else d for d in kind.shape)), pick)
    if any(leaf.constant and 0 in kind.shape for leaf, kind in found.types.items()):
        raise Unfit("a constant has entries")
    return found


def _one_size(plan: Plan, pick: Pick) -> Plan:
    """Change one size of one leaf: the others follow, or it is broadcast."""
    leaf = pick(some(list(plan.types)))
    shape = plan.types[leaf].shape
    axis = pick(some(range(len(shape))))
    old = shape[axis]
    size = pick((*_SIZES, 2 * old) if isinstance(old, int) else _SIZES)
    return _typed(plan, lambda kind: retyped(kind, shape=(*shape[:axis], size, *shape[axis + 1 :])), pick, only=leaf)


def _open_size(plan: Plan, pick: Pick) -> Plan:
    """Leave one size of an input to run time."""
    leaves = [leaf for leaf, kind in plan.types.items() if kind.shape and not leaf.constant]
    leaf = pick(some(leaves))
    shape = plan.types[leaf].shape
    axis = pick(range(len(shape)))
    return _typed(plan, lambda kind: retyped(kind, shape=(*shape[:axis], OPEN, *shape[axis + 1 :])), pick, only=leaf)


def _rank(plan: Plan, pick: Pick) -> Plan:
    """Take the first axes of a leaf away, so that it is broadcast, or put one of size 1 in front or behind.

    Or of all leaves of its type: those that a rule compares with each other.
    """
    leaf = pick(some(list(plan.types)))
    own = plan.types[leaf]
    alone = any(node.operands == (leaf,) for node in plan.reading.nodes)
    shapes = [own.shape[cut:] for cut in range(1, len(own.shape) + (not alone))]
    chosen = retyped(own, shape=pick([*shapes, (1, *own.shape), (*own.shape, 1)]))
    if pick((True, True, False)):
        return _typed(plan, lambda kind: chosen, pick, only=leaf)
    alike = [other for other, kind in plan.types.items() if kind == own]
    return inferred(plan, {**plan.types, **dict.fromkeys(alike, chosen)}, plan.attributes, pick, kept=alike)


def _turned(plan: Plan, pick: Pick) -> Plan:
    """Turn the sizes of a leaf round: a row becomes a column."""
    shapes = {leaf: kind.shape[::-1] for leaf, kind in plan.types.items() if kind.shape != kind.shape[::-1]}
    leaf = pick(some(list(shapes)))
    return _typed(plan, lambda kind: retyped(kind, shape=shapes[leaf]), pick, only=leaf)


def _element(plan: Plan, pick: Pick) -> Plan:
    """Change an element type to another usual one of its family, wherever it is, or of what is shifted."""
    old = plan.types[pick(some(list(plan.types)))].element
    family = element_kind(old)
    shifts = family == "integer" and any(node.op.name == "bit_shift" for node in plan.reading.nodes)
    return with_element(plan, old, pick((*USUAL[family], *UNSIGNED) if shifts else USUAL[family]), pick)


def with_element(plan: Plan, old: Element, new: Element, pick: Pick) -> Plan:
    """Return a plan with another element type wherever it is, in attributes as well or in leaves alone."""
    types = {leaf: retyped(kind, element=new) if kind.element == old else kind for leaf, kind in plan.types.items()}
    attributes = {node: dict(given) for node, given in plan.attributes.items()}
    for node, given in attributes.items() if pick((True, False)) else ():
        alike = [name for name, value in given.items() if type(value) is type(old) and value == old]
        given.update({name: new for name in alike if is_open(node, name)})
    if types == plan.types:
        raise Unfit("no change")
    return inferred(plan, types, attributes, pick)


def _same_element(plan: Plan, pick: Pick) -> Plan:
    """Give one leaf the element type of another."""
    leaves = some(list(plan.types))
    element, leaf = plan.types[pick(leaves)].element, pick(leaves)
    return _typed(plan, lambda kind: retyped(kind, element=element), pick, only=leaf)


def _any_element(plan: Plan, pick: Pick) -> Plan:
    """Change an element type to any one, wherever it is, or of one leaf."""
    leaf = pick(some(list(plan.types)))
    old = plan.types[leaf].element
    new = pick(FAMILIES[pick((element_kind(old), pick(_KINDS)))])
    if pick((True, True, False)):
        return with_element(plan, old, new, pick)
    return _typed(plan, lambda kind: retyped(kind, element=new), pick, only=leaf)


def with_layout(plan: Plan, pick: Pick) -> Plan:
    """Give every leaf of some number of axes a layout, or one of them; where sizes are equal, more of them fit."""
    first = pick((None, _equal_sizes, _equal_results, _equal_results))
    if first is not None:
        with suppress(Unfit):
            plan = first(plan, pick)
    rank = pick(some(sorted({len(kind.shape) for kind in plan.types.values()} & set(LAYOUTS))))
    usual, layout, moves = LAYOUTS[rank][0], pick(LAYOUTS[rank]), pick((True, False))
    of_rank = [leaf for leaf, kind in plan.types.items() if len(kind.shape) == rank]
    images = [leaf for leaf in of_rank if not leaf.constant]  # hardly any op takes weights with names of axes
    of_images = pick((True, True, False))
    chosen = images if images and of_images else pick((of_rank, [pick(of_rank)]))
    types = dict(plan.types)
    for leaf in chosen:
        kind = types[leaf]
        if isinstance(kind, Tensor):
            types[leaf] = Tensor(kind.element, _moved(kind.shape, kind.layout or usual, layout, moves=moves), layout)
    if types == plan.types:
        raise Unfit("no change")
    # What a constant was along one axis it then is along another one, whose size is to show nothing.
    constants = [leaf for leaf in types if leaf.constant and leaf not in chosen]
    kept = chosen if len(chosen) == 1 and pick((True, False)) else pick(((), constants))
    return inferred(plan, types, plan.attributes, pick, kept=kept)


def in_each_layout(plan: Plan, pick: Pick) -> Iterator[Plan]:
    """Yield plans whose images have each layout, where the sizes of their axes are alike and constants stay.

    What a rule looks for along a fixed axis of an image, the sizes of another axis hide.
    """
    images = [leaf for leaf, kind in plan.types.items() if isinstance(kind, Tensor) and not leaf.constant]
    constants = [leaf for leaf in plan.types if leaf.constant]
    with suppress(Unfit):
        plan = _equal_results(plan, pick)
    for rank in sorted({len(plan.types[leaf].shape) for leaf in images} & set(LAYOUTS)):
        for layout in LAYOUTS[rank]:
            types = dict(plan.types)
            for leaf in images:
                kind = types[leaf]
                if isinstance(kind, Tensor) and len(kind.shape) == rank:
                    shape = _moved(kind.shape, kind.layout or LAYOUTS[rank][0], layout, moves=True)
                    types[leaf] = Tensor(kind.element, shape, layout)
            with suppress(Unfit):
                yield inferred(plan, types, plan.attributes, pick, kept=constants)


def _moved(shape: Sequence[Any], old: str, new: str, *, moves: bool) -> tuple[Any, ...]:
    """Sizes in the order of another layout, if they move with the names of their axes."""
    return tuple(shape[old.index(name)] for name in new) if moves and set(old) == set(new) else tuple(shape)


_CHANGES = (
    *(change_attribute, change_attribute, change_attribute, deal_numbers, _same_element),
    *(_equal_sizes, _equal_sizes, _renamed_size, _one_size, _rank, _turned, _long),
)
"""All kinds of changes of usual types, the likeliest to show a fault several times."""
_RARE = (_any_element, _any_element, *[with_layout] * 9, _equal_results, _open_size, _empty)
"""Those of types that few graphs hold."""
