"""Chains of float operations, number by number, in the order in which a graph states them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphrewrite.execution.program.instruction import Action, Instruction

__all__ = ["POSITIVE_ZERO", "Apply", "Chain", "Link", "limit", "quantisation"]

_RUN = 512
"""Entries along which numpy's inner loop is long enough."""


class Link(NamedTuple):
    """One operation of a chain.

    Attributes
    ----------
    ufunc : ufunc
        Of one operand, or of two of which the second is a constant; ``np.clip`` has limits.
    by : float, tuple of float, or ndarray of shape [C, 1]
        Its constant, in the dtype in which it computes: float64 for what is rounded to float32 afterwards.
    """

    ufunc: Any
    by: Any = None


class Chain(NamedTuple):
    """A sequence of operations on a register.

    Attributes
    ----------
    links : tuple of Link
        In order.
    is_wide : bool
        Whether it computes in float64, not in float32.
    is_increasing : bool
        Whether no link turns the order of numbers round.
    """

    links: tuple[Link, ...] = ()
    is_wide: bool = False
    is_increasing: bool = True

    def then(self, *links: Link) -> Chain:
        """Return the chain with more links at its end."""
        return self._replace(links=(*self.links, *links))

    def quantised(self, scale: float, low: int, high: int) -> tuple[Chain, int, int]:
        """Return the chain with a quantisation at its end, and the limits of its results.

        A limit before a division and a rounding is one after them, for both are monotone; and of a zero that is
        rounded, the sign does not matter.
        """
        links = list(self.links)
        if links and links[-1].ufunc is np.clip:
            with np.errstate(all="ignore"):
                ends = [float(np.rint(np.float32(end) / np.float32(scale))) for end in links.pop().by]
            low, high = (int(min(max(end, *ends[:1]), *ends[1:])) for end in (low, high))
        if links and links[0] is POSITIVE_ZERO:
            del links[0]
        return self._replace(links=(*links, *quantisation(scale, low, high))), low, high


POSITIVE_ZERO = Link(np.add, 0.0)
"""Makes zeros positive, as those of the ops' functions are."""


def limit(low: float, high: float) -> Link:
    """Return the link that limits numbers."""
    return Link(np.clip, (low, high))


def quantisation(scale: float, low: int, high: int) -> tuple[Link, ...]:
    """Return the links that divide numbers by a scale, round and limit them."""
    return Link(np.divide, scale), Link(np.rint), limit(low, high)


@dataclass(frozen=True)
class Apply(Instruction):
    """Apply a chain to every entry."""

    chain: Chain
    in_place: ClassVar[bool] = True

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action a link; constants of channels are repeated along a run of entries."""
        shape, taken = target.shape, 2
        while taken < len(shape) and math.prod(shape[-taken:]) < _RUN:
            taken += 1
        taken = min(taken, len(shape))
        run = math.prod(shape[-taken:])
        is_single = not any(isinstance(link.by, np.ndarray) for link in self.chain.links)
        flat = (-1,) if is_single else (-1, run)
        source, target = source.reshape(flat), target.reshape(flat)
        actions: list[Action] = []
        for ufunc, by in self.chain.links:
            if ufunc is np.clip:
                low, high = (target.dtype.type(end) for end in by)
                if low == -math.inf:
                    actions.append(partial(np.minimum, source, high, out=target))
                elif high == math.inf:
                    actions.append(partial(np.maximum, source, low, out=target))
                else:
                    actions.append(partial(source.clip, low, high, out=target))
            elif by is None:
                actions.append(partial(ufunc, source, out=target))
            else:
                by = self._constant(by, target, shape[-taken:])
                actions.append(partial(ufunc, source, by, out=target, casting="same_kind"))
            source = target
        return actions or [partial(np.copyto, target, source, casting="same_kind")]

    def _constant(self, by: Any, target: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        # A product in float64 stays one; any other number is in the dtype of the register.
        array = np.asarray(by)
        array = array if array.dtype == np.float64 and isinstance(by, np.generic | np.ndarray) else array.astype(target.dtype)
        return np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1) if array.ndim else array
