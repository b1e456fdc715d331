"""Files of TensorFlow Lite with something wrong: a graph or a typed error, soon, and in little memory."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from tests.support.mutant_runs import SECONDS, try_many
from tests.support.mutated_tflite import mutant, outcome, seeds


def test_what_is_mutated_is_right() -> None:
    assert {outcome(data) for data in seeds()} == {"evaluated"}


@pytest.mark.parametrize("chunk", range(2))
def test_mutants_load_or_are_refused(chunk: int) -> None:
    reached = set()
    for number in range(50 * chunk, 50 * (chunk + 1)):
        data, what = mutant(number)
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):
                reached.add(outcome(data))
        except Exception as error:
            raise AssertionError(f"mutant {number}, {what}") from error
        assert time.process_time() - start < SECONDS, f"mutant {number}, {what}"
    assert {"refused", "evaluated"} <= reached


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_a_thousand_mutants_within_a_gigabyte() -> None:
    counts, faults = try_many("mutated_tflite", numbers=range(1000, 2000))
    assert not faults, "\n".join(faults)
    assert counts["evaluated"] > 100
    assert counts["refused"] > 300
