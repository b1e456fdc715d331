"""Optimisers: functions from parameters, gradients and a state to the next ones. Nothing is changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from graphrewrite.learning.schedules import Schedule, rate_at

__all__ = ["SGD", "Adam", "Arrays", "Optimiser"]

Arrays = dict[str, np.ndarray]
"""Arrays by name."""


class Optimiser(Protocol):
    """What makes the next parameters of parameters and gradients."""

    def start(self, parameters: Mapping[str, np.ndarray]) -> Arrays:
        """Return the state before the first step."""
        ...

    def step(
        self, parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
    ) -> tuple[Arrays, Arrays]:
        """Return the next parameters and the next state."""
        ...


def _count(state: Mapping[str, np.ndarray]) -> int:
    return int(state["step"])


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with momentum, and with penalties of large parameters.

    A step is ``p - rate * v``, ``v = momentum * v + g``, where ``g`` is the gradient of the loss and of
    ``l1 * sum|p| + l2 / 2 * sum(p**2)``.

    Parameters
    ----------
    rate : float or callable
        Learning rate, or a schedule: a function from the number of the step.
    momentum : float
        Share of the last step that is taken again.
    l1, l2 : float
        Weights of the penalties.

    Examples
    --------
    >>> sgd, p = SGD(0.1, momentum=0.5), {"w": np.array([1.0])}
    >>> state = sgd.start(p)
    >>> for _ in range(2):
    ...     p, state = sgd.step(p, {"w": np.array([1.0])}, state)
    >>> p["w"].round(6).tolist()
    [0.75]
    """

    rate: float | Schedule = 0.01
    momentum: float = 0.0
    l1: float = 0.0
    l2: float = 0.0

    def start(self, parameters: Mapping[str, np.ndarray]) -> Arrays:
        """Return the state before the first step."""
        moved = {f"v.{name}": np.zeros_like(array) for name, array in parameters.items()} if self.momentum else {}
        return {"step": np.zeros((), np.int64), **moved}

    def step(
        self, parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
    ) -> tuple[Arrays, Arrays]:
        """Return the next parameters and the next state."""
        count = _count(state)
        rate = rate_at(self.rate, count)
        new, after = {}, {"step": np.array(count + 1)}
        for name, p in parameters.items():
            v = gradients[name]
            if self.l1:
                v = v + p.dtype.type(self.l1) * np.sign(p)
            if self.l2:
                v = v + p.dtype.type(self.l2) * p
            if self.momentum:
                v = p.dtype.type(self.momentum) * state[f"v.{name}"] + v
                after[f"v.{name}"] = v
            new[name] = p - p.dtype.type(rate) * v
        return new, after


@dataclass(frozen=True)
class Adam:
    """Steps of a size that each parameter's own gradients set (Kingma and Ba 2015); with decay AdamW.

    Parameters
    ----------
    rate : float or callable
        Learning rate, or a schedule: a function from the number of the step.
    betas : (float, float)
        Shares of the last means that stay, of gradients and of their squares.
    epsilon : float
        What is added to the root of the mean square.
    decay : float
        By how much of itself, times the rate, each parameter shrinks in a step (Loshchilov and Hutter 2019).

    Examples
    --------
    >>> adam, p = Adam(0.1), {"w": np.array([1.0, -1.0])}
    >>> p, state = adam.step(p, {"w": np.array([5.0, -0.01])}, adam.start(p))
    >>> p["w"].round(4).tolist()
    [0.9, -0.9]
    """

    rate: float | Schedule = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.0

    def start(self, parameters: Mapping[str, np.ndarray]) -> Arrays:
        """Return the state before the first step."""
        means = {f"{kind}.{name}": np.zeros_like(p) for name, p in parameters.items() for kind in "ms"}
        return {"step": np.zeros((), np.int64), **means}

    def step(
        self, parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
    ) -> tuple[Arrays, Arrays]:
        """Return the next parameters and the next state."""
        count = _count(state)
        rate, (first, second) = rate_at(self.rate, count), self.betas
        new, after = {}, {"step": np.array(count + 1)}
        for name, p in parameters.items():
            kind, g = p.dtype.type, gradients[name]
            m = kind(first) * state[f"m.{name}"] + kind(1 - first) * g
            s = kind(second) * state[f"s.{name}"] + kind(1 - second) * (g * g)
            after[f"m.{name}"], after[f"s.{name}"] = m, s
            pace = kind(rate / (1 - first ** (count + 1)))
            size = np.sqrt(s / kind(1 - second ** (count + 1))) + kind(self.epsilon)
            shrunk = p - kind(rate * self.decay) * p if self.decay else p
            new[name] = shrunk - pace * m / size
        return new, after
