"""Other entries of the constants that a pattern leaves open, near to those at which a rule fires.

What a rule asks of a constant's entries, entries that are drawn hardly ever have; and what it forgot to ask, one entry
shows that differs from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Value
from graphrewrite.testing.generation.arrays import holds
from graphrewrite.testing.generation.demand import Pick, Unfit, some
from graphrewrite.testing.generation.edges import limits_of
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.testing.generation.mending import inferred, resized
from graphrewrite.testing.generation.plan import Plan
from graphrewrite.testing.generation.unfolding import Leaf, Node
from graphrewrite.types import EdgeType, Type, hold, out_of_range

__all__ = [
    "change_constant",
    "every_constant_changed",
    "filled",
    "open_constants",
    "permuted",
    "pinned",
    "with_arrays",
]

_BITS = (6, 8, 10, 13, 16, 20)
"""Behind so many bits a number differs from one that it is nearly."""
_POWERS = (2, 0.5, -1, 3, -2, 1.5)
"""Exponents that code asks for: of numbers below zero and above, they give what differs most."""
_LONGEST = 8
"""Entries along an axis that grows."""
_ENTRIES = (3, 3, 4, 5)
"""Numbers of entries of permutations that need not undo themselves, and of which two need not commute."""


def open_constants(plan: Plan) -> list[Leaf]:
    """Return the constants whose entries the pattern leaves open."""
    return [
        leaf
        for leaf, kind in plan.types.items()
        if leaf.constant and leaf.literal is None and not isinstance(kind, EdgeType)
    ]


def pinned(plan: Plan, built: Mapping[Leaf | Node, tuple[Value, ...]]) -> Plan:
    """Return a plan with the entries that its open constants have in a graph that it became."""
    found = dict(plan.arrays)
    for leaf in open_constants(plan):
        for value in built.get(leaf, ()):
            data = value.graph.nodes[value.node]
            if data["type"] == "constant":
                found[leaf] = data["value"]
    return replace(plan, arrays=found)


def with_arrays(varied: Plan, plan: Plan) -> Plan:
    """Return a plan with the constants of another one where their types are the same."""
    kept = {
        leaf: array
        for leaf, array in plan.arrays.items()
        if leaf.literal is None and varied.types[leaf] == plan.types[leaf]
    }
    return replace(varied, arrays={**varied.arrays, **kept})


def filled(plan: Plan, leaf: Leaf, entries: np.ndarray) -> Plan:
    """Return a plan with other entries of a constant, in their order.

    Raises
    ------
    Unfit
        If its type or its condition does not admit them.
    """
    kind = plan.types[leaf]
    if out_of_range(kind.element, entries) is not None:
        raise Unfit(f"{kind.element} does not hold them")
    array = hold(kind.element, entries.reshape(kind.shape))
    if leaf.condition is not None and not holds(leaf.condition, kind, array):
        raise Unfit(leaf.condition.reason)
    return replace(plan, arrays={**plan.arrays, leaf: array})


def change_constant(plan: Plan, pick: Pick, *, moderate: bool = False) -> Plan:
    """Change a few entries of a constant whose entries are known, or their number.

    Parameters
    ----------
    moderate : bool
        Whether floats stay of the magnitude that they have.
    """
    leaf = pick(some([leaf for leaf in open_constants(plan) if plan.arrays.get(leaf, np.empty(0)).size]))
    if _is_permutation(plan.arrays[leaf]) and pick((False, False, True)):
        return permuted(plan, pick, [leaf for leaf, array in plan.arrays.items() if _is_permutation(array)])
    if bool(plan.types[leaf].shape) and pick((False, False, True)):
        return _longer(plan, leaf, pick)
    array = plan.arrays[leaf]
    flat = array.ravel().copy()
    at, other = pick(range(flat.size)), pick(range(flat.size))
    if flat.dtype.kind not in "iuf":  # texts and truth values
        ways: Sequence[str] = ("exchanged", "copied", "rolled")
    elif flat.size == 1:
        ways = ("stepped", "scaled", "negated", "nearly")
    else:
        few = ("stepped", "scaled", "doubled", "negated", "nearly", "moved", "rolled")
        ways = (*few, "exchanged", "exchanged", "copied", "copied")
    if flat.dtype.kind == "f" and _is_exponent(plan, leaf):
        ways = (*ways, "power", "power", "power")
    with np.errstate(all="ignore"):
        match pick(ways):
            case "exchanged":
                flat[[at, other]] = flat[[other, at]]
            case "moved":  # the sum stays
                flat[at], flat[other] = flat[at] + flat.dtype.type(1), flat[other] - flat.dtype.type(1)
            case "copied":
                flat[at] = flat[other]
            case "rolled":  # a permutation stays one
                flat = np.roll(array, 1, pick(some(range(array.ndim)))).ravel()
            case "doubled":  # a power of two stays one
                flat = flat if flat.dtype.kind == "f" else flat.astype(object)  # beyond the type it is refused
                flat[at] *= 2
            case "power":
                flat[:] = pick(_POWERS)
            case "negated":
                flat[at] = 1 - flat[at] if flat.dtype.kind == "u" else -flat[at]
            case "nearly" if flat.dtype.kind == "f":
                flat[at] *= 1 + 2.0 ** -pick(_BITS)
            case "stepped":
                flat = _stepped(flat, plan.types[leaf], at, pick)
            case _:
                flat = _scaled(flat, plan.types[leaf], pick, moderate=moderate)
    if leaf in plan.positive and not (flat > 0).all():
        raise Unfit("it is to be above zero")
    if np.array_equal(flat, array) and flat.astype(array.dtype).tobytes() == array.tobytes():
        raise Unfit("no change")
    return filled(plan, leaf, flat)


def _is_exponent(plan: Plan, leaf: Leaf) -> bool:
    return any(node.op.name == "pow" and leaf in node.operands[1:] for node in plan.reading.nodes)


def every_constant_changed(plan: Plan, pick: Pick, times: int, *, moderate: bool = False) -> Iterator[Plan]:
    """Yield plans in which a constant whose entries are known has others, for each of these so many times."""
    for _ in range(times * len(plan.arrays)):
        with suppress(Unfit):
            yield change_constant(plan, pick, moderate=moderate)


def permuted(plan: Plan, pick: Pick, rows: Sequence[Leaf]) -> Plan:
    """Let each of some rows be a permutation, of three entries or more, wherever their number is met.

    Of two entries each permutation undoes itself, and any two of them may be exchanged.
    """
    leaf = pick(some([leaf for leaf in open_constants(plan) if leaf in rows]))
    (old,), new = plan.types[leaf].shape, pick(_ENTRIES)
    types = resized(plan, old, new)
    alike = [leaf for leaf in open_constants(plan) if leaf in rows and plan.types[leaf].shape == (old,)]
    try:
        found = with_arrays(inferred(plan, types, plan.attributes, pick, kept=alike), plan)
    except GraphRewriteError as error:
        raise Unfit(str(error)) from error
    rng = np.random.default_rng(pick(range(256)))
    for leaf in alike:
        found = filled(found, leaf, _order(new, rng))
    return found


def _order(count: int, rng: np.random.Generator) -> np.ndarray:
    """A permutation: any one, or one in order or backwards but for two entries."""
    if rng.integers(2):
        return rng.permutation(count)
    order = np.arange(count)[:: rng.choice((1, -1))].copy()
    one, other = rng.choice(count, 2, replace=False)
    order[[one, other]] = order[[other, one]]
    return order


def _is_permutation(array: np.ndarray) -> bool:
    """Tell whether the entries of a row are the numbers of its places, each once."""
    is_row = array.ndim == 1 and array.dtype.kind in "iu" and array.size > 0
    return is_row and sorted(array.tolist()) == [*range(array.size)]


def _stepped(flat: np.ndarray, kind: Type, at: int, pick: Pick) -> np.ndarray:
    """One entry is one more or less, and stays within its type."""
    by = pick((1, -1))
    if flat.dtype.kind == "f" or out_of_range(kind.element, int(flat[at]) + by) is None:
        flat[at] += flat.dtype.type(by) if by > 0 else -flat.dtype.type(1)
    return flat


def _scaled(flat: np.ndarray, kind: Type, pick: Pick, *, moderate: bool) -> np.ndarray:
    """All entries are multiplied by one power of two: up to the greatest that a type holds, and down to the least."""
    if flat.dtype.kind != "f":
        return flat // 2 if pick((False, True)) else np.array([2 * int(number) for number in flat], object)
    sizes = np.abs(flat[np.isfinite(flat) & (flat != 0)]).astype(np.float64)
    if not sizes.size:
        raise Unfit("nothing to multiply")
    least = np.finfo(flat.dtype).smallest_subnormal
    up = int(np.frexp(limits_of(kind.element)[1])[1] - np.frexp(sizes.max())[1])
    down = int(np.frexp(np.float64(least))[1] - np.frexp(sizes.min())[1])
    far = (up, down, up // 2, down // 2, pick(range(down, up + 1)))
    found: np.ndarray = np.ldexp(flat, pick((1, -1) if moderate else (1, -1, *far)))
    return found


def _longer(plan: Plan, leaf: Leaf, pick: Pick) -> Plan:
    """Let a constant go on along one axis as it does there, or repeat an entry, or have one less."""
    array, kind = plan.arrays[leaf], plan.types[leaf]
    axis = pick(range(array.ndim))
    size = array.shape[axis]
    way = "less" if size == _LONGEST else pick(("on", "again", "less" if size > 1 else "again"))
    if way == "less":
        grown = np.delete(array, pick(range(size)), axis)
    elif way == "again":
        at = pick(range(size))
        grown = np.insert(array, at, np.take(array, at, axis), axis)
    else:
        last, before = np.take(array, -1, axis), np.take(array, -2 if size > 1 else -1, axis)
        with np.errstate(all="ignore"):
            grown = np.insert(array, size, last + (last - before) if array.dtype.kind in "if" else last, axis)
    try:
        own = retyped(kind, shape=grown.shape)
        found = inferred(plan, {**plan.types, leaf: own}, plan.attributes, pick, kept=(leaf,))
    except GraphRewriteError as error:
        raise Unfit(str(error)) from error
    return filled(with_arrays(found, plan), leaf, grown.ravel())
