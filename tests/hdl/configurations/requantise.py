"""Configurations of `requantise`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import (
    S1,
    S8,
    S24,
    S31,
    S48,
    U1,
    U8,
    U24,
    U31,
    U48,
    Rng,
    element_of,
    folded,
    stream_of,
)

ROUNDINGS = ("half_even", "half_up", "down", "to_zero")


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng, widest=48))
    element = element_of(rng, 48 if rng.integers(4) == 0 else 24)
    least, most = 12 if x.element.width > 46 else -12, min(x.element.width + 4, 50)
    shifts = rng.integers(min(least, most), most, x.channels, endpoint=True).tolist()
    bounds = sorted(rng.integers(element.minimum, element.maximum, 2, endpoint=True).tolist())
    more = {"low": bounds[0], "high": bounds[1]} if rng.integers(2) else {}
    if rng.integers(2):
        more["rounding"] = str(rng.choice(ROUNDINGS))
        more["offset"] = int(rng.integers(-(2 ** int(rng.choice([3, 8, 40]))), 2 ** int(rng.choice([3, 8, 40]))))
    shift = shifts if rng.integers(2) else shifts[0]
    varies = bool(np.ptp(np.broadcast_to(shift, x.channels).reshape(x.folds, x.lanes), axis=0).any())
    return Site.of(requantise, x, shift=shift, element=element, stages=int(rng.integers(1, 4 if varies else 3)), **more)


def corners() -> Iterator[Site]:
    for given, element, shift in [
        (U1, U1, 0),
        (S1, S1, 1),
        (S8, S8, 0),
        (S8, S8, 1),
        (S8, U8, 2),
        (U8, S8, -3),
        (S8, S31, -12),
    ]:
        yield Site.of(requantise, Stream(given, (2, 40)), shift=shift, element=element)
    for given, element, shift in [
        (S8, S8, 8),
        (S8, S8, 9),
        (S8, S8, 20),
        (S48, S24, 24),
        (U48, U24, 24),
        (S31, U31, 0),
        (S48, S48, 0),
        (S48, U48, 3),
    ]:
        yield Site.of(requantise, Stream(given, (1, 40)), shift=shift, element=element)
    yield Site.of(requantise, Stream(S8, (1, 40)), shift=2, element=S8, low=0, high=6)
    for rounding in ROUNDINGS:
        yield Site.of(requantise, Stream(S8, (1, 60)), shift=2, element=U8, offset=128, rounding=rounding)
        yield Site.of(
            requantise,
            Stream(S8, (6, 12), 2),
            shift=[0, -2, 3, 1, 9, 2],
            element=S8,
            offset=-3,
            rounding=rounding,
            stages=3,
        )
    yield Site.of(requantise, Stream(S8, (4, 12), 2), shift=[2, 5, 2, 5], element=S8, stages=2)
    yield Site.of(requantise, Stream(S8, (4, 12), 2), shift=[1, 20, 1, 20], element=S8)
    yield Site.of(requantise, Stream(S8, (4, 3), 2), shift=[2, 3, 3, 2], element=S8)
