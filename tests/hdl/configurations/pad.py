"""Configurations of `pad`."""

from collections.abc import Iterator

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.pad import pad
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S1, S8, S48, U1, U8, U48, Rng, divisor, element_of, values


def draw(rng: Rng) -> Site:
    axes, channels, element = int(rng.integers(1, 3)), int(rng.choice([1, 2, 3, 4, 6])), element_of(rng, 48)
    shape = (channels, *(int(size) for size in rng.integers(1, 6, axes)))
    pads = tuple(int(places) for places in rng.integers(0, 4, 2 * axes) * (rng.random(2 * axes) < 0.7))
    return Site.of(
        pad, Stream(element, shape, divisor(rng, channels)), pads=pads, fill=int(values(rng, element, (1,))[0])
    )


def corners() -> Iterator[Site]:
    for element, shape, lanes, pads, fill in [
        (U1, (1, 1, 1), 1, (0, 0, 0, 0), 1),
        (U1, (1, 1, 1), 1, (1, 0, 0, 0), 1),
        (S1, (1, 1), 1, (0, 1), -1),
        (S8, (3, 1), 1, (5, 0), -128),
        (U8, (2, 3, 3), 2, (1, 1, 1, 1), 255),
        (S8, (4, 2, 5), 2, (0, 3, 0, 0), 5),
        (S8, (4, 2, 2), 1, (0, 0, 2, 3), 5),
        (S48, (2, 2, 2), 1, (2, 1, 0, 0), -(2**47)),
        (U48, (2, 3), 2, (1, 1), 2**48 - 1),
    ]:
        yield Site.of(pad, Stream(element, shape, lanes), pads=pads, fill=fill)
