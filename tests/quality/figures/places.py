"""Where the figures are measured: reports and a copy of the tree, out of the way of what is worked on."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["BUILD", "ROOT", "copy_tree"]

ROOT = Path(__file__).parents[3]
BUILD = ROOT / "build" / "quality"
KEPT_OUT = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "*.egg-info", "notebooks")


def copy_tree(target: Path) -> None:
    """Copy the checkout, with real folders where it has links; what was there before goes."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT, target, ignore=KEPT_OUT)
