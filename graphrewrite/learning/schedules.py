"""Learning rates that change with the steps: functions from the number of a step, from 0, to a rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from graphrewrite.learning.errors import TrainingError

__all__ = ["Schedule", "cosine", "exponential", "rate_at", "stepwise"]

Schedule = Callable[[int], float]
"""Takes the number of a step, and returns its learning rate."""


def rate_at(rate: float | Schedule, step: int) -> float:
    """Return the rate of a step, of a number or of a schedule.

    Raises
    ------
    TrainingError
        If it is no number from 0 on.

    Examples
    --------
    >>> rate_at(0.1, 7), rate_at(lambda step: 1 / (1 + step), 3)
    (0.1, 0.25)
    """
    found = float(rate(step) if callable(rate) else rate)
    if not 0 <= found < math.inf:
        raise TrainingError(f"the learning rate of step {step} is {found}; give a number that is not negative")
    return found


def cosine(rate: float, steps: int, *, warmup: int = 0, last: float = 0.0) -> Schedule:
    """Return a rate that rises in a line for some steps, and falls along a cosine (Loshchilov and Hutter 2017).

    Parameters
    ----------
    rate : float
        The greatest rate.
    steps : int
        Number of steps until the rate is the last one, which stays.
    warmup : int
        Number of steps until it is the greatest.
    last : float
        The last rate.

    Examples
    --------
    >>> [round(cosine(1.0, 10, warmup=2)(step), 3) for step in (0, 1, 2, 6, 10, 99)]
    [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    """

    def at(step: int) -> float:
        if step < warmup:
            return rate * (step + 1) / warmup
        share = min((step - warmup) / max(steps - warmup, 1), 1.0)
        return last + (rate - last) * 0.5 * (1 + math.cos(math.pi * share))

    return at


def exponential(rate: float, factor: float, every: int = 1) -> Schedule:
    """Return a rate that falls by a factor in so many steps, smoothly.

    Examples
    --------
    >>> exponential(1.0, 0.5, every=10)(20)
    0.25
    """
    return lambda step: rate * factor ** (step / every)


def stepwise(rate: float, factor: float, every: int) -> Schedule:
    """Return a rate that falls by a factor after every so many steps, at once.

    Examples
    --------
    >>> [stepwise(1.0, 0.5, every=10)(step) for step in (0, 9, 10, 25)]
    [1.0, 1.0, 0.5, 0.25]
    """
    return lambda step: rate * float(factor ** (step // every))
