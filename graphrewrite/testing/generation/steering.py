"""Plans near to what a rule decides: values that its own code mentions, and their neighbours, put where they fit."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.rewriting.pattern import Where
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.testing.generation.arrays import constant_array, holds
from graphrewrite.testing.generation.attribute_changes import is_open, numbers_beside, with_attribute
from graphrewrite.testing.generation.constant_changes import (
    change_constant,
    filled,
    open_constants,
    permuted,
    with_arrays,
)
from graphrewrite.testing.generation.demand import Pick, Unfit, some
from graphrewrite.testing.generation.edges import STEPS, WITHOUT_NAN, edges_of, large_numbers, limits_of
from graphrewrite.testing.generation.indices import bits_shifted
from graphrewrite.testing.generation.kinds import USUAL, retyped
from graphrewrite.testing.generation.mending import inferred
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.together import related, relations_of
from graphrewrite.testing.generation.unfolding import Leaf, Node
from graphrewrite.testing.generation.varying import vary, with_element
from graphrewrite.testing.mentioning import Mentioned, values_mentioned
from graphrewrite.types import TEXT, FixedPoint, Type, element_dtype, element_kind, out_of_range

__all__ = ["mentioned_by", "near", "steer"]

_COMMON = Mentioned((2, -1, 0.5))
"""What is tried where the code mentions nothing."""
_ODD_NUMBERS = frozenset({"isnan", "isinf", "isfinite", "nan", "inf", "signbit", "copysign"})
"""What code reads that tells constants apart by numbers which are seldom met."""
_LARGEST = 40
"""A size."""
_TRIES = 3
_SELDOM, _SOMETIMES = (False, False, False, True), (False, False, True)


def steer(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Return a plan near to a plan, with a mentioned value as an attribute, a size, or an entry of a constant.

    A size may also be one more, one less, or twice as large, and an attribute or an element type as another one of the
    plan. Where nothing fits, it is the same plan.
    """
    mentioned = mentioned or replace(_COMMON, moderate=mentioned.moderate)
    changes = _CHANGES if not _ODD_NUMBERS & mentioned.attributes else (*_CHANGES, *[_entries] * len(_CHANGES))
    if len(_integers(plan)) > 1:
        changes = (*changes, _magnitudes, _magnitudes)
    if _rows(plan):
        changes = (*changes, _permuted, _permuted)
    if len(mentioned.elements) > 1 and _converting(plan):
        changes = (*changes, _conversion, _conversion)
    if relations_of(plan):
        changes = (*changes, *[_related] * (len(changes) // 2))
    for _ in range(_TRIES):
        try:
            return pick(changes)(plan, pick, mentioned)
        except Unfit:
            continue
    return plan


def mentioned_by(rule: Rule) -> Mentioned:
    """Return the values to which plans of a rule's pattern are steered: those of its code, and of its conditions."""
    conditions = [variable.condition for variable in rule.pattern.variables]
    conditions += [
        value for node in rule.pattern.nodes for value in node.attributes.values() if isinstance(value, Where)
    ]
    predicates = [condition.predicate for condition in conditions if condition is not None]
    found = reduce(or_, map(values_mentioned, predicates), values_mentioned(rule.function))
    return replace(found, moderate=rule.keeps != "exact")


def near(plan: Plan, pick: Pick, *, moderate: bool = False, every_type: bool = False, of_floats: bool = False) -> Plan:
    """Return a plan near to a plan, as `vary` does, with the same constants where their types are the same, or nearly.

    Parameters
    ----------
    moderate : bool
        Whether constants of floats stay of the magnitude that they have.
    of_floats : bool
        Whether it is often one of floats where the plan has none.
    """
    if of_floats and not plan.arrays and pick(_SOMETIMES):
        with suppress(Unfit):
            plan = _as_floats(plan, pick)
    if bool(plan.arrays) and pick(_SOMETIMES):
        with suppress(Unfit):
            return change_constant(plan, pick, moderate=moderate)
    found = with_arrays(vary(plan, pick, every_type=every_type, stirs=_SELDOM), plan)
    if bool(found.arrays) and pick(_SOMETIMES):
        with suppress(Unfit):
            return change_constant(found, pick, moderate=moderate)
    return found


def _as_floats(plan: Plan, pick: Pick) -> Plan:
    """Return a plan with floats for one of its element types, where it has none."""
    kinds = {kind.element: element_kind(kind.element) for kind in plan.types.values()}
    if "float" in kinds.values():
        raise Unfit("there are some")
    numbers = [element for element, kind in kinds.items() if kind in ("integer", "fixed", "quantised")]
    return with_element(plan, pick(some(numbers)), pick(USUAL["float"]), pick)


def _attribute(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    free = [(node, name) for node in plan.reading.nodes for name in node.op.attributes if is_open(node, name)]
    # What the code reads decides; what it forgot to read may be wrong.
    read = [(node, name) for node, name in free if name in mentioned.attributes]
    chosen = pick((read, read, free)) if read else free
    node, name = pick(some(chosen))
    default = node.op.attributes[name]
    old = plan.attributes[node].get(name, default)
    numbers = (*mentioned.boundaries, *_widths(plan), *numbers_beside(plan, node, name))
    values = list(_values(old, pick, numbers, mentioned.others))
    if name.startswith("eps"):  # what keeps a square root away from zero
        values = [value for value in values if value > 0]
    values += [kind.element for kind in plan.types.values() if name == "element" and kind.element != old]
    if default is not inspect.Parameter.empty:
        values += [default] * (1 + len(values) // 4)  # what most graphs have, and most rules ask for
    try:
        return with_attribute(plan, node, name, pick(some(values)), pick)
    except GraphRewriteError as error:  # the op takes no such value
        raise Unfit(str(error)) from error


def _alike(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Give all nodes that have an attribute of one name the same value, or its negative: of one of them, or another."""
    found: dict[str, list[Node]] = {}
    for node in plan.reading.nodes:
        for name in node.op.attributes:
            if is_open(node, name):
                found.setdefault(name, []).append(node)
    name = pick(some([name for name, nodes in found.items() if len(nodes) > 1]))
    first = pick(found[name])
    value = plan.attributes[first].get(name, first.op.attributes[name])
    named = list(_values(value, pick, (*mentioned.boundaries, *_widths(plan)), mentioned.others))
    way = pick(("own", "made", "named"))
    if way == "named" and named:
        value = pick(named)
    elif way != "own":
        kinds = plan.cases[first].types
        try:
            value = pick(recipes_of(first.op, name)).make(kinds[0] if kinds else None, random.Random(pick(range(256))))
        except Exception as error:  # the type has no such value
            raise Unfit(str(error)) from error
    attributes = {node: dict(given) for node, given in plan.attributes.items()}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    other = (-value or value) if is_number and pick((False, False, True)) else value  # there and back, but no -0
    for node in found[name]:
        attributes[node][name] = value if node is first else other
    return inferred(plan, plan.types, attributes, pick)


def _element(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Give leaves of one element type another: one that is mentioned, or that an attribute or another leaf has."""
    old = plan.types[pick(some(list(plan.types)))].element
    there = [kind.element for kind in plan.types.values()]
    there += [given["element"] for given in plan.attributes.values() if given.get("element") is not None]
    new = pick(some([element for element in (*mentioned.elements, *there) if element != old]))
    return with_element(plan, old, new, pick)


def _related(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Bring nodes into a relation to each other, perhaps several ones after the other."""
    plan = related(plan, pick)
    for _ in range(pick(range(_TRIES))):
        with suppress(Unfit):
            plan = related(plan, pick)
    return plan


def _conversion(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Give leaves of one element type another one that is mentioned, and what they are converted to as well."""
    old = plan.types[pick(some(list(plan.types)))].element
    new, wanted, alike = pick(mentioned.elements), pick(mentioned.elements), pick((True, True, False))
    types = {leaf: retyped(kind, element=new) if kind.element == old else kind for leaf, kind in plan.types.items()}
    attributes = {node: dict(given) for node, given in plan.attributes.items()}
    for node in _converting(plan):
        attributes[node]["element"] = wanted if alike else pick(mentioned.elements)
    return inferred(plan, types, attributes, pick)


def _converting(plan: Plan) -> list[Node]:
    """Return the nodes of which the plan, and not the pattern, says what element type they give."""
    return [node for node in plan.reading.nodes if "element" in node.op.attributes and is_open(node, "element")]


def _values(old: Any, pick: Pick, numbers: Sequence[int | float], others: Sequence[Any]) -> Iterator[Any]:
    """Yield values of the kind of a value."""
    if isinstance(old, bool):
        yield not old
    elif isinstance(old, int | float):
        yield from (type(old)(n) for n in numbers if type(old)(n) == n)
    elif isinstance(old, tuple) and old and all(isinstance(entry, int) for entry in old):
        for number in numbers:
            if number == int(number):
                at = pick(range(len(old)))
                yield (*old[:at], int(number), *old[at + 1 :])
                yield (int(number),) * len(old)
    elif old is None:
        yield from (n for n in numbers if n == int(n))
    else:
        yield from (other for other in others if type(other) is type(old))
    if isinstance(old, FixedPoint):
        for signed, width in ((not old.signed, old.width), (old.signed, old.width + 1), (old.signed, old.width - 1)):
            if old.signed < width < 64:
                yield replace(old, signed=signed, width=width)


def _widths(plan: Plan) -> list[int]:
    """By how many bits the formats of a plan differ, and one more: shifts that just lose a bit, or just keep it."""
    formats = {kind.element for kind in plan.types.values()}
    formats |= {
        value for given in plan.attributes.values() for value in given.values() if isinstance(value, FixedPoint)
    }
    fixed = [element for element in formats if isinstance(element, FixedPoint)]
    found = {abs(one - other) for one, other in combinations([element.width for element in fixed], 2)}
    found |= {abs(one - other) for one, other in combinations([element.fraction for element in fixed], 2)}
    return sorted({sign * (bits + more) for bits in found for more in (0, 1) for sign in (1, -1) if bits + more})


def _size(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Change a size wherever it is, or one of a leaf: the others follow, or it is broadcast."""
    leaf = pick(some(list(plan.types)))
    shape = plan.types[leaf].shape
    axis = pick(some(range(len(shape))))
    old = shape[axis]
    sizes = [int(n) for n in mentioned.boundaries if 1 <= n <= _LARGEST and n == int(n)]
    if isinstance(old, int):
        sizes += (2 * old, 2 * old, old + 1, max(old - 1, 1))
    new = pick(some(sizes))
    if pick((False, True)):
        types = {
            other: retyped(kind, shape=tuple(new if d == old else d for d in kind.shape))
            for other, kind in plan.types.items()
        }
        kept: tuple[Leaf, ...] = ()
    else:
        types = {**plan.types, leaf: retyped(plan.types[leaf], shape=(*shape[:axis], new, *shape[axis + 1 :]))}
        kept = (leaf,)
    return inferred(plan, types, plan.attributes, pick, kept=kept)


def _integers(plan: Plan) -> list[Leaf]:
    """Return those of them that hold whole numbers."""
    return [leaf for leaf in open_constants(plan) if element_kind(plan.types[leaf].element) in ("integer", "fixed")]


def _rows(plan: Plan) -> list[Leaf]:
    """Return those of them that are rows: indices often are."""
    return [leaf for leaf in _integers(plan) if len(plan.types[leaf].shape) == 1]


def _permuted(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Let rows of integers be permutations, all those of one length at once."""
    return permuted(plan, pick, _rows(plan))


def _magnitudes(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Let each constant of integers be one large number: what is made of them leaves their type, or just fits."""
    found = dict(plan.arrays)
    for leaf in _integers(plan):
        kind = plan.types[leaf]
        numbers = [n for n in large_numbers(kind.element) if n > 0 or leaf not in plan.positive]
        array = np.full(tuple(map(int, kind.shape)), pick(some(numbers)), element_dtype(kind.element))
        if leaf.condition is None or holds(leaf.condition, kind, array):
            found[leaf] = array
    return replace(plan, arrays=found)


def _entries(plan: Plan, pick: Pick, mentioned: Mentioned) -> Plan:
    """Let a constant have mentioned numbers or edge values as entries, everywhere or among others, or be in order."""
    constants = open_constants(plan)
    if bool(_integers(plan)) and pick(_SELDOM):
        return _magnitudes(plan, pick, mentioned)
    leaf = pick(some(constants))
    kind = plan.types[leaf]
    rng = random.Random(pick(range(256)))
    is_positive = leaf in plan.positive
    flat = constant_array(kind, 4 + rng.randrange(4), positive=is_positive).ravel().copy()
    if not flat.size:
        raise Unfit("a constant without entries")
    if leaf in plan.arrays and rng.randrange(3) == 0:  # one entry alone, for a rule that asks of some or of all
        others, at = flat, rng.randrange(flat.size)
        flat = plan.arrays[leaf].ravel().copy()
        flat[at] = others[at]
        return filled(plan, leaf, flat)
    fitting = [
        n
        for n in (*mentioned.boundaries, *_shifted(plan, leaf), *_beyond(plan, leaf))
        if _is_held(kind, n) and (n > 0 or not is_positive)
    ]
    asks = bool(_ODD_NUMBERS & mentioned.attributes)
    match 2 if asks and rng.randrange(2) else rng.randrange(8 if fitting else 5):
        case 0:
            flat[:] = _held(rng.randrange(4) + np.arange(flat.size) % 8, kind)
        case 1:
            flat[:] = np.sort(flat) if rng.randrange(2) else np.sort(flat)[::-1]
        case 4 if kind.element != TEXT:
            flat[:] = _held(np.array(rng.sample(range(flat.size), flat.size)), kind)
        case 2 | 3 | 4:
            edges = _edges(plan, kind, positive=is_positive, moderate=mentioned.moderate)
            odd = edges[~np.isfinite(edges)] if edges.dtype.kind == "f" else edges[:0]
            edges = odd if odd.size and (asks or rng.randrange(2)) else edges
            if rng.randrange(2):
                flat[:] = rng.choice(edges)
            else:
                flat[rng.randrange(flat.size)] = rng.choice(edges)
        case 5:
            flat[:] = rng.choice(fitting)
        case _:
            flat[rng.randrange(flat.size)] = rng.choice(fitting)
    return filled(plan, leaf, flat)


def _shifted(plan: Plan, leaf: Leaf) -> list[int]:
    """By how many bits a constant may shift: by all, and by one less."""
    found = {
        bits_shifted(node.op, position, plan.cases[node].types) or 0
        for node in plan.reading.nodes
        for position, operand in enumerate(node.operands)
        if operand is leaf
    }
    return sorted({bits - less for bits in found if bits for less in (0, 1)})


def _beyond(plan: Plan, leaf: Leaf) -> list[int]:
    """Where other types of integers end, and one beyond, or a type of floats has no more of them all.

    It is that with which a converted value is compared.
    """
    own = plan.types[leaf].element
    elements = {kind.element for other, kind in plan.types.items() if kind.element != own}
    ends = [limits_of(element) for element in elements if element_kind(element) == "integer"]
    found = {number for low, high in ends for number in (low - 1, low, high, high + 1)}
    return sorted(found | ({int(2 / STEPS[str(own)])} if ends and own in STEPS else set()))


def _held(numbers: np.ndarray, kind: Type) -> np.ndarray:
    """Numbers from 0 on as a type holds them: at most its greatest one."""
    most = min(limits_of(kind.element)[1], numbers.max())
    held: np.ndarray = np.minimum(numbers, most).astype(element_dtype(kind.element))
    return held


def _edges(plan: Plan, kind: Type, *, positive: bool, moderate: bool) -> np.ndarray:
    """Edge values of a type of constants: no NaN and no infinity where an op of the plan rounds to integers."""
    rounds = any(node.op.name in WITHOUT_NAN for node in plan.reading.nodes)
    edges = edges_of(kind.element, (), (), numbers=rounds or positive, near=moderate)
    return edges[edges > 0] if positive else edges


def _is_held(kind: Type, number: float) -> bool:
    """Tell whether a type has a number, or, of floats, one near to it."""
    if element_dtype(kind.element).kind == "f":
        return bool(abs(number) <= limits_of(kind.element)[1])
    return number == int(number) and out_of_range(kind.element, int(number)) is None


_CHANGES = (_attribute, _attribute, _attribute, _entries, _entries, _size, _alike, _element)
