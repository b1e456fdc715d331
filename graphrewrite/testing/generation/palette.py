"""Ops of which one graph is made: the usual ones of networks, or a few of those and a few of all others."""

from __future__ import annotations

from functools import lru_cache

from graphrewrite.op import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.demand import Pick
from graphrewrite.testing.generation.edges import REFUSES_NAN
from graphrewrite.testing.generation.tables import DEFAULT_OPS

__all__ = ["few_ops", "other_ops", "usual_ops"]

_USUAL, _OTHERS = 3, 5
"""Ops of a graph that has some of all: each such graph leaves out most of them, as swarm testing does (Groce, Zhang,
Eide, Chen and Regehr: Swarm Testing, ISSTA 2012), so that what two of them do together is met more often, and so that
little has to be found out about ops for a few graphs."""


@lru_cache(maxsize=1)
def usual_ops() -> tuple[Op, ...]:
    """Return the ops of most networks, the simplest first."""
    return tuple(LIBRARY[name] for name in DEFAULT_OPS)


@lru_cache(maxsize=1)
def other_ops() -> tuple[Op, ...]:
    """Return all other ops of the library that compute alike whenever they are asked.

    Without those of hardware, and those that refuse NaN, which others give.
    """
    without = {*DEFAULT_OPS, *REFUSES_NAN}
    return tuple(op for op in LIBRARY.values() if op.name not in without and op.level not in ("structure", "memory"))


def few_ops(pick: Pick) -> tuple[Op, ...]:
    """Return a few of the usual ops, the first ones the likeliest to be simple, and a few of all others.

    Examples
    --------
    >>> [op.name for op in few_ops(lambda options: options[0])]
    ['neg', 'hard_tanh']
    """
    chosen = [pick(usual_ops()) for _ in range(_USUAL)] + [pick(other_ops()) for _ in range(_OTHERS)]
    return tuple(dict.fromkeys(chosen))
