"""A VHDL project: its files in memory, and how they get to a folder, all or none."""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphrewrite.hdl.errors import DesignError
from graphrewrite.runtime.display import Displayed

__all__ = ["Design", "read_description"]

_MARK = "design.json"
_GENERATOR = "graphrewrite"


@dataclass(frozen=True, repr=False)
class Design(Displayed, shown_by="design.show_project"):
    """A VHDL project.

    Attributes
    ----------
    name : str
        Name of the top entity.
    files : dict of str to str
        Text by path, relative to the project's folder.
    description : dict
        Ports, formats, timing, resources; what ``design.json`` holds.
    """

    name: str
    files: dict[str, str]
    description: dict[str, Any]

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write all files to a folder, which is complete afterwards or as it was before.

        A folder that holds an earlier design is replaced; one that holds anything else is left alone.

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
            If the folder holds something else, or cannot be written.
        """
        check_target(Path(folder))
        target = Path(folder).resolve()  # what a link leads to is replaced, and not the link
        staging: Path | None = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Beside the target, so that a rename within one file system makes it complete at once.
            staging = Path(tempfile.mkdtemp(prefix=".design-", dir=target.parent))
            for name, text in self.files.items():
                path = staging / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            staging.chmod(0o755)
            _swap(staging, target)
        except OSError as error:
            raise DesignError(
                f"cannot write {str(target)!r}: {error.strerror or error}; choose a folder that you may write with -o"
            ) from None
        finally:
            if staging is not None:
                shutil.rmtree(staging, ignore_errors=True)
        return Path(folder)

    def __str__(self) -> str:
        return str(self.show())

    def __repr__(self) -> str:
        return (
            f"<Design {self.name!r}: {len(self.description.get('components', ()))} instances, {len(self.files)} files>"
        )


def check_target(target: Path) -> None:
    """Raise unless a design may be written to a folder: it is new, empty, or holds an earlier design."""
    try:
        if not target.exists() and not target.is_symlink():
            return
        if not target.is_dir():
            raise DesignError(f"{str(target)!r} is no folder; choose another one")
        if target.resolve() in (here := Path.cwd(), *here.parents):
            raise DesignError(f"{str(target)!r} holds the current folder and is not replaced; name a folder below it")
        names = sorted(p.name for p in target.iterdir())
    except OSError as error:
        raise DesignError(f"cannot read {str(target)!r}: {error.strerror}; choose another folder") from None
    if names:
        try:
            read_description(target)
        except DesignError:
            raise DesignError(
                f"{str(target)!r} holds {names[0]!r} and no design of graphrewrite; choose a new or empty folder"
            ) from None


def read_description(folder: Path) -> dict[str, Any]:
    """Return what ``design.json`` in a folder says."""
    try:
        description = json.loads((folder / _MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise DesignError(
            f"{str(folder)!r} holds no design: its {_MARK} is missing or broken; compile a model into it first"
        ) from None
    if not isinstance(description, dict) or description.get("generator") != _GENERATOR:
        raise DesignError(
            f"{str(folder)!r} holds a {_MARK} of another program; name a folder that graphrewrite compile wrote"
        )
    return description


def _swap(staging: Path, target: Path) -> None:
    """Replace the old folder by the new one; on a failure in between, restore the old one."""
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=".design-old-", dir=target.parent))
    try:
        target.rename(old / "design")
        staging.rename(target)
    except BaseException:
        if (old / "design").exists() and not target.exists():
            (old / "design").rename(target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
