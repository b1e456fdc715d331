"""Configurations of `split`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.split import split
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, element_of, positions


def draw(rng: Rng) -> Site:
    lanes, parts = int(rng.integers(1, 5)), rng.integers(1, 5, 2)
    channels = lanes * int(parts.sum())
    x = Stream(element_of(rng, 48), (channels, *positions(rng)), lanes)
    if rng.integers(3) == 0:
        return Site.of(split, x.with_lanes(channels), at=int(rng.integers(1, channels)))
    return Site.of(split, x, at=lanes * int(parts[0]))


def corners() -> Iterator[Site]:
    yield Site.of(split, Stream(U1, (2,)), at=1)
    yield Site.of(split, Stream(S48, (3, 9)), at=2)
    yield Site.of(split, Stream(S8, (8, 20), 1), at=7)
    yield Site.of(split, Stream(S8, (8, 20), 1), at=1)
    yield Site.of(split, Stream(S8, (8, 9), 2), at=6)
