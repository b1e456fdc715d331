"""Configurations of `refold`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.refold import refold
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, element_of, positions


def draw(rng: Rng) -> Site:
    narrow = int(rng.integers(1, 4))
    wide = narrow * int(rng.integers(1, 7))
    x = Stream(element_of(rng, 48), (wide * int(rng.integers(1, 3)), *positions(rng)))
    lanes = (narrow, wide) if rng.integers(2) else (wide, narrow)
    return Site.of(refold, x.with_lanes(lanes[0]), lanes=lanes[1])


def corners() -> Iterator[Site]:
    yield Site.of(refold, Stream(U1, (1,)), lanes=1)
    yield Site.of(refold, Stream(S8, (5, 9)), lanes=5)
    for lanes in ((12, 1), (1, 12), (6, 2), (2, 6), (4, 2), (3, 6)):
        yield Site.of(refold, Stream(S8, (12, 3), lanes[0]), lanes=lanes[1])
    yield Site.of(refold, Stream(S48, (7,)), lanes=1)
    yield Site.of(refold, Stream(U1, (7, 5), 1), lanes=7)
