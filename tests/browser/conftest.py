"""Fixtures: a browser for each module of tests, and pages in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import Opened, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium. Playwright runs an event loop as long as it is there, hence not longer than a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, launched(play) as found:
        yield found


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens pages; fails in the end if one of them logged something or asked a network for anything."""
    found = Opened(browser, tmp_path)
    yield found
    found.close()
