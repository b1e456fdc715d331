"""Configurations of `permute`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.permute import permute
from graphrewrite.types import Stream
from tests.hdl.configurations.drawing import S8, S48, U1, Rng, stream_of


def draw(rng: Rng) -> Site:
    x = stream_of(rng, int(rng.integers(1, 13)), 48)
    return Site.of(permute, x, order=rng.permutation(x.channels).tolist())


def corners() -> Iterator[Site]:
    yield Site.of(permute, Stream(U1, (1,)), order=[0])
    yield Site.of(permute, Stream(S48, (3, 9)), order=[2, 1, 0])
    yield Site.of(permute, Stream(S8, (12, 9)), order=np.arange(12).reshape(3, 4).T.ravel().tolist())
