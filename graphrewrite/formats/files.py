"""Files: replaced such that the old or the new ones can be read at any time, and read without trust.

A graph is one document, and perhaps a file of arrays beside it. The document says the digest of its arrays, and their
file is called after it: a new one never takes the place of an old one. First the arrays get their name, then the
document replaces the old one, which is the step that counts, then the old arrays go.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO
from os.path import lexists
from pathlib import Path
from typing import BinaryIO

from graphrewrite.errors import SerialError
from graphrewrite.runtime.file_system import sync
from graphrewrite.runtime.interrupts import deferred_interrupts
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["LIMIT", "beside", "contents", "digest_of", "named", "opened", "read_utf8", "replaced", "utf8"]

LIMIT = 2**32
"""Default maximum size of a file, in bytes."""
NPZ = ".npz"
STAGING = ".graphrewrite-save-"
"""How the names of folders begin in which files wait for their place."""
_MAPPED = 1 << 20
"""Size in bytes from which a file is mapped to memory."""
_SHOWN = 16
"""Digits of a digest in the name of a file of arrays."""


def beside(path: Path, digest: str) -> Path:
    """Return the path of the file of arrays that belongs to a file, by the digest of the arrays.

    Earlier versions called it like the file, with ``.npz`` appended; such a file is still found.

    Examples
    --------
    >>> beside(Path("net.json"), "e3b0c44298fc1c149afb").name
    'net.json.e3b0c44298fc1c14.npz'
    """
    found, early = named(path, digest), _early(path)
    return early if not lexists(found) and lexists(early) else found


def named(path: Path, digest: str, ending: str = NPZ) -> Path:
    """Return how the file of arrays is called that is written with a file."""
    return path.with_name(f"{path.name}.{digest[:_SHOWN]}{ending}")


def _early(path: Path) -> Path:
    return path.with_name(f"{path.name}{NPZ}")


@contextmanager
def opened(path: Path, *, limit: int = LIMIT, follow: bool = True) -> Iterator[tuple[BufferedReader, int]]:
    """Open a regular file of at most `limit` bytes for reading, with its size; `follow` allows symbolic links."""
    try:
        status = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise SerialError("expected a regular file, not a folder, link or device", path=path.name)
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
        handle = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise SerialError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=path.name) from error
    with os.fdopen(handle, "rb") as stream:
        size = os.fstat(handle).st_size
        if size > limit:
            raise SerialError(f"has {size} bytes, the limit is {limit}; pass a larger limit=…", path=path.name)
        yield stream, size


def contents(stream: BufferedReader, size: int) -> bytes | mmap.mmap:
    """Return the bytes of a whole file: a large one is mapped, so that memory is used for what is read only."""
    if size < _MAPPED:
        stream.seek(0)
        return stream.read()
    return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)


def read_utf8(path: Path, *, limit: int) -> str:
    """Return the text of a regular file of at most `limit` bytes."""
    with opened(path, limit=limit) as (stream, _):
        return utf8(stream.read(), path)


def utf8(data: bytes, path: Path) -> str:
    """Return the text of a file's bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SerialError(f"expected UTF-8 text: byte {error.start} is invalid", path=path.name) from error


def digest_of(stream: BufferedReader | BytesIO) -> str:
    """Return the SHA-256 of a whole file, and rewind it.

    Examples
    --------
    >>> import io
    >>> digest_of(io.BytesIO(b""))[:8]
    'e3b0c442'
    """
    stream.seek(0)
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    stream.seek(0)
    return digest


def replaced(
    path: Path,
    write: Callable[[BinaryIO, str], None],
    write_arrays: Callable[[BinaryIO], None] | None = None,
    ending: str = NPZ,
) -> None:
    """Write a document, and its file of arrays before it if there is one, and remove the arrays of the old document.

    If the process ends at any point, or the power fails where the disk keeps what it has confirmed, the old document
    with its arrays can be read, or the new one. What a killed process leaves goes with the next call. Of two processes
    that write at once, the last one wins: each removes only arrays that were there before it began.

    Parameters
    ----------
    path : Path
        The document.
    write : callable
        Writes it to a stream; gets the digest of the arrays as well, which it must say, or "".
    write_arrays : callable, optional
        Writes the arrays to a stream.
    ending : str
        How the name of their file ends.
    """
    name = path.name
    try:
        before = _arrays_of(path, ending)
        with scratch_folder(path.parent, prefix=STAGING) as staging:
            digest = "" if write_arrays is None else _written(staging / "arrays", write_arrays)
            _written(staging / "document", lambda stream: write(stream, digest))
            arrays = named(path, digest, ending) if digest else None
            with deferred_interrupts():
                try:
                    if arrays is not None:
                        name = arrays.name
                        _place(staging / "arrays", arrays, digest)
                        sync(path.parent)  # the disk must not have the document without its arrays
                    name = path.name
                    (staging / "document").replace(path)
                except OSError:
                    if arrays is not None and arrays not in before:
                        arrays.unlink(missing_ok=True)
                    raise
                sync(path.parent)
                for old in before - {arrays}:
                    with suppress(OSError):  # Windows keeps what is mapped; the next call removes it
                        old.unlink()
    except (OSError, ValueError) as error:
        raise SerialError(f"cannot be written: {getattr(error, 'strerror', None) or error}", path=name) from error


def _written(path: Path, write: Callable[[BinaryIO], None]) -> str:
    """Write a new file, wait until it is on the disk, and return its digest."""
    with path.open("x+b") as stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())
        return digest_of(stream)  # type: ignore[arg-type]  # a file that is open for both has a reader's methods


def _place(new: Path, target: Path, digest: str) -> None:
    try:
        new.replace(target)
    except PermissionError:  # Windows does not replace what is mapped; if it has the same arrays, so be it
        with opened(target, follow=False) as (stream, _):
            if digest_of(stream) != digest:
                raise


def _arrays_of(path: Path, ending: str) -> set[Path]:
    """Return the files of arrays that a document has now, and that killed runs have left beside it."""
    ours = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{{_SHOWN}}}{re.escape(ending)}")
    with os.scandir(path.parent) as entries:
        found = {path.with_name(entry.name) for entry in entries if ours.fullmatch(entry.name)}
    if ending != NPZ:
        return found
    early = _early(path)
    with suppress(SerialError), opened(early, follow=False) as (stream, _):
        digest = digest_of(stream).encode()
        with opened(path) as (document, size):
            if contents(document, size).find(digest) >= 0:  # a file that it does not name is not ours
                found.add(early)
    return found
