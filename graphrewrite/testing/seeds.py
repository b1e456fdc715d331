"""Seeds of searches: as a call says, or as Hypothesis is told."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import core, settings

__all__ = ["stated_seed"]


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
