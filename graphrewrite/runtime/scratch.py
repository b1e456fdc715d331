"""Temporary folders that go: at the end of a block, and those of a killed run when the next one needs one."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from graphrewrite.errors import GraphRewriteError, TemporarySpaceError
from graphrewrite.runtime.interrupts import deferred_interrupts

if sys.platform != "win32":
    import fcntl

__all__ = ["check_space", "scratch_folder"]

PREFIX = "graphrewrite-"
_OWNER = ".graphrewrite-owner"
"""The file in a folder that its process keeps locked for as long as it lives."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_LITTLE = 1 << 14
"""Free bytes of a disk that is full for a program which says no more than that it failed."""

_remove = partial(shutil.rmtree, ignore_errors=True)


@contextmanager
def scratch_folder(
    within: Path | None = None, *, prefix: str = PREFIX, clear: Callable[[Path], None] = _remove
) -> Iterator[Path]:
    """Yield a new folder; it is cleared at the end of the block, and so are those that killed runs left beside it.

    Parameters
    ----------
    within : Path, optional
        Where; by default the folder for temporary files.
    prefix : str
        How its name begins.
    clear : callable
        Removes a folder; by default with all that it holds.

    Raises
    ------
    TemporarySpaceError
        If what the block raises comes from a full disk for temporary files.

    Examples
    --------
    >>> with scratch_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    parent = _temporary() if within is None else within
    folder: Path | None = None
    lock: int | None = None
    try:
        with deferred_interrupts():
            if sys.platform == "win32":  # nobody can tell whose they are: what killed runs leave there stays
                folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
            else:
                _sweep(parent, prefix, clear)
                while lock is None:
                    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
                    lock = _own(folder)
        assert folder is not None
        yield folder
    except OSError as error:
        if within is None and error.errno in _FULL:
            raise _full(parent) from error
        raise
    except TemporarySpaceError:
        raise
    except GraphRewriteError:
        if within is None:
            check_space()
        raise
    finally:
        with deferred_interrupts():
            if folder is not None:
                clear(folder)
            if lock is not None:
                os.close(lock)


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:  # it tries to write into each that is usual
        raise TemporarySpaceError(
            "no folder for temporary files can be written; make room, or set TMPDIR to a folder on another disk"
        ) from error


def check_space() -> None:
    """Raise if the disk for temporary files is full: what a program wrote there may be cut off."""
    parent = _temporary()
    with suppress(OSError):
        if shutil.disk_usage(parent).free < _LITTLE:
            raise _full(parent)


def _full(folder: Path) -> TemporarySpaceError:
    return TemporarySpaceError(
        f"the disk of {str(folder)!r} is full, where temporary files go; make room there, or set TMPDIR to a folder on "
        "another disk"
    )


def _own(folder: Path) -> int | None:
    """Lock a new folder for as long as this process lives, and return the lock; None if it was swept meanwhile."""
    try:
        lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks: nobody else gets one either
        fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink:
        return lock
    os.close(lock)
    return None


def _sweep(parent: Path, prefix: str, clear: Callable[[Path], None]) -> None:
    """Clear the folders of runs of this user that are no more."""
    ours = re.compile(rf"{re.escape(prefix)}[a-z0-9_]{{8}}")
    found: list[str] = []
    with suppress(OSError), os.scandir(parent) as entries:
        found = [e.path for e in entries if ours.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    for folder in map(Path, sorted(found)):
        with suppress(OSError):
            if folder.lstat().st_uid != os.getuid():
                continue
            try:
                lock = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                folder.rmdir()  # if it is empty: killed before it was locked, or about to be and then made anew
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                clear(folder)
            finally:
                os.close(lock)
