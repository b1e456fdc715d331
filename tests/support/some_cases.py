"""A pytest plugin: of slow tests with many cases, some of them, evenly spread, and no tests of tests.

In the slow profile it leaves out nothing.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil, sqrt

import pytest

SLOW = ("slow", "ghdl")
"""Markers of tests whose cases take long."""
OF_TESTS = "tests/quality/"
"""Where faults are planted in the library, and the tests have to find them."""


@pytest.hookimpl(trylast=True)  # what is chosen by -k and -m is chosen from all cases
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of tests that have many, and tests of tests."""
    if config.getoption("--hypothesis-profile") == "slow":
        return
    cases = defaultdict(list)
    for item in items:
        if any(map(item.get_closest_marker, SLOW)) and not item.get_closest_marker("skip"):
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out = {item for each in cases.values() for item in each}
    left_out.difference_update(*map(some, cases.values()))
    left_out.update(item for item in items if item.nodeid.startswith(OF_TESTS))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def some(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Return about as many as one and a half times the root of their number, from the first on."""
    count = min(len(cases), ceil(1.5 * sqrt(len(cases))))
    return [cases[number * len(cases) // count] for number in range(count)]
