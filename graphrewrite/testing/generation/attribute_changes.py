"""Other values of the attributes that a pattern leaves open, wherever they must be the same."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, Unfit, admits, some
from graphrewrite.testing.generation.edges import limits_of
from graphrewrite.testing.generation.experience import accepted
from graphrewrite.testing.generation.joint import joint_recipes, together
from graphrewrite.testing.generation.kinds import kind_of
from graphrewrite.testing.generation.mending import inferred
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.richness import FACTORS
from graphrewrite.testing.generation.sequences import VARIED, Recipe, values_made
from graphrewrite.testing.generation.unfolding import Capture, Node
from graphrewrite.types import Type, element_kind, sizes_in

__all__ = [
    "change_attribute",
    "change_of",
    "changed",
    "deal_numbers",
    "every_attribute_changed",
    "is_open",
    "numbers_beside",
    "redrawn",
    "stirred",
    "with_attribute",
]

_LOOKS, _MANY_LOOKS = 3, 12
"""Values to draw for one that is not there already, and for several at once of which most are."""
_ONE = 0.5
"""How often one of several attributes that are drawn together changes alone."""
_SHAPES = frozenset({"shape", "size", "sizes"})
"""Attributes in which symbolic sizes are common."""

_ENTRIES = frozenset({"low", "high", "fill", "value", "bound"})
"""Attributes that are compared with entries, or are such."""

Change = Mapping[Node, Mapping[str, Any]]
"""Attributes that change, by node."""


def stirred(plan: Plan, pick: Pick) -> Plan:
    """Change many of the attributes that the pattern leaves open: together if that fits, else one after the other."""
    changes: list[Change] = []
    for node in plan.reading.nodes:
        for names in _open(node):
            if pick((True, True, False)):
                with suppress(Unfit):
                    changes.append(redrawn(plan, node, names, pick))
    if len(changes) > 1:
        together: dict[Node, dict[str, Any]] = {}
        for change in changes:
            for node, values in change.items():
                together.setdefault(node, {}).update(values)
        with suppress(Unfit):
            return changed(plan, together, pick)
    for change in changes:
        with suppress(Unfit):
            plan = changed(plan, change, pick)
    return plan


def change_attribute(plan: Plan, pick: Pick) -> Plan:
    """Change an attribute that the pattern leaves open, wherever it must be the same."""
    free = [(node, names) for node in plan.reading.nodes for names in _open(node)]
    return changed(plan, redrawn(plan, *pick(some(free)), pick), pick)


def every_attribute_changed(plan: Plan, pick: Pick, times: int) -> Iterator[Plan]:
    """Yield plans in which one attribute is another one, for each that the pattern leaves open so many times."""
    for node in plan.reading.nodes:
        for names in _open(node):
            for _ in range(times):
                with suppress(Unfit):
                    yield changed(plan, redrawn(plan, node, names, pick), pick)


def _open(node: Node) -> Iterator[tuple[str, ...]]:
    """Yield the attributes that a pattern leaves open: several at once if they only fit together."""
    joint = together(node.op)
    if joint and all(is_open(node, name) for name in joint):
        yield joint
    else:
        joint = ()
    yield from ((name,) for name in node.op.attributes if name not in joint and is_open(node, name))


def redrawn(plan: Plan, node: Node, names: tuple[str, ...], pick: Pick, kept: Collection[str] = ()) -> Change:
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
    beside = numbers_beside(plan, node, names[0])
    edges = beside if len(names) == 1 and _is_number(own.get(names[0], 0)) else []
    default = node.op.attributes[names[0]]
    is_given = (
        len(names) == 1 and default is not inspect.Parameter.empty and repr(own.get(names[0], default)) != repr(default)
    )
    for _ in range(_LOOKS):
        if is_given and pick((False, False, False, True)):  # what is given may hide what another one does
            return change_of(plan, [node], {names[0]: default})
        if bool(alike) and pick((False, False, True)):
            return change_of(plan, [node], {names[0]: pick(alike)})
        if bool(edges) and pick((False, False, True)):
            return change_of(plan, [node], {names[0]: pick(edges)})
        if len(names) == 1 and isinstance(own.get(names[0]), tuple) and pick((False, False, True)):
            nudged = _nudged({names[0]: own[names[0]]}, beside, pick)
            if nudged is not None and repr(nudged) != there:
                return change_of(plan, [node], nudged)
        if len(names) > 1 and (kept or pick((True, False))):
            held = {name: own.get(name, node.op.attributes[name]) for name in names}
            nudges = not kept and pick((True, False))
            values = _nudged(held, beside, pick) if nudges else _nearest(options, first, held, pick, kept)
        else:
            values = values_made(pick((*options, *options[1:])), first, random.Random(pick(range(256))))
        if values is not None and repr(values) != there:
            alone = [node] if pick((True, True, False)) else plan.reading.nodes
            return change_of(
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
    """Return values of which most, or most of those kept, are as they are: what a rule asks of these still holds."""
    rng = random.Random(pick(range(256)))
    drawn = [values_made(rng.choice(options), first, rng) for _ in range(_MANY_LOOKS)]
    found = [values for values in drawn if values is not None and repr(values) != repr(dict(old))]
    if not kept and rng.random() < _ONE:
        crossed = [
            {**old, name: values[name]} for values in found for name in old if _is_other(values[name], old[name])
        ]
        if crossed:
            return rng.choice(crossed)
    return max(
        found,
        key=lambda values: sum(repr(values[name]) == repr(old[name]) for name in old if not kept or name in kept),
        default=None,
    )


def _is_other(value: Any, old: Any) -> bool:
    """Whether a value differs from one of which it has the form."""
    is_tuple = isinstance(value, tuple) and isinstance(old, tuple)
    return type(value) is type(old) and repr(value) != repr(old) and (not is_tuple or len(value) == len(old))


def numbers_beside(plan: Plan, node: Node, name: str) -> list[int]:
    """Return numbers at which an attribute of a node may decide: where axes of its operand end, or types of entries."""
    case = plan.cases[node]
    sizes = {size for kind in case.types[:1] for size in kind.shape if isinstance(size, int)}
    elements = dict.fromkeys(kind.element for kind in (*case.types, *case.results)) if name in _ENTRIES else ()
    ends = [limits_of(element) for element in elements if element_kind(element) in ("integer", "fixed")]
    found = [size + by for size in sorted(sizes) for by in (-1, 0, 1)]
    return list(dict.fromkeys((*found, *(n for low, high in ends for n in (low, high, -high, low + 1)))))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nudged(old: Mapping[str, Any], edges: Sequence[int], pick: Pick) -> dict[str, Any] | None:
    """Return values of which one entry is another number, or another entry's, or two are exchanged, or keep their sum.

    What is asked of the others still holds.
    """
    count = max([len(value) for value in old.values() if isinstance(value, tuple)], default=0)
    held = {name: (1,) * count if value is None and name in FACTORS else value for name, value in old.items()}
    numbers = {
        name for name, value in held.items() if isinstance(value, tuple) and value and set(map(type, value)) == {int}
    }
    if not numbers:
        return None
    name = pick(sorted(numbers))
    values, at = list(held[name]), pick(range(len(held[name])))
    other = pick(range(len(values)))
    if pick((False, False, True)):
        if pick((False, True)):
            values[at], values[other] = values[other], values[at]
        else:  # their sum stays
            values[at], values[other] = values[at] + 1, values[other] - 1
        return {**old, name: tuple(values)}
    others = (values[other], pick(edges or values))
    values[at] = pick((values[at] + 1, values[at] - 1, 2 * values[at], -values[at], *others))
    return {**old, name: tuple(values)}


def deal_numbers(plan: Plan, pick: Pick) -> Plan:
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
        for names, each in change_of(plan, [node], dict(zip(ordered, dealt, strict=True))).items():
            change.setdefault(names, {}).update(each)
    return changed(plan, change, pick)


def _numbers(plan: Plan, node: Node) -> dict[str, int | float]:
    """The numbers among a node's open attributes."""
    held = {name: plan.cases[node].attributes.get(name, default) for name, default in node.op.attributes.items()}
    return {name: value for name, value in held.items() if _is_number(value) and is_open(node, name)}


def with_attribute(plan: Plan, node: Node, name: str, value: Any, pick: Pick) -> Plan:
    """Return a plan with another value of an attribute, wherever it must be the same; sizes are mended."""
    return changed(plan, change_of(plan, [node], {name: value}), pick)


def change_of(plan: Plan, nodes: Sequence[Node], values: Mapping[str, Any]) -> Change:
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


def changed(plan: Plan, change: Change, pick: Pick) -> Plan:
    """Return a plan with other attributes; sizes are mended."""
    attributes = {node: {**need.attributes, **change.get(node, {})} for node, need in plan.cases.items()}
    return inferred(plan, plan.types, attributes, pick)


def is_open(node: Node, name: str) -> bool:
    """Tell whether the pattern leaves an attribute open."""
    return name not in node.attributes or isinstance(node.attributes[name], Capture | Where)
