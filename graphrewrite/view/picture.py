"""Picture: what `show` returns; Jupyter draws it, a terminal prints it, `save` writes it."""

from __future__ import annotations

from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from graphrewrite.errors import GraphRewriteError
from graphrewrite.view.dot import dot_of
from graphrewrite.view.render import render_png, render_svg
from graphrewrite.view.scene import Scene
from graphrewrite.view.written import PictureError, written

if TYPE_CHECKING:
    import pydot

__all__ = ["Picture"]


class Picture:
    """Something to look at, with a text for where nothing can be drawn.

    Parameters
    ----------
    scenes : tuple of Scene
        What it shows; nothing where only the text is shown.
    text : str
        What a terminal prints.
    direction : {"TB", "LR"}
        From top to bottom or from left to right.

    Examples
    --------
    >>> Picture((), "too large to draw")
    too large to draw
    """

    def __init__(self, scenes: tuple[Scene, ...], text: str, *, direction: str = "TB") -> None:
        self.scenes, self.text, self.direction = scenes, text, direction

    @property
    def dot(self) -> pydot.Dot:
        """The picture in Graphviz' language."""
        return dot_of(self._drawable(), direction=self.direction)

    @cached_property
    def svg(self) -> str:
        """The picture as SVG."""
        return render_svg(self._drawable(), direction=self.direction)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            Ends in .svg, .png or .dot.

        Returns
        -------
        Path

        Raises
        ------
        PictureError
            If the ending is another, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix == ".svg":
            content = self.svg.encode()
        elif path.suffix == ".png":
            content = render_png(self._drawable(), direction=self.direction)
        elif path.suffix == ".dot":
            content = self.dot.to_string().encode()
        else:
            raise PictureError(f"cannot write {path.name!r}: a picture's file ends in .svg, .png or .dot")
        return written(path, content)

    def _drawable(self) -> tuple[Scene, ...]:
        if not self.scenes:
            raise PictureError(
                "there is nothing to draw: the graph is empty or too large; pass max_nodes=… to draw it all the same"
            )
        return self.scenes

    def _repr_svg_(self) -> str | None:
        """Let Jupyter draw the picture where pydot and Graphviz are there."""
        try:
            return self.svg if self.scenes else None
        except GraphRewriteError:
            return None

    def _repr_html_(self) -> str | None:
        """Let Jupyter show the text, and why there is no picture, where none can be drawn."""
        hint = ""
        if self.scenes:
            try:
                self.svg  # noqa: B018  # drawn here, or the reason why not
                return None
            except GraphRewriteError as error:
                hint = f"<p>{escape(str(error))}</p>"
        return f"<pre>{escape(self.text)}</pre>{hint}"

    def __repr__(self) -> str:
        return self.text
