"""Plans made roots first: what a pattern gives is chosen, and what its operands must then be is read from tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.kinds import SIZES
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.tables import kinds_of
from graphrewrite.testing.generation.unfolding import Capture, Output, Unfolded
from graphrewrite.types import Dimension, Tensor, Type

__all__ = ["plan_backward", "tensor_of"]

_ATTEMPTS = 12


def tensor_of(element: Any, rank: int, pick: Pick, *, batch: Dimension = "N") -> Type:
    """Return a small tensor type.

    Parameters
    ----------
    rank : int
        Number of axes, the batch included.
    batch : str or int
        The first axis.

    Examples
    --------
    >>> print(tensor_of("f32", 3, lambda options: options[-1]))
    f32[N,3,3]
    """
    first = pick(SIZES)  # equal sizes are common: only they hide that axes were exchanged
    return Tensor(element, (batch, *(pick((first, *SIZES)) for _ in range(rank - 1))))


def plan_backward(
    reading: Unfolded, kinds: Sequence[tuple[Any, int]], pick: Pick, *, batches: Sequence[Dimension] = ("N",)
) -> Plan:
    """Return a plan of a reading, or of one of several patterns that share nodes, which gives what is wanted."""
    plan = Plan(reading)
    first, *others = plan.reading.roots
    floats = [kind for kind in kinds if kind[0] == "f32"]
    plan.settle(first, tensor_of(*pick([*floats, *kinds]), pick, batch=pick(batches)), pick)
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
    there = [*plan.types.values(), *(kind for case in plan.cases.values() for kind in case.results)]
    found += [kind for kind in dict.fromkeys(there) if kind not in found]
    found.append(tensor_of(*pick(kinds_of(root.node.op.name)), pick))
    return found
