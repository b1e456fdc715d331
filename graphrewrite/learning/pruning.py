"""Pruning: weights of small magnitude become zero while a network is trained, and stay so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.learning.errors import TrainingError
from graphrewrite.learning.optimisers import Arrays, Optimiser

__all__ = ["Pruning", "check_share"]

_EVERY = 8
"""Steps after which it is chosen anew what is zero."""


@dataclass(frozen=True)
class Pruning:
    """Steps of another optimiser, in which more and more of the smallest weights become zero.

    The share of zeros after a part ``t`` of the steps is ``sparsity * (1 - (1 - t)**3)``, which is most at first, when
    there is most to spare (Zhu and Gupta 2017); after all steps it stays. Each array is pruned by itself.

    Parameters
    ----------
    optimiser : Optimiser
        What makes the steps.
    sparsity : mapping of str to float
        By the name of a parameter the share of its entries that become zero, from 0 to less than 1.
    steps : int
        Number of steps until that share is reached; 0 from the first step on.

    Raises
    ------
    TrainingError
        If a share is none; at the first step, if a name is none of a parameter.

    Examples
    --------
    >>> from graphrewrite.learning import SGD
    >>> pruning, p = Pruning(SGD(0.0), {"w": 0.5}, steps=0), {"w": np.array([0.1, -2.0, 3.0, -0.2])}
    >>> pruning.step(p, p, pruning.start(p))[0]["w"].tolist()
    [0.0, -2.0, 3.0, 0.0]
    """

    optimiser: Optimiser
    sparsity: Mapping[str, float]
    steps: int

    def __post_init__(self) -> None:
        for name, share in self.sparsity.items():
            check_share(f"the sparsity of {name!r}", share)

    def start(self, parameters: Mapping[str, np.ndarray]) -> Arrays:
        """Return the state before the first step."""
        for name in self.sparsity:
            if name not in parameters:
                raise TrainingError(f"sparsity names {name!r}, which is not learnt{did_you_mean(name, parameters)}")
        kept = {f"kept.{name}": np.ones(parameters[name].shape, bool) for name in self.sparsity}
        return {**self.optimiser.start(parameters), "pruned": np.zeros((), np.int64), **kept}

    def step(
        self, parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]
    ) -> tuple[Arrays, Arrays]:
        """Return the next parameters and the next state."""
        count = int(state["pruned"])
        new, after = self.optimiser.step(parameters, gradients, state)
        part = min((count + 1) / self.steps, 1.0) if self.steps else 1.0
        is_chosen = count % _EVERY == 0 or count + 1 == self.steps
        for name, share in self.sparsity.items():
            kept = state[f"kept.{name}"]
            if is_chosen:
                kept = _largest(new[name] * kept, share * (1 - (1 - part) ** 3))
            new[name] = np.where(kept, new[name], new[name].dtype.type(0))
            after[f"kept.{name}"] = kept
        return new, {**after, "pruned": np.array(count + 1)}


def _largest(array: np.ndarray, share: float) -> np.ndarray:
    """Return where an array is not among a share of its smallest entries."""
    kept = np.ones(array.size, bool)
    kept[np.argsort(np.abs(array), axis=None, kind="stable")[: int(share * array.size)]] = False
    return kept.reshape(array.shape)


def check_share(what: str, share: Any) -> None:
    """Raise unless it is a number from 0 to less than 1."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise TrainingError(f"{what} is a share of the weights, from 0 to less than 1, got {share!r}")
