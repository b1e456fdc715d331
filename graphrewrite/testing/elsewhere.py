"""Rounds of a search in other processes or threads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor

from graphrewrite.errors import RuleError
from graphrewrite.testing.findings import Findings
from graphrewrite.testing.strategies.sending import sent

__all__ = ["run_elsewhere"]


def run_elsewhere(
    run: Callable[[int], Findings], numbers: Iterable[int], executor: Executor, name: str
) -> Iterator[Findings]:
    """Yield what rounds find, in the order of their numbers; those that are not waited for are cancelled.

    Each has the search for itself, as bytes, so that threads do not share what it counts.

    Raises
    ------
    RuleError
        If what is tested cannot be sent, or is something else there: a process that has begun knows what was defined
        before it did.
    """
    if not callable(getattr(executor, "submit", None)):
        raise RuleError(
            f"executor is of {type(executor).__name__}, which has no submit; "
            "pass one such as concurrent.futures.ProcessPoolExecutor()"
        )
    try:
        task = sent(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _not_sent(name, error) from None
    waiting = [executor.submit(_run, task, number) for number in numbers]
    try:
        for each in waiting:
            found = each.result()
            if not isinstance(found, Findings):
                raise _not_sent(name, found)
            yield found
    finally:
        for each in waiting:
            each.cancel()


def _run(task: bytes, number: int) -> Findings | str:
    """Return what a round finds; or in words why it is unknown here, or another one."""
    try:
        run = pickle.loads(task)
    except (pickle.UnpicklingError, AttributeError, ImportError) as error:
        return str(error)
    found: Findings = run(number)
    return found


def _not_sent(name: str, why: object) -> RuleError:
    return RuleError(
        f"{name} cannot be sent to an executor ({why}); define it at the top of a module, "
        "so that package.module:RULES names it, and import it from there; the same holds of meaning=. "
        "on= is a graph, or what graphs(...) or digraphs(...) gives"
    )
