"""Hypothesis profiles, and what happens to tests whose tools are missing."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

# Deterministic: the same examples in every run, on every machine. `slow` searches further and may find new ones.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30, database=None)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=5)
settings.register_profile(
    "slow", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

GHDL = shutil.which("ghdl")
CHROMIUM = shutil.which("chromium") if find_spec("playwright") is not None else None
TOOLS = {
    "ghdl": (GHDL, "GHDL is missing (Debian: apt-get install ghdl-mcode)"),
    "cc": (shutil.which("cc"), "a C compiler is missing (Debian: apt-get install gcc libc6-dev)"),
    "browser": (CHROMIUM, "Chromium or Playwright is missing (Debian: apt-get install chromium; extra: dev)"),
}
"""Marker of tests to the program that they need, and what is said where it is missing."""
COMPILED = "GRAPHREWRITE_TESTS_COMPILED"
"""Variable of the surroundings: the folder of compiled modules of this run."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--require-ghdl` and its like: a test that needs a program fails where it would be skipped."""
    for tool in TOOLS:
        parser.addoption(f"--require-{tool}", action="store_true", help=f"a skipped test of {tool} is a failed test")
    parser.addoption(
        "--record-graphs",
        action="store_true",
        help="keep what importers make where values are right (with -n0), in tests/lowering/recorded_texts.txt",
    )
    parser.addoption("--hdl-seed", type=int, default=0, metavar="N", help="seed of random components and networks")
    parser.addoption(
        "--hdl-count",
        type=int,
        metavar="N",
        help="random configurations of each component, and random networks of components"
        " (default: 60 and 30; with --hypothesis-profile=slow 10000 of either)",
    )
    parser.addoption(
        "--executor",
        metavar="MODULE:NAME",
        help="runs random networks of components: gives an executor, such as concurrent.futures:ProcessPoolExecutor",
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say which hardware is drawn: a failure is repeated with the same numbers."""
    return f"hardware: --hdl-seed={config.getoption('--hdl-seed')} --hdl-count={_count(config)}"


def _count(config: pytest.Config) -> int:
    given: int | None = config.getoption("--hdl-count")
    if given is not None:
        return given
    return 10_000 if config.getoption("--hypothesis-profile") == "slow" else 60


@pytest.fixture(scope="session")
def hdl_seed(request: pytest.FixtureRequest) -> int:
    """Seed of random components and networks."""
    return int(request.config.getoption("--hdl-seed"))


@pytest.fixture(scope="session")
def hdl_count(request: pytest.FixtureRequest) -> int:
    """Random configurations of each component."""
    return _count(request.config)


@pytest.fixture(scope="session")
def hdl_networks(request: pytest.FixtureRequest, hdl_count: int) -> int:
    """Random networks of components: as many, if a number is given or time does not matter."""
    is_long = request.config.getoption("--hypothesis-profile") == "slow"
    return hdl_count if is_long or request.config.getoption("--hdl-count") is not None else hdl_count // 2


@pytest.fixture(scope="session")
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    """Run long searches; None where no executor was asked for."""
    named = request.config.getoption("--executor")
    if named is None:
        yield None
        return
    with resolve_name(named)() as made:
        yield made


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes that tests start keep compiled modules, in a folder of this run: many of them import it all.

    The workers of pytest-xdist share the folder, and have no use for it: what was installed is compiled already. Each
    of them multiplies matrices on one thread: there is a worker for every core, and threads that wait keep it busy.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: tests interrupt themselves
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if config.getoption("dist", "no") != "no":
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "PYTHONPYCACHEPREFIX" in os.environ or not sys.dont_write_bytecode:
        return
    if COMPILED not in os.environ:
        os.environ[COMPILED] = tempfile.mkdtemp(prefix="graphrewrite-tests-")
        config.add_cleanup(partial(shutil.rmtree, os.environ[COMPILED], ignore_errors=True))
    if config.getoption("dist", "no") == "no":  # the tests run here
        os.environ.update(PYTHONPYCACHEPREFIX=os.environ[COMPILED], PYTHONDONTWRITEBYTECODE="")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests only where there are some: pytest asks every name of a module twice otherwise."""
    found = yield
    if not any(isinstance(each, DoctestModule) for each in found) or ">>>" in file_path.read_text("utf-8"):
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what lives as long as the run: modules, tests, and what these were made of."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Let a worker take neighbouring tests: what they share is then made once, not in every worker."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this machine or this profile cannot run."""
    slow = config.getoption("--hypothesis-profile") == "slow"
    for item in items:
        for tool, (program, missing) in TOOLS.items():
            if item.get_closest_marker(tool) and program is None:
                item.add_marker(pytest.mark.skip(reason=missing))
        if item.get_closest_marker("thorough") and not slow:
            item.add_marker(pytest.mark.skip(reason="runs with --hypothesis-profile=slow"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test that is skipped for want of a program into a failed one, if its option was given."""
    report = yield
    for tool, (_, missing) in TOOLS.items():
        wanted = item.get_closest_marker(tool) and not item.get_closest_marker("thorough")
        if wanted and report.skipped and missing in str(report.longrepr) and item.config.getoption(f"--require-{tool}"):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: skipped, but --require-{tool} was given: {report.longrepr}"
    return report
