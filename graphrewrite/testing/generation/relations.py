"""Nodes that stand in a relation to another one: what undoes it, or takes the part beside it.

Rules about two nodes of one op ask for such relations: a permutation and its inverse, slices that lie side by side, a
reshape back to the shape that was. Drawn by themselves, two nodes hardly ever have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.types import Type

__all__ = ["beside", "parts_of", "undoing"]


def undoing(op: Op, attributes: Mapping[str, Any], before: Type) -> dict[str, Any] | None:
    """Return attributes with which a node of the same op undoes what one does to a value; None of most ops.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> undoing(op.transpose, {"perm": (1, 2, 0)}, Tensor("f32", (2, 3, 4)))
    {'perm': (2, 0, 1)}
    >>> undoing(op.reshape, {"shape": (6,)}, Tensor("f32", (2, 3)))
    {'shape': (2, 3)}
    """
    perm = attributes.get("perm")
    if "perm" in op.attributes:
        given = tuple(perm) if perm is not None else tuple(reversed(range(len(before.shape))))
        return {**attributes, "perm": tuple(sorted(range(len(given)), key=given.__getitem__))}
    if "shape" in op.attributes and op.attributes.keys() <= {"shape", "allow_zero"}:
        return {**attributes, "shape": before.shape}
    return None


def beside(
    op: Op, attributes: Mapping[str, Any], before: Type, after: Type, pick: Pick
) -> tuple[dict[str, Any], Type] | None:
    """Return attributes and a first operand of a node of the same op that takes, or gives, what lies beside a part.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> given = {"starts": (0,), "ends": (1,), "axes": (1,)}
    >>> part = beside(op.slice, given, Tensor("f32", ("N", 3)), Tensor("f32", ("N", 1)), lambda options: options[-1])
    >>> print(*part)
    {'starts': (1,), 'ends': (3,), 'axes': (1,)} f32[N,3]
    >>> print(*beside(op.pad, {"pads": (0, 0, 0, 2)}, Tensor("f32", ("N", 1)), Tensor("f32", ("N", 3)), lambda o: o[0]))
    {'pads': (0, 1, 0, 0)} f32[N,2]
    """
    if op is LIBRARY["slice"]:
        part = _slice_beside(attributes, before, pick)
        return None if part is None else (part, before)
    if op is LIBRARY["pad"]:
        return _pad_beside(attributes, before, after)
    return None


def _slice_beside(attributes: Mapping[str, Any], before: Type, pick: Pick) -> dict[str, Any] | None:
    starts, ends = attributes.get("starts"), attributes.get("ends")
    axes, rank = attributes.get("axes"), len(before.shape)
    if not starts or not ends:
        return None
    at = pick(range(len(starts)))
    axis = at if axes is None else axes[at] % rank
    size = before.shape[axis]
    if not isinstance(size, int) or not isinstance(starts[at], int) or not isinstance(ends[at], int):
        return None
    places = range(size)[starts[at] : ends[at]]
    step = (attributes.get("steps") or (1,) * len(starts))[at]
    found = []
    if not isinstance(step, int) or step == 1:
        found += [(places.stop, end) for end in range(places.stop + 1, size + 1)]
        found += [(start, places.start) for start in range(places.start)]
    else:  # the entries in between
        found += [(start, size) for start in range(min(step, size)) if start != places.start]
    if not found:
        return None
    start, end = pick(found)
    new = {
        "starts": (*starts[:at], start, *starts[at + 1 :]),
        "ends": (*ends[:at], end, *ends[at + 1 :]),
    }
    return {**attributes, **new}


def _pad_beside(attributes: Mapping[str, Any], before: Type, after: Type) -> tuple[dict[str, Any], Type] | None:
    """Room where the other value lies: in a sum both then lie side by side."""
    pads, rank = attributes["pads"], len(before.shape)
    if len(pads) != 2 * rank or not all(isinstance(each, int) and each >= 0 for each in pads):
        return None
    for axis, (front, back) in enumerate(zip(pads[:rank], pads[rank:], strict=True)):
        size = after.shape[axis]
        if not isinstance(size, int) or not max(front, back):
            continue
        new, most = [*pads], max(front, back)
        new[axis], new[rank + axis] = (0, size - front) if front >= back else (size - back, 0)
        own = retyped(before, shape=(*before.shape[:axis], most, *before.shape[axis + 1 :]))
        return {**attributes, "pads": tuple(new)}, own
    return None


def parts_of(size: int, count: int, pick: Pick) -> list[tuple[int, int]]:
    """Return where some parts of an axis begin and end that lie side by side, all of it often.

    Examples
    --------
    >>> parts_of(4, 2, lambda options: options[-1])
    [(0, 2), (2, 4)]
    """
    if pick((False, True)) and size % count == 0:
        step = size // count
        return [(at * step, (at + 1) * step) for at in range(count)]
    ends = sorted(pick(range(1, size + 1)) for _ in range(count - 1))
    return list(zip((0, *ends), (*ends, size), strict=True))
