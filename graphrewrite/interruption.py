"""An interruption by the user, held back where it would leave something half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ["Held", "held"]

T = TypeVar("T")


class Held:
    """Holds an interruption back, until it is asked for.

    Attributes
    ----------
    is_open : bool
        Whether an interruption comes at once, as it does elsewhere: where nothing can be lost.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._raise: Callable[[], Any] | None = None

    def __bool__(self) -> bool:
        """Whether there is an interruption that is held back."""
        return self._raise is not None

    def come(self) -> None:
        """Let the interruption that was held back come."""
        waiting, self._raise = self._raise, None
        if waiting is not None:
            waiting()

    def opened(self, items: Iterable[T]) -> Iterator[T]:
        """Give items; while they are being made, an interruption comes at once.

        Parameters
        ----------
        items : iterable
            Nothing is changed when one of them is made.

        Yields
        ------
        object
        """
        self.is_open = True
        try:
            for item in items:
                self.is_open = False
                yield item
                self.is_open = True
        finally:
            self.is_open = False

    def _hold(self, handler: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None) -> None:
        if self.is_open:
            handler(number, frame)
        else:
            self._raise = lambda: handler(number, frame)


@contextmanager
def held() -> Iterator[Held]:
    """Hold back an interruption (Ctrl-C, or the button of a notebook) as long as this lasts; it comes at its end.

    Only the main thread is interrupted, so that elsewhere there is nothing to hold back.

    Yields
    ------
    Held

    Examples
    --------
    >>> import signal
    >>> done = []
    >>> try:
    ...     with held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     done.append("interrupted")
    >>> done
    ['all of it', 'interrupted']
    """
    found = Held()
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield found
        return
    signal.signal(signal.SIGINT, lambda number, frame: found._hold(handler, number, frame))
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, handler)
    found.come()
