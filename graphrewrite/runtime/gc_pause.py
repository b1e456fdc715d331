"""Pause the cyclic garbage collector."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

__all__ = ["gc_paused"]

_MOST_SPARED = 1_000_000
"""So many objects the collector may take for old too early, until it looks at all."""


class _Pauses:
    """The pauses of all threads: the collector belongs to the process, so the last one that ends switches it on again.

    A child process has one thread, and none of the pauses of the others.
    """

    def __init__(self) -> None:
        self.lock = RLock()  # a signal handler may begin a pause while its thread begins one
        self.open: set[object] = set()
        self.was_enabled = False
        self.follows_forks = False
        self.collections = self.spared = 0  # full ones so far, and objects that were spared since the last

    def begin(self, pause: object) -> None:
        """Begin a pause."""
        with self.lock:
            if not self.follows_forks and hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self.forget)
                self.follows_forks = True
            if not self.open:
                self.was_enabled = gc.isenabled()
            self.open.add(pause)
            gc.disable()

    def end(self, pause: object) -> None:
        """End a pause, unless it never began, or before a fork."""
        with self.lock:
            if pause in self.open:
                self.open.remove(pause)
                if not self.open and self.was_enabled:
                    self.spare()
                    gc.enable()

    def spare(self) -> None:
        """Let the collector take for old what is new, so that it does not walk over all of it as soon as it may.

        Up to a limit, for rubbish among it is found by a full collection only.
        """
        young, middle, _ = gc.get_count()
        threshold = gc.get_threshold()[0]
        if young <= threshold or not hasattr(gc, "freeze"):
            return
        if (collections := gc.get_stats()[-1]["collections"]) != self.collections:
            self.collections, self.spared = collections, 0
        new = young + middle * threshold
        if self.spared + new <= _MOST_SPARED and not gc.get_freeze_count():  # what somebody has frozen stays so
            self.spared += new
            gc.freeze()
            gc.unfreeze()  # to the oldest generation

    def forget(self) -> None:
        """Forget all pauses in a child process; the lock may be held by a thread that it does not have."""
        self.lock = RLock()
        if self.open and self.was_enabled:
            gc.enable()
        self.open.clear()


_PAUSES = _Pauses()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector within a with-block.

    Reading or rewriting a large graph allocates objects that stay alive: repeated collections take up to half of the
    time and free nothing. Pauses of several threads may overlap.

    Examples
    --------
    >>> with gc_paused():
    ...     gc.isenabled()
    False
    """
    pause = object()
    try:
        _PAUSES.begin(pause)  # inside of the try: an interrupt right after it must enable collection again
        yield
    finally:
        _PAUSES.end(pause)
