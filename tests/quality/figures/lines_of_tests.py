"""Which tests run which lines of a package, and how long they take: a pytest plugin that writes it down.

It measures from before the package is imported: lines that run then belong to no test, but to `IMPORT`. A test that
takes longer than all tests of one fault may is stopped, for it is never chosen; of one with many cases, as many are run
as `SECONDS_OF_CASES` allow.
"""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.quality.figures.places import LINES, ROOT, SECONDS, SECONDS_OF_CASES

PACKAGES = ("hdl", "lowering")

measured: list[Any] = []
"""The measurement, once it has begun."""
seconds: dict[str, float] = {}
of_cases: defaultdict[str, float] = defaultdict(float)
"""How long the cases of a test have taken."""
failed: set[str] = set()


def pytest_configure() -> None:
    """Begin."""
    import coverage

    measured.append(
        coverage.Coverage(data_file=None, config_file=False, include=[f"{ROOT / name}/*" for name in PACKAGES])
    )
    measured[0].set_option("run:disable_warnings", ["no-data-collected"])  # a folder may run nothing of them
    measured[0].start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test."""
    measured[0].switch_context(item.nodeid)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    start = _spent()
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        seconds[item.nodeid] = round(_spent() - start, 4)
        of_cases[_function(item)] += seconds[item.nodeid]
        measured[0].switch_context("after tests")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out if other cases of it were enough."""
    if of_cases[_function(item)] > SECONDS_OF_CASES:
        pytest.skip("other cases were measured")


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what fails, or is skipped, without a fault."""
    if not report.passed:
        failed.add(report.nodeid)


def pytest_unconfigure() -> None:
    """Write down what was measured."""
    measured[0].stop()
    data = measured[0].get_data()
    found: dict[str, dict[int, list[str]]] = {}
    for name in sorted(data.measured_files()):
        lines = data.contexts_by_lineno(name)
        found[Path(name).relative_to(ROOT).as_posix()] = {line: sorted(lines[line]) for line in sorted(lines)}
    told = {"seconds": {k: v for k, v in seconds.items() if k not in failed}, "failed": sorted(failed), "lines": found}
    Path(os.environ[LINES]).write_text(json.dumps(told), encoding="utf-8")


def _stop(*_: object) -> None:
    pytest.fail(f"takes longer than {SECONDS} s")


def _spent() -> float:
    """Seconds that processors worked for this process and those that it has waited for."""
    return sum(os.times()[:4])
