"""Picture: a display that is drawn; `save` writes it as SVG, PNG, dot, HTML or text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from graphrewrite.errors import GraphRewriteError
from graphrewrite.view.display import Display
from graphrewrite.view.graphs.summary_table import SummaryTables
from graphrewrite.view.layout.dot import dot_of
from graphrewrite.view.layout.render import render_png, render_svg
from graphrewrite.view.page import fragment
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import Scene
from graphrewrite.view.table import Table
from graphrewrite.view.written import PictureError, written

if TYPE_CHECKING:
    import pydot

__all__ = ["Content", "Picture"]


@dataclass(frozen=True)
class Content:
    """A picture: scenes side by side, and below them tables and hints.

    Attributes
    ----------
    scenes : tuple of Scene
        The scenes; none of graphs that are too large.
    summaries : tuple of SummaryTables
        Summaries of graphs that are too large to be drawn.
    tables : tuple of Table
        Tables below the picture.
    hints : tuple of str
        The part that is shown, and how to see another.
    """

    scenes: tuple[Scene, ...]
    summaries: tuple[SummaryTables, ...] = ()
    tables: tuple[Table, ...] = ()
    hints: tuple[str, ...] = ()


class Picture(Display):
    """A display that is drawn, with a text for where nothing can be drawn.

    Parameters
    ----------
    scenes : tuple of Scene
        Its scenes; none where only the text is shown.
    text : str
        The text for a terminal.
    direction : {"TB", "LR"}
        From top to bottom or from left to right.
    summaries, tables, hints
        As of `Content`.

    Examples
    --------
    >>> Picture((), "too large to draw")
    too large to draw
    """

    data: Content

    def __init__(
        self,
        scenes: tuple[Scene, ...],
        text: str,
        *,
        direction: str = "TB",
        summaries: tuple[SummaryTables, ...] = (),
        tables: tuple[Table, ...] = (),
        hints: tuple[str, ...] = (),
    ) -> None:
        title = plain(next((scene.title for scene in scenes if scene.title), "graphrewrite"), 120)
        data = Content(scenes, summaries, tables, hints)
        super().__init__(data, "\n".join([text, *hints]), template="picture.html", title=title)
        self.direction = direction

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """The scenes that are drawn."""
        return self.data.scenes

    @property
    def dot(self) -> pydot.Dot:
        """The picture in Graphviz' language."""
        return dot_of(self._drawable(), direction=self.direction)

    @cached_property
    def svg(self) -> str:
        """The picture as SVG."""
        return render_svg(self._drawable(), direction=self.direction)

    @property
    def html(self) -> str:
        """The picture as HTML that can stand in any page, with tooltips; in the theme of the page."""
        svg = self.svg if self.scenes else ""
        return fragment(self.template, data=self.data, svg=svg, text=self.text)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file.

        Parameters
        ----------
        path : str or Path
            Ends in .svg, .png, .dot, .html, or .txt for the text.

        Raises
        ------
        PictureError
            If the ending is another, there is nothing to draw, or the file cannot be written.
        MissingDependencyError
            If pydot or Graphviz is not installed.
        """
        path = Path(path)  # its ending chooses the format
        if path.suffix.lower() == ".svg":
            content = self.svg.encode()
        elif path.suffix.lower() == ".png":
            content = render_png(self._drawable(), direction=self.direction)
        elif path.suffix.lower() == ".dot":
            content = self.dot.to_string().encode()
        elif path.suffix.lower() in (".html", ".txt"):
            return super().save(path)
        else:
            raise PictureError(f"cannot write {path.name!r}: a picture's file ends in .svg, .png, .dot, .html or .txt")
        return written(path, content)

    def _drawable(self) -> tuple[Scene, ...]:
        if not self.scenes:
            raise PictureError(
                "there is nothing to draw: the graph is empty or too large; show(…, max_nodes=…) draws it all the same"
            )
        return self.scenes

    def _repr_svg_(self) -> str | None:
        """Return the SVG for viewers without HTML, if pydot and Graphviz are installed."""
        try:
            return self.svg if self.scenes else None
        except GraphRewriteError:
            return None
