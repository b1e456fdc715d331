"""The list of a design's files with their hashes: what is ours in a folder, and what of it a user has changed.

It is a file of its own, ``manifest.sha256``, that ``sha256sum -c`` reads.
"""

import hashlib
import re
from collections.abc import Mapping
from os.path import lexists
from pathlib import Path, PurePosixPath

from graphrewrite.hdl.errors import DesignError

__all__ = ["MANIFEST", "Listed", "changed_files", "is_listed", "manifest_of", "read_manifest"]

MANIFEST = "manifest.sha256"

Listed = Mapping[str, set[str]]
"""By path, the hashes that the file may have."""

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def manifest_of(files: Mapping[str, str]) -> str:
    r"""Return the manifest of a design's files.

    Examples
    --------
    >>> manifest_of({"order.txt": ""})
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  order.txt\n'
    """
    return "".join(f"{_hash(text.encode())}  {path}\n" for path, text in sorted(files.items()))


def read_manifest(folder: Path) -> Listed | None:
    """Return what the manifest of a folder lists, with itself; None if there is none."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    listed: dict[str, set[str]] = {MANIFEST: {_hash(text)}}
    for line in text.decode(errors="replace").splitlines():
        entry = _LINE.fullmatch(line)
        # A manifest may come from anywhere: what it lists lies in its folder.
        path = PurePosixPath(entry[2]) if entry else None
        if path is None or path.is_absolute() or ".." in path.parts:
            raise DesignError(
                f"{str(folder / MANIFEST)!r} does not list the files of a design any more; choose another folder"
            )
        listed.setdefault(path.as_posix(), set()).add(line[:64])
    return listed


def is_listed(path: str, file: Path, listed: Listed) -> bool:
    """Whether a file is as a manifest lists it."""
    return path in listed and file.is_file() and _hash(file.read_bytes()) in listed[path]


def changed_files(folder: Path, listed: Listed) -> list[str]:
    """Return which files of a folder are not as they are listed; those that are gone are no loss."""
    return [path for path in sorted(listed) if lexists(folder / path) and not is_listed(path, folder / path, listed)]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
