"""Values at which rounding, saturation and comparison go wrong: extremes of a format, ties, what is no number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.testing.generation.arrays import WORDS
from graphrewrite.testing.generation.indices import bits_shifted
from graphrewrite.types import (
    SMALL_FLOATS,
    TEXT,
    Element,
    FixedPoint,
    Quantised,
    element_dtype,
    element_kind,
    hold,
    integer_limits,
    small_float,
)

__all__ = [
    "REFUSES_NAN",
    "STEPS",
    "WITHOUT_NAN",
    "edges_of",
    "formats_in",
    "large_numbers",
    "least_of",
    "limits_of",
    "numbers_in",
    "shifts_in",
]

_LARGEST_BF16 = float(np.array([0x7F7F0000], np.uint32).view(np.float32)[0])
_COMMON = (0, 1, -1)
"""Numbers near to which every batch has edge values."""
_MOST = 6
"""Numbers of a graph."""
_STEP = 2.0**-6
"""By how much a neighbour of a float differs: every format of floats holds it."""
STEPS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, **{name: kind.step for name, kind in SMALL_FLOATS.items()}}
"""Distances from 1 to the next number of a format of floats of 32 bits or less."""
_LITTLE = 2.0**-40
"""By how much a number lies beyond a tie: rounded to a format between, it is at the tie."""
_FORMATS = frozenset({"quantise", "to_fixed", "to_quantised"})
"""Ops that round floats to a format."""

WITHOUT_NAN = frozenset({"to_fixed", "quantise", "arg_max", "max_pool", "requantise", "to_quantised"})
"""Ops that make integers of floats, or compare them, which is left open for NaN."""

REFUSES_NAN = frozenset({"to_fixed", "to_quantised"})
"""Those that refuse it."""


def limits_of(element: Element) -> tuple[Any, Any]:
    """Return the least and the greatest number that an element type holds.

    Examples
    --------
    >>> limits_of("u4"), limits_of(FixedPoint(True, 8, 4)), limits_of("f16")
    ((0, 15), (-128, 127), (-65504.0, 65504.0))
    """
    if isinstance(element, FixedPoint | Quantised):
        return element.minimum, element.maximum
    if not isinstance(element, str):
        return 0, 1  # of a dialect: what it surely has
    if element == "bool":
        return 0, 1
    whole = integer_limits(element) if element != "bf16" else None
    if whole is not None:
        return whole
    small = small_float(element)
    if small is not None:
        return (-small.greatest if small.signed else small.least), small.greatest
    if element == "bf16":
        return -_LARGEST_BF16, _LARGEST_BF16
    dtype = element_dtype(element)
    if not np.issubdtype(dtype, np.floating):
        return 0, 1  # texts and objects
    most = float(np.finfo(dtype).max)
    return -most, most


def least_of(element: Element) -> float:
    """Return the least number above zero of a format of floats.

    Examples
    --------
    >>> least_of("f16") == 2.0**-24, least_of("bf16") == 2.0**-133
    (True, True)
    """
    small = small_float(element)
    if small is not None:
        return float(small.least)
    return 2.0**-133 if element == "bf16" else float(np.finfo(element_dtype(element)).smallest_subnormal)


def large_numbers(element: Element) -> tuple[int, ...]:
    """Return numbers of a type of integers whose sums, differences and products leave it, or just fit, and small ones.

    Examples
    --------
    >>> large_numbers("i8"), large_numbers("u4")
    ((127, -128, 11, 12, -12, 64, 126, -127, 2, -1), (15, 3, 4, 8, 14, 1, 2))
    """
    low, high = limits_of(element)
    root = math.isqrt(high)
    found = (high, low, root, root + 1, -root - 1, high // 2 + 1, high - 1, low + 1, 2, -1)
    return tuple(dict.fromkeys(number for number in found if number and low <= number <= high))


def formats_in(graph: Graph) -> tuple[FixedPoint | Quantised, ...]:
    r"""Return the formats to which a graph rounds floats.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nq = to_fixed(x, element=s8f4) : s8f4[N]\ny = output(q)")
    >>> print(*formats_in(g))
    s8f4
    """
    found: dict[FixedPoint | Quantised, None] = {}
    for _, data in graph.nodes(data=True):
        if data.get("type") in _FORMATS and isinstance(data.get("element"), FixedPoint | Quantised):
            found[data["element"]] = None
            if isinstance(data["element"], FixedPoint):
                found.update({FixedPoint(True, 16, int(f)): None for f in data.get("fractions") or ()})
    return tuple(found)[:3]


def shifts_in(graph: Graph) -> tuple[int, ...]:
    """Return the places by which a graph shifts mantissas to the right, each once.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor(FixedPoint(True, 16), ("N", 2)))
    >>> _ = g.output("y", op.requantise(x, shift=(2, 5), element=FixedPoint(True, 8)))
    >>> shifts_in(g)
    (2, 5)
    """
    found: dict[int, None] = {}
    for _, data in graph.nodes(data=True):
        shift = data.get("shift")
        for number in shift if isinstance(shift, tuple) else (shift,):
            if isinstance(number, int) and number > 0:
                found[number] = None
    return tuple(found)[:4]


def numbers_in(graph: Graph) -> tuple[float, ...]:
    r"""Return numbers in the attributes and scalar constants of a graph, some, each once: limits and slopes.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = clip(x, low=0.5, high=6.0) : f32[N]\ny = output(c)")
    >>> numbers_in(g)
    (0.5, 6)
    """
    found: dict[float, None] = {}
    has_integers = any(element_kind(kind.element) == "integer" for kind in graph.input_types)
    for node, data in graph.nodes(data=True):
        is_constant = data.get("type") == "constant"
        for value in data.values():
            if isinstance(value, np.ndarray) and is_constant and value.size == 1 and value.dtype.kind in "iuf":
                value = value.item()
            if isinstance(value, float | int) and not isinstance(value, bool) and value not in _COMMON:
                found[value] = None
        if data.get("type") == "bit_shift":
            bits = bits_shifted(LIBRARY["bit_shift"], 1, [graph.result_type(node)])
            found.update({bits: None} if bits else {})
        if data.get("type") == "cast" and data.get("element") in STEPS:
            found[1 + STEPS[data["element"]] / 2 + _LITTLE] = None
            found[2 / STEPS[data["element"]]] = None  # one more is the first whole number that it does not hold
            found.update(dict.fromkeys(_ties(STEPS[data["element"]]) if has_integers else ()))
    return tuple(number for number in found if math.isfinite(number))[:_MOST]


def _ties(step: float) -> list[int]:
    """Whole numbers just beyond a tie of a format of floats: a wider format between rounds them to the tie."""
    return [(1 << bits) + int((1 << bits) * step) // 2 + 1 for bits in (30, 60)]


@lru_cache(maxsize=4096)
def edges_of(
    element: Element,
    formats: tuple[FixedPoint | Quantised, ...],
    shifts: tuple[int, ...],
    given: tuple[float, ...] = (),
    *,
    numbers: bool,
    near: bool,
) -> np.ndarray:
    """Return edge values of an element type, each once, as they are held.

    Parameters
    ----------
    shifts : tuple of int
        By which mantissas are shifted.
    given : tuple of float
        Numbers that are edges as well, and so are their neighbours.

    Examples
    --------
    >>> edges_of(FixedPoint(True, 8), (), (3,), numbers=True, near=False).tolist()
    [0, 1, -1, -128, 127, -127, 126, 4, -4, 12, -12, 5, 3]
    """
    if element == TEXT:
        return WORDS
    low, high = limits_of(element)
    dtype = element_dtype(element)
    if dtype.kind == "f":
        found = _of_floats(element, formats, given, numbers=numbers, near=near)
    else:
        found = [0, 1, -1, low, high, low + 1, high - 1]
        most = int(high).bit_length() + 1  # half of a larger shift is beyond the type, and perhaps beyond memory
        for half in (1 << (shift - 1) for shift in shifts if shift <= most):
            found += [half, -half, 3 * half, -3 * half, half + 1, half - 1]
        found += [int(number) + by for number in given if number == int(number) for by in (0, 1, -1)]
        if isinstance(element, Quantised):
            found += [near for _, zero in element.channels[:2] for near in (zero, zero + 1, zero - 1)]
        found = [number for number in found if low <= number <= high]
    held: list[np.ndarray] = []
    for value in found:
        with np.errstate(over="ignore", under="ignore"):
            array = hold(element, np.array([value]).astype(dtype))
        if not any(array.tobytes() == other.tobytes() for other in held):
            held.append(array)
    return np.concatenate(held)


def _of_floats(
    element: Element,
    formats: Iterable[FixedPoint | Quantised],
    given: Iterable[float],
    *,
    numbers: bool,
    near: bool,
) -> list[float]:
    low, high = limits_of(element)
    own = STEPS.get(str(element), 2.0**-52)
    found = [0.0, -0.0, 0.5, -0.5, 1.0, 1.5, -2.5, -0.03125]
    for number in given:
        found += [number, number * (1 + _STEP) + _STEP, number * (1 - _STEP) - _STEP]
        if not near:  # where rounding is allowed, what is that near may be equal afterwards
            found += [number * (1 + own), number * (1 - own)]
    for rounded in formats:
        step = rounded.step if isinstance(rounded, FixedPoint) else float(rounded.channels[0][0])
        zero = 0 if isinstance(rounded, FixedPoint) else rounded.channels[0][1]
        found += [step / 2, -step / 2, 1.5 * step, -1.5 * step, 2.5 * step]
        found += [(rounded.maximum - zero + half) * step for half in (0, 0.5, 1)]
        found += [(rounded.minimum - zero - half) * step for half in (0, 0.5, 1)]
    if near:
        return [value for value in (*found, 8.0, -8.0) if abs(value) <= 8]
    small = small_float(element)
    if small is not None:
        found += [high, low, small.least, high + small.step, 0.75, 1 + small.step / 2]
        return found if numbers else [*found, math.inf, -math.inf, math.nan]
    kind = np.finfo(np.float32 if element == "bf16" else element_dtype(element))
    least = least_of(element)
    # Beside whole numbers what is added is rounded away.
    found += [
        high,
        low,
        least,
        -least,
        1 - own / 2,
        0.5 - own / 4,
        float(kind.tiny),
        float(kind.tiny) / 2,
    ]
    return found if numbers else [*found, math.inf, -math.inf, math.nan]
