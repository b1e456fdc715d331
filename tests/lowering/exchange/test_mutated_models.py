"""Models with something wrong that protobuf cannot see: a graph or a typed error, soon, and in little memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.support.mutant_runs import SECONDS, try_many
from tests.support.mutated_models import mutant, outcome, seeds

CHUNK = 50


def test_what_is_mutated_is_right(tmp_path: Path) -> None:
    outcomes = [outcome(data, tmp_path) for data in seeds()]
    assert set(outcomes) == {"evaluated and exported"}, outcomes


@pytest.mark.parametrize("chunk", range(6))
def test_mutants_load_or_are_refused(tmp_path: Path, chunk: int) -> None:
    reached = set()
    for number in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        data, what = mutant(number)
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):
                reached.add(outcome(data, tmp_path))
        except Exception as error:
            raise AssertionError(f"mutant {number}, {what}") from error
        assert time.process_time() - start < SECONDS, f"mutant {number}, {what}"
    assert {"refused", "evaluated and exported"} <= reached


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_three_thousand_mutants_within_a_gigabyte() -> None:
    counts, faults = try_many("mutated_models", numbers=range(1000, 4000))
    assert not faults, "\n".join(faults)
    assert counts["evaluated and exported"] > 500
    assert counts["refused"] > 1000
