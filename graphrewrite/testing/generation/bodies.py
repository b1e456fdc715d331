"""Graphs to try as attributes of ops: bodies that repeat, choose, or run along a sequence; branches that look alike."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from graphrewrite import Graph

__all__ = ["bodies", "branches"]

_ENTRYWISE = """graph {op}
x = input() : f32[N]
r = {op}(x{with_})
y = output(r)"""

_DIFFERENCE = """graph difference_of_{first}
x = input() : f32[N]
z = input() : f32[N]
r = sub({first}, {second})
y = output(r)"""

_PRODUCT = """graph product_{factor}
x = input() : f32[N]
c = constant(value={factor}.0) : f32[]
r = mul(x, c)
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


@lru_cache(maxsize=1)
def branches() -> tuple[tuple[Graph, ...], ...]:
    """Return graphs of which any two of a group are branches of one choice, and some differ in one place only.

    Examples
    --------
    >>> for group in branches():
    ...     print(*(body.name for body in group))
    relu neg leaky_relu leaky_relu product_2 product_3
    difference_of_x difference_of_z
    """
    entrywise = [_entrywise("relu"), _entrywise("neg"), _entrywise("leaky_relu"), _entrywise("leaky_relu", alpha=0.5)]
    products = [_PRODUCT.format(factor=factor) for factor in (2, 3)]
    differences = [_DIFFERENCE.format(first=a, second=b) for a, b in ("xz", "zx")]
    return tuple(tuple(map(_body, group)) for group in ([*entrywise, *products], differences))


def _parsed() -> Iterator[Graph]:
    yield from map(_body, (_entrywise("relu"), _entrywise("neg"), _STEP, _BOTH, _SUM))


def _entrywise(op: str, **attributes: float) -> str:
    return _ENTRYWISE.format(op=op, with_="".join(f", {name}={value}" for name, value in attributes.items()))


def _body(text: str) -> Graph:
    body: Graph = Graph.parse(text).as_body()
    return body
