"""Deferred interrupts: Ctrl-C, or a signal handled like it, waits while something would be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["DeferredInterrupts", "Terminated", "deferred_interrupts", "heed_signals"]

T = TypeVar("T")

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What a program may take for an interruption; those without a handler of Python end it at once."""


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
    """Defer interrupts (Ctrl-C, the button of a notebook, SIGTERM where it is handled) to the end of a with-block.

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
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    handlers = {number: handler for number in _SIGNALS if callable(handler := signal.getsignal(number))}

    def defer(number: int, frame: FrameType | None) -> None:
        interrupts._on_signal(handlers[number], number, frame)

    try:
        for number in handlers:
            signal.signal(number, defer)
        yield interrupts
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    interrupts.deliver()


class Terminated(KeyboardInterrupt):
    """An interruption by another signal than that of Ctrl-C.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def heed_signals() -> None:
    """Let SIGTERM and SIGHUP interrupt this program like Ctrl-C; those that are ignored stay so."""
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one would interrupt the tidying up
    raise Terminated(number)
