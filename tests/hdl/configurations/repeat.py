"""Configurations of `repeat`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, U8, Rng, divisor, element_of


def draw(rng: Rng) -> Site:
    axes, channels = int(rng.integers(1, 3)), int(rng.choice([1, 2, 3, 4, 6]))
    shape = (channels, *(int(size) for size in rng.integers(1, 5, axes)))
    factors = tuple(int(factor) for factor in rng.integers(1, 4, axes))
    return Site.of(repeat, Stream(element_of(rng, 48), shape, divisor(rng, channels)), factors=factors)


def corners() -> Iterator[Site]:
    for element, shape, lanes, factors in [
        (U1, (1, 1, 1), 1, (1, 1)),
        (U1, (1, 1, 1), 1, (2, 2)),
        (U8, (1, 3, 1), 1, (3, 1)),
        (U8, (1, 3, 1), 1, (2, 3)),
        (S8, (1, 2, 4), 1, (2, 2)),
        (S8, (2, 2, 4), 1, (1, 2)),
        (S8, (2, 2, 4), 1, (2, 1)),
        (S8, (6, 2, 3), 2, (2, 2)),
        (S8, (3, 5), 3, (2,)),
        (S8, (4, 5), 1, (3,)),
        (S48, (2, 1), 1, (5,)),
        (U8, (1, 7, 7), 1, (2, 2)),
    ]:
        yield Site.of(repeat, Stream(element, shape, lanes), factors=factors)
