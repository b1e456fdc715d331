"""Enumeration of the choices of a generator: first runs that differ from the simplest in one choice, then in two.

Harvey and Ginsberg (1995), "Limited discrepancy search". Cases that need many changes at once are reached by runs that
are spread evenly over all choices (Weyl 1916, multiples of irrationals), and by runs at random. A generator takes a
function that chooses, and raises `Unfit` if choices do not fit each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from graphrewrite.testing.generation.demand import Pick, T, Unfit, seeded

__all__ = ["drawn", "enumerated", "spread"]

Made = TypeVar("Made")
_WHOLE, _GOLDEN = 1 << 32, 2654435769
"""The golden ratio's fractional part, of 32 bits."""
_DEEPEST = 60
"""Choices of one run that are varied; later ones are second attempts after a misfit."""


def enumerated(make: Callable[[Pick], Made], runs: int) -> Iterator[Made]:
    """Yield the results of a generator for different choices, the simplest first.

    Examples
    --------
    >>> list(enumerated(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('a', 'x'), ('b', 'x'), ('a', 'y'), ('a', 'z'), ('b', 'y')]
    """
    level: deque[Iterator[tuple[int, ...]]] = deque([iter([()])])
    while level:
        following: deque[Iterator[tuple[int, ...]]] = deque()
        while level:
            source = level.popleft()
            prefix = next(source, None)
            if prefix is None:
                continue
            level.append(source)  # in turn: a few variants of each run reach more than all variants of the first
            if not runs:
                return
            runs -= 1
            choices = _Choices(prefix)
            with suppress(Unfit):
                yield make(choices)
            following.append(_changed(prefix, tuple(choices.counts)))
        level = following


def spread(make: Callable[[Pick], Made], runs: int) -> Iterator[Made]:
    """Yield the results of a generator for runs that are spread evenly over all choices.

    Examples
    --------
    >>> list(spread(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('b', 'x'), ('b', 'x'), ('b', 'x'), ('a', 'y'), ('a', 'y')]
    """
    return _fitting(make, map(_Spread, range(1, runs + 1)))


class _Spread:
    """Choose by the fractional part of a multiple of an irrational, which differs for each choice."""

    def __init__(self, run: int) -> None:
        self.run, self.count = run, 0

    def __call__(self, options: Sequence[T], /) -> T:
        self.count += 1
        part = self.run * _GOLDEN * (2 * self.count + 1) % _WHOLE
        return options[part * len(options) // _WHOLE]


def drawn(make: Callable[[Pick], Made], runs: int, *, first: int = 0) -> Iterator[Made]:
    """Yield the results of a generator for random choices, from one seed per run.

    Examples
    --------
    >>> list(drawn(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('b', 'y'), ('a', 'z'), ('a', 'x'), ('a', 'z'), ('a', 'y')]
    """
    return _fitting(make, map(seeded, range(first, first + runs)))


def _fitting(make: Callable[[Pick], Made], picks: Iterable[Pick]) -> Iterator[Made]:
    for pick in picks:
        with suppress(Unfit):
            yield make(pick)


class _Choices:
    """Choose as stated, and the first option after that."""

    def __init__(self, prefix: tuple[int, ...]) -> None:
        self.prefix, self.counts = prefix, list[int]()

    def __call__(self, options: Sequence[T], /) -> T:
        if len(options) == 1:
            return options[0]
        index = len(self.counts)
        self.counts.append(len(options))
        return options[self.prefix[index] if index < len(self.prefix) else 0]


def _changed(prefix: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield a run with one more choice that is not the first option."""
    for index in range(len(prefix), min(len(counts), _DEEPEST)):
        for other in range(1, counts[index]):
            yield (*prefix, *(0,) * (index - len(prefix)), other)
