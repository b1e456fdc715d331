"""Where a rule hardly ever fires: plans at which it does, found beforehand, so that graphs can be made near to them.

What a rule asks below its yield cannot be read from its pattern. So it is asked: of many instances, those are kept of
which it says what it seldom says, and more are looked for near to these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from graphrewrite.graph import Graph
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.replacement import Declined
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.demand import Unfit, seeded
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.varying import vary
from graphrewrite.types import Type

__all__ = ["telling_plans"]

_FIRST = 24
"""Instances to ask of first: a rule that fires at most of them need not be explored."""
_ALL = 320
_KEPT = 8
"""Plans to keep of each answer."""
_OFTEN = 0.4
"""A rule that fires at such a part of its instances is met often enough without."""
_FOUND: WeakKeyDictionary[Rule, dict[bool, tuple[Plan, ...]]] = WeakKeyDictionary()


def telling_plans(rule: Rule, *, every_type: bool = False) -> tuple[Plan, ...]:
    """Return plans of instances of a rule's pattern at which it answers as it seldom does: half of them where it fires.

    Examples
    --------
    >>> from graphrewrite import decline, op
    >>> from graphrewrite import rule as make_rule
    >>> @make_rule
    ... def drop_reverse(x):
    ...     "Axes of which all but one have the size 1 have one order."
    ...     turned = op.transpose(x)
    ...     yield turned
    ...     return op.identity(x) if turned.type == x.type and len(x.shape) == 3 else decline("other axes")
    >>> len(telling_plans(drop_reverse)) > 0
    True
    """
    known = _FOUND.setdefault(rule, {})
    if every_type not in known:
        known[every_type] = tuple(_explored(rule, every_type))
    return known[every_type]


def _explored(rule: Rule, every_type: bool) -> Iterator[Plan]:
    answers: dict[str, list[Plan]] = {}
    fired = 0
    for turn in range(_ALL):
        pick = seeded(turn)
        kept = [plan for plans in answers.values() for plan in plans]
        try:
            near = turn >= _FIRST and turn % 2 and kept
            plan = (
                vary(pick(kept), pick, every_type=every_type)
                if near
                else plan_instance(rule.pattern, pick, every_type=every_type)
            )
            graph = _graph_of(plan, turn)
        except Unfit:
            continue
        answer = _answer(rule, graph)
        fired += answer == ""
        if turn == _FIRST and fired >= _OFTEN * _FIRST:
            return
        same = answers.setdefault(answer, [])
        if any(_is_like(plan, other) for other in same):
            continue
        same.append(plan)
        if len(same) > _KEPT:  # what is larger tells more: where all sizes are 1, nothing can be mixed up
            same.remove(min(same, key=_extent))
    often = answers.pop("", [])
    rest = [plan for plans in answers.values() for plan in plans[: _KEPT // 2]]
    yield from often
    yield from often * (min(len(rest), 3 * _KEPT) // max(len(often), 1))
    yield from rest[: 3 * _KEPT]


def _is_like(plan: Plan, other: Plan) -> bool:
    """Whether two plans are alike but for sizes that no attribute tells apart."""
    return [_form(kind) for kind in plan.types.values()] == [_form(kind) for kind in other.types.values()] and [
        repr(need.attributes) for need in plan.needs.values()
    ] == [repr(need.attributes) for need in other.needs.values()]


def _form(kind: Type) -> tuple[Any, ...]:
    return tuple(size if size in (1, "N") else 0 for size in kind.shape)


def _extent(plan: Plan) -> int:
    return sum(size != 1 for kind in plan.types.values() for size in kind.shape)


def _graph_of(plan: Plan, seed: int) -> Graph:
    builder = Builder(seeded(seed), ())
    return builder.finish(builder.build(plan))


def _answer(rule: Rule, graph: Graph) -> str:
    """Why the rule declines at its instance; nothing where it fires."""
    said = "no match"
    try:
        for match in rule.find(graph):
            outcome = rule.edit(graph, match, fresh=graph.fresh)
            if not isinstance(outcome, Declined):
                return ""
            said = outcome.reason
    except Exception as error:  # whatever a user's rule raises: it is found again, and then reported
        return type(error).__name__
    return said
