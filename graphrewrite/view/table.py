"""Tables: rows of text under named columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphrewrite.view.plain import plain

__all__ = ["Table"]

_LETTERS = 60
"""Of a cell of the text."""


@dataclass(frozen=True)
class Table:
    """Data of a table; the template ``table.html`` draws it, and its macro draws it within others.

    Attributes
    ----------
    columns : tuple of str
        Headings.
    rows : tuple of tuple of str
        One cell for each column.
    numeric : frozenset of int
        Right-aligned columns.
    caption : str
        The line above.

    Examples
    --------
    >>> print(Table(("rule", "fired"), (("fuse", "12"), ("drop_identity", "3")), frozenset({1})).text())
    rule           fired
    fuse              12
    drop_identity      3
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = field(default=frozenset())
    caption: str = ""

    def text(self) -> str:
        """Return the table for a terminal."""
        rows = [[plain(cell, _LETTERS) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self.caption] if self.caption else []
        for row in rows:
            cells = enumerate(zip(row, widths, strict=True))
            lines.append("  ".join(c.rjust(w) if i in self.numeric else c.ljust(w) for i, (c, w) in cells).rstrip())
        return "\n".join(lines)
