"""Build hooks: the folder of an editable install, and a long description whose links work on a package index.

The folders ``rules``, ``lowering`` and ``hdl`` stand beside ``graphrewrite`` and are installed inside it. In a checkout
they are linked from there, but where symbolic links cannot be made (Git for Windows, an unpacked ZIP) the links are
small text files. Nothing here depends on them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PARTS = ("rules", "lowering", "hdl")
"""Folders of the package that stand beside it."""
EDITABLE = ".editable"
"""What an editable install puts on the path: it holds the package, and no top-level ``rules`` or ``tests``."""
REFERENCE = re.compile(
    r"```.*?```"
    r"|(?P<image><img\b[^>]*?\bsrc=\"|!\[[^\]]*\]\()(?P<source>[^\")\s]+)"
    r"|(?P<link>\[[^\[\]]*\]\()(?P<target>[^)\s]+)"
    r"|`[^`\n]+`",
    re.DOTALL,
)
"""An image or a link of Markdown, with its address; or code, which is left alone."""


class PackageFolders(BuildHookInterface):
    """Refuse to build without one of the folders, and link the package for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check the folders before anything is built."""
        root = Path(self.root)
        missing = [name for name in PARTS if not (root / name / "__init__.py").is_file()]
        if missing:
            raise FileNotFoundError(
                f"graphrewrite cannot be built without its folders {', '.join(missing)}: "
                f"they belong into {root}, beside pyproject.toml"
            )
        if version == "editable":
            link_package(root)


class AbsoluteReadme(MetadataHookInterface):
    """Set the long description: README.md, in which paths of the repository are addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the field ``readme``."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, repository: str, version: str) -> str:
    """Replace relative paths of images and links by addresses in the repository, at the tag of the version."""

    def addressed(match: re.Match[str]) -> str:
        path = match["source"] or match["target"]
        if path is None or path.startswith("#") or "://" in path:
            return match[0]
        kind = "raw" if match["source"] else "blob"
        return f"{match['image'] or match['link']}{repository}/{kind}/v{version}/{path}"

    return REFERENCE.sub(addressed, text)


def link_package(root: Path) -> None:
    """Make the folder of an editable install: type checkers follow its entry on the path, and no import hook."""
    package, linked = root / "graphrewrite", root / EDITABLE / "graphrewrite"
    if linked.is_symlink() or linked.is_file():
        linked.unlink()
    elif linked.exists():
        shutil.rmtree(linked)
    if all((package / name).is_dir() for name in PARTS):
        linked.parent.mkdir(exist_ok=True)
        link(linked, package)
        return
    # The package's own links are text files: each of its entries is linked, and the three folders.
    linked.mkdir(parents=True)
    for entry in package.iterdir():
        if entry.name not in (*PARTS, "__pycache__"):
            link(linked / entry.name, entry)
    for name in PARTS:
        link(linked / name, root / name)


def link(path: Path, target: Path) -> None:
    """Link a file or folder; on Windows, where symbolic links need a permission, by a hard link or a junction."""
    try:
        path.symlink_to(os.path.relpath(target, path.parent), target_is_directory=target.is_dir())
    except OSError:
        if sys.platform != "win32":
            raise
        if target.is_dir():
            command = ["cmd", "/c", "mklink", "/J", str(path), str(target)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        else:
            path.hardlink_to(target)
