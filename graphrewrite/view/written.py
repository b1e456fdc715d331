"""Files that pictures and pages are written to."""

from __future__ import annotations

from pathlib import Path

from graphrewrite.errors import GraphRewriteError

__all__ = ["PictureError", "written"]


class PictureError(GraphRewriteError):
    """A picture cannot be drawn or written."""


def written(path: Path, content: bytes) -> Path:
    """Write a file; raise an error that says why that is not possible."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise PictureError(
            f"cannot write {str(path)!r}: {error.strerror or error}; choose a folder that exists and can be written"
        ) from error
    return path
