"""Numbers of float types: the nearest one to a number, as ops compute it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite.types import hold

__all__ = ["beyond", "nearest"]

_HALFWAY_32 = 3.4028235677973366e38
_HALFWAY_16 = 65520.0


def nearest(element: Any, number: float) -> float:
    """Return what ops of a float type make of an exact result, or one of 53 bits: rounded, in both steps if it has two.

    Examples
    --------
    >>> nearest("f32", 0.1), nearest("f16", 1e6), nearest("bf16", 1.001)
    (0.10000000149011612, inf, 1.0)
    """
    if element == "f64" or number == 0 or math.isinf(number):
        return number + 0.0
    if abs(number) >= _HALFWAY_32:
        single = math.copysign(math.inf, number)
    else:
        single = float(np.float32(number))
    if element == "f32":
        return single + 0.0
    if element == "f16":
        return math.copysign(math.inf, single) if abs(single) >= _HALFWAY_16 else float(np.float16(single)) + 0.0
    return float(hold(element, np.float32(single))) + 0.0


def beyond(element: Any, number: float, steps: int) -> float:
    """Return a number some steps of a float type further up, or with negative steps further down.

    Examples
    --------
    >>> beyond("f16", 1.0, 1), beyond("f64", 1.0, -1)
    (1.0009765625, 0.9999999999999999)
    """
    kind: Any = {"f64": np.float64, "f16": np.float16}.get(element, np.float32)
    up = kind(np.inf) if steps > 0 else kind(-np.inf)
    stepped = kind(number)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(abs(steps)):
            stepped = np.nextafter(stepped, up)
    if kind is np.float32 and element != "f32":
        # Of a float that is stored in 32 bits, one step is many of those: its rounding is monotone.
        return nearest(element, float(stepped) + math.copysign(abs(float(stepped)) * 2.0**-2, steps))
    return float(stepped) + 0.0
