"""Which tests run which lines of a package, and how long they take: a pytest plugin that writes it down.

It measures from before the package is imported: lines that run then belong to no test, but to `IMPORT`. A test that
takes longer than all tests of one fault may is stopped, for it is never chosen.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.quality.figures.places import LINES, ROOT, SECONDS

PACKAGES = ("hdl", "lowering")

measured: list[Any] = []
"""The measurement, once it has begun."""
seconds: dict[str, float] = {}
failed: set[str] = set()


def pytest_configure() -> None:
    """Begin."""
    import coverage

    measured.append(
        coverage.Coverage(data_file=None, config_file=False, include=[f"{ROOT / name}/*" for name in PACKAGES])
    )
    measured[0].start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
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
        measured[0].switch_context("after tests")


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
