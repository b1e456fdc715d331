"""Plans made operands first: types are chosen where the pattern begins, and what they lead to is inferred."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import product
from typing import Any

from graphrewrite.op.define import elementwise
from graphrewrite.op.op import Op
from graphrewrite.rewriting.pattern import Application, Pattern, Where
from graphrewrite.testing.generation.borrowing import like_another
from graphrewrite.testing.generation.demand import Pick, Unfit, admits, near, seeded, sizes_without_symbol, unmet
from graphrewrite.testing.generation.experience import counts_of, forms, taken
from graphrewrite.testing.generation.fitting import Case, accepted_case, fit, refusal
from graphrewrite.testing.generation.kinds import FAMILIES, LAYOUTS, RANKS, SIZES, USUAL, Kind, kind_of, retyped
from graphrewrite.testing.generation.made_of import case_of_inner, inner_op
from graphrewrite.testing.generation.mending import inferred
from graphrewrite.testing.generation.options import recipes_of
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.proposing import TURNS, propose, sources
from graphrewrite.testing.generation.suggested import of_bodies, shapes_of
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output, Unfolded, unfold
from graphrewrite.types import Dimension, Stream, Tensor, Type

__all__ = ["NOTHING", "forward_plans", "plan_forward", "tries"]

_ROUNDS, _ROUNDS_OF_INSISTING, _ROUNDS_OF_CONDITIONS, _ROUNDS_AT_LAST = 3, 12, 48, 48
"""How often to try each kind of value at the beginning of a pattern, and again where it has no plan at all."""
_INSTEAD = {
    "integer": ("fixed",),
    "bool": ("float", "fixed", "integer"),
    "quantised": ("float", "fixed", "integer"),
}
"""Kinds of values that are left out, unless every type is wanted, where a pattern has instances of another kind."""
NOTHING = "nothing was found that"
"""The first words of a reason that says little: an op takes nothing of some kind."""
_CASES = 8
"""Cases to try for a node whose operands are computed."""
_WORDS = ("same", "same_lower", "valid")
"""What borders may be asked to be for the sizes of the operands."""


@lru_cache(maxsize=512)
def forward_plans(pattern: Pattern, *, every_type: bool = False) -> Mapping[Kind, tuple[Plan, ...]]:
    """Return plans of a pattern by the kind of value that it begins with, as far as they were found.

    Parameters
    ----------
    every_type : bool
        Whether values may be of any type; else of those alone that most graphs hold.
    """
    found: dict[Kind, list[Plan]] = {}
    for insists, rounds in ((False, _ROUNDS), (True, _ROUNDS_OF_INSISTING), (False, _ROUNDS_AT_LAST)):
        for kind, plan in tries(pattern, every_type=every_type, insists=insists, rounds=rounds):
            if isinstance(plan, Plan):
                found.setdefault(kind, []).append(plan)
        if found:
            break
    if not found and not every_type and any(variable.condition for variable in pattern.variables):
        # They may ask for elements that are not usual.
        for kind, plan in tries(pattern, every_type=True, rounds=_ROUNDS_OF_CONDITIONS):
            if isinstance(plan, Plan):
                found.setdefault(kind, []).append(plan)
    return {kind: tuple(plans) for kind, plans in found.items()}


def tries(
    pattern: Pattern, *, every_type: bool = False, insists: bool = False, rounds: int = _ROUNDS
) -> Iterator[tuple[Kind, Plan | Unfit]]:
    """Yield plans of a pattern, or why there is none, for each kind of value that it may begin with.

    Parameters
    ----------
    insists : bool
        Whether values that meet are made to fit each other: what is asked for only where there is no plan without.
    """
    good: set[str] = set()
    mantissas = any(op.level != "nn" for node in pattern.nodes for op in node.ops)
    for family in FAMILIES:
        # Integers are mantissas, too, and any op of floats takes them as well: rules have either in mind.
        instead = () if every_type or (family == "integer" and not mantissas) else _INSTEAD.get(family, ())
        if any(name in good for name in instead) or (good and family == "string"):
            continue
        for rank, turn in product(RANKS, range(rounds)):
            if not rank and good and not every_type:
                continue
            pick, kind = seeded(turn), Kind(family, rank)
            try:
                plan = plan_forward(
                    unfold(pattern, pick), kind, pick, simple=not turn, every_type=every_type, insists=insists
                )
            except Unfit as error:
                yield kind, error
            else:
                good.add(family)
                yield kind, plan


def plan_forward(
    reading: Unfolded,
    kind: Kind,
    pick: Pick,
    *,
    simple: bool = False,
    every_type: bool = False,
    batches: Sequence[Dimension | None] = ("N", "N", None),
    insists: bool = False,
) -> Plan:
    """Return a plan of a reading that begins with a kind of value.

    Parameters
    ----------
    insists : bool
        Whether operands are made like those of another node of the same op, and computed values mended where they meet.
    batches : sequence of str, int or None
        What the first size may be; None is any number.
    """
    plan = Plan(reading)
    start = partial(_start, kind, pick=pick, batches=batches, every_type=every_type)
    pivots = _pivots(reading)
    if pivots and (pivot := pick((*pivots, None))) is not None:
        plan = _around(plan, pivot, partial(start, pivot.op), pick, simple=simple)
    for node in reading.nodes:
        if node in plan.cases:
            continue
        known = [plan.type_of(operand) for operand in node.operands]
        begin = partial(start, node.op if plan.cases else None)
        case = like_another(plan, node, known, pick) if insists else None
        try:
            case = case or _opened(plan, node, known, begin, pick, simple=simple)
        except Unfit:
            if not insists or None in known or not known:
                raise
            plan = _joined(plan, node, known, pick)
            continue
        plan.place(node, case)
        plan.types.update({o: t for o, t in zip(node.operands, case.types, strict=True) if isinstance(o, Leaf)})
    return inferred(plan, plan.types, plan.attributes, pick)


def _joined(plan: Plan, node: Node, known: Sequence[Type | None], pick: Pick) -> Plan:
    """A plan in which what a node reads, all of it known, is made to fit."""
    first = next(kind for kind in known if kind is not None)
    proposed = propose(node.op, first, len(known), pick(range(TURNS)))
    attributes = {**(proposed.attributes if proposed is not None else {}), **plan.settled(node)[0]}
    nodes = [each for each in plan.reading.nodes if each in plan.cases or each is node]
    return inferred(plan, plan.types, {**plan.attributes, node: attributes}, pick, nodes=nodes)


def _around(plan: Plan, pivot: Node, start: Callable[..., Type], pick: Pick, *, simple: bool) -> Plan:
    """A plan that begins with a node in the middle: its operands are made to be what it takes."""
    last = Unfit("no attempt")
    for attempt in range(_CASES):
        trial = plan.copy()
        try:
            case = _opened(trial, pivot, [None] * len(pivot.operands), start, pick, simple=simple and not attempt)
            trial.place(pivot, case)
            for operand, wanted in zip(pivot.operands, case.types, strict=True):
                trial.settle(operand, wanted, pick)
        except Unfit as error:
            last = error
        else:
            return trial
    raise last


def _pivots(reading: Unfolded) -> list[Node]:
    """Nodes with a computed operand that follows from the first one, not the reverse, or that has particular sizes."""
    return [
        node
        for node in reading.nodes
        if node.op.infer_types is not elementwise
        and any(isinstance(o, Output) for o in node.operands[not any(shapes_of(node.op, rank) for rank in RANKS) :])
    ]


def _opened(
    plan: Plan, node: Node, known: Sequence[Type | None], start: Callable[..., Type], pick: Pick, *, simple: bool
) -> Case:
    """A case of a node's op with the operands that are known, and types for the others."""
    op, (given, conditions) = node.op, plan.settled(node)
    there = [t for t in known if t is not None]
    turn = 0 if simple else pick(range(TURNS))
    inner = inner_op(op, len(known), given, pick)
    if not node.operands:
        cases = sources(op)
        proposed = pick(cases) if cases else None
    elif inner is not None:
        proposed = case_of_inner(op, inner, known, start, turn)
    else:
        first = known[0] or next((t for t in there[:1] if counts_of(op, kind_of(t))), None)
        first = first or start(whole=_is_constant(node.operands[0]))
        kept = int(bool(there))  # where nothing is known yet, the op may ask for other sizes
        of_graphs = of_bodies(op, len(known), given)
        proposed = propose(op, first, len(known), turn, kept=kept) if of_graphs is None else Case(of_graphs)
        proposed = proposed or propose(op, first, len(known), 0)
        if proposed is None and not there and (found := forms(op, len(known), kind_of(first))):
            proposed = pick(found).case  # it takes some values of that kind
    if proposed is None:
        raise Unfit(f"{NOTHING} {op.name} takes with {len(known)} operands")
    attributes = {**proposed.attributes, **given}
    rng = random.Random(turn)
    for name, condition in conditions.items():
        if condition.of_node:
            continue
        value = attributes.get(name, op.attributes[name])
        if not admits(condition, value):
            made = [_made(recipe.make, proposed.types[:1], rng) for recipe in recipes_of(op, name)]
            good = [value for value in (*made, *near(made)) if admits(condition, value)]
            if not good:
                raise Unfit(f"{name}: {unmet(condition, value)}")
            attributes[name] = pick(good)
    alike: dict[Leaf | Output, Type] = {}
    # A condition that an input does not fulfil is one on what is computed of constants, or on their entries.
    conditional = {o for o in node.operands if isinstance(o, Leaf) and o.condition is not None and not simple}
    whole = {o for o in conditional if pick((False, True))}
    types = [
        t or alike.setdefault(o, _whole(p) if _is_constant(o) or o in whole else p)
        for o, t, p in zip(node.operands, known, proposed.types, strict=True)
    ]
    loose = [i for i, t in enumerate(known) if t is None]
    open_elements = [name for name in op.attributes if "element" in name and name not in given]
    there_before = [kind.element for case in plan.cases.values() for kind in case.types]
    case = None
    if open_elements and there_before and not simple and pick((False, True)):  # rules ask for equal ones
        case = fit(op, types, {**attributes, **dict.fromkeys(open_elements, pick(there_before))}, loose, rng)
    case = case or fit(op, types, attributes, loose, rng)
    if case is None and not there and any(map(_is_constant, node.operands)):  # it is to have a size that is symbolic
        numbered = [retyped(t, shape=[2 if isinstance(d, str) else d for d in t.shape]) for t in proposed.types]
        case = fit(op, numbered, attributes, loose, rng)
    if case is None:
        raise Unfit(refusal(op, types, attributes))
    for name, condition in conditions.items():
        if condition.of_node:
            case = _settled(op, case, name, condition) or case
    return case


def _settled(op: Op, case: Case, name: str, condition: Where) -> Case | None:
    """Give an attribute a value that a condition asks for, where it depends on the sizes of the operands."""
    for word in _WORDS:
        with suppress(Exception):  # there are no such borders
            attributes = op.settled({**case.attributes, name: word}, case.types)
            if admits(condition, Application(op, case.types, {**op.attributes, **attributes})):
                return accepted_case(op, case.types, attributes)
    return None


def _made(make: Any, types: Sequence[Type], rng: random.Random) -> Any:
    try:
        return make(types[0] if types else None, rng)
    except Exception:  # the type has no such value; None fulfils hardly any condition
        return None


def _start(
    kind: Kind, op: Op | None, *, pick: Pick, batches: Sequence[Dimension | None], whole: bool, every_type: bool
) -> Type:
    """A value of a kind, or of another one where an op takes none of it."""
    if op is not None and not counts_of(op, kind):
        other = list(taken(op))
        kind = pick([k for k in other if k.rank == kind.rank] or other or [kind])
    family, rank = kind
    elements = (FAMILIES if every_type else USUAL)[family]
    element = pick((elements[0], *elements))
    if op is not None and (shapes := shapes_of(op, rank)):
        return Tensor(element, pick(shapes))
    size = pick(SIZES)  # equal sizes are common: only they hide that axes were exchanged
    sizes: tuple[Any, ...] = tuple(pick((size, *SIZES)) for _ in range(rank))
    if family == "stream":
        if not 0 < rank < 5:
            raise Unfit("no stream has so many axes")
        return Stream(element, sizes)  # type: ignore[arg-type]  # the elements of that family are formats
    layout = pick((None, *LAYOUTS[rank])) if every_type and rank in LAYOUTS else None
    is_mask = family == "bool" and pick((False, True))  # which is often a constant
    batch = None if whole or is_mask or not rank else pick(batches)
    return Tensor(element, sizes if batch is None else (batch, *sizes[1:]), layout)


def _whole(kind: Type) -> Type:
    """A type without symbolic sizes, which a constant has not: with fewer axes, it may be broadcast."""
    return retyped(kind, shape=sizes_without_symbol(kind.shape))


def _is_constant(port: Leaf | Output) -> bool:
    return isinstance(port, Leaf) and port.constant
