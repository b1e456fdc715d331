"""Configurations of `interpolate`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.interpolate import interpolate
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S8, S24, S48, U24, U48, Rng, folded, stream_of, values


def _site(x: Stream, base: Any, slope: Any, rest: int, shift: int, spare: int = 0, stages: int = 1) -> Site:
    """With the narrowest format that holds all results."""
    base, slope = np.asarray(base, object), np.asarray(slope, object)
    ends = base >> shift, (base + slope * ((1 << rest) - 1)) >> shift
    tight = FixedPoint.holding(int(np.min(ends)), int(np.max(ends)))
    lines = {"base": base.astype(np.int64), "slope": slope.astype(np.int64), "rest": rest, "shift": shift}
    element = FixedPoint(tight.signed, min(tight.width + spare, 48))
    return Site.of(interpolate, x, **lines, low=x.element.minimum, element=element, stages=stages)


def draw(rng: Rng) -> Site:
    while True:
        x = folded(rng, stream_of(rng, widest=24))
        if x.element.width > 1:
            break
    bits = int(rng.integers(1, min(x.element.width, 7)))
    rest = x.element.width - bits
    shape = (x.channels, 1 << bits) if rng.integers(2) else (1 << bits,)
    base = values(rng, FixedPoint(True, int(rng.integers(2, 47))), shape)
    slope = values(rng, FixedPoint(True, int(rng.integers(2, min(31, 47 - rest)))), shape)
    return _site(x, base, slope, rest, int(rng.integers(47)), int(rng.integers(3)), int(rng.integers(1, 3)))


def corners() -> Iterator[Site]:
    yield _site(Stream(FixedPoint(True, 2), (1, 20)), [1, -1], [-1, 1], rest=1, shift=0)
    yield _site(Stream(S8, (2, 20), 1), [0, 64], [0, 1], rest=7, shift=1)
    yield _site(Stream(S8, (3, 20), 1), [[0, 64], [9, -64], [-7, 0]], [[0, 1], [-1, 1], [2, -2]], rest=7, shift=1)
    yield _site(Stream(S8, (6, 9), 2), np.arange(24).reshape(6, 4), np.arange(24).reshape(6, 4) % 5, rest=6, shift=2)
    yield _site(Stream(S8, (1, 60)), -np.arange(128), np.arange(128), rest=1, shift=20)
    for given, low in ((S24, -(2**11)), (U24, 0)):
        whole = np.arange(low, low + 2**12) << 12
        yield Site.of(  # the identity
            interpolate,
            Stream(given, (2, 30), 1),
            base=whole,
            slope=np.ones(2**12, np.int64),
            rest=12,
            shift=0,
            low=given.minimum,
            element=given,
            stages=2,
        )
    yield _site(Stream(U48, (1, 9)), [0, 0], [0, 0], rest=47, shift=0)
    yield _site(Stream(S48, (1, 9)), [-(2**46), 0], [0, 0], rest=47, shift=5)
