"""Configurations of `adder_graph`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.adder_network import network
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.adder_graph import adder_graph
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U8, U24, Rng, stream_of, values

NONE = np.zeros((0, 5), np.int64)


def _site(
    x: Stream, adders: np.ndarray, outputs: np.ndarray, bias: np.ndarray, spare: int = 0, stages: int = 1
) -> Site:
    weights = network(adders, outputs, x.channels, x.element).weights
    ends = weights * x.element.minimum, weights * x.element.maximum
    low = int((np.minimum(*ends).sum(axis=1) + bias).min())
    high = int((np.maximum(*ends).sum(axis=1) + bias).max())
    tight = FixedPoint.holding(low, high)
    element = FixedPoint(tight.signed, min(tight.width + spare, 48))
    return Site.of(adder_graph, x, adders=adders, outputs=outputs, bias=bias, element=element, stages=stages)


def draw(rng: Rng) -> Site:
    """Any network of adders: numbers that nobody reads, numbers taken from themselves, outputs that are zero."""
    while True:
        x, count = stream_of(rng), int(rng.integers(0, 12))
        first = [int(rng.integers(0, x.channels + k)) for k in range(count)]
        second = [int(rng.integers(0, x.channels + k)) for k in range(count)]
        shifts = np.zeros((count, 2), np.int64)
        shifts[np.arange(count), rng.integers(0, 2, count)] = rng.integers(0, 5, count)
        adders = np.column_stack([first, second, shifts, rng.integers(0, 2, count)]).astype(np.int64)
        rows = int(rng.integers(1, 6))
        outputs = np.column_stack(
            [rng.integers(0, x.channels + count, rows), rng.integers(0, 3, rows), rng.choice([-1, 0, 1], rows)]
        )
        bias = values(rng, FixedPoint(True, int(rng.choice([2, 16, 31, 40]))), (rows,)).astype(np.int64)
        found = network(adders, outputs, x.channels, x.element)
        ends = found.weights * x.element.minimum, found.weights * x.element.maximum
        if max(np.abs(end).sum(axis=1).max() for end in ends) + np.abs(bias).max() >= 2**46:
            continue
        stages = int(rng.integers(1, found.levels, endpoint=True))
        return _site(x, adders, outputs, bias, int(rng.integers(3)), stages)


def corners() -> Iterator[Site]:
    one, zero = np.array([[0, 0, 1]]), np.array([0])
    for element in (U1, S1, U8, S8, U24, S24, S48):
        yield _site(Stream(element, (1, 9)), NONE, one, zero)
    yield _site(Stream(S8, (2, 9)), NONE, np.array([[0, 0, 0], [1, 3, -1]]), np.array([0, -5]))
    yield _site(Stream(S8, (2, 9)), NONE, np.array([[0, 0, 0]]), np.array([2**40]))
    # Operands that do not overlap, and a complement of which most bits stand alone.
    apart = np.array([[0, 1, 0, 12, 0], [0, 1, 12, 0, 1], [2, 3, 0, 1, 1]])
    yield _site(
        Stream(U8, (2, 9)), apart, np.array([[2, 0, 1], [3, 0, -1], [4, 1, 1]]), np.zeros(3, np.int64), stages=3
    )
    # A chain: as many ranks of registers as it has adders, and one.
    chain = np.array([[k, k, 0, k % 3, k % 2] for k in range(6)])
    for stages in range(1, 8):
        yield _site(Stream(S8, (1, 20)), chain, np.array([[6, 0, 1]]), np.array([77]), stages=stages)
