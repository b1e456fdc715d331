"""Seeds of searches: as a call says, or as Hypothesis is told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import core, settings

__all__ = ["repeatable_randomness", "stated_seed"]


@contextmanager
def repeatable_randomness(seed: int) -> Iterator[None]:
    """Let code that draws from the generators of all, Python's and NumPy's, draw the same; then be as before."""
    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # rules may use what is old as well
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(of_numpy)  # noqa: NPY002


def stated_seed(seed: int | None) -> int | None:
    """Return the seed of a call, else that of ``pytest --hypothesis-seed``, else 0 if the profile is derandomised.

    Returns
    -------
    int or None
        None if any seed will do.

    Examples
    --------
    >>> stated_seed(7)
    7
    """
    forced: Any = core.global_force_seed if seed is None else seed  # what the option sets; it may be any word
    if forced is None:
        return 0 if settings().derandomize else None
    return forced if isinstance(forced, int) else random.Random(forced).getrandbits(32)
