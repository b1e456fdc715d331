"""Files that commands write: refused before any work is done, if they cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["CODE", "MODEL", "PAGE", "PICTURE", "output_option"]

F = TypeVar("F", bound=Callable[..., Any])

CODE = (".py",)
"""Endings of files for Python code."""
MODEL = (".onnx", ".txt", ".graph", ".json", ".npz")
"""Endings of files for models."""
PAGE = (".html", ".txt")
"""Endings of files for displays of words and numbers."""
PICTURE = (".svg", ".html", ".dot", ".png", ".txt")
"""Endings of files for displays that are drawn."""


def output_option(*names: str, endings: tuple[str, ...], text: str, required: bool = False) -> Callable[[F], F]:
    """Return an option that names a file to write."""

    def check(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
        if value is None:
            return None
        if value.suffix.lower() not in endings:
            allowed = " or ".join(part for part in (", ".join(endings[:-1]), endings[-1]) if part)
            raise click.BadParameter(f"{value.name!r} does not end in {allowed}")
        if not value.parent.is_dir():
            raise click.BadParameter(f"there is no folder {str(value.parent)!r}")
        return value

    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option(*names, type=kind, callback=check, help=text, required=required)
