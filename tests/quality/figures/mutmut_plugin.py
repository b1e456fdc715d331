"""A pytest plugin for the runs that mutmut starts: what makes their verdicts right, and what makes them quick.

Right: mutmut forks from a process that has run all tests once, where the rules of modules have compiled their matchers
already, and nobody would run a compiler that was mutated. What rules keep is dropped before each test.

Quick: tests that search come first, and a test that goes round for ever, or eats all memory, is ended. Chunks of seeds
are left to `tests.support.first_seeds`.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

from graphrewrite.rewriting.rule.tracing import Definition
from tests.support.first_seeds import CHUNK

KEPT = [name for name, value in vars(Definition).items() if isinstance(value, cached_property)]
SECONDS = 30
"""So long may a test compute; the slowest takes a fifth of that."""
MEMORY = 6 << 30
"""So many bytes may a process have."""
TIMEOUT = 36
"""The exit code that mutmut reads as a timeout."""

definitions: list[Definition] = []
asking: list[Any] = []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests first that search, for they find most."""
    items.sort(key=lambda item: not (CHUNK.search(item.nodeid) or hasattr(getattr(item, "obj", None), "hypothesis")))


def pytest_collection_finish() -> None:
    """Find the rules of modules; ask once which mutant it is, where every call of a function would ask."""
    from mutmut.mutation import trampoline

    definitions[:] = [found for found in gc.get_objects() if type(found) is Definition]
    asking.append(trampoline.get_mutant_under_test)
    mutant = trampoline.get_mutant_under_test()
    trampoline.get_mutant_under_test = lambda: mutant
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def pytest_unconfigure() -> None:
    """Let the next run of the same process ask again."""
    from mutmut.mutation import trampoline

    if asking:
        trampoline.get_mutant_under_test = asking.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Run a test with rules that have compiled nothing, and for some time only."""
    for definition in definitions:
        for name in KEPT:
            vars(definition).pop(name, None)
    if "__mutmut_" in asking[-1]():  # not one of the runs without a mutant
        signal.signal(signal.SIGPROF, lambda *_: os._exit(TIMEOUT))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
