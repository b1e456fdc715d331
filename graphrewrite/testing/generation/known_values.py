"""Values of which something is known by what computes them: between limits, whole, never NaN, never negative.

Of an input nothing is known. A rule that asks for it fires on constants alone, unless something before the input's
reader makes sure of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.match import MatchedValue
from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing.generation.demand import Pick, admits
from graphrewrite.testing.generation.edges import limits_of
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.types import Element, Tensor, Type, element_kind

__all__ = ["Source", "known_source"]

_TRIES = 4
_NARROW: tuple[Element, ...] = ("i8", "u8", "i16", "i32")
"""Integers that others, and floats, are converted from: not all of them hold all of these."""
_OF_FLOATS = ("relu", "abs", "exp", "sigmoid", "sqrt", "reciprocal", "clip")


class Source(NamedTuple):
    """An input, and ops of one operand that compute a value of it.

    Attributes
    ----------
    kind : Type
        Of the input.
    steps : tuple of (str, mapping)
        Names of ops, and their attributes.
    """

    kind: Type
    steps: tuple[tuple[str, Mapping[str, Any]], ...]


def known_source(kind: Type, condition: Where | None, numbers: Sequence[float], pick: Pick) -> Source | None:
    """Return what gives a value of a type that meets a condition; None where that was not found.

    Parameters
    ----------
    numbers : sequence of float
        Limits that a rule may ask for.

    Examples
    --------
    >>> from graphrewrite.rewriting.facts import nonnegative
    >>> known_source(Tensor("i8", ("N", 2)), Where(nonnegative, "at least 0"), (), lambda options: options[0]).steps
    (('relu', {}),)
    """
    if not isinstance(kind, Tensor) or element_kind(kind.element) not in ("integer", "float", "fixed"):
        return None
    for _ in range(_TRIES if condition is not None else 1):
        with suppress(Exception):  # not every op takes every type, and not every type converts to every other
            source = _drawn(kind, numbers, pick)
            graph = Graph("probe")
            value = graph.input("x", source.kind)
            for name, attributes in source.steps:
                value = graph.add(LIBRARY[name], [value], attributes)
            if value.type == kind and (condition is None or admits(condition, MatchedValue(graph, value.node))):
                return source
    return None


def _drawn(kind: Tensor, numbers: Sequence[float], pick: Pick) -> Source:
    if element_kind(kind.element) != "float":
        if kind.element in _NARROW[2:] and pick((False, True)):
            return Source(retyped(kind, element=pick(_NARROW[:2])), (("cast", {"element": kind.element}),))
        return Source(kind, (pick((("relu", {}), ("clip", _clip(kind.element, numbers, pick)))),))
    steps: list[tuple[str, Mapping[str, Any]]] = []
    first: Type = kind
    if pick((False, True)):
        first = retyped(kind, element=pick(_NARROW))
        if pick((False, True)):
            steps.append(("clip", _clip(first.element, numbers, pick)))
        steps.append(("cast", {"element": kind.element}))
    if not steps or pick((False, True)):
        name = pick(_OF_FLOATS)
        steps.append((name, _clip(kind.element, numbers, pick) if name == "clip" else {}))
    return Source(first, tuple(steps))


def _clip(element: Element, numbers: Sequence[float], pick: Pick) -> dict[str, Any]:
    """Limits of a type, those of a rule, or small ones; one of them may be left out."""
    least, most = limits_of(element)
    whole = element_kind(element) != "float"
    named = [n for number in numbers for n in (number, -number) if least <= n <= most and (n == int(n) or not whole)]
    above = [n for n in named if n > 0]
    low: float | None = pick((0, least, 1, None, -1))
    high: float | None = pick((most, 10, None, 100))
    if bool(above) and pick((False, True)):
        low, high = pick((0, *(n for n in named if n < 0))), pick(above)
    if low is not None and high is not None and low > high:
        low = None
    convert = int if whole else float
    return {name: None if n is None else convert(n) for name, n in (("low", low), ("high", high))}
