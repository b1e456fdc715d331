"""Chart: a display that is drawn without Graphviz; `save` writes it as SVG, HTML or text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphrewrite.view.display import Display
from graphrewrite.view.page import fragment
from graphrewrite.view.written import PictureError, written

__all__ = ["Chart", "Drawn"]


@dataclass(frozen=True)
class Drawn:
    """A drawing, and what is said below it.

    Attributes
    ----------
    svg : str
        The drawing as an SVG element; empty where there is nothing to draw.
    hints : tuple of str
        What is left out.
    """

    svg: str
    hints: tuple[str, ...] = ()


class Chart(Display):
    """A drawing, with a text that says the same.

    Examples
    --------
    >>> Chart(Drawn("<svg/>"), "nothing", title="memory")
    nothing
    """

    data: Drawn

    def __init__(self, data: Drawn, text: str, *, title: str) -> None:
        super().__init__(data, "\n".join([text, *data.hints]), template="chart.html", title=title)

    @property
    def svg(self) -> str:
        """The chart as SVG."""
        return self.data.svg

    @property
    def html(self) -> str:
        """The chart as HTML that can stand in any page, with tooltips; in the theme of the page."""
        return fragment(self.template, data=self.data, text=self.text)

    def save(self, path: str | Path) -> Path:
        """Write the chart to a file.

        Parameters
        ----------
        path : str or Path
            Ends in .svg, .html, or .txt for the text.

        Raises
        ------
        PictureError
            If the ending is another, there is nothing to draw, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() in (".html", ".txt"):
            return super().save(path)
        if path.suffix.lower() != ".svg":
            raise PictureError(f"cannot write {path.name!r}: a chart's file ends in .svg, .html or .txt")
        if not self.svg:
            raise PictureError("there is nothing to draw: nothing takes memory")
        return written(path, self.svg.encode())

    def _repr_svg_(self) -> str | None:
        """Return the SVG for viewers without HTML."""
        return self.svg or None
