"""Chains of float operations, number by number, in the order in which a graph states them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphrewrite.execution.program.carrier import Map
from graphrewrite.execution.program.instruction import Action, Instruction

__all__ = ["POSITIVE_ZERO", "Apply", "Chain", "Convert", "Link", "limit", "quantisation"]

_RUN = 512
"""Entries along which numpy's inner loop is long enough."""
_FEW = 4096
"""So many entries, and less, are limited faster by two functions than by numpy's one for both limits."""


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
        """Return one action a link."""
        return applied(self.chain.links, source, target)


@dataclass(frozen=True)
class Convert(Instruction):
    """Apply a map to every entry."""

    map: Map
    in_place: ClassVar[bool] = True

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action for each part of the map that has an effect."""
        by, kind, links = self.map, target.dtype, list[Link]()
        if isinstance(by.scale, np.ndarray) or by.scale != 1:
            links.append(Link(np.multiply, np.asarray(by.scale, kind)))
        if by.offset is not None:
            links.append(Link(np.add, np.asarray(by.offset, kind)))
        if by.rounded:
            links.append(Link(np.rint))
        if by.limited:
            links.append(limit(by.low, by.high))
        return applied(links, source, target)


def applied(links: Sequence[Link], source: np.ndarray, target: np.ndarray) -> list[Action]:
    """Return one action a link; constants of channels are repeated along a run of entries."""
    run = 1
    is_single = not any(isinstance(link.by, np.ndarray) or _is_one_sided(link) for link in links)
    taken = target.ndim if is_single else 0
    while taken < target.ndim and (taken < 2 or run < _RUN):
        taken += 1
        run = math.prod(target.shape[-taken:])
    flat, shape = (-1,) if taken == target.ndim else (-1, run), target.shape[target.ndim - taken :]
    source, target = source.reshape(flat), target.reshape(flat)
    actions: list[Action] = []
    for link in links:
        ufunc, by = link
        if ufunc is np.clip:
            actions += _limits(source, link, target)
        elif by is None:
            actions.append(partial(ufunc, source, out=target))
        else:
            how = {} if source.dtype == target.dtype and not _is_wide(by) else {"casting": "same_kind"}
            actions.append(partial(ufunc, source, _constant(by, target.dtype, shape), out=target, **how))
        source = target
    return actions or [partial(np.copyto, target, source, casting="same_kind")]


def _is_one_sided(link: Link) -> bool:
    """Tell whether a link is a single limit: numpy is several times as fast with an array as with a number."""
    return link.ufunc is np.clip and math.inf in (-link.by[0], link.by[1])


def _limits(source: np.ndarray, link: Link, target: np.ndarray) -> list[Action]:
    low, high = (np.asarray(end, target.dtype) for end in link.by)
    is_single = _is_one_sided(link)
    if not is_single and target.size > _FEW:
        return [partial(source.clip, low, high, out=target)]
    actions: list[Action] = []
    for ufunc, end, none in ((np.maximum, low, -math.inf), (np.minimum, high, math.inf)):
        if end != none:
            by = np.full(target.shape[-1:], end) if is_single else end
            actions.append(partial(ufunc, source, by, out=target))
            source = target
    return actions


def _is_wide(by: Any) -> bool:
    """Tell whether a constant is one of float64, in which its link computes."""
    return isinstance(by, np.generic | np.ndarray) and by.dtype == np.float64


def _constant(by: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return a number, or one for each entry of a run."""
    array = np.asarray(by) if _is_wide(by) else np.asarray(by, dtype)
    return np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1) if array.ndim else array
