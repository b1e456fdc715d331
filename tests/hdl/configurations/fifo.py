"""Configurations of `fifo`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, U8, Rng, divisor, element_of


def draw(rng: Rng) -> Site:
    channels = int(rng.choice([1, 1, 2, 3, 6]))
    x = Stream(element_of(rng, 48), (channels, int(rng.integers(1, 60 // channels))), divisor(rng, channels))
    return Site.of(fifo, x, depth=int(rng.integers(1, 20)))


def corners() -> Iterator[Site]:
    for depth in (1, 2, 3, 4, 5, 6, 64):
        yield Site.of(fifo, Stream(U8, (1, 90)), depth=depth)
    yield Site.of(fifo, Stream(U1, (1,)), depth=1)
    yield Site.of(fifo, Stream(S8, (7, 5), 1), depth=3)
    yield Site.of(fifo, Stream(S48, (2, 9)), depth=9)
