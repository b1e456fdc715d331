"""Display: the result of every ``show``; a notebook shows its HTML, a terminal prints its text."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.view.page import document, fragment
from graphrewrite.view.written import PictureError, written

__all__ = ["Display"]


class Display:
    """Structured data, drawn by a template, with a text for where no HTML is shown.

    Parameters
    ----------
    data : object
        The content: a frozen dataclass of plain values.
    text : str
        The text for a terminal.
    template : str
        File in ``view/templates`` that turns ``data`` into HTML.
    title : str
        Title of the page, when it is saved as one.

    Examples
    --------
    >>> from graphrewrite.view.table import Table
    >>> fired = Table(("rule", "fired"), (("<fuse>", "12"),), frozenset({1}))
    >>> shown = Display(fired, fired.text(), template="table.html")
    >>> shown
    rule    fired
    <fuse>     12
    >>> "<td>&lt;fuse&gt;</td>" in shown.html
    True
    """

    def __init__(self, data: Any, text: str, *, template: str, title: str = "graphrewrite") -> None:
        self.data, self.text, self.template, self.title = data, text, template, title

    @property
    def html(self) -> str:
        """The display as HTML that can stand in any page; nothing in it is fetched."""
        return fragment(self.template, data=self.data, text=self.text)

    @property
    def document(self) -> str:
        """The display as one self-contained HTML document."""
        return document(self.title, self.html)

    def save(self, path: str | Path) -> Path:
        """Write the display to a file.

        Parameters
        ----------
        path : str or Path
            Ends in .html, or in .txt for the text.

        Raises
        ------
        PictureError
            If the ending is another, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() == ".html":
            return written(path, self.document.encode())
        if path.suffix.lower() == ".txt":
            return written(path, f"{self.text}\n".encode(errors="backslashreplace"))
        raise PictureError(f"cannot write {path.name!r}: this is written to a file that ends in .html or .txt")

    def _repr_html_(self) -> str:
        """Return the HTML for Jupyter; the text with the error where a package is missing or nothing can be drawn."""
        try:
            return self.html
        except GraphRewriteError as error:
            return f"<pre>{escape(self.text)}</pre><p>{escape(str(error))}</p>"

    def __repr__(self) -> str:
        return self.text
