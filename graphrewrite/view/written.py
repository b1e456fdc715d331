"""Files that pictures and pages are written to."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from graphrewrite.errors import GraphRewriteError, SerialError
from graphrewrite.formats.files import replaced

__all__ = ["PictureError", "written"]


class PictureError(GraphRewriteError):
    """A picture cannot be drawn or written."""


def written(path: Path, content: bytes) -> Path:
    """Write a file, which is the old one or the new one whatever happens; raise an error that says why it cannot be."""

    def write(stream: BinaryIO, _: str) -> None:
        stream.write(content)

    try:
        replaced(path, write)
    except SerialError as error:
        reason = getattr(error.__cause__, "strerror", None) or error
        raise PictureError(
            f"cannot write {str(path)!r}: {reason}; choose a folder that exists and can be written"
        ) from error
    return path
