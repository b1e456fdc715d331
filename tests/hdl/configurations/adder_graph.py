"""Configurations of `adder_graph`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphrewrite.hdl.arithmetic.adder_network import network
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.adder_graph import adder_graph
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import S1, S8, S24, S48, U1, U8, U24, Rng, element_of, stream_of, values

NONE = np.zeros((0, 5), np.int64)
ROUNDINGS = ("half_even", "half_up", "down")


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
        if rng.integers(3) == 0:
            return _site(x, adders, outputs, bias, int(rng.integers(3)), stages)
        given = {"adders": adders, "outputs": outputs, "bias": bias, "stages": stages}
        return Site.of(adder_graph, x, **given, **_rounded(rng, rows))


def _rounded(rng: Rng, rows: int) -> dict[str, Any]:
    """Rounding and limits of any kind."""
    element, shifts = element_of(rng), rng.integers(0, int(rng.choice([2, 6, 20])), rows).tolist()
    more: dict[str, Any] = {"rounding": str(rng.choice(ROUNDINGS))}
    if rng.integers(2):
        more["low"], more["high"] = np.sort(rng.integers(element.minimum, element.maximum, 2, endpoint=True)).tolist()
    if rng.integers(3) == 0:
        more["offset"] = int(rng.integers(-9, 9))
    return {"element": element, "shift": shifts if rng.integers(2) else shifts[0], **more}


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
    # A chain: as many pipeline stages as it has adders, and one.
    chain = np.array([[k, k, 0, k % 3, k % 2] for k in range(6)])
    for stages in range(1, 8):
        yield _site(Stream(S8, (1, 20)), chain, np.array([[6, 0, 1]]), np.array([77]), stages=stages)
    # Sums that are rounded: ties of either parity, limits on both sides, on one and on none, a stage before them.
    rows = np.array([[0, 0, 1], [0, 2, -1], [2, 0, 1], [0, 0, 0], [1, 0, 1]])
    given = {"adders": np.array([[0, 1, 0, 1, 1]]), "outputs": rows, "bias": np.array([0, 3, -7, 6, 900])}
    for rounding in ROUNDINGS:
        for number, more in enumerate(
            (
                {"shift": 2, "element": S8},
                {"shift": [0, 1, 2, 3, 4], "element": U8, "low": 3, "high": 70},
                {"shift": 3, "element": S8, "low": -5, "high": 9, "offset": 5},
                {"shift": 1, "element": S24, "offset": -2},
                {"shift": 1, "element": S8, "low": 7, "high": 7},
                {"shift": 9, "element": U1},
            )
        ):
            x = Stream((S8, U8)[number % 2], (2, 40))
            yield Site.of(adder_graph, x, **given, **more, rounding=rounding, stages=1 + number % 3)
    wide = {"adders": NONE, "outputs": np.array([[0, 2, -1]]), "bias": np.array([2**40]), "rounding": "half_up"}
    yield Site.of(adder_graph, Stream(S24, (1, 40)), **wide, shift=14, element=S48)
    yield Site.of(adder_graph, Stream(S24, (1, 40)), **wide, shift=2, element=S48, low=-(2**40), high=2**38 + 2**22)
