"""Choices of the generators: a byte each, many of them in one draw, by Hypothesis or at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from graphrewrite.testing.generation.demand import T, Unfit

__all__ = ["BYTE", "Choices", "by_choices", "made_by_choices", "making", "one_of", "picking"]

_SIZE = 128
"""Bytes of a draw: graphs around a pattern take 50 in the median, and one in thirty takes more than these.

One draw decides all small choices. Of an example of several, Hypothesis makes others by copying one of its draws over
another, and where it may, most examples are such copies, in which little is new; and drawing costs much more than
choosing. Integers it also draws from the constants of modules that happen to be loaded: then a seed would mean other
graphs in another process."""
_MAKING = "_making"
BYTE = st.binary(min_size=1, max_size=1).map(lambda drawn: drawn[0])
"""A number below 256."""


class Choices:
    """Chooses one of several options by bytes; zeros are the first options.

    What needs more choices than were drawn makes the rest of them at random, from those: where zeros lead nowhere, the
    simplest example would draw very many.

    Parameters
    ----------
    draw : callable
        Gives so many bytes.
    """

    def __init__(self, draw: Callable[[int], bytes]) -> None:
        self.draw = draw
        self._rest: Random | None = None
        self._left: list[int] = []
        self._open = True

    def begin(self, record: bytes) -> None:
        """Choose by these bytes from now on, and by zeros behind them."""
        self._left, self._open = list(reversed(record)), False

    def __call__(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        count = len(options)
        if count == 1:
            return options[0]
        if count > 256:
            return options[(256 * self._byte() + self._byte()) * count >> 16]
        return options[self._byte() * count >> 8]

    def _byte(self) -> int:
        if not self._left:
            if not self._open:
                return 0
            self._left = list(reversed(self._more()))
        return self._left.pop()

    def _more(self) -> bytes:
        if self._rest is not None:
            return self._rest.randbytes(_SIZE)
        drawn = self.draw(_SIZE)
        self._rest = Random(drawn)
        return drawn


def picking(draw: Any) -> Choices:
    """Return a function that chooses one of several options by a strategy's draws."""
    return Choices(lambda size: draw(_bytes(size)))


@cache
def _bytes(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


@st.composite
def by_choices(draw: Any, make: Callable[[Choices], T]) -> T:
    """Return a strategy of what a function makes; what it finds no way to make does not count."""
    try:
        return make(picking(draw))
    except Unfit:
        assume(False)
        raise AssertionError("assume(False) raises") from None


def made_by_choices(strategy: st.SearchStrategy[T], make: Callable[[Choices], T]) -> st.SearchStrategy[T]:
    """Return a strategy that says which function makes the same of choices: without Hypothesis, that is sooner."""
    setattr(strategy, _MAKING, make)
    return strategy


def making(strategy: st.SearchStrategy[T]) -> Callable[[Choices], T] | None:
    """Return the function that makes of choices what a strategy gives; None where that is not known.

    Examples
    --------
    >>> from random import Random
    >>> from graphrewrite.testing import graphs
    >>> making(graphs(ops=["neg"]))(Choices(Random(0).randbytes))
    <Graph 'generated': 12 nodes, 9 edges>
    """
    make: Callable[[Choices], T] | None = vars(strategy).get(_MAKING)
    return make


def one_of(strategies: Sequence[st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """Return a strategy of what any of some strategies gives; for a seed the same in every process."""
    if len(strategies) == 1:
        return strategies[0]
    any_of = _bytes(_SIZE).flatmap(lambda drawn: strategies[(256 * drawn[0] + drawn[1]) * len(strategies) >> 16])
    makers = [make for strategy in strategies if (make := making(strategy)) is not None]
    return any_of if len(makers) < len(strategies) else made_by_choices(any_of, lambda pick: pick(makers)(pick))
