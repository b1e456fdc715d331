"""Files that commands write displays to: refused before any work is done, if they cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["PAGE", "PICTURE", "output_option"]

F = TypeVar("F", bound=Callable[..., Any])

PAGE = (".html", ".txt")
"""Endings of files for displays of words and numbers."""
PICTURE = (".svg", ".html", ".dot", ".png", ".txt")
"""Endings of files for displays that are drawn."""


def output_option(*names: str, endings: tuple[str, ...], text: str) -> Callable[[F], F]:
    """Return an option that names a file to write."""

    def check(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
        if value is None:
            return None
        if value.suffix not in endings:
            raise click.BadParameter(f"{value.name!r} does not end in {', '.join(endings[:-1])} or {endings[-1]}")
        if not value.parent.is_dir():
            raise click.BadParameter(f"there is no folder {str(value.parent)!r}")
        return value

    return click.option(*names, type=click.Path(path_type=Path, dir_okay=False), callback=check, help=text)
