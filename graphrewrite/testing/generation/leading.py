"""Plans in which what a rule compares comes out otherwise: an attribute, a size, or the entries of a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.testing.generation.attribute_changes import is_open, with_attribute
from graphrewrite.testing.generation.comparing import Noted
from graphrewrite.testing.generation.constant_changes import filled
from graphrewrite.testing.generation.demand import Pick, Unfit
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.mending import inferred, stretched
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Leaf, Node, Output
from graphrewrite.types import EdgeType, FixedPoint, Type, element_dtype, out_of_range

__all__ = ["towards"]

_FARTHEST = 40
"""A size."""


def towards(plan: Plan, comparison: Noted, port: Leaf | Node, pick: Pick) -> Plan:
    """Return a plan in which a comparison comes out otherwise, or nearly.

    Parameters
    ----------
    port : Leaf or Node
        What the node of the comparison is in the plan.
    """
    wanted = comparison.wanted
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        wanted += pick((0, 0, 0, 1, -1))
    name, *rest = comparison.path
    try:
        if isinstance(port, Node) and name == "result":
            return _given(plan, Output(port, int(rest[0])), int(rest[1]), wanted, pick)
        if isinstance(port, Node):
            if not is_open(port, str(name)):
                raise Unfit("the pattern says what it is")
            old = plan.attributes[port].get(str(name), port.op.attributes[str(name)])
            return with_attribute(plan, port, str(name), _changed(old, rest, wanted), pick)
        kind = plan.types[port]
        if name == "value":
            return _filled(plan, port, wanted, pick)
        if rest[0] == "element":
            element = _changed(kind.element, rest[1:], wanted)
            change: Callable[[Type], Type] = lambda each: retyped(each, element=element)  # noqa: E731
            alike = [leaf for leaf, each in plan.types.items() if each.element == kind.element]
        else:
            old, axis = kind.shape[int(rest[0])], int(rest[0])
            if not isinstance(wanted, int | str) or (isinstance(wanted, int) and not 0 <= wanted <= _FARTHEST):
                raise Unfit("no size")
            if pick((False, True)):
                shape = (*kind.shape[:axis], wanted, *kind.shape[axis + 1 :])
                types = {**plan.types, port: retyped(kind, shape=shape)}
                return inferred(plan, types, plan.attributes, pick, kept=(port,))
            change = lambda each: retyped(each, shape=tuple(wanted if d == old else d for d in each.shape))  # noqa: E731
            alike = list(plan.types)
        chosen = alike if pick((True, False)) else [port]
        types = {leaf: change(each) if leaf in chosen else each for leaf, each in plan.types.items()}
        return inferred(plan, types, plan.attributes, pick)
    except (GraphRewriteError, IndexError, TypeError, ValueError) as error:  # there is no such value
        raise Unfit(str(error)) from error


def _filled(plan: Plan, leaf: Leaf, number: float, pick: Pick) -> Plan:
    """Return a plan in which each entry of a constant is a number, or near to it."""
    kind = plan.types[leaf]
    if leaf.literal is not None or leaf.condition is not None or isinstance(kind, EdgeType):
        raise Unfit("the pattern says what it is")
    near = pick((number, number, number - 1, number + 1))
    dtype = element_dtype(kind.element)
    if dtype.kind not in "iuf" or (leaf in plan.positive and near <= 0):
        raise Unfit("it holds no such number")
    if dtype.kind != "f" and (near != int(near) or out_of_range(kind.element, int(near)) is not None):
        raise Unfit("it holds no such number")
    return filled(plan, leaf, np.full(tuple(map(int, kind.shape)), near).astype(dtype))


def _given(plan: Plan, port: Output, axis: int, size: Any, pick: Pick) -> Plan:
    """Return a plan in which an axis of what a node computes has a size."""
    found = stretched(plan, port, axis, size, plan.types, ()) if isinstance(size, int) else {}
    if not found:
        raise Unfit("no size of an operand makes up for it")
    return inferred(plan, {**plan.types, **found}, plan.attributes, pick)


def _changed(old: Any, path: list[str | int], wanted: Any) -> Any:
    """Return a value with another entry, or another field."""
    if not path:
        return wanted
    (key, *rest) = path
    if isinstance(old, tuple) and isinstance(key, int):
        return (*old[:key], _changed(old[key], rest, wanted), *old[key + 1 :])
    if isinstance(old, FixedPoint) and isinstance(key, str):
        return replace(old, **{key: wanted})
    raise Unfit("it has no such part")
