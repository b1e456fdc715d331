"""Files of each format with something wrong: a graph or a typed error, soon, and in little memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.support.mutant_runs import SECONDS, try_many
from tests.support.mutated_files import KINDS, NEEDED, outcome

FEW = {"saved model": 20, "keras": 40, "keras 2": 20, "h5": 40, "pt2": 20, "frames": 20}
"""Formats whose files take longer than a hundredth of a second, with their mutants in each run."""


@pytest.mark.slow(cases=6)
@pytest.mark.parametrize("kind", KINDS)
def test_mutants_load_or_are_refused(tmp_path: Path, kind: str) -> None:
    if kind in NEEDED:
        pytest.importorskip(NEEDED[kind])
    reached = set()
    for number in range(2000, 2000 + FEW.get(kind, 100)):
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):
                reached.add(outcome(kind, number, tmp_path))
        except Exception as error:
            raise AssertionError(f"mutant {number} of {kind}") from error
        assert time.process_time() - start < SECONDS, number
    assert "refused" in reached


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_mutants_within_a_gigabyte(kind: str) -> None:
    if kind in NEEDED:
        pytest.importorskip(NEEDED[kind])
    counts, faults = try_many("mutated_files", kind, numbers=range(1000))
    assert not faults, "\n".join(faults)
    assert counts["refused"] > 100
    assert counts["read"] > 10
