"""Plans near to a plan: other attributes, sizes, element types and layouts, kept where all of it still fits.

A plan that was read backwards from what is wanted is the plainest one. What goes wrong with a rule goes wrong beside
that: where sizes happen to be equal, an operand is broadcast, a limit is tight, or numbers are of another type.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, Unfit, admits, some
from graphrewrite.testing.generation.experience import accepted
from graphrewrite.testing.generation.forward import inferred, stretched
from graphrewrite.testing.generation.joint import governed, joint_recipes, together
from graphrewrite.testing.generation.kinds import FAMILIES, LAYOUTS, LONG, USUAL, kind_of, retyped
from graphrewrite.testing.generation.open_sizes import OPEN
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.richness import FACTORS
from graphrewrite.testing.generation.sequences import VARIED, Recipe, values_made
from graphrewrite.testing.generation.unfolding import Capture, Leaf, Node, Output
from graphrewrite.types import EdgeType, Element, Tensor, Type, element_kind, sizes_in

__all__ = ["is_open", "stirred", "vary", "with_attribute", "with_element"]

_COUNTS = (0, 1, 2, 1, 2, 3, 0, 4)
"""How many changes to make; the first is the simplest."""
_SIZES = (2, 1, 3, 4)
_LOOKS, _MANY_LOOKS = 3, 12
"""Values to draw for one that is not there already, and for several at once of which most are."""

_SHAPES = frozenset({"shape", "size", "sizes"})
"""Attributes in which symbolic sizes are common."""
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
    parts = [_long for node in plan.reading.nodes if governed(node.op)]
    changes = (*_CHANGES, *parts, *_RARE) if every_type else (*_CHANGES, *parts, _element)
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


# ---------------------------------------------------------------------- attributes


Change = Mapping[Node, Mapping[str, Any]]
"""Attributes that change, by node."""


def stirred(plan: Plan, pick: Pick) -> Plan:
    """Change many of the attributes that the pattern leaves open: together if that fits, else one after the other."""
    changes: list[Change] = []
    for node in plan.reading.nodes:
        for names in _open(node):
            if pick((True, True, False)):
                with suppress(Unfit):
                    changes.append(_redrawn(plan, node, names, pick))
    if len(changes) > 1:
        together: dict[Node, dict[str, Any]] = {}
        for change in changes:
            for node, values in change.items():
                together.setdefault(node, {}).update(values)
        with suppress(Unfit):
            return _changed(plan, together, pick)
    for change in changes:
        with suppress(Unfit):
            plan = _changed(plan, change, pick)
    return plan


def _attribute(plan: Plan, pick: Pick) -> Plan:
    """Change an attribute that the pattern leaves open, wherever it must be the same."""
    free = [(node, names) for node in plan.reading.nodes for names in _open(node)]
    return _changed(plan, _redrawn(plan, *pick(some(free)), pick), pick)


def _open(node: Node) -> Iterator[tuple[str, ...]]:
    """Yield the attributes that a pattern leaves open: several at once if they only fit together."""
    joint = together(node.op)
    if joint and all(is_open(node, name) for name in joint):
        yield joint
    else:
        joint = ()
    yield from ((name,) for name in node.op.attributes if name not in joint and is_open(node, name))


def _redrawn(plan: Plan, node: Node, names: tuple[str, ...], pick: Pick, kept: Collection[str] = ()) -> Change:
    """Return other values of attributes, and of those that must be the same.

    Parameters
    ----------
    kept : collection of str
        Names of those that stay, where several are drawn at once.
    """
    kinds, own = plan.cases[node].types, plan.cases[node].attributes
    first = kinds[0] if kinds else None
    if len(names) > 1:
        options: Sequence[Mapping[str, Recipe]] = list(joint_recipes(node.op))
    else:
        known = () if first is None else accepted(node.op, names[0], len(kinds), kind_of(first))
        options = [{names[0]: recipe} for recipe in known or recipes_of(node.op, names[0])]
        # What makes many values counts more than what makes one.
        options += [option for option in options if option[names[0]].style in VARIED]
    alike: Sequence[Any] = _elsewhere(plan, node, names[0]) if len(names) == 1 else ()
    there = repr({name: own.get(name, node.op.attributes[name]) for name in names})
    for _ in range(_LOOKS):
        if bool(alike) and pick((False, False, True)):
            return _change(plan, [node], {names[0]: pick(alike)})
        if len(names) > 1 and (kept or pick((True, False))):
            held = {name: own.get(name, node.op.attributes[name]) for name in names}
            nudges = not kept and pick((True, False))
            values = _nudged(held, pick) if nudges else _nearest(options, first, held, pick, kept or names)
        else:
            values = values_made(pick((*options, *options[1:])), first, random.Random(pick(range(256))))
        if values is not None and repr(values) != there:
            alone = [node] if pick((True, True, False)) else plan.reading.nodes
            return _change(
                plan, [n for n in alone if n.op is node.op and all(is_open(n, key) for key in values)], values
            )
    raise Unfit("the type has no other such value")


def _nearest(
    options: Sequence[Mapping[str, Recipe]],
    first: Type | None,
    old: Mapping[str, Any],
    pick: Pick,
    kept: Collection[str],
) -> dict[str, Any] | None:
    """Return values of which most of some names are as they are: what a rule asks of these still holds."""
    rng = random.Random(pick(range(256)))
    drawn = [values_made(rng.choice(options), first, rng) for _ in range(_MANY_LOOKS)]
    found = [values for values in drawn if values is not None and repr(values) != repr(dict(old))]
    return max(
        found,
        key=lambda values: sum(repr(values[name]) == repr(old[name]) for name in old if name in kept),
        default=None,
    )


def _nudged(old: Mapping[str, Any], pick: Pick) -> dict[str, Any] | None:
    """Return values of which one entry is another number: what a rule asks of the others still holds."""
    count = max([len(value) for value in old.values() if isinstance(value, tuple)], default=0)
    held = {name: (1,) * count if value is None and name in FACTORS else value for name, value in old.items()}
    numbers = {
        name for name, value in held.items() if isinstance(value, tuple) and value and set(map(type, value)) == {int}
    }
    if not numbers:
        return None
    name = pick(sorted(numbers))
    values, at = list(held[name]), pick(range(len(held[name])))
    values[at] = pick((values[at] + 1, values[at] - 1, 2 * values[at], -values[at]))
    return {**old, name: tuple(values)}


def _dealt(plan: Plan, pick: Pick) -> Plan:
    """Deal numbers out anew to attributes of nodes of one op: all may be less than another's, or greater.

    Those of one node stay in their order: a lower limit below an upper one.
    """
    op = pick(some([op for op, count in Counter(node.op for node in plan.reading.nodes).items() if count > 1]))
    numbers = {node: _numbers(plan, node) for node in plan.reading.nodes if node.op is op}
    found = sorted({value for values in numbers.values() for value in values.values()})
    count = sum(map(len, numbers.values()))
    if not found:
        raise Unfit("no numbers")
    while len(found) < count:
        found.append(found[-1] + 1)
    random.Random(pick(range(256))).shuffle(found)
    change: dict[Node, dict[str, Any]] = {}
    for node, values in numbers.items():
        ordered = sorted(values, key=lambda name: values[name])
        dealt = sorted(found.pop() for _ in ordered)
        for names, each in _change(plan, [node], dict(zip(ordered, dealt, strict=True))).items():
            change.setdefault(names, {}).update(each)
    return _changed(plan, change, pick)


def _numbers(plan: Plan, node: Node) -> dict[str, int | float]:
    """The numbers among a node's open attributes."""
    held = {name: plan.cases[node].attributes.get(name, default) for name, default in node.op.attributes.items()}
    return {
        name: value
        for name, value in held.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and is_open(node, name)
    }


def with_attribute(plan: Plan, node: Node, name: str, value: Any, pick: Pick) -> Plan:
    """Return a plan with another value of an attribute, wherever it must be the same; sizes are mended."""
    return _changed(plan, _change(plan, [node], {name: value}), pick)


def _change(plan: Plan, nodes: Sequence[Node], values: Mapping[str, Any]) -> Change:
    """Other values of nodes' attributes, and of those that must be the same."""
    change: dict[Node, dict[str, Any]] = {node: dict(values) for node in nodes}
    for node, (name, value) in product(nodes, values.items()):
        if name in node.op.sized and name not in _SHAPES and any(sizes_in(value)):
            raise Unfit("a symbolic size is given to hardly any op as a number of entries")
        held = node.attributes.get(name)
        condition = held.condition if isinstance(held, Capture) else held
        if condition is not None and not condition.of_node and not admits(condition, value):
            raise Unfit(f"{name}: {condition.reason}")
        if isinstance(held, Capture):
            for other in plan.reading.nodes:
                same = {key: value for key, captured in other.attributes.items() if captured is held}
                change.setdefault(other, {}).update(same)
    return change


def _elsewhere(plan: Plan, node: Node, name: str) -> list[Any]:
    """Values that rules compare an attribute with: those of other nodes, and element types of leaves."""
    found = [
        case.attributes[name]
        for other, case in plan.cases.items()
        if other is not node and other.op is node.op and name in case.attributes
    ]
    if "element" in name:
        found += [kind.element for kind in plan.types.values()]
    return list({repr(value): value for value in found}.values())


def _changed(plan: Plan, change: Change, pick: Pick) -> Plan:
    attributes = {node: {**need.attributes, **change.get(node, {})} for node, need in plan.cases.items()}
    return inferred(plan, plan.types, attributes, pick)


def is_open(node: Node, name: str) -> bool:
    """Tell whether the pattern leaves an attribute open."""
    return name not in node.attributes or isinstance(node.attributes[name], Capture | Where)


# ---------------------------------------------------------------------- types


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
    sizes = [d for d in plan.result(port).shape if isinstance(d, int)]
    size = pick(some(sizes))
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
    taking = [node for node in plan.reading.nodes if governed(node.op)]
    shapes = [(plan.cases[node].types[0].shape, plan.cases[node].results[0].shape) for node in taking]
    cut = {
        d for whole, part in shapes for d, left in zip(whole, part, strict=False) if d != left and isinstance(d, int)
    }
    sizes = {d for kind in plan.types.values() for d in kind.shape if isinstance(d, int)}
    old, new = pick(some(sorted(sizes & cut or sizes))), pick(LONG)
    plan = _typed(plan, lambda kind: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape)), pick)
    for node in taking:
        with suppress(Unfit):
            plan = _changed(plan, _redrawn(plan, node, governed(node.op), pick, kept=("axes", "axis")), pick)
    return plan


def _empty(plan: Plan, pick: Pick) -> Plan:
    """Make one size 0 wherever it is."""
    old = pick(some(sorted({d for kind in plan.types.values() for d in kind.shape if isinstance(d, int)})))
    return _typed(plan, lambda kind: retyped(kind, shape=tuple(0 if d == old else d for d in kind.shape)), pick)


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
    """Take the first axes of a leaf away, so that it is broadcast, or put one of size 1 in front."""
    leaf = pick(some(list(plan.types)))
    shape = plan.types[leaf].shape
    alone = any(node.operands == (leaf,) for node in plan.reading.nodes)
    shapes = [shape[cut:] for cut in range(1, len(shape) + (not alone))] + [(1, *shape)]
    chosen = pick(shapes)
    return _typed(plan, lambda kind: retyped(kind, shape=chosen), pick, only=leaf)


def _element(plan: Plan, pick: Pick) -> Plan:
    """Change an element type to another usual one of its family, wherever it is."""
    old = plan.types[pick(some(list(plan.types)))].element
    return with_element(plan, old, pick(USUAL[element_kind(old)]), pick)


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


def _layout(plan: Plan, pick: Pick) -> Plan:
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


def _moved(shape: Sequence[Any], old: str, new: str, *, moves: bool) -> tuple[Any, ...]:
    """Sizes in the order of another layout, if they move with the names of their axes."""
    return tuple(shape[old.index(name)] for name in new) if moves and set(old) == set(new) else tuple(shape)


_CHANGES = (
    *(_attribute, _attribute, _attribute, _dealt, _same_element),
    *(_equal_sizes, _equal_sizes, _renamed_size, _one_size, _rank, _long),
)
"""All kinds of changes of usual types, the likeliest to show a fault several times."""
_RARE = (_any_element, _any_element, *[_layout] * 9, _equal_results, _open_size, _empty)
"""Those of types that few graphs hold."""
