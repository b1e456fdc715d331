"""Fewer examples for tests that are very many of one kind, and fewer seeds for what has always been found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from hypothesis import settings

__all__ = ["fewer_examples", "some_of", "some_seeds"]

T = TypeVar("T")


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


def some_of(cases: Sequence[T], share: int = 3) -> Sequence[T]:
    """All cases of one kind in the slow profile, else one in a few of them, evenly spread, and the first always."""
    return cases if settings.get_current_profile_name() == "slow" else cases[::share]


def some_seeds() -> range:
    """Twenty seeds in the slow profile, else some of them."""
    return range(20 if settings.get_current_profile_name() == "slow" else 3)
