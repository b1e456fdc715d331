"""Plans made operands first: types are chosen where the pattern begins, and what they lead to is inferred."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import product
from typing import Any

from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.testing.generation.demand import Need, Pick, Unfit, admits, seeded, unmet
from graphrewrite.testing.generation.fitting import Case, accepted_case, fit
from graphrewrite.testing.generation.kinds import FAMILIES, POSITIVE, RANKS, USUAL, Kind
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.proposing import TURNS, propose, sources
from graphrewrite.testing.generation.tables import SIZES
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output, Unfolded, unfold
from graphrewrite.types import Stream, Tensor, Type

__all__ = ["forward_plans", "inferred", "plan_forward"]

_ROUNDS = 3
"""How often to try each kind of value at the beginning of a pattern."""
_INSTEAD = {"integer": ("fixed",), "bool": ("float", "fixed", "integer"), "quantised": ("float", "fixed", "integer")}
"""Kinds of values that are left out, unless every type is wanted, where a pattern has instances of another kind."""
_MENDED = 6
"""Nodes whose operands are mended before giving up."""


@lru_cache(maxsize=512)
def forward_plans(pattern: Pattern, *, every_type: bool = False) -> tuple[Plan, ...]:
    """Return plans of a pattern, one for each kind of value that it may begin with, as far as they were found.

    Parameters
    ----------
    every_type : bool
        Whether values may be of any type; else of those alone that most graphs hold.
    """
    found: dict[str, list[Plan]] = {}
    for family in FAMILIES:
        if not every_type and any(name in found for name in _INSTEAD.get(family, ())):
            continue
        for rank, turn in product(RANKS, range(_ROUNDS)):
            pick = seeded(turn)
            with suppress(Unfit):
                plan = plan_forward(
                    unfold(pattern, pick), Kind(family, rank), pick, simple=not turn, every_type=every_type
                )
                found.setdefault(family, []).append(plan)
    return tuple(plan for plans in found.values() for plan in plans)


def plan_forward(reading: Unfolded, kind: Kind, pick: Pick, *, simple: bool = False, every_type: bool = False) -> Plan:
    """Return a plan of a reading that begins with a kind of value."""
    plan = Plan(reading)
    types: dict[Leaf, Type] = {}
    attributes: dict[Node, dict[str, Any]] = {}
    start = partial(_start, kind, pick, every_type=every_type)
    for node in reading.nodes:
        known = [types.get(o) if isinstance(o, Leaf) else plan.results[o.node][o.index] for o in node.operands]
        case = _opened(plan, node, known, start, pick, simple=simple)
        plan.place(node, Need(case.types, case.attributes, _positive(node)), case.results)
        attributes[node] = case.attributes
        types.update({o: t for o, t in zip(node.operands, case.types, strict=True) if isinstance(o, Leaf)})
    return inferred(plan, types, attributes, pick)


def _opened(
    plan: Plan, node: Node, known: Sequence[Type | None], start: Callable[..., Type], pick: Pick, *, simple: bool
) -> Case:
    """A case of a node's op with the operands that are known, and types for the others."""
    op, (given, conditions) = node.op, plan.settled(node)
    there = [t for t in known if t is not None]
    turn = 0 if simple else pick(range(TURNS))
    if not node.operands:
        cases = sources(op)
        proposed = pick(cases) if cases else None
    else:
        first = known[0] or (there[0] if there else start(whole=_is_constant(node.operands[0])))
        proposed = propose(op, first, len(known), turn) or propose(op, first, len(known), 0)
    if proposed is None:
        raise Unfit(f"nothing was found that {op.name} takes with {len(known)} operands")
    attributes = {**proposed.attributes, **given}
    rng = random.Random(turn)
    for name, condition in conditions.items():
        value = attributes.get(name, op.attributes[name])
        if not admits(condition, value):
            made = (_made(recipe.make, proposed.types[:1], rng) for recipe in recipes_of(op, name))
            good = [value for value in made if admits(condition, value)]
            if not good:
                raise Unfit(f"{name}: {unmet(condition, value)}")
            attributes[name] = pick(good)
    alike: dict[Leaf | Output, Type] = {}
    types = [t or alike.setdefault(o, p) for o, t, p in zip(node.operands, known, proposed.types, strict=True)]
    case = fit(op, types, attributes, [i for i, t in enumerate(known) if t is None], rng)
    if case is None:
        raise Unfit(f"{op.name} was found to take no {', '.join(map(str, types))}")
    return case


def _made(make: Any, types: Sequence[Type], rng: random.Random) -> Any:
    try:
        return make(types[0] if types else None, rng)
    except Exception:  # the type has no such value; None fulfils hardly any condition
        return None


def _start(kind: Kind, pick: Pick, *, whole: bool, every_type: bool) -> Type:
    family, rank = kind
    elements = (FAMILIES if every_type else USUAL)[family]
    element = pick((elements[0], *elements))
    size = pick(SIZES)  # equal sizes are common: only they hide that axes were exchanged
    sizes: tuple[Any, ...] = tuple(pick((size, *SIZES)) for _ in range(rank))
    if family == "stream":
        return Stream(element, sizes)  # type: ignore[arg-type]  # the elements of that family are formats
    return Tensor(element, sizes if whole or not pick((True, True, False)) else ("N", *sizes[1:]))


def _is_constant(port: Leaf | Output) -> bool:
    return isinstance(port, Leaf) and port.constant


def _positive(node: Node) -> frozenset[int]:
    return frozenset(i for i, name in enumerate(node.op.operands[: len(node.operands)]) if name in POSITIVE)


def inferred(
    plan: Plan,
    types: Mapping[Leaf, Type],
    attributes: Mapping[Node, Mapping[str, Any]],
    pick: Pick,
    *,
    kept: Collection[Leaf] = (),
) -> Plan:
    """Return a plan of the same reading with other types or attributes; sizes of leaves that do not fit are mended."""
    current = dict(types)
    for _ in range(_MENDED):
        made = Plan(plan.reading, positive=set(plan.positive))
        for node in plan.reading.nodes:
            kinds = tuple(current[o] if isinstance(o, Leaf) else made.results[o.node][o.index] for o in node.operands)
            case = accepted_case(node.op, kinds, attributes[node])
            if case is None:
                current.update(_mended(node, kinds, attributes[node], kept))
                break
            made.place(node, Need(kinds, case.attributes, plan.needs[node].positive), case.results)
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
        raise Unfit(f"{node.op.name} takes no {', '.join(map(str, kinds))}")
    found = {o: t for o, t in zip(node.operands, case.types, strict=True) if isinstance(o, Leaf)}
    if found == {o: t for o, t in zip(node.operands, kinds, strict=True) if isinstance(o, Leaf)}:
        raise Unfit(f"{node.op.name}: the result does not fit its format")
    return found
