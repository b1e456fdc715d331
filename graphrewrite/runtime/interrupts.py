"""Deferred interrupts: Ctrl-C waits while an edit of a graph would be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["DeferredInterrupts", "deferred_interrupts"]

T = TypeVar("T")


class DeferredInterrupts:
    """State of a block in which interrupts are deferred.

    Attributes
    ----------
    is_interruptible : bool
        Whether an interrupt is raised at once, because no edit is under way.
    """

    def __init__(self) -> None:
        self.is_interruptible = False
        self._raise: Callable[[], Any] | None = None

    def __bool__(self) -> bool:
        """Whether an interrupt is pending."""
        return self._raise is not None

    def deliver(self) -> None:
        """Raise the pending interrupt, if there is one."""
        pending, self._raise = self._raise, None
        if pending is not None:
            pending()

    def interruptible(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items; interrupts are raised at once while the next item is computed."""
        self.is_interruptible = True
        try:
            for item in items:
                self.is_interruptible = False
                yield item
                self.is_interruptible = True
        finally:
            self.is_interruptible = False

    def _on_signal(self, handler: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None) -> None:
        if self.is_interruptible:
            handler(number, frame)
        else:
            self._raise = lambda: handler(number, frame)


@contextmanager
def deferred_interrupts() -> Iterator[DeferredInterrupts]:
    """Defer interrupts (Ctrl-C, or the button of a notebook) to the end of a with-block.

    Python interrupts the main thread only; in other threads this does nothing.

    Examples
    --------
    >>> import signal
    >>> done = []
    >>> try:
    ...     with deferred_interrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     done.append("interrupted")
    >>> done
    ['all of it', 'interrupted']
    """
    interrupts = DeferredInterrupts()
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield interrupts
        return
    signal.signal(signal.SIGINT, lambda number, frame: interrupts._on_signal(handler, number, frame))
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, handler)
    interrupts.deliver()
