"""Cases of ops that are made of another op: its derivative, and what computes it into a region of memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op import LIBRARY
from graphrewrite.op.differentiation import DIFFERENTIABLE, Vjp
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.experience import counts_of
from graphrewrite.testing.generation.fitting import Case
from graphrewrite.testing.generation.kinds import kind_of
from graphrewrite.testing.generation.proposing import propose
from graphrewrite.testing.generation.suggested import of_bodies
from graphrewrite.types import Type

__all__ = ["case_of_inner", "inner_op"]


def inner_op(op: Op, count: int, given: Mapping[str, Any], pick: Pick) -> Op | None:
    """Return the op that an op with so many operands is made of; None of any other op.

    Examples
    --------
    >>> from graphrewrite import op
    >>> inner_op(op.mul.vjp, 3, {}, lambda options: options[0]).name
    'mul'
    >>> inner_op(op.into, 2, {"of": "slice"}, lambda options: options[0]).name
    'slice'
    """
    if isinstance(op, Vjp):
        return op.of
    if op is not LIBRARY["into"]:
        return None
    if "of" in given:
        return LIBRARY.get(given["of"])
    return pick([each for each in LIBRARY.values() if _may_be_written(each, count - 1)])


def _may_be_written(op: Op, count: int) -> bool:
    fits = op.required <= count and (op.variadic or count <= len(op.operands))
    return fits and op.results == 1 and op.level not in ("structure", "memory")


def case_of_inner(op: Op, inner: Op, known: Sequence[Type | None], start: Callable[..., Type], turn: int) -> Case:
    """Return operands and attributes of an op that is made of another one: what that gives comes first.

    Parameters
    ----------
    known : sequence of Type or None
        Operands that are settled; that of the other op's first one is kept.
    start : callable
        Makes the first operand of the other op, where nothing settles it.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> case = case_of_inner(op.into, op.flatten, [None, Tensor("f32", ("N", 2, 3))], None, 0)
    >>> print(*case.types, case.attributes)
    f32[N,6] f32[N,2,3] {'of': 'flatten', 'attributes': {}}
    """
    first = known[1] if len(known) > 1 else None
    if first is None:
        first = start(whole=False)
    count = len(known) - 1
    if of_bodies(inner, count, {}) is not None or count not in counts_of(inner, kind_of(first)):
        raise Unfit(f"{inner.name} takes no {first} with {count} operands")
    case = propose(inner, first, count, turn) or propose(inner, first, count, 0)
    if case is None:
        raise Unfit(f"{inner.name} takes no {first} with {count} operands")
    attributes = _attributes(op, inner, case, random.Random(turn))
    with suppress(TypeMismatchError):
        result = inner.result_types(case.types, case.attributes)[attributes.get("of_result", 0)]
        return Case((result, *case.types), attributes)
    raise Unfit(f"{inner.name} takes no {first}")


def _attributes(op: Op, inner: Op, case: Case, rng: random.Random) -> dict[str, Any]:
    if not isinstance(op, Vjp):
        return {"of": inner.name, "attributes": case.attributes}
    along = [place for place, kind in enumerate(case.types) if kind.element in DIFFERENTIABLE]
    if not along:
        raise Unfit(f"{inner.name} has no gradient along {', '.join(map(str, case.types))}")
    own = {"wrt": rng.choice(along), "of_result": rng.randrange(max(len(case.results), 1))}
    return {**case.attributes, **{name: value for name, value in own.items() if name in op.attributes}}
