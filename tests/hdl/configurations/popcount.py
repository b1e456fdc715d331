"""Configurations of `popcount`."""

from collections.abc import Iterator

import numpy as np

from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.popcount import popcount
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations.drawing import U1, Rng, divisor, positions

S2 = FixedPoint(True, 2)


def _site(x: Stream, weights: np.ndarray, bias: np.ndarray, coding: str, spare: int = 0, **more: int | str) -> Site:
    reach = np.abs(weights).sum(axis=1)
    tight = FixedPoint.holding(int((bias - reach).min()), int((bias + reach).max()))
    element = FixedPoint(tight.signed, tight.width + spare)
    return Site.of(popcount, x, weights=weights, bias=bias, element=element, coding=coding, **more)


def draw(rng: Rng) -> Site:
    groups = int(rng.choice([1, 1, 2, 3, 6]))
    columns = int(rng.choice([1, 2, 3, 6, 7, 12] if groups > 1 else [1, 2, 3, 6, 7, 12, 40, 72]))
    rows, channels = int(rng.integers(1, 9 // groups + 1)), columns * groups
    coding = ["bipolar", "binary", "ternary"][int(rng.integers(3))]
    # A beat holds a part of a group, or several whole ones.
    together = divisor(rng, groups) if rng.integers(2) else 1
    lanes = (together * columns, together * rows) if together > 1 else (divisor(rng, columns), divisor(rng, rows))
    x = Stream(S2 if coding == "ternary" else U1, (channels, *positions(rng)), lanes[0])
    over = "frame" if groups == 1 and channels * x.positions < 60 and rng.integers(3) == 0 else "position"
    inputs = columns * (x.positions if over == "frame" else 1)
    weights = rng.choice([-1, 1] if rng.integers(2) else [-1, 0, 0, 1], (rows * groups, inputs))
    bias = rng.integers(-9, 9, len(weights)) if rng.integers(2) else np.zeros(len(weights), np.int64)
    more = {"over": over, "groups": groups, "stages": int(rng.integers(1, 5 if min(x.lanes, columns) > 36 else 4))}
    return _site(x, weights, bias, coding, int(rng.integers(3)), lanes=lanes[1], **more)


def corners() -> Iterator[Site]:
    one, none = np.array([[1]]), np.zeros((2, 6), np.int64)
    for coding in ("bipolar", "binary"):
        yield _site(Stream(U1, (1,)), one, np.array([0]), coding)
        yield _site(Stream(U1, (1, 9)), -one, np.array([2**20]), coding)
        yield _site(Stream(U1, (6, 9), 2), none, np.array([3, -3]), coding, lanes=1)
    yield _site(Stream(S2, (6, 9)), none, np.array([0, -1]), "ternary", stages=3)
    signs = np.where(np.arange(600).reshape(4, 150) % 7 < 3, 1, -1)
    for lanes, results, stages in ((150, 4, 4), (75, 1, 4), (1, 4, 1), (50, 2, 2)):
        yield _site(Stream(U1, (150, 2), lanes), signs, np.arange(4), "bipolar", lanes=results, stages=stages)
    # Depthwise: one group a step, a part of one, several, all.
    of_groups = np.where(np.arange(54).reshape(6, 9) % 4 < 2, 1, -1)
    for lanes, results, stages in ((9, 1, 1), (3, 1, 3), (18, 2, 2), (54, 6, 3)):
        given = {"lanes": results, "groups": 6, "stages": stages}
        yield _site(Stream(U1, (54, 2), lanes), of_groups, np.arange(6), "bipolar", **given)
    yield _site(Stream(S2, (8, 3), 4), np.eye(4, dtype=int), np.arange(4), "ternary", lanes=1, groups=2)
    yield _site(Stream(S2, (50, 3), 50), signs, np.arange(4), "ternary", lanes=2, over="frame")
