"""A VHDL project: its files in memory, and how they get to a folder, all or none."""

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from os.path import lexists
from pathlib import Path, PurePosixPath
from typing import Any

from graphrewrite.hdl.emission.manifest import changed_files, read_manifest
from graphrewrite.hdl.emission.replacement import MARK, STAGING, replace_design
from graphrewrite.hdl.errors import DesignError
from graphrewrite.runtime.display import Displayed

__all__ = ["FORMAT", "Design", "check_target", "copy_design", "read_description"]

FORMAT = 2
"""Version of the form of ``design.json``; it changes where programs that read it would have to. The first had none."""

_GENERATOR = "graphrewrite"
_NOBODYS = {"lost+found", ".DS_Store"}
"""What systems put into folders that are empty for people."""
_FEW = 3
_ELSEWHERE = "choose a folder that you may write with -o"


@dataclass(frozen=True, repr=False)
class Design(Displayed, shown_by="design.show_project"):
    """A project of VHDL, of C, or of what a target of one's own writes.

    Attributes
    ----------
    name : str
        Name of the top entity, or of the function.
    files : dict of str to str
        Text by path, relative to the project's folder.
    description : dict
        Ports, formats, timing, resources; what ``design.json`` holds, if there is one.
    """

    name: str
    files: dict[str, str]
    description: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write all files to a folder, which is complete afterwards or as it was before.

        An earlier design in it is replaced, and every other file stays; so does a design of which a file was changed,
        and a folder without one. ``manifest.sha256`` lists what was written.

        Parameters
        ----------
        folder : path
            Where to.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        DesignError
            If the folder holds something else, files of its design were changed, or it cannot be written.
        """
        target = check_target(Path(folder))
        try:
            _check_room(self.files, target)
            replace_design(self.files, target)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            remedy = "make room, or choose a folder on another disk with -o" if full else _ELSEWHERE
            raise DesignError(f"cannot write {str(target)!r}: {error.strerror or error}; {remedy}") from None
        return Path(folder)

    def __str__(self) -> str:
        return str(self.show())

    def __repr__(self) -> str:
        count = f"{len(self.description['components'])} instances, " if "components" in self.description else ""
        return f"<Design {self.name!r}: {count}{len(self.files)} files>"


def check_target(folder: Path) -> Path:
    """Return where a design for a folder is written, which is new, empty, or holds an earlier one as it was written."""
    try:
        target = folder.resolve()  # what a link leads to is replaced, and not the link
        if not folder.exists() and not folder.is_symlink():
            return target
        if not folder.is_dir():
            raise DesignError(f"{str(folder)!r} is no folder; choose another one")
        if target in (here := Path.cwd(), *here.parents):
            raise DesignError(f"{str(folder)!r} holds the current folder and is not replaced; name a folder below it")
        listed = read_manifest(target)
        names = sorted(p.name for p in target.iterdir() if p.name not in _NOBODYS and not p.name.startswith(STAGING))
        changed = changed_files(target, listed) if listed is not None else []
    except OSError as error:
        raise DesignError(f"cannot read {str(folder)!r}: {error.strerror}; choose another folder") from None
    if changed:
        raise DesignError(
            f"{_those(changed)} in {str(folder)!r} changed since the design was written, and compiling again would "
            "replace it; move it away, or choose another folder"
        )
    if names and listed is None:
        try:
            read_description(target)
        except DesignError:
            raise DesignError(
                f"{str(folder)!r} holds {names[0]!r} and no design of graphrewrite; choose a new or empty folder"
            ) from None
        raise DesignError(
            f"{str(folder)!r} holds a design of an earlier version, without a list of its files; move it away, or "
            "choose another folder"
        )
    return target


def _check_room(files: Mapping[str, str], target: Path) -> None:
    """Raise if a file of the user stands where one of the design belongs."""
    listed = read_manifest(target) or {} if target.is_dir() else {}
    folders = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents} - {"."}
    taken = [f for f in folders if lexists(target / f) and ((target / f).is_symlink() or not (target / f).is_dir())]
    taken += [path for path in files if path not in listed and lexists(target / path)]
    if taken:
        raise DesignError(
            f"{_those(sorted(taken))} in {str(target)!r} would be replaced, and graphrewrite did not write it; move it "
            "away, or choose another folder"
        )


def _those(paths: list[str]) -> str:
    more = f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
    return ", ".join(map(repr, paths[:_FEW])) + more


def copy_design(folder: Path, to: Path) -> None:
    """Copy what a simulation needs of a folder that holds a design, and none of what a user keeps there."""
    read_description(folder)
    try:
        order = folder / "compile_order.txt"
        lines = order.read_text(encoding="utf-8", errors="replace").split() if order.is_file() else []
        tops = {MARK, order.name, "vectors"}.union(*(PurePosixPath(line).parts[:1] for line in lines))
        to.mkdir(parents=True)
        for entry in folder.iterdir():
            if entry.name in tops:
                shutil.copytree(entry, to / entry.name) if entry.is_dir() else shutil.copy(entry, to / entry.name)
    except OSError as error:
        # That of copytree holds a list of what went wrong, file by file.
        several = isinstance(error, shutil.Error) and error.args and error.args[0]
        reason = str(several[0][-1]) if several else str(error.strerror or error)
        raise DesignError(f"{str(folder)!r} cannot be read: {reason}; compile again") from None


def read_description(folder: Path) -> dict[str, Any]:
    """Return what ``design.json`` in a folder says."""
    try:
        description = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DesignError(
            f"{str(folder)!r} holds no design: its {MARK} is missing or broken; compile a model into it first"
        ) from None
    if not isinstance(description, dict) or description.get("generator") != _GENERATOR:
        raise DesignError(
            f"{str(folder)!r} holds a {MARK} of another program; name a folder that graphrewrite compile wrote"
        )
    if (language := description.get("language", "vhdl")) != "vhdl":
        raise DesignError(
            f"{str(folder)!r} holds a design in {language!r}, and VHDL is asked for; compile the model for hardware"
        )
    if (form := description.get("format", 1)) not in range(1, FORMAT + 1):
        raise DesignError(
            f"{str(folder)!r} holds a {MARK} of the form {form!r}, and this graphrewrite reads forms up to {FORMAT};"
            " use the one that wrote it, or compile the model again"
        )
    return description
