"""Configurations of `select`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, stream_of


def draw(rng: Rng) -> Site:
    x = stream_of(rng, int(rng.integers(1, 13)), 48)
    order = rng.permutation(x.channels) if rng.integers(2) else rng.integers(0, x.channels, int(rng.integers(1, 9)))
    return Site.of(select, x, order=order.tolist())


def corners() -> Iterator[Site]:
    yield Site.of(select, Stream(U1, (1,)), order=[0])
    yield Site.of(select, Stream(S48, (3, 9)), order=[2, 1, 0])
    yield Site.of(select, Stream(S8, (12, 9)), order=np.arange(12).reshape(3, 4).T.ravel().tolist())
    yield Site.of(select, Stream(S8, (5, 2)), order=[3])
    yield Site.of(select, Stream(S8, (2, 2)), order=[1, 1, 0, 0, 1])
