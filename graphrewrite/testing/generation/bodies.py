"""Graphs to try as attributes of ops: bodies that repeat, choose, or run along a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from graphrewrite import Graph

__all__ = ["bodies"]

_ENTRYWISE = """graph {op}
x = input() : f32[N]
r = {op}(x)
y = output(r)"""

_STEP = """graph step
i = input() : i64[]
x = input() : f32[N]
few = constant(value=3) : i64[]
go_on = less(i, few)
r = neg(x)
again = output(go_on)
y = output(r)
each = output(r)"""

_BOTH = """graph both
x = input() : f32[N]
y = input() : f32[N]
s = add(x, y)
last = output(s)
each = output(s)"""

_SUM = """graph sum
state = input() : f32[]
x = input() : f32[]
s = add(state, x)
last = output(s)
each = output(s)"""


@lru_cache(maxsize=1)
def bodies() -> tuple[Graph, ...]:
    """Return the graphs.

    Examples
    --------
    >>> [body.name for body in bodies()]
    ['relu', 'neg', 'step', 'both', 'sum']
    """
    return tuple(_parsed())


def _parsed() -> Iterator[Graph]:
    for text in (_ENTRYWISE.format(op="relu"), _ENTRYWISE.format(op="neg"), _STEP, _BOTH, _SUM):
        yield Graph.parse(text).as_body()
