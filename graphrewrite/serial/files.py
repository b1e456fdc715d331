"""Files that are either as they were or wholly new, and that are read without trust."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from graphrewrite.errors import SerialError

__all__ = ["LIMIT", "beside", "digest_of", "opened", "replaced"]

LIMIT = 2**32
"""Bytes of a file, at most, unless another limit is given."""
_BLOCK = 2**20


def beside(path: Path) -> Path:
    """Return the name of the file of arrays that goes with a file: in the same folder, with ``.npz`` at its end.

    Examples
    --------
    >>> beside(Path("net.json")).name
    'net.json.npz'
    """
    return path.with_name(path.name + ".npz")


@contextmanager
def opened(path: Path, *, limit: int = LIMIT, follow: bool = True) -> Iterator[tuple[IO[bytes], int]]:
    """Open a file for reading; gives it and its size in bytes.

    Parameters
    ----------
    path : Path
        The file.
    limit : int
        Bytes that it may have.
    follow : bool
        Whether it may be a symbolic link.

    Raises
    ------
    SerialError
        If there is no such file, or it is a folder, a device, a link that is not to be followed, or too large.
    """
    try:
        found = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise SerialError("expected a file, and no folder, link or device", path=path.name)
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
        handle = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise SerialError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=path.name) from error
    with os.fdopen(handle, "rb") as stream:
        size = os.fstat(handle).st_size
        if size > limit:
            raise SerialError(f"has {size} bytes, and {limit} are the limit; pass a larger limit=…", path=path.name)
        yield stream, size


def digest_of(stream: IO[bytes]) -> str:
    """Return the SHA-256 of a file from its beginning, and go back there.

    Examples
    --------
    >>> import io
    >>> digest_of(io.BytesIO(b""))[:8]
    'e3b0c442'
    """
    stream.seek(0)
    found = hashlib.sha256()
    while block := stream.read(_BLOCK):
        found.update(block)
    stream.seek(0)
    return found.hexdigest()


def replaced(files: Mapping[Path, bytes]) -> None:
    """Write files beside their places and then put them there, so that none is ever half written.

    Parameters
    ----------
    files : mapping of Path to bytes
        Where to, and what. The last one is put in its place last.

    Raises
    ------
    SerialError
        If a file cannot be written; what was there is there still.
    """
    made: list[tuple[Path, Path]] = []
    try:
        for path, data in files.items():
            temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
            # O_EXCL: never through a link that somebody has put there. The mode is that of any new file.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(temporary, flags, 0o666)
            made.append((temporary, path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for temporary, path in made:
            temporary.replace(path)
    except (OSError, ValueError) as error:
        place = next((path.name for _, path in made[::-1]), next(iter(files)).name)
        raise SerialError(f"cannot be written: {getattr(error, 'strerror', None) or error}", path=place) from error
    finally:
        for temporary, _ in made:
            temporary.unlink(missing_ok=True)
