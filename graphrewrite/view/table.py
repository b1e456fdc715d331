"""Tables: rows of text under named columns."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Data of a table; the template ``table.html`` draws it, and its macro draws it within others.

    Attributes
    ----------
    columns : tuple of str
        Their names.
    rows : tuple of tuple of str
        A cell a column.
    numeric : frozenset of int
        Columns that are set to the right.
    caption : str
        Above it.

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
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        told = [
            "  ".join(
                c.rjust(w) if i in self.numeric else c.ljust(w)
                for i, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([*([self.caption] if self.caption else []), *(line.rstrip() for line in told)])
