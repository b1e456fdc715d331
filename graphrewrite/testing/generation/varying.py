"""Plans near to a plan: other attributes, sizes, element types and layouts, kept where all of it still fits.

A plan that was read backwards from what is wanted is the plainest one. What goes wrong with a rule goes wrong beside
that: where sizes happen to be equal, an operand is broadcast, a limit is tight, or numbers are of another type.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, Unfit, admits
from graphrewrite.testing.generation.experience import accepted
from graphrewrite.testing.generation.forward import inferred
from graphrewrite.testing.generation.kinds import FAMILIES, LAYOUTS, USUAL, kind_of, retyped
from graphrewrite.testing.generation.open_sizes import OPEN
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Capture, Leaf, Node
from graphrewrite.types import EdgeType, Tensor, Type, element_kind, sizes_in

__all__ = ["is_open", "vary", "with_attribute"]

_COUNTS = (0, 1, 2, 1, 2, 3, 0, 4)
"""How many changes to make; the first is the simplest."""
_SIZES = (2, 1, 3, 4)

_SHAPES = frozenset({"shape", "size", "sizes"})
"""Attributes in which symbolic sizes are common."""
_KINDS = ("float", "fixed", "integer", "bool", "quantised")


def vary(plan: Plan, pick: Pick, *, every_type: bool = False) -> Plan:
    """Return a plan near to a plan.

    Parameters
    ----------
    every_type : bool
        Whether values may be of any element type and in any layout; else of those alone that most graphs hold.
    """
    if any(isinstance(kind, EdgeType) for kind in plan.types.values()):
        return plan  # what a dialect's ops accept is not known
    changes = (*_CHANGES, *_RARE) if every_type else (*_CHANGES, _element)
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
    attributes = {node: need.attributes for node, need in plan.needs.items()}
    return inferred(plan, types, attributes, pick, kept=() if only is None else (only,))


# ---------------------------------------------------------------------- attributes


def _attribute(plan: Plan, pick: Pick) -> Plan:
    """Change an attribute that the pattern leaves open, wherever it must be the same."""
    free = [(node, name) for node in plan.reading.nodes for name in node.op.attributes if is_open(node, name)]
    if not free:
        raise Unfit("no attribute")
    node, name = pick(free)
    kinds = plan.needs[node].types
    first = kinds[0] if kinds else None
    known = () if first is None else accepted(node.op, name, len(kinds), kind_of(first))
    try:
        value = pick(known or recipes_of(node.op, name)).make(first, random.Random(pick(range(256))))
    except Exception as error:  # the type has no such value
        raise Unfit(str(error)) from error
    return with_attribute(plan, node, name, value, pick)


def with_attribute(plan: Plan, node: Node, name: str, value: Any, pick: Pick) -> Plan:
    """Return a plan with another value of an attribute, wherever it must be the same; sizes are mended."""
    if name in node.op.sized and name not in _SHAPES and any(sizes_in(value)):
        raise Unfit("a symbolic size is given to hardly any op as a number of entries")
    held = node.attributes.get(name)
    condition = held.condition if isinstance(held, Capture) else held
    if condition is not None and not admits(condition, value):
        raise Unfit(f"{name}: {condition.reason}")
    attributes = {other: dict(need.attributes) for other, need in plan.needs.items()}
    attributes[node][name] = value
    if isinstance(held, Capture):
        for other in plan.reading.nodes:
            attributes[other].update({same: value for same, captured in other.attributes.items() if captured is held})
    return inferred(plan, plan.types, attributes, pick)


def is_open(node: Node, name: str) -> bool:
    """Tell whether the pattern leaves an attribute open."""
    return name not in node.attributes or isinstance(node.attributes[name], Capture | Where)


# ---------------------------------------------------------------------- types


def _equal_sizes(plan: Plan, pick: Pick) -> Plan:
    """Make all sizes one number: where any two axes may be taken for each other, nothing but values shows it."""
    size = pick(_SIZES)
    symbolic = pick((False, True))

    def change(kind: Type) -> Type:
        return retyped(kind, shape=tuple(d if symbolic and isinstance(d, str) else size for d in kind.shape))

    return _typed(plan, change, pick)


def _renamed_size(plan: Plan, pick: Pick) -> Plan:
    """Change one size wherever it is."""
    sizes = sorted({d for kind in plan.types.values() for d in kind.shape}, key=str)
    if not sizes:
        raise Unfit("no sizes")
    old, new = pick(sizes), pick(_SIZES)
    return _typed(plan, lambda kind: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape)), pick)


def _one_size(plan: Plan, pick: Pick) -> Plan:
    """Change one size of one leaf: the others follow, or it is broadcast."""
    leaf = pick(list(plan.types))
    shape = plan.types[leaf].shape
    if not shape:
        raise Unfit("no sizes")
    axis = pick(range(len(shape)))
    old = shape[axis]
    size = pick((*_SIZES, 2 * old) if isinstance(old, int) else _SIZES)
    return _typed(plan, lambda kind: retyped(kind, shape=(*shape[:axis], size, *shape[axis + 1 :])), pick, only=leaf)


def _open_size(plan: Plan, pick: Pick) -> Plan:
    """Leave one size of an input to run time."""
    leaves = [leaf for leaf, kind in plan.types.items() if kind.shape and not leaf.constant]
    if not leaves:
        raise Unfit("no sizes of inputs")
    leaf = pick(leaves)
    shape = plan.types[leaf].shape
    axis = pick(range(len(shape)))
    return _typed(plan, lambda kind: retyped(kind, shape=(*shape[:axis], OPEN, *shape[axis + 1 :])), pick, only=leaf)


def _rank(plan: Plan, pick: Pick) -> Plan:
    """Take the first axes of a leaf away, so that it is broadcast, or put one of size 1 in front."""
    leaf = pick(list(plan.types))
    shape = plan.types[leaf].shape
    shapes = [shape[cut:] for cut in range(1, len(shape) + 1)] + [(1, *shape)]
    chosen = pick(shapes)
    return _typed(plan, lambda kind: retyped(kind, shape=chosen), pick, only=leaf)


def _element(plan: Plan, pick: Pick) -> Plan:
    """Change an element type to another usual one of its family, wherever it is."""
    old = plan.types[pick(list(plan.types))].element
    new = pick(USUAL[element_kind(old)])
    return _typed(plan, lambda kind: retyped(kind, element=new) if kind.element == old else kind, pick)


def _same_element(plan: Plan, pick: Pick) -> Plan:
    """Give one leaf the element type of another."""
    leaves = list(plan.types)
    element, leaf = plan.types[pick(leaves)].element, pick(leaves)
    return _typed(plan, lambda kind: retyped(kind, element=element), pick, only=leaf)


def _any_element(plan: Plan, pick: Pick) -> Plan:
    """Change an element type to any one, wherever it is, or of one leaf."""
    leaf = pick(list(plan.types))
    old = plan.types[leaf].element
    new = pick(FAMILIES[pick((element_kind(old), pick(_KINDS)))])
    if pick((True, True, False)):
        return _typed(plan, lambda kind: retyped(kind, element=new) if kind.element == old else kind, pick)
    return _typed(plan, lambda kind: retyped(kind, element=new), pick, only=leaf)


def _layout(plan: Plan, pick: Pick) -> Plan:
    """Give every leaf of some number of axes a layout, or one of them."""
    ranks = sorted({len(kind.shape) for kind in plan.types.values()} & set(LAYOUTS))
    if not ranks:
        raise Unfit("no layout has so many axes")
    rank = pick(ranks)
    layout = pick(LAYOUTS[rank])
    leaf = pick([leaf for leaf, kind in plan.types.items() if len(kind.shape) == rank])

    def change(kind: Type) -> Type:
        fits = isinstance(kind, Tensor) and len(kind.shape) == rank
        return Tensor(kind.element, kind.shape, layout) if fits else kind

    return _typed(plan, change, pick, only=leaf if pick((True, False)) else None)


_CHANGES = (_attribute, _attribute, _attribute, _equal_sizes, _renamed_size, _one_size, _rank, _same_element)
"""All kinds of changes of usual types, the likeliest to show a fault several times."""
_RARE = (_any_element, _any_element, _layout, _layout, _open_size)
"""Those of types that few graphs hold."""
