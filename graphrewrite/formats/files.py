"""Files: atomic replacement, and reading without trust."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path

from graphrewrite.errors import SerialError

__all__ = ["LIMIT", "beside", "digest_of", "opened", "read_utf8", "replaced"]

LIMIT = 2**32
"""Default maximum size of a file, in bytes."""


def beside(path: Path) -> Path:
    """Return the path of the file of arrays that belongs to a file: the same with ``.npz`` appended.

    Examples
    --------
    >>> beside(Path("net.json")).name
    'net.json.npz'
    """
    return path.with_name(path.name + ".npz")


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


def read_utf8(path: Path, *, limit: int) -> str:
    """Return the text of a regular file of at most `limit` bytes."""
    with opened(path, limit=limit) as (stream, _):
        data = stream.read()
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


def replaced(files: Mapping[Path, bytes]) -> None:
    """Write files to temporary names and rename them, the last one last, so that none is ever half written."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, data in files.items():
            temporary = path.with_name(f".{path.name[:100]}.{os.urandom(8).hex()}")
            # O_EXCL never follows a link. The mode is that of any new file, less the umask.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            handle = os.open(temporary, flags, 0o666)
            written.append((temporary, path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for temporary, path in written:
            temporary.replace(path)
    except (OSError, ValueError) as error:
        name = next((path.name for _, path in written[::-1]), next(iter(files)).name)
        raise SerialError(f"cannot be written: {getattr(error, 'strerror', None) or error}", path=name) from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
