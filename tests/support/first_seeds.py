"""A pytest plugin: of tests in chunks of seeds, ``test_it[0-99]``, ``test_it[100-199]`` and so on, the first only."""

from __future__ import annotations

import re

import pytest

CHUNK = re.compile(r"\[(\d+)-\d+\]$")
"""What ends the name of a test of a chunk: its first and last seed."""
FIRST_SEEDS = 200
"""Chunks that begin here or later are left out."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out further chunks."""
    left_out = [item for item in items if (found := CHUNK.search(item.nodeid)) and int(found[1]) >= FIRST_SEEDS]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
