"""Typed instances of a rule's pattern: every node with a type, every attribute with a value, so that all of it fits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError, TypeMismatchError
from graphrewrite.op.op import Op
from graphrewrite.pattern import Pattern, Where
from graphrewrite.testing.generation.arrays import constant_array, holds, literal_array
from graphrewrite.testing.generation.demand import Demand, Need, Pick, T, Unfit
from graphrewrite.testing.generation.tables import KINDS, SIZES, kinds_of, meet
from graphrewrite.testing.generation.unfolding import Capture, Leaf, Node, Output, Unfolded, unfold
from graphrewrite.types import Dimension, FixedPoint, Tensor, Type

__all__ = ["NoInstanceError", "Plan", "feasible_kinds", "kinds_given_by", "plan_instance", "plan_reading", "tensor_of"]

_ATTEMPTS = 12
_STYLES = 6
"""Constants to try where a condition asks for something of their values."""


class NoInstanceError(GraphRewriteError, ValueError):
    """No graph was found that contains a pattern."""


@dataclass
class Plan:
    """Types and attributes for a reading of a pattern.

    Attributes
    ----------
    reading : Unfolded
        What is planned.
    types : dict
        Of each leaf.
    results : dict
        Result types of each node.
    needs : dict
        Operand types and attributes of each node.
    captured : dict
        Values of the attributes that variables stand for.
    arrays : dict
        Of leaves whose values matter.
    positive : set
        Leaves whose constants should be above zero.
    """

    reading: Unfolded
    types: dict[Leaf, Type] = field(default_factory=dict)
    results: dict[Node, tuple[Type, ...]] = field(default_factory=dict)
    needs: dict[Node, Need] = field(default_factory=dict)
    captured: dict[Capture, Any] = field(default_factory=dict)
    arrays: dict[Leaf, np.ndarray] = field(default_factory=dict)
    positive: set[Leaf] = field(default_factory=set)

    def copy(self) -> Plan:
        """Return a plan that can go on in another way."""
        tables = ("types", "results", "needs", "captured", "arrays", "positive")
        return replace(self, **{name: getattr(self, name).copy() for name in tables})

    def type_of(self, port: Leaf | Output) -> Type | None:
        """Return the type that is settled for a value, if one is."""
        if isinstance(port, Leaf):
            return self.types.get(port)
        results = self.results.get(port.node)
        return None if results is None else results[port.index]

    def settle(self, port: Leaf | Output, kind: Type, pick: Pick) -> None:
        """Give a value a type, and give types to what lies below it.

        Parameters
        ----------
        port : Leaf or Output
            Of the reading.
        kind : Tensor or Stream
            What it must carry.
        pick : Pick
            Makes the choices.

        Raises
        ------
        Unfit
            If that contradicts what is settled, or no operands fit.
        """
        settled = self.type_of(port)
        if settled is not None:
            if settled != kind:
                raise Unfit("shared, and wanted with two types")
        elif isinstance(port, Leaf):
            self.types[port] = kind
            self._fill(port, kind, pick)
        else:
            self._settle_node(port, kind, pick)

    def _fill(self, leaf: Leaf, kind: Type, pick: Pick) -> None:
        """Find an array for a constant whose values matter."""
        if leaf.literal is not None:
            self.arrays[leaf] = literal_array(leaf.literal, kind, pick)
        if leaf.condition is None or (not leaf.constant and holds(leaf.condition, kind, None)):
            return
        if any(isinstance(d, str) for d in kind.shape) or not isinstance(kind, Tensor):
            raise Unfit(f"no value was found of which is true: {leaf.condition.reason}")
        first = pick(range(_STYLES))
        for style in range(first, first + _STYLES):
            array = constant_array(kind, style, positive=leaf in self.positive)
            if holds(leaf.condition, kind, array):
                self.arrays[leaf] = array
                return
        raise Unfit(f"no value was found of which is true: {leaf.condition.reason}")

    def _settle_node(self, port: Output, kind: Type, pick: Pick) -> None:
        node = port.node
        given, conditions = {}, {}
        for name, value in node.attributes.items():
            if isinstance(value, Where):
                conditions[name] = value
            elif not isinstance(value, Capture):
                given[name] = value
            elif value in self.captured:
                given[name] = self.captured[value]
            elif value.condition is not None:
                conditions[name] = value.condition
        formats = [t.element for t in self.types.values() if isinstance(t.element, FixedPoint)]
        formats += [v for n in self.needs.values() for v in n.attributes.values() if isinstance(v, FixedPoint)]
        demand = Demand(
            node.op,
            kind,
            len(node.operands),
            pick,
            given=given,
            fixed=tuple(isinstance(t, Leaf) and t.constant for t in node.operands),
            known=tuple(self.type_of(t) for t in node.operands),
            formats=tuple(dict.fromkeys(formats)),
            conditions=conditions,
            index=port.index,
        )
        need = self.needs[node] = meet(demand)
        self.results[node] = node.op.infer(*need.types, **need.attributes)
        for name, value in node.attributes.items():
            if isinstance(value, Capture):
                self.captured[value] = need.attributes.get(name, node.op.attributes[name])
        for index, (operand, wanted) in enumerate(zip(node.operands, need.types, strict=True)):
            if index in need.positive and isinstance(operand, Leaf):
                self.positive.add(operand)
            self.settle(operand, wanted, pick)


def tensor_of(element: Any, rank: int, pick: Pick, *, batch: Dimension = "N") -> Type:
    """Return a small tensor type.

    Parameters
    ----------
    element : str or FixedPoint
        The element type.
    rank : int
        Number of axes, the batch included.
    pick : Pick
        Chooses the sizes.
    batch : str or int
        The first axis.

    Examples
    --------
    >>> print(tensor_of("f32", 3, lambda options: options[-1]))
    f32[N,3,3]
    """
    first = pick(SIZES)  # equal sizes are common: only they hide that axes were exchanged
    return Tensor(element, (batch, *(pick((first, *SIZES)) for _ in range(rank - 1))))


def _picking(rng: random.Random) -> Pick:
    def pick(options: Sequence[T]) -> T:
        return rng.choice(options)

    return pick


@lru_cache(maxsize=512)
def kinds_given_by(op: Op) -> tuple[tuple[Any, int], ...]:
    """Return the kinds of result, element type and rank, that an op can give.

    Parameters
    ----------
    op : Op
        The op.

    Returns
    -------
    tuple of (element, rank)
        Empty where nothing is known about its attributes or operands.
    """

    def fits(kind: tuple[Any, int]) -> bool:
        pick = _picking(random.Random(0))
        for _ in range(_ATTEMPTS):
            try:
                meet(Demand(op, tensor_of(*kind, pick), max(op.required, 1), pick))
            except Unfit:
                continue
            return True
        return False

    found = tuple(kind for kind in kinds_of(op.name) if fits(kind))
    floats = tuple(kind for kind in found if kind[0] == "f32")
    return floats or found


@lru_cache(maxsize=512)
def feasible_kinds(pattern: Pattern) -> tuple[tuple[Any, int], ...]:
    """Return the kinds of result, element type and rank, of which a pattern has instances at its first root.

    Parameters
    ----------
    pattern : Pattern
        Of a rule.

    Returns
    -------
    tuple of (element, rank)

    Raises
    ------
    NoInstanceError
        If there is no instance at all, with the reason.
    """
    reasons: list[str] = []
    good = [kind for kind in KINDS if _is_feasible(pattern, kind, reasons)]
    if not good:
        # Of floats nearly everything can be made: what hinders them is worth telling.
        told = reasons[: _ATTEMPTS * sum(element == "f32" for element, _ in KINDS)]
        reason = max(dict.fromkeys(told), key=told.count)
        raise NoInstanceError(
            f"no graph that contains {pattern} was found ({reason}); "
            "pass a strategy of your own that makes such graphs, on=..."
        )
    return tuple(good)


def _is_feasible(pattern: Pattern, kind: tuple[Any, int], reasons: list[str]) -> bool:
    pick = _picking(random.Random(0))
    for _ in range(_ATTEMPTS):
        try:
            plan_reading(unfold(pattern, pick), (kind,), pick)
        except Unfit as error:
            reasons.append(str(error))
        else:
            return True
    return False


def plan_instance(pattern: Pattern, pick: Pick) -> Plan:
    """Return a typed instance of a pattern.

    Parameters
    ----------
    pattern : Pattern
        Of a rule.
    pick : Pick
        Makes every choice.

    Returns
    -------
    Plan

    Raises
    ------
    Unfit
        If a few attempts found none.
    """
    kinds = feasible_kinds(pattern)
    last = Unfit("no attempt")
    for _ in range(_ATTEMPTS):
        try:
            return plan_reading(unfold(pattern, pick), kinds, pick)
        except Unfit as error:
            last = error
    raise last


def plan_reading(reading: Unfolded, kinds: Sequence[tuple[Any, int]], pick: Pick) -> Plan:
    """Give types to a reading of a pattern, or of several that share nodes.

    Parameters
    ----------
    reading : Unfolded
        What is planned.
    kinds : sequence of (element, rank)
        What its first root may give.
    pick : Pick
        Makes every choice.

    Returns
    -------
    Plan

    Raises
    ------
    Unfit
        If these choices lead to none.
    """
    plan = Plan(reading)
    first, *others = plan.reading.roots
    floats = [kind for kind in kinds if kind[0] == "f32"]
    plan.settle(first, tensor_of(*pick([*floats, *kinds]), pick), pick)
    for root in others:
        if plan.type_of(root) is None:
            plan = _with_root(plan, root, pick)
    return plan


def _with_root(plan: Plan, root: Output, pick: Pick) -> Plan:
    """Settle another root, of a type that fits what it shares with the others if there is one."""
    last = Unfit("no attempt")
    for _ in range(_ATTEMPTS):
        try:
            trial = plan.copy()
            trial.settle(root, pick(_likely(plan, root, pick)), pick)
        except Unfit as error:
            last = error
        else:
            return trial
    raise last


def _likely(plan: Plan, root: Output, pick: Pick) -> list[Type]:
    """Types that a root may have: what its operands give, types that are there, and any."""
    found: list[Type] = []
    known = [kind for operand in root.node.operands if (kind := plan.type_of(operand)) is not None]
    if len(known) == len(root.node.operands):
        given = {k: v for k, v in root.node.attributes.items() if not isinstance(v, Capture | Where)}
        with suppress(TypeMismatchError, IndexError, ValueError, TypeError, AttributeError):
            found.append(root.node.op.infer(*known, **given)[root.index])
    there = [*plan.types.values(), *(kind for results in plan.results.values() for kind in results)]
    found += [kind for kind in dict.fromkeys(there) if kind not in found]
    found.append(tensor_of(*pick(kinds_of(root.node.op.name)), pick))
    return found
