"""Typed instances of a rule's pattern: every node with a type, every attribute with a value, so that all of it fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.rewriting.pattern import Pattern
from graphrewrite.testing.generation.backward import plan_backward
from graphrewrite.testing.generation.demand import Pick, Unfit, seeded
from graphrewrite.testing.generation.experience import counts_of
from graphrewrite.testing.generation.forward import NOTHING, forward_plans, plan_forward, tries
from graphrewrite.testing.generation.kinds import FAMILIES, RANKS, Kind
from graphrewrite.testing.generation.own_types import own_plans
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.tables import KINDS
from graphrewrite.testing.generation.unfolding import Unfolded, unfold
from graphrewrite.testing.generation.varying import vary

__all__ = ["NoInstanceError", "feasible_kinds", "has_instance", "plan_instance", "plan_reading"]

_ATTEMPTS = 12
_BATCHES = ("N", "N", "N", 2, 3)
"""Only a batch of a known size can be taken for another axis."""


class NoInstanceError(GraphRewriteError, ValueError):
    """No graph was found that contains a pattern."""


@lru_cache(maxsize=512)
def feasible_kinds(pattern: Pattern) -> tuple[tuple[Any, int], ...]:
    """Return the kinds of result, element type and rank, of which a pattern has plans at its first root."""
    reasons: list[str] = []
    good = [kind for kind in KINDS if _is_feasible(pattern, kind, reasons)]
    if not good and not forward_plans(pattern) and not own_plans(pattern):
        # Of floats nearly everything can be made: what hinders them is worth telling.
        told = reasons[: _ATTEMPTS * sum(element == "f32" for element, _ in KINDS)]
        told = [reason for reason in told if not reason.startswith(NOTHING)] or told
        if all(" gives no " in reason for reason in told):  # which the op may say better
            said = [str(plan) for _, plan in tries(pattern) if isinstance(plan, Unfit)]
            told = [reason for reason in said if "): " in reason] or told
        ends = [reason.rpartition("): ")[2] for reason in told]
        reason = told[ends.index(max(dict.fromkeys(ends), key=ends.count))]
        raise NoInstanceError(
            f"no graph that contains {pattern} was found ({reason}); "
            "pass a strategy of your own that makes such graphs, on=..."
        )
    return tuple(good)


def has_instance(pattern: Pattern) -> bool:
    """Tell whether there are graphs that contain a pattern: sooner than `feasible_kinds`, which finds all kinds."""
    return bool(own_plans(pattern) or any(_is_feasible(pattern, kind, []) for kind in KINDS) or forward_plans(pattern))


def _is_feasible(pattern: Pattern, kind: tuple[Any, int], reasons: list[str]) -> bool:
    pick = seeded(0)
    for _ in range(_ATTEMPTS):
        try:
            plan_backward(unfold(pattern, pick), (kind,), pick)
        except Unfit as error:
            reasons.append(str(error))
        else:
            return True
    return False


def plan_instance(pattern: Pattern, pick: Pick, *, every_type: bool = False, ranks: Collection[int] = ()) -> Plan:
    """Return a typed instance of a pattern.

    Parameters
    ----------
    ranks : collection of int
        Numbers of axes that are wanted, where it has instances of these.
    every_type : bool
        Whether values may be of any element type and in any layout; else of those alone that most graphs hold.
    """
    if own := own_plans(pattern):
        return pick(own)
    kinds = feasible_kinds(pattern)
    kinds = tuple(kind for kind in kinds if kind[1] in ranks) or kinds
    if not kinds or pick((False, True)):
        known = forward_plans(pattern, every_type=every_type) or forward_plans(pattern)
        if known:
            known = {kind: plans for kind, plans in known.items() if kind.rank in ranks} or known
            return vary(_forward(pattern, known, pick, every_type=every_type), pick, every_type=every_type)
    last = Unfit("no attempt")
    for _ in range(_ATTEMPTS):
        reading = unfold(pattern, pick)
        try:
            return vary(_of_reading(pattern, reading, kinds, pick), pick, every_type=every_type)
        except Unfit as error:
            last = error
    raise last


def _of_reading(pattern: Pattern, reading: Unfolded, kinds: Sequence[tuple[Any, int]], pick: Pick) -> Plan:
    """A plan made roots first; operands first where the op that was chosen gives none of these kinds."""
    try:
        return plan_backward(reading, kinds, pick, batches=_BATCHES)
    except Unfit:
        several = any(len(node.ops) > 1 for node in pattern.nodes)
        known = [kind for kind in forward_plans(pattern) if counts_of(reading.nodes[0].op, kind)] if several else []
        if not known:
            raise
        return plan_forward(reading, pick(_mostly_floats(known)), pick)


def _forward(pattern: Pattern, known: Mapping[Kind, Sequence[Plan]], pick: Pick, *, every_type: bool) -> Plan:
    """A plan that was found, or a new one that begins alike."""
    kind = pick(_mostly_floats(known))
    if pick((False, True)):
        with suppress(Unfit):
            return plan_forward(unfold(pattern, pick), kind, pick, every_type=every_type)
    return pick(known[kind])


def _mostly_floats(known: Collection[Kind]) -> list[Kind]:
    return [*(kind for kind in known if kind.family == "float"), *known]


def plan_reading(reading: Unfolded, kinds: Sequence[tuple[Any, int]], pick: Pick) -> Plan:
    """Give types to a reading of several patterns that share nodes.

    Parameters
    ----------
    kinds : sequence of (element, rank)
        What its first root may give; none where that is unknown.
    """
    if kinds:
        return plan_backward(reading, kinds, pick)
    return plan_forward(reading, Kind(pick(tuple(FAMILIES)), pick(RANKS)), pick)
