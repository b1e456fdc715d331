"""Operands like those of another node of the same op, or of the shape that an attribute asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.fitting import Case, accepted_case
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Node
from graphrewrite.types import Tensor, Type

__all__ = ["like_another", "shapes_given"]


def like_another(plan: Plan, node: Node, known: Sequence[Type | None], pick: Pick) -> Case | None:
    """A case with operands like those of another node of the same op, or of the shape that an attribute asks for."""
    given, conditions = plan.settled(node)
    shapes = shapes_given(node.op, given)
    if shapes and not any(known):
        elements = [kind.element for kind in plan.types.values()] or ["f32"]
        return accepted_case(node.op, (Tensor(pick(elements), pick(shapes)),), given)
    alike = [
        case
        for other, case in plan.cases.items()
        if other.op is node.op and len(case.types) == len(known)
        if None in known and all(mine in (None, its) for mine, its in zip(known, case.types, strict=True))
    ]
    if not alike or conditions or not pick((True, True, False)):
        return None
    case = pick(alike)
    return accepted_case(node.op, case.types, {**case.attributes, **given})


def shapes_given(op: Op, given: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Return shapes of an operand whose reshaping to a given shape is possible; none of other ops.

    Examples
    --------
    >>> from graphrewrite import op
    >>> shapes_given(op.reshape, {"shape": (2, 3)}), shapes_given(op.reshape, {"shape": (0, -1)})
    ([(6,), (2, 3), (3, 2), (1, 6), (2, 3, 1)], [])
    """
    shape = given.get("shape")
    if op is not LIBRARY["reshape"] or not shape or not all(isinstance(d, int) and d > 0 for d in shape):
        return []
    count = math.prod(shape)
    return list(dict.fromkeys([(count,), tuple(shape), tuple(shape[::-1]), (1, count), (*shape, 1)]))
