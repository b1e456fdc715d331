"""What configurations are drawn from: formats, streams, numbers.

The size of a configuration is the time that its check takes: a frame has a few dozen beats at most.
"""

import numpy as np

from graphrewrite.types import FixedPoint, Stream

Rng = np.random.Generator

U1, S1, U8, S8, U24, S24, S31, U31, S48, U48 = (
    FixedPoint(bool(signed), width)
    for signed, width in zip((0, 1, 0, 1, 0, 1, 1, 0, 1, 0), (1, 1, 8, 8, 24, 24, 31, 31, 48, 48), strict=True)
)
"""Formats of corner cases: widths 1, 8, 24, 48, and those where an integer of VHDL ends."""


def element_of(rng: Rng, widest: int = 24) -> FixedPoint:
    return FixedPoint(bool(rng.integers(2)), int(rng.integers(1, widest, endpoint=True)))


def positions(rng: Rng) -> tuple[int, ...]:
    return tuple(int(size) for size in rng.integers(1, 5, int(rng.integers(0, 3))))


def stream_of(rng: Rng, channels: int | None = None, widest: int = 24) -> Stream:
    """A stream all of whose channels travel in one beat."""
    return Stream(element_of(rng, widest), (channels or int(rng.integers(1, 7)), *positions(rng)))


def folded(rng: Rng, stream: Stream) -> Stream:
    """The same stream with lanes drawn from the divisors of its channels: often fewer than all."""
    return stream.with_lanes(divisor(rng, stream.channels))


def divisor(rng: Rng, total: int) -> int:
    return int(rng.choice([d for d in range(1, total + 1) if total % d == 0]))


def values(rng: Rng, element: FixedPoint, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a format, among them many small ones and many at its ends."""
    low, high = element.minimum, element.maximum
    wide = rng.integers(low, high, shape, endpoint=True)
    small = rng.integers(max(low, -3), min(high, 3), shape, endpoint=True)
    ends = np.where(rng.random(shape) < 0.5, low, high)
    kind = rng.random(shape)
    return np.where(kind < 0.5, wide, np.where(kind < 0.8, small, ends)).astype(element.dtype)
