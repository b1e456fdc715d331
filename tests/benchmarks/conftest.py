"""Options of the benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks import figures

# Programs that run in processes of their own, where the modules find each other.
collect_ignore = ["rewriting"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--peers`, an environment with libraries to compare with, and `--before`, another checkout of this one."""
    parser.addoption(
        "--peers", default=sys.executable, metavar="PYTHON", help="the Python that has the peers installed"
    )
    parser.addoption("--before", type=Path, metavar="CHECKOUT", help="another checkout, to be compared with this one")


def pytest_configure(config: pytest.Config) -> None:
    """Let every benchmark run once, at its smallest size, with the profile `quick`: it shows that it works."""
    figures.smallest = config.getoption("--hypothesis-profile") == "quick"


@pytest.fixture
def peers(request: pytest.FixtureRequest) -> str:
    """The Python that runs the peers."""
    return request.config.getoption("--peers")


@pytest.fixture
def before(request: pytest.FixtureRequest) -> Path | None:
    """Another checkout of this repository."""
    return request.config.getoption("--before")
