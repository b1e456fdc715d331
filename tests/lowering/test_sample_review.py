"""What samples lack is named, and nothing else: as far as the limits, and beyond them."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op
from graphrewrite.lowering import weak_samples

Samples = np.ndarray


def uniform(*shape: int, seed: int = 0) -> Samples:
    """Numbers from 0 to 1, both of which occur in every channel."""
    x = np.random.default_rng(seed).uniform(0, 1, shape)
    x[0], x[1] = 0, 1
    return x


def changed(x: Samples, at: object, value: object) -> Samples:
    x = x.copy()
    x[at] = value
    return x


HALF = (np.arange(120) % 3 / 2 - 0.5)[:, None] * np.ones(3)
"""Samples that reach 0.5 far."""
IMAGES = changed(uniform(20, 3, 4, 5), (slice(None), slice(None), 0), 0.0)
STILL = changed(uniform(100, 4), (slice(None), 2), 0.5)
MOVED = HALF * [1, 1, 4] + [0, 10, -20]
POSITIONS = np.stack([HALF, HALF + 30], 1)
CASES: dict[str, tuple[Samples, Samples | None, list[tuple[float, str]]]] = {
    "enough of few features": (uniform(10, 2), None, []),
    "too few": (uniform(9, 2), None, [(0.1, "9 calibration samples are few for 2 features; give 10 or more")]),
    "a fourth of the features": (uniform(25, 100), None, []),
    "fewer": (uniform(24, 103), None, [(0.04, "24 calibration samples are few for 103 features; give 25 or more")]),
    "many features": (uniform(64, 1000), None, []),
    "fewer for many": (uniform(16, 5, 200), None, [(0.75, "16 calibration samples are few for 1000 features")]),
    "one": (np.ones((1, 3)), None, [(0.9, "1 calibration sample is few for 3 features; give 10 or more")]),
    "alike": (np.full((20, 3), 0.5), None, [(1.0, "all calibration samples are alike; give samples as the network")]),
    "a constant feature": (STILL, None, [(0.25, "1 of 4 features are constant in the calibration samples")]),
    "borders of images": (IMAGES, None, []),
    "two far ones": (changed(HALF, [3, 9], 4.5), None, [(1 / 60, "2 of 120 calibration samples reach 9 times as far")]),
    "a far one": (changed(HALF, 3, -4.5), None, [(1 / 120, "1 of 120 calibration samples reaches 9 times as far")]),
    "not so far": (changed(HALF, 3, 4.0), None, []),
    "a far one of few": (changed(HALF[:49], 3, 99), None, []),
    "a far one of 50": (changed(HALF[:50], 3, 99), None, [(0.02, "1 of 50 calibration samples reaches 40")]),
    "many far ones": (changed(HALF, [3, 9, 12, 15], 9), None, []),
    "far where others reach as well": (changed(HALF * [1, 1, 100], (3, 0), 40), None, []),
    "far in one channel": (changed(MOVED, (3, 1), 28), None, [(1 / 120, "1 of 120 calibration samples reaches 36")]),
    "not so far in one": (changed(MOVED, (3, 1), 13.9), None, []),
    "far at one place": (changed(POSITIONS, (3, 1, 2), 50), None, [(1 / 120, "1 of 120 calibration samples reaches")]),
    "in a channel of zeros": (changed(HALF * [1, 1, 0], (3, 2), 50), None, []),
    "of numbers": (changed(HALF[:, 0], 3, 20), None, [(1 / 120, "1 of 120 calibration samples reaches 40")]),
    "few numbers": (uniform(9), None, [(0.1, "9 calibration samples are few for 1 features")]),
    "a still one of two": (changed(np.ones((20, 2)), (slice(None), 1), uniform(20)), None, [(0.5, "1 of 2 fea")]),
    "alike, and not their features": (np.tile([1.0, 2.0], (20, 1)), None, [(1.0, "all calibration samples are alike")]),
    "images of a still channel": (IMAGES * np.array([1, 0, 1]).reshape(3, 1, 1), None, []),
    "from zeros": (1e-9 * STILL, STILL, [(1.0, "test samples are 1e+09 times as large")]),
    "a wide range": (uniform(100, 4) * 2 + 1, changed(uniform(50, 4) * 2 + 1, 7, 3.39), []),
    "beyond a wide range": (
        uniform(100, 4) * 2 + 1, changed(uniform(50, 4) * 2 + 1, 7, 3.41), [(0.02, "2.0% of the test values are")],
    ),
    "below a wide range": (
        uniform(100, 4) * 2 + 1, changed(uniform(50, 4) * 2 + 1, 7, 0.59), [(0.02, "2.0% of the test values are")],
    ),
    "like the test": (uniform(100, 4), uniform(50, 4, seed=1), []),
    "four times as large": (HALF, 4 * HALF, [(2 / 3, "66.7% of the test values are beyond the range")]),
    "larger": (HALF, 4.5 * HALF, [(1.0, "test samples are 4.5 times as large as calibration samples; prepare both")]),
    "smaller": (HALF, HALF / 5, [(1.0, "test samples are 0.2 times as large as calibration samples")]),
    "a quarter": (HALF, HALF / 4, []),
    "zeros": (HALF, 0 * HALF, []),
    "a still channel of both": (STILL, STILL, []),
    "a channel that varies": (STILL, uniform(100, 4), [(0.25, "1 of 4 channels are constant in the calibration")]),
    "rarely": (STILL, changed(STILL, (slice(5), 2), 1.0), []),
    "less rarely": (STILL, changed(STILL, (slice(6), 2), 1.0), [(0.25, "1 of 4 channels are constant")]),
    "just beyond": (uniform(100, 4), changed(uniform(50, 4), 7, 1.19), []),
    "one of a hundred beyond": (uniform(100, 4), changed(uniform(100, 4), 7, 1.21), []),
    "above": (uniform(100, 4), changed(uniform(50, 4), 7, 1.21), [(0.02, "2.0% of the test values are beyond")]),
    "below": (uniform(100, 4), changed(uniform(50, 4), [7, 8], -0.21), [(0.04, "4.0% of the test values are beyond")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_samples_lack_is_named(case: str) -> None:
    known, test, wanted = CASES[case]
    g = Graph("g")
    g.output("y", op.relu(g.input("x", Tensor("f64", ("N", *known.shape[1:])))))
    found = weak_samples(g, {"x": known}, None if test is None else {"x": test})
    assert [(row.layer, row.kind) for row in found] == [("x", "samples")] * len(wanted)
    for row, (share, text) in zip(found, wanted, strict=True):
        assert row.share == pytest.approx(share)
        assert str(row).startswith(f"x: {text}")
