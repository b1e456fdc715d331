"""Replace the design in a folder: in one step where the system can, and without touching a file of the user.

The new design is written to a folder beside the old one, the user's files are linked into it, and the two folders are
swapped. A folder that cannot be swapped (a mount point, or in a folder that is locked) gets its files one by one; then
`design.json` goes first and comes last, so that half of a design is no design.
"""

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from os.path import lexists, samestat
from pathlib import Path, PurePosixPath

from graphrewrite.hdl.emission.manifest import MANIFEST, Listed, is_listed, manifest_of, read_manifest
from graphrewrite.runtime.file_system import exchange, sync
from graphrewrite.runtime.interrupts import deferred_interrupts
from graphrewrite.runtime.scratch import scratch_folder

__all__ = ["MARK", "STAGING", "replace_design", "write_files"]

MARK = "design.json"
"""The file that makes a folder a design."""
STAGING = ".design-"
"""How the names of folders begin in which a design waits for its place."""

_TOP = PurePosixPath()
_NOT_HERE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV, errno.EBUSY, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)
}
"""Why a folder may not be swapped although the files in it may be replaced."""


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write text by path into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def replace_design(files: Mapping[str, str], target: Path) -> None:
    """Put the files of a design, and their manifest, into a folder, which may hold an earlier one and other files."""
    files = {**files, MANIFEST: manifest_of(files)}
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _swapped(files, target)
    except OSError as error:
        if error.errno not in _NOT_HERE or not target.is_dir():
            raise
        _one_by_one(files, target)


def _swapped(files: Mapping[str, str], target: Path) -> None:
    with scratch_folder(target.parent, prefix=STAGING, clear=_clear) as staging:
        new, old = (staging / age / target.name for age in ("new", "old"))
        write_files(files, new)
        if target.is_dir():
            _carry(target, new, read_manifest(target) or {})
        _sync_all(files, new)
        # Who finds this after a kill knows by it which of the two folders stands here.
        (staging / "written").write_text(str(new.stat().st_ino))
        sync(staging / "written")
        with deferred_interrupts():
            if not lexists(target):
                new.rename(target)
            elif not exchange(new, target):
                old.parent.mkdir()
                target.rename(old)  # if it goes no further, it is put back where all is cleared
                new.rename(target)
            sync(target.parent)


def _one_by_one(files: Mapping[str, str], target: Path) -> None:
    before = read_manifest(target) or {}
    with scratch_folder(target, prefix=STAGING, clear=_clear) as staging:
        new = staging / "new" / target.name
        write_files(files, new)
        # Until the last file is in its place, both are ours: those of the old design, and those of the new one.
        both = [f"{code}  {path}\n" for path, codes in before.items() if path != MANIFEST for code in sorted(codes)]
        (staging / MANIFEST).write_text("".join(both) + files[MANIFEST], encoding="utf-8", newline="\n")
        sync(staging / MANIFEST)
        _sync_all(files, new)
        with deferred_interrupts():
            (staging / MANIFEST).replace(target / MANIFEST)
            (target / MARK).unlink(missing_ok=True)
            sync(target)
            for path in sorted(before.keys() - files.keys()):
                _drop(target, path)
            for path in (*(files.keys() - {MARK, MANIFEST}), MARK, MANIFEST):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).replace(target / path)
            for folder in sorted({(target / path).parent for path in files}):
                sync(folder)


def _drop(target: Path, path: str) -> None:
    """Remove a file, and the folders that are empty without it."""
    (target / path).unlink(missing_ok=True)
    with suppress(OSError):
        for folder in list(PurePosixPath(path).parents)[:-1]:
            (target / folder).rmdir()


def _sync_all(files: Mapping[str, str], folder: Path) -> None:
    """Wait for what is written: files of the design, and all folders; a pipe of the user's would not open."""
    for path in files:
        sync(folder / path)
    for where, _, _ in os.walk(folder):
        sync(Path(where))


def _carry(old: Path, new: Path, listed: Listed, below: PurePosixPath = _TOP) -> None:
    """Link the user's files in a folder into another one, in which they have the same owners and permissions."""
    here = old / below
    if not os.access(here, os.W_OK):
        raise PermissionError(errno.EACCES, "a folder that cannot be emptied", str(here))
    with os.scandir(here) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = below / entry.name
        if str(path) in listed or (not below.parts and entry.name.startswith(STAGING)):
            continue
        if entry.is_dir(follow_symlinks=False):
            _carry(old, new, listed, path)
        else:
            (new / below).mkdir(parents=True, exist_ok=True)
            os.link(entry.path, new / path, follow_symlinks=False)
    if not found:
        (new / below).mkdir(parents=True, exist_ok=True)
    if (new / below).is_dir():
        before, after = here.stat(), (new / below).stat()
        if (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
            os.chown(new / below, before.st_uid, before.st_gid)
        shutil.copystat(here, new / below)


def _clear(staging: Path) -> None:
    """Remove a folder in which a design has waited, at any point of the way; nothing that the user has only there."""
    for old in _within(staging / "old"):
        if (staging.parent / old.name).exists():
            _empty(old, staging.parent / old.name)
        else:  # killed between two renames
            old.rename(staging.parent / old.name)
    written = staging / "written"
    for new in _within(staging / "new"):
        if not written.exists() or written.read_text() == str(new.stat().st_ino):
            shutil.rmtree(new, ignore_errors=True)  # it never had its place
        else:
            _empty(new, staging.parent / new.name)
    with suppress(OSError):
        for name in ("old", "new"):
            if (staging / name).exists():
                (staging / name).rmdir()
        shutil.rmtree(staging, ignore_errors=True)  # what is left is ours


def _within(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _empty(old: Path, target: Path) -> None:
    """Remove a former design, and the links to files that its successor has; what came meanwhile moves there."""
    listed, taken = read_manifest(old) or {}, read_manifest(target) or {}
    for where, folders, names in os.walk(old, topdown=False):
        for name in (*names, *folders):
            here = Path(where, name)
            path = here.relative_to(old)
            there = target / path
            with suppress(OSError):
                if here.is_dir() and not here.is_symlink():
                    here.rmdir()
                elif is_listed(path.as_posix(), here, listed) or (
                    lexists(there) and samestat(here.lstat(), there.lstat())
                ):
                    here.unlink()
                elif path.as_posix() not in taken and (
                    not lexists(there) or here.lstat().st_mtime_ns > there.lstat().st_mtime_ns
                ):
                    there.parent.mkdir(parents=True, exist_ok=True)
                    here.replace(there)
    with suppress(OSError):
        old.rmdir()
