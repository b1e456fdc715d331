"""Configurations of `affine`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.affine import affine
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S8, S24, S31, U1, U24, U48, Rng, folded, stream_of, values


def _element(x: Stream, gain: np.ndarray, bias: np.ndarray) -> FixedPoint:
    """The narrowest format of all results."""
    gains, biases = np.asarray(gain, object), np.asarray(bias, object)
    ends = gains * x.element.minimum + biases, gains * x.element.maximum + biases
    return FixedPoint.holding(int(np.min(ends)), int(np.max(ends)))


def _site(x: Stream, gain: np.ndarray, bias: np.ndarray, spare: int = 0, stages: int = 1) -> Site:
    tight = _element(x, gain, bias)
    element = FixedPoint(tight.signed, min(tight.width + spare, 48))
    return Site.of(affine, x, gain=gain, bias=bias, element=element, stages=stages)


def draw(rng: Rng) -> Site:
    while True:
        most = int(rng.choice([2, 8, 16, 30]))
        x = folded(rng, stream_of(rng, widest=46 - most))
        gain = values(rng, FixedPoint(True, most), (x.channels,)).astype(np.int64)
        bias = values(rng, FixedPoint(True, int(rng.choice([2, 16, 31, 40]))), (x.channels,)).astype(np.int64)
        gain = gain[0] if rng.integers(4) == 0 else gain
        bias = bias[0] if rng.integers(4) == 0 else bias
        if _element(x, gain, bias).width <= 46:
            return _site(x, gain, bias, int(rng.integers(3)), int(rng.integers(1, 4)))


def corners() -> Iterator[Site]:
    ends = np.array([-128, 127, 0, 1, -1, 64])
    for lanes, stages in ((1, 1), (1, 3), (2, 2), (3, 3), (6, 1), (6, 3)):
        yield _site(Stream(S8, (6, 5), lanes), ends, ends[::-1] * 2**16, stages=stages)
    yield _site(Stream(U1, (1,)), np.array(0), np.array(0))
    yield Site.of(affine, Stream(S8, (3, 5)), gain=np.array([2, -3, 0]), element=FixedPoint(True, 10))
    yield _site(Stream(U1, (1, 9)), np.array([-1]), np.array([1]))
    for element in (S24, U24):
        yield _site(Stream(element, (2, 9)), np.array([-(2**22), 2**22 - 1]), np.array([2**24, -(2**40)]), stages=2)
    yield _site(Stream(S31, (1, 9)), np.array([2**15]), np.array([-(2**45)]))
    yield _site(Stream(U48, (2, 9), 1), np.array([1, 0]), np.array([0, 2**47 - 1]))
