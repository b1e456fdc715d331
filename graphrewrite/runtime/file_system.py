"""What Python's own modules do not do with files: swap two folders in one step, and wait until the disk has them."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

__all__ = ["exchange", "sync"]

_FROM_HERE, _SWAP = -100, 2
"""AT_FDCWD of Linux; RENAME_EXCHANGE of Linux, which is also RENAME_SWAP of macOS."""
_UNABLE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(first: Path, second: Path) -> bool:
    """Swap two files or folders in one step; False if the system or the file system cannot.

    Raises
    ------
    OSError
        If it could, but may not: one of them is not there, is a mount point, or lies on another disk.
    """
    paths = os.fsencode(first), os.fsencode(second)
    if sys.platform == "linux":
        name, arguments = "renameat2", (_FROM_HERE, paths[0], _FROM_HERE, paths[1], _SWAP)
        types = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    elif sys.platform == "darwin":
        name, arguments = "renamex_np", (*paths, _SWAP)
        types = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
    else:
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:  # a C library of before 2018
        return False
    function.argtypes = types
    if function(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNABLE:
        return False
    raise OSError(code, os.strerror(code), os.fspath(second))


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    if os.name == "nt" and path.is_dir():  # which cannot be opened there
        return
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems do not know it of folders
            raise
    finally:
        os.close(file)
