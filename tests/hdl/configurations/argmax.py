"""Configurations of `argmax`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site, counter_bits
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S48, U1, U8, U48, Rng, folded, stream_of


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng, int(rng.integers(1, 13)), 48))
    element = FixedPoint(False, FixedPoint.holding(0, x.channels - 1).width + int(rng.integers(3)))
    most = max(counter_bits(x.lanes) + (x.folds > 1), 1)
    return Site.of(argmax, x, element=element, stages=int(rng.integers(1, most, endpoint=True)))


def corners() -> Iterator[Site]:
    for element, channels, lanes, stages in [
        (U1, 1, 1, 1),
        (U1, 5, 5, 1),
        (S1, 5, 1, 1),
        (S8, 10, 10, 4),
        (S8, 10, 5, 4),
        (S8, 60, 1, 1),
        (U48, 3, 3, 2),
        (S48, 3, 1, 1),
    ]:
        yield Site.of(argmax, Stream(element, (channels, 30), lanes), element=U8, stages=stages)
