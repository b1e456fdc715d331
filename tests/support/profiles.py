"""Fewer examples for tests that are very many of one kind, and fewer seeds for what has always been found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

import pytest
from hypothesis import settings

from graphrewrite import Rule
from graphrewrite.testing import search
from graphrewrite.testing.generation import exploring
from graphrewrite.testing.generation.exploring import Telling

__all__ = ["default_examples", "few_plans", "fewer_examples", "fewer_graphs", "some_of", "some_seeds", "usual_examples"]

T = TypeVar("T")
FEW_GRAPHS = 10
"""In a round of a search."""
FEW_PLANS = 64
"""To ask a rule of beforehand, unless it has hardly fired until then."""
_FEW_FOUND: WeakKeyDictionary[Rule, dict[bool, Telling]] = WeakKeyDictionary()
"""What so few of them have shown."""


@contextmanager
def fewer_examples() -> Iterator[None]:
    """Try as many examples as the quick profile does; in the slow profile as many as ever."""
    profile = settings.get_current_profile_name()
    if profile != "slow":
        settings.load_profile("quick")
    try:
        yield
    finally:
        settings.load_profile(profile)


@contextmanager
def default_examples() -> Iterator[None]:
    """Try as many examples as users do who set no profile."""
    profile = settings.get_current_profile_name()
    settings.load_profile("default")
    try:
        yield
    finally:
        settings.load_profile(profile)


@contextmanager
def usual_examples() -> Iterator[None]:
    """Try as many examples in the quick profile as usual, where a verdict hangs on how much is compared."""
    profile = settings.get_current_profile_name()
    if profile == "quick":
        settings.load_profile("ci")
    try:
        yield
    finally:
        settings.load_profile(profile)


@contextmanager
def fewer_graphs() -> Iterator[None]:
    """Try fewer graphs than any profile does where one rule is tested again; in the slow profile as many as ever."""
    with fewer_examples(), pytest.MonkeyPatch.context() as patch:
        if settings.get_current_profile_name() != "slow":
            patch.setattr(search, "_LEAST", FEW_GRAPHS)
        yield


@contextmanager
def few_plans() -> Iterator[None]:
    """Ask rules less beforehand where there are very many of them, and each of them once in a process."""
    with pytest.MonkeyPatch.context() as patch:
        if settings.get_current_profile_name() != "slow":
            patch.setattr(exploring, "_ALL", FEW_PLANS)
            # What is found so is not kept for tests that look further, nor the other way round.
            patch.setattr(exploring, "_FOUND", _FEW_FOUND)
        yield


def some_of(cases: Sequence[T], share: int = 3) -> Sequence[T]:
    """All cases of one kind in the slow profile, else one in a few of them, evenly spread, and the first always."""
    return cases if settings.get_current_profile_name() == "slow" else cases[::share]


def some_seeds() -> range:
    """Twenty seeds in the slow profile, else some of them."""
    return range(20 if settings.get_current_profile_name() == "slow" else 3)
