"""Facts of functions of one operand: those that go up with it, those between two limits, and casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts.analysis import AppliedOp, OpFunction
from graphrewrite.rewriting.facts.numbers.arithmetic import real, within
from graphrewrite.rewriting.facts.numbers.fact import Fact, greatest_finite, integers, of_element
from graphrewrite.rewriting.facts.numbers.rounding import beyond, nearest

__all__ = ["FUNCTIONS"]

_INFINITE = math.inf
_LOOSE = 8
"""So many steps of its type a function of numpy is taken to be off, and no more: it goes up only nearly everywhere."""


def _between(low: float, high: float, *, nan: Callable[[Fact], bool] = lambda x: x.nan) -> OpFunction:
    """Return the function of an op whose results lie between two limits, and are never -0 if they are not negative."""

    def limited(node: AppliedOp) -> Fact:
        x = node.facts[0]
        return Fact(low, high, nan(x), low < 0)

    return limited


def _is_odd(x: Fact) -> bool:
    """Whether NaN or an infinity may be there, of which the difference is NaN."""
    return not x.is_finite


def _exp(node: AppliedOp) -> Fact:
    (x,) = node.facts
    element = node.element

    # Beyond that, the exact result is no number of 64 bits; a lower limit is the last one that is.
    low = min(nearest(element, math.exp(min(x.low, 709.78))), greatest_finite(element))
    high = nearest(element, math.exp(x.high)) if x.high <= 709.78 else _INFINITE
    return Fact(max(beyond(element, low, -_LOOSE), 0.0), beyond(element, high, _LOOSE), x.nan, False)


def _sqrt(node: AppliedOp) -> Fact:
    (x,) = node.facts
    element = node.element
    low, high = (nearest(element, math.sqrt(max(limit, 0.0))) for limit in (x.low, x.high))
    return Fact(low, high, x.nan or x.low < 0, x.minus_zero)


def _softplus(node: AppliedOp) -> Fact:
    (x,) = node.facts
    return Fact(0.0, _INFINITE, x.nan, False)


def _rounded(function: Callable[[float], float]) -> OpFunction:
    """Return the function of an op that makes whole numbers; -0 of what is just below zero, and of -0."""

    def whole(node: AppliedOp) -> Fact:
        (x,) = node.facts
        low, high = (limit if math.isinf(limit) else float(function(limit)) + 0.0 for limit in (x.low, x.high))
        element = node.element
        low, high = nearest(element, low), nearest(element, high)
        return Fact(low, high, x.nan, (x.minus_zero or x.low < 0) and low <= 0 <= high, element != "f8e8m0")

    return whole


def _sign(node: AppliedOp) -> Fact:
    (x,) = node.facts
    low, high = (int(limit > 0) - int(limit < 0) for limit in (x.low, x.high))
    if isinstance(x.low, float):
        return Fact(float(low), float(high), x.nan, x.minus_zero and low <= 0 <= high, True)
    return integers(low, high)


def _threshold(node: AppliedOp) -> Fact:
    x: Fact = node.facts[0]
    found = min(x.low, 0.0), max(x.high, 0.0)
    return real(node.element, found, nan=False, minus_zero=x.minus_zero, whole=x.whole)


def _leaky_relu(node: AppliedOp) -> Fact:
    x: Fact = node.facts[0]
    return x if x.low >= 0 else of_element(node.element)._replace(nan=x.nan or x.low == -_INFINITE)


def _softmax(node: AppliedOp) -> Fact:
    return Fact(0.0, 1.0, not node.facts[0].is_finite, False)


def _cast(node: AppliedOp) -> Fact:
    (x,) = node.facts
    element = node.element
    unknown = of_element(element)
    if element == "bool":
        # All but 0 is true, NaN as well.
        return integers(0 if x.may_be_zero else 1, 0 if x.low == x.high == 0 and not x.nan else 1)
    if isinstance(unknown.low, int):
        if not isinstance(x.low, float):
            return within(element, (x.low, x.high), (x.zeros, x.ones))
        # Floats are truncated, and what lies beyond gives the nearest number; NaN gives 0.
        wide = of_element("i64") if str(element)[1:] in ("2", "4") else unknown
        least, most = (_truncated(limit, wide) for limit in (x.low, x.high))
        return within(element, (min(least, 0), max(most, 0)) if x.nan else (least, most))
    if element not in ("f16", "f32", "f64", "bf16"):
        return unknown
    low, high = _as_float(element, x.low, -1), _as_float(element, x.high, 1)
    minus_zero = isinstance(x.low, float) and (x.minus_zero or x.low < 0) and low <= 0 <= high
    return Fact(low, high, x.nan, minus_zero, x.whole)


def _truncated(limit: float, kind: Fact) -> int:
    if math.isinf(limit):
        return int(kind.high if limit > 0 else kind.low)
    return int(min(max(math.trunc(limit), kind.low), kind.high))


def _as_float(element: Any, limit: float, outward: int) -> float:
    """Return a limit as a float; where it is rounded, in one step or two, the next float beyond it."""
    found = nearest(element, float(limit))
    return found if found == limit else beyond(element, found, outward)


def _bits_as_they_are(node: AppliedOp) -> Fact:
    (x,) = node.facts
    same = node.types[0].element == node.element
    return x if same else of_element(node.element)


FUNCTIONS: dict[Any, OpFunction] = {
    LIBRARY[name]: function
    for name, function in {
        "acos": _between(0.0, 4.0, nan=lambda x: x.nan or x.low < -1 or x.high > 1),
        "atan": _between(-2.0, 2.0),
        "bit_cast": _bits_as_they_are,
        "cast": _cast,
        "ceil": _rounded(math.ceil),
        "cos": _between(-1.0, 1.0, nan=_is_odd),
        "cosh": _between(0.0, _INFINITE),
        "exp": _exp,
        "floor": _rounded(math.floor),
        "hard_sigmoid": _between(0.0, 1.0, nan=_is_odd),
        "leaky_relu": _leaky_relu,
        "round": _rounded(round),
        "sigmoid": _between(0.0, 1.0),
        "sign": _sign,
        "sin": _between(-1.0, 1.0, nan=_is_odd),
        "softmax": _softmax,
        "softplus": _softplus,
        "sqrt": _sqrt,
        "tanh": _between(-2.0, 2.0),
        "threshold": _threshold,
    }.items()
}
"""The functions of ops of one operand."""
