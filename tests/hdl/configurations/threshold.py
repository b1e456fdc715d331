"""Configurations of `threshold`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S31, S48, U1, U8, U31, U48, Rng, folded, stream_of, values


def draw(rng: Rng) -> Site:
    x = folded(rng, stream_of(rng, widest=int(rng.choice([4, 24, 48]))))
    count = int(rng.choice([1, 2, 3, 4, 7, 8, 15, 20]))
    levels = values(rng, x.element, (int(rng.choice([1, x.channels])), count)).astype(np.int64)
    levels += rng.integers(-1, 2, levels.shape)
    step, offset = (1, 0) if rng.integers(2) else (int(rng.integers(-5, 6)), int(rng.integers(-99, 99)))
    tight = FixedPoint.holding(min(offset, offset + step * count), max(offset, offset + step * count))
    element = FixedPoint(tight.signed, tight.width + int(rng.integers(3)))
    method = [None, "parallel", "search"][int(rng.integers(3))]
    stages = int(rng.integers(1, 3)) if method == "parallel" else 1
    more = {"step": step, "offset": offset, "method": method, "stages": stages}
    return Site.of(threshold, x, levels=levels, element=element, **more)


def corners() -> Iterator[Site]:
    for method in ("parallel", "search"):
        yield Site.of(threshold, Stream(U1, (1, 9)), levels=[[1]], element=U1, method=method)
        yield Site.of(threshold, Stream(S1, (2, 9), 1), levels=[[0], [-1]], element=U1, method=method)
        beyond = [[-1000, 1000, 0], [-129, -128, 127], [128, 128, 128]]
        for lanes in (1, 3):
            yield Site.of(threshold, Stream(S8, (3, 20), lanes), levels=beyond, element=U8, method=method)
        for given in (S31, U31, S48, U48):
            ends = [[given.minimum, given.maximum, 0, 1, given.maximum + 1]]
            yield Site.of(threshold, Stream(given, (2, 9)), levels=ends, element=S8, step=-3, method=method)
    many = np.arange(-300, 300).reshape(2, 300) ** 2 // 700
    yield Site.of(threshold, Stream(S8, (2, 40), 1), levels=many, element=FixedPoint(False, 9))
    yield Site.of(threshold, Stream(U8, (1, 40)), levels=np.arange(1, 256)[None], element=U8)
    yield Site.of(threshold, Stream(S8, (6, 9), 2), levels=np.arange(-45, 45).reshape(6, 15), element=U8)
    yield Site.of(threshold, Stream(S8, (2, 9)), levels=[[-3, 0, 9]], element=U8, stages=2)
    for levels in ([[4], [7]], [[-3, 5], [0, 9]]):
        yield Site.of(threshold, Stream(S8, (2, 9), 1), levels=levels, element=U8)
