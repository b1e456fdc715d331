"""Configurations of `lookup`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.lookup import lookup
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S48, U1, U8, U24, U48, Rng, element_of, folded, stream_of, values


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng, widest=int(rng.choice([4, 9]))))
    element = element_of(rng, int(rng.choice([4, 24, 48])))
    length = int(rng.integers(1, (1 << x.element.width) + 2))
    shape = (x.channels, length) if rng.integers(2) else (length,)
    low = int(rng.integers(x.element.minimum - 2, x.element.maximum + 2)) if rng.integers(2) else 0
    return Site.of(lookup, x, table=values(rng, element, shape), low=low, element=element)


def corners() -> Iterator[Site]:
    squares = np.arange(-128, 128) ** 2
    yield Site.of(lookup, Stream(S8, (1, 60)), table=squares, low=-128, element=FixedPoint(False, 15))
    yield Site.of(lookup, Stream(S8, (3, 20), 1), table=squares[None] - [[0], [9], [99]], low=-128, element=S48)
    yield Site.of(lookup, Stream(U1, (2, 9)), table=[1, 0], element=U1)
    yield Site.of(lookup, Stream(S1, (2, 9), 1), table=[[1, 0], [0, 1]], low=-1, element=U8)
    yield Site.of(lookup, Stream(U8, (2, 9)), table=[2**48 - 1, 2**31], element=U48)
    yield Site.of(lookup, Stream(U8, (1, 9)), table=[-7], element=S8)
    few = Stream(FixedPoint(False, 6), (2, 2))  # ones in the first 32 bits of a memory only, which GHDL 2.0 would lose
    yield Site.of(lookup, few, table=[[2, 2, 0, 1, 0], [0, 3, 0, 0, 0]], element=FixedPoint(False, 2))
    twelve = Stream(FixedPoint(True, 12), (4, 40), 2)
    yield Site.of(lookup, twelve, table=np.arange(4096), low=-2048, element=U24)
