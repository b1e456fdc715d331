"""Typed instances of a rule's pattern: every node with a type, every attribute with a value, so that all of it fits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphrewrite.op.define import Op
from graphrewrite.pattern import Literal, Pattern, PatternNode, Term, Variable
from graphrewrite.testing.demand import Demand, Need, Pick, T, Unfit
from graphrewrite.testing.tables import SIZES, kinds_of, meet
from graphrewrite.types import Dimension, FixedPoint, Tensor, Type

__all__ = ["Plan", "feasible_kinds", "kinds_given_by", "plan_instance", "tensor_of", "unfit_message"]

_ATTEMPTS = 12
_OPEN: Any = object()


@dataclass
class Plan:
    """Types and attributes for the nodes and variables of a pattern.

    Attributes
    ----------
    types : dict
        Of each node, variable and literal.
    needs : dict
        Operand types and attributes of each node.
    attributes : dict
        Values of the variables that stand for attributes.
    positive : set
        Terms whose constants should be above zero.
    """

    types: dict[Term, Type] = field(default_factory=dict)
    needs: dict[PatternNode, Need] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    positive: set[Term] = field(default_factory=set)

    def settle(self, term: Term, kind: Type, pick: Pick) -> None:
        """Give a term a type, and give types to what lies below it.

        Parameters
        ----------
        term : Term
            Of the pattern.
        kind : Tensor or Stream
            What it must carry.
        pick : Pick
            Makes the choices.

        Raises
        ------
        Unfit
            If that contradicts what is settled, or no operands fit.
        """
        if self.types.setdefault(term, kind) != kind:
            raise Unfit("shared, and wanted with two types")
        if not isinstance(term, PatternNode) or term in self.needs:
            return
        known = {
            k: self.attributes.get(v.name, _OPEN) if isinstance(v, Variable) else v for k, v in term.attributes.items()
        }
        formats = [t.element for t in self.types.values() if isinstance(t.element, FixedPoint)]
        formats += [v for n in self.needs.values() for v in n.attributes.values() if isinstance(v, FixedPoint)]
        demand = Demand(
            term.op,
            kind,
            len(term.operands),
            pick,
            given={k: v for k, v in known.items() if v is not _OPEN},
            fixed=tuple(isinstance(t, Literal) or (isinstance(t, Variable) and t.constant) for t in term.operands),
            known=tuple(self.types.get(t) for t in term.operands),
            formats=tuple(dict.fromkeys(formats)),
        )
        need = self.needs[term] = meet(demand)
        for name, value in term.attributes.items():
            if isinstance(value, Variable):
                self.attributes[value.name] = need.attributes.get(name, term.op.attributes[name])
        for index, (operand, wanted) in enumerate(zip(term.operands, need.types, strict=True)):
            if index in need.positive:
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
        rng = random.Random(0)

        def pick(options: Sequence[T]) -> T:
            return rng.choice(options)

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
def feasible_kinds(pattern: Pattern) -> tuple[tuple[tuple[Any, int], ...], ...]:
    """Return for each root of a pattern the kinds of result, element type and rank, of which there are instances.

    Parameters
    ----------
    pattern : Pattern
        Of a rule.

    Returns
    -------
    tuple of tuple of (element, rank)

    Raises
    ------
    ValueError
        If there is no instance at all, with the reason.
    """
    found = []
    for root in pattern.roots:
        good: list[tuple[Any, int]] = []
        reason = "no kind of result was tried"
        for kind in kinds_of(root.op.name):
            rng = random.Random(0)

            def pick(options: Sequence[T], rng: random.Random = rng) -> T:
                return rng.choice(options)

            for _ in range(_ATTEMPTS):
                try:
                    Plan().settle(root, tensor_of(*kind, pick), pick)
                except Unfit as error:
                    reason = str(error)
                else:
                    good.append(kind)
                    break
        if not good:
            raise ValueError(unfit_message(root, reason))
        found.append(tuple(good))
    return tuple(found)


def unfit_message(root: PatternNode, reason: str) -> str:
    """Return what to say when no instance of a pattern was found."""
    return f"no graph that contains {root!r} was found ({reason}); pass a strategy of your own that makes such graphs"


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
        plan = Plan()
        try:
            for root, options in zip(pattern.roots, kinds, strict=True):
                if root not in plan.types:
                    floats = [k for k in options if k[0] == "f32"]
                    plan.settle(root, tensor_of(*pick([*floats, *options]), pick), pick)
        except Unfit as error:
            last = error
        else:
            return plan
    raise last
