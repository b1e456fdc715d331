"""The numpy meaning of `popcount` against its definition, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.popcount import popcount
from graphrewrite.types import FixedPoint, Stream
from tests.hdl.configurations import cases

VALUES = {
    "bipolar": {0: -1, 1: 1},
    "binary": {0: 0, 1: 1},
    "ternary": {-2: 0, -1: -1, 0: 0, 1: 1},
}


def test_the_meaning_equals_its_definition() -> None:
    for case in cases("popcount"):
        x, at = case.inputs[0], case.site.attributes
        weights, bias = np.asarray(at["weights"]).tolist(), np.asarray(at["bias"]).tolist()
        got = popcount(x, **at)
        assert got.dtype == case.site.results[0].element.dtype, case
        for n, frame in enumerate(x):
            places = frame.reshape(len(frame), -1).T  # a row of channels a position
            vectors = [places.ravel()] if at["over"] == "frame" else list(places)
            for p, vector in enumerate(vectors):
                numbers = [VALUES[at["coding"]][int(v)] for v in vector]
                rows, columns = len(weights) // at["groups"], len(weights[0])
                seen = [numbers[r // rows * columns :][:columns] for r in range(len(weights))]
                sums = [sum(w * v for w, v in zip(*each, strict=True)) for each in zip(weights, seen, strict=True)]
                assert got[n].reshape(len(weights), -1)[:, p].tolist() == [
                    s + b for s, b in zip(sums, bias, strict=True)
                ], case


BITS = Stream(FixedPoint(False, 1), (6, 5), 3)
GOOD = {"weights": np.ones((2, 6), np.int64), "bias": [0, 0], "element": FixedPoint(True, 8)}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"coding": "ternary"}, "does not hold ternary numbers; requantise to s2f0"),
        ({"coding": "xnor"}, "coding='xnor': give one of bipolar, binary, ternary"),
        ({"weights": np.ones((2, 5), np.int64)}, r"weights \(2, 5\) .* give \[O,6\] and \[O\]"),
        ({"weights": np.full((2, 6), 2)}, "a weight is not -1, 0 or 1; use matvec"),
        ({"weights": np.ones((2, 6))}, "a weight is not -1, 0 or 1; use matvec"),
        ({"element": FixedPoint(True, 3)}, "sums of -6 to 6 exceed s3f0; give s4f0 or wider"),
        ({"element": FixedPoint(True, 4), "bias": [0, 9]}, "sums of -6 to 15 exceed s4f0; give s5f0 or wider"),
        ({"element": FixedPoint(True, 4), "bias": [0, -9]}, "sums of -15 to 6 exceed s4f0; give s5f0 or wider"),
        ({"element": FixedPoint(True, 32)}, "has more than the 31 bits"),
        ({"stages": 4}, "stages=4: this computation has use for 1 to 3 pipeline stages"),
        ({"lanes": 3}, "3 lanes do not divide the 2 channels"),
        ({"over": "frames"}, "over='frames' is neither 'position' nor 'frame'"),
        ({"groups": 4}, "groups=4 does not divide the 6 columns"),
        ({"groups": 2, "weights": np.ones((3, 3), np.int64), "bias": [0, 0, 0]}, "does not divide the 3 rows"),
    ],
)
def test_it_refuses_what_it_cannot_do(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeMismatchError, match=told):
        Site.of(popcount, BITS, **{**GOOD, **wrong})


def test_a_stage_within_the_count_is_for_more_than_36_agreements() -> None:
    for lanes in (36, 37):
        given = {"weights": np.ones((2, lanes), np.int64), "bias": [0, 0], "element": FixedPoint(True, 8), "stages": 4}
        stream = Stream(FixedPoint(False, 1), (lanes,))
        if lanes > 36:
            assert Site.of(popcount, stream, **given).results
        else:
            with pytest.raises(TypeMismatchError, match="has use for 1 to 3 pipeline stages"):
                Site.of(popcount, stream, **given)
