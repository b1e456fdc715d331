"""Options of the benchmarks."""

from __future__ import annotations

import sys

import pytest

from tests.benchmarks import figures

# Programs that run in processes of their own, where the modules find each other.
collect_ignore = ["rewriting"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--peers`: another environment may hold the libraries that this one is compared with."""
    parser.addoption(
        "--peers", default=sys.executable, metavar="PYTHON", help="the Python that has the peers installed"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let every benchmark run once, at its smallest size, with the profile `quick`: it shows that it works."""
    figures.smallest = config.getoption("--hypothesis-profile") == "quick"


@pytest.fixture
def peers(request: pytest.FixtureRequest) -> str:
    """The Python that runs the peers."""
    return request.config.getoption("--peers")
