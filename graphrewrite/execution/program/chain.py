"""Chains of float operations, number by number, in the order in which a graph states them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from graphrewrite.execution.program.carrier import Map
from graphrewrite.execution.program.instruction import Action, Instruction
from graphrewrite.execution.program.workspace import Scratch

__all__ = ["POSITIVE_ZERO", "Apply", "Chain", "Link", "applied", "least_divisor", "limit", "quantisation"]

_RUN, _SHORT, _MOST = 5000, 512, 1 << 16
"""Entries of an array that numpy adds to a row in half the time of shorter ones, the least that are not slower still,
and the most that are worth it.
"""
_RUNS = 4
"""Number of runs from which it takes little to repeat constants each time."""
_KEPT = 1 << 11, 1 << 13
"""Entries of repeated constants up to which they are kept, of many runs and of few."""
_FEW, _SOME = 1 << 12, 1 << 14
"""So many entries, and less, are limited faster by two functions, or by one, than by numpy's one for both limits."""
_LENGTHY = 1 << 13
"""Entries of an array from which on a limit by it is faster than numpy's function for both, however many there are."""


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

    def held(self, kind: np.dtype) -> Chain:
        """Return the chain itself, which says its carrier (`is_wide`)."""
        return self

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
    """Apply a map, or a chain, to every entry."""

    by: Map | Chain
    in_place: ClassVar[bool] = True
    needs_scratch: ClassVar[bool] = True

    def actions(self, source: np.ndarray, target: np.ndarray, *, scratch: Scratch) -> list[Action]:
        """Return one action for each part that has an effect."""
        return applied(self.by, source, target, scratch)


def applied(by: Map | Chain, source: np.ndarray, target: np.ndarray, scratch: Scratch) -> list[Action]:
    """Return the actions that write a map, or a chain, of one array into another, which may be a part of a larger one.

    Of two zeros, a maximum with an array takes the array's; of a map, zeros may keep their sign, where that is faster.
    Constants of channels are repeated along a run of entries, each time anew where there are many such runs.
    """
    links, channels = by.links if isinstance(by, Chain) else _links(by, target.dtype), target.shape[-2:]
    most, entries = _contiguous(target), math.prod(target.shape[-2:])
    positions = math.prod(target.shape[target.ndim - most : -2])
    repeats, of_channels = _repeats(positions, entries, target.size), any(isinstance(e.by, np.ndarray) for e in links)
    run = repeats * entries if of_channels else 0
    by_arrays = [_is_by_arrays(link, target.size, run, signed_zeros=isinstance(by, Map)) for link in links]
    if not (of_channels or any(by_arrays)):
        repeats = positions
    outer, rows = target.shape[: target.ndim - most], () if repeats == positions else (positions // repeats,)
    in_runs, in_few_axes = (*outer, *rows, repeats * entries), (*outer, positions * entries)
    actions: list[Action] = []
    for (ufunc, by_number), is_by_arrays in zip(links, by_arrays, strict=True):
        constant = None if by_number is None or ufunc is np.clip else _constant(by_number, target.dtype)
        is_of_channels = constant is not None and constant.ndim > 0
        # Of an array with gaps and more axes, numpy makes a copy before it writes over it.
        x, y = (a.reshape(in_runs if is_of_channels or is_by_arrays else in_few_axes) for a in (source, target))
        if ufunc is np.clip:
            actions += _limits(x, by_number, y, scratch, by_arrays=is_by_arrays)
        elif constant is None:
            actions.append(partial(ufunc, x, out=y))
        else:
            if is_of_channels:
                constant, fill = _repeated(constant, (repeats, *channels), y.size // max(y.shape[-1], 1), scratch)
                actions += fill
            how = {} if x.dtype == y.dtype and not _is_wide(by_number) else {"casting": "same_kind"}
            actions.append(partial(ufunc, x, constant, out=y, **how))
        source = target
    return actions or [partial(np.copyto, target, source, casting="same_kind")]


def _links(by: Map, kind: np.dtype) -> list[Link]:
    links = []
    if isinstance(by.scale, np.ndarray) or by.scale != 1:
        links.append(Link(np.multiply, np.asarray(by.scale, kind)))
    if by.offset is not None:
        links.append(Link(np.add, np.asarray(by.offset, kind)))
    if by.rounded:
        links.append(Link(np.rint))
    if by.limited:
        links.append(limit(by.low, by.high))
    return links


def _repeats(positions: int, entries: int, size: int) -> int:
    """Return how many positions make a run: a divisor of their number, the first one with which it is long enough.

    Where there would be few runs, they are shorter: to repeat constants would take as long as to apply them.
    """
    for least in (_RUN, _SHORT):
        found = least_divisor(positions, -(-least // max(entries, 1)))
        if found * entries * _RUNS <= size:
            break
    return found if found * entries <= _MOST else 1


def least_divisor(number: int, least: int) -> int:
    """Return the least divisor of a number that is not less than another one; the number, if there is none.

    Examples
    --------
    >>> least_divisor(28, 5), least_divisor(7, 9)
    (7, 7)
    """
    return next((k for k in range(max(least, 1), number) if number % k == 0), max(number, 1))


def _contiguous(array: np.ndarray) -> int:
    """Return the number of last axes whose entries lie side by side."""
    length, count = array.itemsize, 0
    for size, step in zip(array.shape[::-1], array.strides[::-1], strict=True):
        if step != length and size > 1:
            break
        length, count = length * size, count + 1
    return count


def _is_by_arrays(link: Link, size: int, run: int, *, signed_zeros: bool) -> bool:
    """Tell whether numbers are limited by arrays: numpy's function for both limits is faster from some numbers on.

    One limit is faster by an array that is long enough, if there are such runs anyway.
    """
    if link.ufunc is not np.clip:
        return False
    if math.inf in (-link.by[0], link.by[1]):  # with numbers in place of arrays it takes several times as long
        return not signed_zeros or size <= _SOME or run >= _LENGTHY
    return size <= _FEW


def _limits(
    source: np.ndarray, ends: tuple[float, float], target: np.ndarray, scratch: Scratch, *, by_arrays: bool
) -> list[Action]:
    low, high = ends
    if not by_arrays:
        return [partial(source.clip, *(np.asarray(end, target.dtype) for end in ends), out=target)]
    actions: list[Action] = []
    for ufunc, end, none in ((np.maximum, low, -math.inf), (np.minimum, high, math.inf)):
        if end != none:
            count = target.shape[-1]
            if count >= _LENGTHY:  # rather than kept
                limits = scratch.array(count, target.dtype)
                actions.append(partial(limits.fill, end))
            else:
                limits = scratch.filled(end, count, target.dtype)
            actions.append(partial(ufunc, source, limits, out=target))
            source = target
    return actions


def _is_wide(by: Any) -> bool:
    """Tell whether a constant is one of float64, in which its link computes."""
    return isinstance(by, np.generic | np.ndarray) and by.dtype == np.float64


def _constant(by: Any, dtype: np.dtype) -> np.ndarray:
    return np.asarray(by) if _is_wide(by) else np.asarray(by, dtype)


def _repeated(
    constant: np.ndarray, shape: tuple[int, ...], runs: int, scratch: Scratch
) -> tuple[np.ndarray, list[Action]]:
    """Return constants of channels along a run, and what fills it each time, if it is not kept."""
    count = math.prod(shape)
    if count == constant.size:
        return constant.reshape(-1), []
    is_anew = count > _KEPT[runs < _RUNS]
    run = scratch.array(count, constant.dtype) if is_anew else np.empty(count, constant.dtype)
    fill = partial(np.copyto, run.reshape(shape), constant)
    if is_anew:
        return run, [fill]
    fill()
    return run, []
