"""A pytest plugin: of slow tests with many cases, some of them, evenly spread, and no tests of tests.

A test whose cases take seconds each says how many are enough, ``@pytest.mark.slow(cases=3)``; with ``cases=0`` it is
left out: others say nearly as much sooner. Tests of any example, which Hypothesis draws, have half as many, and so have
searches, down to the least. In the slow profile the plugin leaves out nothing.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil, sqrt
from pathlib import Path

import pytest
from hypothesis import settings

SLOW = ("slow", "ghdl")
"""Markers of tests whose cases take long."""
OF_TESTS = "tests/quality"
"""Where faults are planted in the library, and the tests have to find them."""


@pytest.hookimpl(trylast=True)  # Hypothesis loads the profile that its option names
def pytest_configure() -> None:
    """Have half as many examples as usual."""
    if settings.get_current_profile_name() == "ci":
        settings.register_profile("half", settings.get_profile("ci"), max_examples=settings().max_examples // 2)
        settings.load_profile("half")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out tests of tests, unless they are asked for by name."""
    is_slow = config.getoption("--hypothesis-profile") == "slow"
    return True if not is_slow and collection_path == config.rootpath / OF_TESTS else None


@pytest.hookimpl(trylast=True)  # what is chosen by -k and -m is chosen from all cases
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of tests that have many."""
    if config.getoption("--hypothesis-profile") == "slow":
        return
    cases = defaultdict(list)
    for item in items:
        if any(map(item.get_closest_marker, SLOW)) and not item.get_closest_marker("skip"):
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out = {item for each in cases.values() for item in each}
    left_out.difference_update(*map(some, cases.values()))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def some(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Return as many as their marker says, else the root of their number, from the first on."""
    said = next((mark.kwargs["cases"] for mark in cases[0].iter_markers("slow") if "cases" in mark.kwargs), None)
    count = min(len(cases), ceil(sqrt(len(cases))) if said is None else said)
    return [cases[number * len(cases) // count] for number in range(count)]
