"""Arrays of generated constants, and what a pattern asks of them."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.rewriting.match import MatchedValue
from graphrewrite.rewriting.pattern import Literal, Where
from graphrewrite.testing.generation.demand import Pick, Unfit, admits
from graphrewrite.types import (
    SMALL_FLOATS,
    TEXT,
    FixedPoint,
    Quantised,
    Type,
    element_dtype,
    hold,
    integer_limits,
    out_of_range,
)

__all__ = ["WORDS", "constant_array", "holds", "literal_array", "nearly_equal", "probe"]

_IDENTITY, _TWOS, _HALVES = 10, 11, 12
_SIGNED = (0.0, -0.0, 1.0, -1.0)
WORDS = np.array(["a", "", "B", "b a", "ab", "1", "É"])
"""Texts of generated graphs."""


def constant_array(kind: Type, style: int, *, positive: bool = False) -> np.ndarray:
    """Return the array of a generated constant: few bits each, so that sums of products are exact.

    Parameters
    ----------
    style : int
        0 for ones, 1 for zeros, 2 for -0 and 3 for ones and zeros of both signs where there are such numbers, 10 for
        the identity along the first two axes where there are two, 11 for twos and 12 for halves where there are such
        numbers; any other one seeds random multiples of a quarter.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> constant_array(Tensor("f32", (3,)), 0).tolist()
    [1.0, 1.0, 1.0]
    """
    shape = tuple(int(d) for d in kind.shape)
    element = kind.element
    dtype = element_dtype(element)
    positive = positive or (element in SMALL_FLOATS and not SMALL_FLOATS[str(element)].signed)
    if (style == 0 or (style == 1 and positive)) and element != TEXT:
        return np.full(shape, min(1, getattr(element, "maximum", 1)), dtype)
    if style == 1:  # of texts, the empty one
        return np.zeros(shape, dtype)
    if style == _IDENTITY and len(shape) > 1 and element != TEXT and not positive:
        whole = np.eye(*shape[:2], dtype=dtype).reshape(*shape[:2], *(1 for _ in shape[2:]))
        return np.broadcast_to(np.minimum(whole, np.array(getattr(element, "maximum", 1), dtype)), shape).copy()
    number = {_TWOS: 2, _HALVES: 0.5}.get(style)
    if number is not None and element != TEXT and out_of_range(element, np.array([number])) is None:
        return np.full(shape, number, dtype)
    rng = np.random.default_rng(style)
    if element == TEXT:
        return rng.choice(WORDS, shape)
    if style < 4 and np.issubdtype(dtype, np.floating) and not positive:
        return np.full(shape, -0.0, dtype) if style == 2 else rng.choice(_SIGNED, shape).astype(dtype)
    if isinstance(element, FixedPoint | Quantised):
        return rng.integers(max(element.minimum, -128), min(element.maximum, 127), shape, endpoint=True).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        quarters = rng.integers(1 if positive else -8, 8, shape, endpoint=True)
        return hold(element, quarters / 4)
    least, most = (isinstance(element, str) and integer_limits(element)) or ((0, 1) if element == "bool" else (-4, 4))
    return rng.integers(0 if positive else max(least, -4), min(most, 4), shape, endpoint=True).astype(dtype)


def nearly_equal(array: np.ndarray, kind: Type, *, signs: bool = True) -> np.ndarray | None:
    """Return numbers of a type that are equal to those of an array of as many, perhaps with zeros of the other sign.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> nearly_equal(np.float32([0, 2]), Tensor("f64", (2, 1))).tolist()
    [[-0.0], [2.0]]
    """
    shape = tuple(map(int, kind.shape))
    if array.size != math.prod(shape) or array.dtype.kind == "U" or kind.element == TEXT:
        return None
    array = array.reshape(shape)
    with np.errstate(all="ignore"):
        found = hold(kind.element, array)
    if not np.array_equal(found, array) or out_of_range(kind.element, found) is not None:
        return None
    return np.where(found == 0, -found, found) if signs and np.issubdtype(found.dtype, np.floating) else found


def literal_array(literal: Literal, kind: Type, pick: Pick) -> np.ndarray:
    """Return an array of a type, all of whose entries a literal admits.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> literal_array(Literal.of({1, -1}), Tensor("f32", (2,)), lambda options: options[-1]).tolist()
    [-1.0, 1.0]
    """
    if any(isinstance(d, str) for d in kind.shape):
        raise Unfit("a constant has no symbolic size")
    shape, dtype = tuple(int(d) for d in kind.shape), element_dtype(kind.element)
    members = literal.value
    if literal.members and members.size > 1:  # one of them everywhere, or all in turns
        chosen = pick(range(members.size + 1))
        members = members[chosen : chosen + 1] if chosen < members.size else members
    try:
        array = (np.resize if literal.members else np.broadcast_to)(members, shape).astype(dtype)
    except ValueError as error:
        raise Unfit(str(error)) from error
    if not literal.admits(array):
        raise Unfit(f"{kind.element} has no {literal!r}")
    return array


def holds(condition: Where, kind: Type, array: np.ndarray | None) -> bool:
    """Tell whether a condition holds for an input, or for a constant, of a type.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> holds(Where(lambda x: len(x.shape) == 2, "a matrix"), Tensor("f32", ("N", 3)), None)
    True
    """
    return admits(condition, probe(kind, array))


def probe(kind: Type, array: np.ndarray | None) -> MatchedValue:
    """Return what a condition on an input, or on a constant, of a type is asked about.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> probe(Tensor("f32", ("N", 3)), None).shape
    ('N', 3)
    """
    graph = Graph("probe")
    value = graph.input("x", kind) if array is None else graph.constant(array, name="x", type=kind)
    return MatchedValue(graph, value.node)
