"""Configurations of `softmax`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.softmax import exponentials, softmax
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S8, S48, U1, U8, U48, Rng, divisor


def draw(rng: Rng) -> Site:
    width = int(rng.integers(1, 20))
    element = FixedPoint(bool(rng.integers(2)), width, int(rng.integers(-1, width + 2)))
    channels = int(rng.choice([1, 2, 3, 4, 5, 6, 10]))
    shape = (channels, *(int(size) for size in rng.integers(1, 3, int(rng.integers(0, 3)))))
    table, shift = exponentials(element, bits=int(rng.integers(3, 11)), width=int(rng.integers(1, 20)))
    fraction = int(rng.integers(1, 12))
    result = FixedPoint(False, fraction + int(rng.integers(0, 3)), fraction)
    return Site.of(softmax, Stream(element, shape, divisor(rng, channels)), table=table, shift=shift, element=result)


def corners() -> Iterator[Site]:
    for element, channels, lanes, table, shift, result in [
        (U1, 1, 1, [1], 0, FixedPoint(False, 1, 1)),
        (U1, 2, 1, [1, 0], 0, FixedPoint(False, 2, 1)),
        (S8, 10, 10, [255, 94, 35, 13, 5, 2, 1, 0], 4, FixedPoint(False, 8, 8)),
        (S8, 10, 1, [255, 94, 35, 13, 5, 2, 1, 0], 4, FixedPoint(False, 9, 8)),
        (U8, 3, 3, [7, 7, 7], 8, FixedPoint(False, 24, 24)),
        (U48, 6, 2, [2**24 - 1, 2**23, 0], 46, FixedPoint(False, 48, 16)),
        (S48, 6, 3, np.arange(4095, -1, -1), 0, FixedPoint(False, 13, 12)),
    ]:
        yield Site.of(softmax, Stream(element, (channels, 2), lanes), table=table, shift=shift, element=result)
