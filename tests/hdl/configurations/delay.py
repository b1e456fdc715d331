"""Configurations of `delay`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.delay import delay
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S1, S8, S48, U1, U48, Rng, divisor, element_of, values


def draw(rng: Rng) -> Site:
    channels, element = int(rng.choice([1, 2, 3, 4, 6])), element_of(rng, 48)
    shape = (channels, int(rng.integers(2, 6)), *(int(size) for size in rng.integers(1, 6, int(rng.integers(0, 2)))))
    x = Stream(element, shape, divisor(rng, channels))
    places = int(rng.integers(1, x.positions))
    return Site.of(delay, x, positions=places, initial=int(values(rng, element, (1,))[0]))


def corners() -> Iterator[Site]:
    for element, shape, lanes, positions, initial in [
        (U1, (1, 2), 1, 1, 1),
        (S1, (2, 2), 1, 1, -1),
        (S8, (3, 20), 3, 4, 0),
        (S8, (3, 20), 3, 5, -128),
        (S8, (3, 20), 1, 19, 127),
        (S8, (2, 4, 5), 2, 6, 0),
        (S48, (2, 8), 2, 7, -(2**47)),
        (U48, (2, 8), 1, 2, 2**48 - 1),
    ]:
        yield Site.of(delay, Stream(element, shape, lanes), positions=positions, initial=initial)
