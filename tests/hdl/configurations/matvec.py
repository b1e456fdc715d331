"""Configurations of `matvec`."""

import itertools
from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import (
    S1,
    S8,
    S24,
    S31,
    U1,
    U8,
    U24,
    U31,
    Rng,
    divisor,
    element_of,
    folded,
    stream_of,
    values,
)


def _element(x: Stream, weights: np.ndarray, bias: np.ndarray) -> FixedPoint:
    """The narrowest format of all sums."""
    ends = weights * x.element.minimum, weights * x.element.maximum
    low = min(int((np.minimum(*ends).sum(axis=1) + bias).min()), int(bias.min()))
    high = max(int((np.maximum(*ends).sum(axis=1) + bias).max()), int(bias.max()))
    return FixedPoint.holding(low, high)


def _site(x: Stream, weights: np.ndarray, bias: np.ndarray, spare: int = 0, **attributes: object) -> Site:
    tight = _element(x, weights, bias)
    element = FixedPoint(tight.signed, min(tight.width + spare, 48))
    return Site.of(matvec, x, weights=weights, bias=bias, element=element, **attributes)


def draw(rng: Rng) -> Site:
    while True:
        groups = int(rng.choice([1, 1, 2, 3]))
        rows, columns = int(rng.integers(1, 9 // groups + 1)), int(rng.integers(1, 9 // groups + 1))
        x = folded(rng, stream_of(rng, groups * columns))
        over = "frame" if groups == 1 and rng.integers(3) == 0 else "position"
        columns *= x.positions if over == "frame" else 1
        shape = (groups * rows, columns)
        weights = values(rng, element_of(rng, int(rng.choice([2, 8, 24]))), shape).astype(np.int64)
        bias = values(rng, FixedPoint(True, int(rng.choice([2, 16, 31, 40]))), (groups * rows,)).astype(np.int64)
        if _element(x, weights, bias).width > 48:
            continue
        lanes = divisor(rng, rows)
        if columns % x.lanes:
            lanes = rows * (x.lanes // columns)
            if x.lanes % columns:
                continue
        terms = min(x.lanes, columns)
        stages = int(rng.integers(1, 4 + (terms - 1).bit_length()))
        spare = int(rng.integers(3))
        return _site(x, weights, bias, spare, lanes=lanes, groups=groups, over=over, stages=stages)


def corners() -> Iterator[Site]:
    ends = np.array([[-128, 127, -128, 127], [-128, -128, -128, -128], [127, 127, 127, 127], [0, 0, 0, 0]])
    bias = np.array([-7, 2**20, -(2**20), 0])
    for lanes_out, lanes_in in itertools.product((1, 2, 4), repeat=2):
        yield _site(Stream(S8, (4, 3), lanes_in), ends, bias, lanes=lanes_out)
    for stages in range(1, 6):
        yield _site(Stream(S8, (4, 3)), ends, bias, lanes=2, stages=stages)
        yield _site(Stream(S31, (4, 2)), ends, bias, lanes=1, stages=stages)
    for element in (S24, U24):
        for weight in (-(2**23), 2**23 - 1):
            yield _site(Stream(element, (1, 4)), np.array([[weight]]), np.array([0]))
    yield _site(Stream(U1, (1,)), np.array([[1]]), np.array([0]))
    yield _site(Stream(S1, (1, 2)), np.array([[-1]]), np.array([-1]))
    yield _site(Stream(S24, (2, 3), 1), np.full((2, 2), -(2**22)), np.array([2**40, -(2**40)]), lanes=1)
    for top in (S31.maximum, U31.maximum):
        first = 0 if top == S31.maximum else 1
        yield _site(Stream(U1, (2, 3), 1), np.array([[1, -1], [0, 0]]), np.array([top - 1, first]), lanes=1)
    yield _site(Stream(U8, (6, 2), 2), np.arange(-9, 9).reshape(3, 6), np.arange(3), lanes=3)
    # A whole frame, in other orders of lanes than its channels have; depthwise, one group a step and several.
    frame = np.arange(-30, 30).reshape(5, 12)
    for lanes_in, lanes_out in ((1, 1), (4, 5), (2, 1)):
        yield _site(Stream(U8, (4, 3), lanes_in), frame, np.arange(5), lanes=lanes_out, over="frame")
    depthwise = np.arange(-6, 12).reshape(6, 3)
    for lanes_in, lanes_out in ((1, 1), (3, 1), (6, 2), (18, 6)):
        yield _site(Stream(S8, (18, 2), lanes_in), depthwise, np.arange(6), lanes=lanes_out, groups=6)
    # Constant weights, with a register for each operand.
    yield _site(Stream(S8, (4, 3)), ends, bias, lanes=4, stages=3)
