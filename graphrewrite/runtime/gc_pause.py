"""Pause the cyclic garbage collector."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

__all__ = ["gc_paused"]

_PAUSED = 2**31 - 1
"""The threshold while a pause lasts: so many new objects never come together."""
_BLOCKS = 3
"""So many blocks of memory are an object that the collector knows: dictionaries have tables, and hold values."""


class _Pauses:
    """The pauses of all threads: the collector belongs to the process, so the last one that ends lets it run again.

    A pause is a threshold that is never reached, and whether the collector is switched on stays the user's affair. A
    child process has one thread, and none of the pauses of the others.
    """

    def __init__(self) -> None:
        self.lock = RLock()  # a signal handler may begin a pause while its thread begins one
        self.open: set[object] = set()
        self.threshold = gc.get_threshold()
        self.follows_forks = False
        self.is_frozen = False
        self.collections = -1
        self.allowed = 0

    # An exception of a signal handler may come anywhere: each line leaves what the next call of `end` puts right.

    def begin(self, pause: object) -> None:
        """Begin a pause."""
        with self.lock:
            if not self.follows_forks and hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self.forget)
                self.follows_forks = True
            self.open.add(pause)
            found = gc.get_threshold()
            if found[0] != _PAUSED:  # the first pause, or the user has set another one meanwhile, which is to hold
                self.threshold = found
                gc.set_threshold(_PAUSED, *found[1:])

    def end(self, pause: object) -> None:
        """End a pause, unless it never began, or before a fork."""
        with self.lock:
            self.open.discard(pause)
            if not self.open and gc.get_threshold()[0] == _PAUSED:
                self.spare()
                gc.set_threshold(*self.threshold)

    def spare(self) -> None:
        """Let the collector take for old what is new, so that it does not walk over all of it as soon as it may.

        Rubbish among it waits for a full collection. Until then so much is spared that the heap at most doubles.
        """
        new = gc.get_count()[0]
        if new <= self.threshold[0] or not gc.isenabled():
            return
        collections = gc.get_stats()[-1]["collections"]
        if collections != self.collections:
            self.collections, self.allowed = collections, sys.getallocatedblocks() // _BLOCKS
        self.is_frozen = self.is_frozen or gc.get_freeze_count() > 0  # counting takes long: once is enough
        if new <= self.allowed and not self.is_frozen:  # what somebody has frozen stays so
            self.allowed -= new
            try:
                gc.freeze()
            finally:
                gc.unfreeze()  # to the oldest generation

    def forget(self) -> None:
        """Forget all pauses in a child process; the lock may be held by a thread that it does not have."""
        self.lock = RLock()
        self.open.clear()
        self.end(None)


_PAUSES = _Pauses()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector within a with-block.

    Reading or rewriting a large graph allocates objects that stay alive: repeated collections take up to half of the
    time and free nothing. Pauses of several threads may overlap.

    Examples
    --------
    >>> import gc
    >>> before = gc.get_threshold()
    >>> with gc_paused():
    ...     gc.get_threshold() == before
    False
    >>> gc.get_threshold() == before
    True
    """
    pause = object()
    try:
        _PAUSES.begin(pause)  # inside of the try: an interrupt right after it must end it again
        yield
    finally:
        try:
            _PAUSES.end(pause)
        except BaseException:
            _PAUSES.end(pause)
            raise
