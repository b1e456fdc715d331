"""Where the figures are measured, out of the way of what is worked on, and how long tests of one fault may take."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = [
    "BUILD",
    "FURTHER_SECONDS",
    "IMPORT",
    "LINES",
    "ROOT",
    "SECONDS",
    "SECONDS_OF_CASES",
    "TRIES",
    "UNFINISHED",
    "UNPLANTED",
    "copy_tree",
]

ROOT = Path(__file__).parents[3]
BUILD = ROOT / "build" / "quality"
IMPORT = ""
"""What stands in place of a test for lines that run before any."""
LINES = "GRAPHREWRITE_LINES_OF_TESTS"
"""Variable of the surroundings: where the plugin `lines_of_tests` writes what it has measured."""
SECONDS = 8
"""So long do the tests of one mutant take, where it has no fault: what takes longer together is not tried."""
SECONDS_OF_CASES = 20
"""So long do the cases of one test take that are measured, or one more."""
FURTHER_SECONDS = 30
"""So long do further tests of a mutant run that those have not found."""
TRIES = "GRAPHREWRITE_MUTANTS"
"""Variable of the surroundings: what the plugin `mutant_runs` is to try, beside which it writes the verdicts."""
UNFINISHED = "unfinished"
"""What stands in place of a test that finds a mutant where there was no time for all of them, and none did."""
UNPLANTED = "unplanted"
"""What stands in place of a test that finds a mutant which has to be imported in place of its module."""
KEPT_OUT = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "*.egg-info", "notebooks")


def copy_tree(target: Path) -> None:
    """Copy the checkout, with real folders where it has links; what was there before goes."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT, target, ignore=KEPT_OUT)
