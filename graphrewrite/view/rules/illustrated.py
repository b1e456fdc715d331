"""Displays with a picture and text: saved as a page, or as the picture alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphrewrite.view.display import Display
from graphrewrite.view.picture import Picture
from graphrewrite.view.written import PictureError

__all__ = ["Illustrated"]


class Illustrated(Display):
    """A display whose picture can be saved alone."""

    def __init__(self, data: Any, text: str, *, template: str, title: str, picture: Picture) -> None:
        super().__init__(data, text, template=template, title=title)
        self.picture = picture

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.picture.svg

    def save(self, path: str | Path) -> Path:
        """Write all of it, or the picture alone, to a file."""
        path = Path(path)
        if path.suffix.lower() in (".html", ".txt"):
            return super().save(path)
        if path.suffix.lower() in (".svg", ".png", ".dot"):
            return self.picture.save(path)
        raise PictureError(
            f"cannot write {path.name!r}: this is written to a file that ends in .html or .txt, and its picture to one "
            "that ends in .svg, .png or .dot"
        )
