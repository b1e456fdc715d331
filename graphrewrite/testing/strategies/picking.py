"""Choices of the generators, made by Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

from graphrewrite.testing.generation.demand import Pick, T

__all__ = ["picking"]


@cache
def _index(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def picking(draw: Any) -> Pick:
    """Return a function that chooses one of several options by a strategy's draw.

    Parameters
    ----------
    draw : callable
        What a composite strategy is given.

    Returns
    -------
    Pick
        Shrinks to the first option.
    """

    def pick(options: Sequence[T]) -> T:
        return options[draw(_index(len(options)))] if len(options) > 1 else options[0]

    return pick
