"""Pause the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["gc_paused"]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector within a with-block.

    Reading or rewriting a large graph allocates objects that stay alive: repeated collections take up to half of the
    time and free nothing.

    Examples
    --------
    >>> with gc_paused():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()  # inside of the try: an interrupt right after it must enable collection again
        yield
    finally:
        if was_enabled:
            gc.enable()
