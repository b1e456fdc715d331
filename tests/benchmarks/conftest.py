"""Options of the benchmarks."""

from __future__ import annotations

import sys

import pytest

# Programs that run in processes of their own, where the modules find each other.
collect_ignore = ["rewriting"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--peers`: another environment may hold the libraries that this one is compared with."""
    parser.addoption(
        "--peers", default=sys.executable, metavar="PYTHON", help="the Python that has the peers installed"
    )


@pytest.fixture
def peers(request: pytest.FixtureRequest) -> str:
    """The Python that runs the peers."""
    return request.config.getoption("--peers")
