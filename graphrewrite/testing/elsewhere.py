"""Rounds of a search in other processes or threads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.testing.findings import Findings

__all__ = ["run_elsewhere"]


def run_elsewhere(
    run: Callable[[int], Findings], numbers: Iterable[int], executor: Executor, name: str
) -> Iterator[Findings]:
    """Yield what rounds find, in the order of their numbers; those that are not waited for are cancelled.

    Each has the search for itself, as bytes, so that threads do not share what it counts.

    Raises
    ------
    RuleError
        If what is tested cannot be sent.
    """
    if not callable(getattr(executor, "submit", None)):
        raise RuleError(
            f"executor is of {type(executor).__name__}, which has no submit; "
            "pass one such as concurrent.futures.ProcessPoolExecutor()"
        )
    try:
        task = pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise RuleError(
            f"{name} cannot be sent to an executor ({error}); define it at the top of a module, "
            "so that package.module:RULES names it, and import it from there; the same holds of on= and meaning="
        ) from None
    waiting = [executor.submit(_run, task, number) for number in numbers]
    try:
        for each in waiting:
            yield each.result()
    finally:
        for each in waiting:
            each.cancel()


def _run(task: bytes, number: int) -> Any:
    return pickle.loads(task)(number)
