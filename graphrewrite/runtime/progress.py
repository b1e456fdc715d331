"""Progress of long work, shown in terminals and notebooks only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from html import escape
from typing import Any, TypeVar

__all__ = ["counting", "progress"]

T = TypeVar("T")

_PATIENCE, _PAUSE = 0.5, 0.1
"""Seconds before anything is shown, and between two updates."""

_IS_INSIDE: ContextVar[bool] = ContextVar("_IS_INSIDE", default=False)

_Show = Callable[[int], None]
"""Show the number of finished items; a negative number removes the display."""


@contextmanager
def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[Iterable[T]]:
    """Yield items to work on, and show how many are done if that takes long.

    Nothing is shown if standard error is not a terminal and no notebook runs, in threads, and inside of work whose
    progress is shown already. A terminal needs `rich`. The display is removed at the end.

    Examples
    --------
    >>> with progress("abc", "spelling") as letters:
    ...     print(*letters)
    a b c
    """
    count = total if total is not None else len(items) if isinstance(items, Sized) else None
    with counting(label, count) as report:
        yield items if report is None else _counted(items, report)


def _counted(items: Iterable[T], report: Callable[[int], None]) -> Iterator[T]:
    for done, item in enumerate(items):
        report(done)
        yield item


@contextmanager
def counting(label: str, total: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that reports the number of finished items; None if nothing is going to be shown.

    It may be called as often as one likes. Nothing is shown in the same cases as for `progress`.

    Examples
    --------
    >>> with counting("search") as report:
    ...     for step in range(3):
    ...         if report is not None:
    ...             report(step)
    """
    opened = _opener()
    if opened is None:
        yield None
        return
    bar = _Bar(lambda: opened(label, total))
    token = _IS_INSIDE.set(True)
    try:
        yield bar.report
    finally:
        _IS_INSIDE.reset(token)
        bar.close()


class _Bar:
    """A throttled display of a number, opened after a delay."""

    def __init__(self, opened: Callable[[], _Show | None]) -> None:
        self.opened = opened
        self.show: _Show | None = None
        self.due = time.perf_counter() + _PATIENCE

    def report(self, done: int) -> None:
        if time.perf_counter() < self.due:
            return
        if self.show is None:
            self.show = self.opened()
        if self.show is None:
            self.due = float("inf")
        else:
            self.show(done)
            self.due = time.perf_counter() + _PAUSE

    def close(self) -> None:
        if self.show is not None:
            self.show(-1)
            self.show = None


def _opener() -> Callable[[str, int | None], _Show | None] | None:
    """Return the function that opens a display; None if there is no display."""
    if _IS_INSIDE.get() or threading.current_thread() is not threading.main_thread():
        return None
    if _is_notebook():
        return _in_notebook
    try:
        return _in_terminal if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # there is no standard error, or it is closed
        return None


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


def _in_terminal(label: str, total: int | None) -> _Show | None:
    try:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.progress import Progress
    except ImportError:
        return None
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    # Refreshed by the work itself, not by a thread: an interrupt cannot leave a half-drawn bar.
    bar = Progress(console=console, transient=True, auto_refresh=False)
    task = bar.add_task(label, total=total)
    try:
        bar.start()
    except LiveError:  # the caller shows a display already
        return None

    def show(done: int) -> None:
        if done < 0:
            bar.stop()
        else:
            bar.update(task, completed=done, refresh=True)

    return show


def _in_notebook(label: str, total: int | None) -> _Show | None:
    from IPython.display import display

    handle: Any = None

    def show(done: int) -> None:
        nonlocal handle
        of = "" if total is None else f" of {total:,}"
        text = f"{label}: {done:,}{of}"
        # An HTML progress bar without a value is drawn as indeterminate.
        bar = "" if total is None else f' value="{done}" max="{total}"'
        html = (
            f'<label style="display:flex;gap:.7em;align-items:center;font-size:13px">{escape(label)}'
            f' <progress{bar} style="width:16em"></progress>'
            f' <span style="font-variant-numeric:tabular-nums">{done:,}{of}</span></label>'
        )
        content = {"text/plain": text, "text/html": html} if done >= 0 else {"text/plain": "", "text/html": ""}
        with suppress(Exception):  # the kernel may have lost its frontend; the work has not
            if handle is None:
                handle = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                handle.update(content, raw=True)

    return show
