"""A counterexample as HTML: side by side, the first difference ringed; in a dark theme as in a light one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graphrewrite.testing.failure.columns import Line
from graphrewrite.view.plain import plain

__all__ = ["bars", "code_block", "columns_page", "fold", "paragraphs", "table", "text_of"]

# Letters keep the theme's colour; tints let the theme's background through.
_TINTS = {
    "-": "background:rgba(204,51,17,.16)",
    "+": "background:rgba(0,128,92,.18)",
    "~": "background:rgba(230,159,0,.2)",
}
_RING = "outline:2px solid #cc3311;outline-offset:-1px;border-radius:3px"
_CELL = "white-space:pre;font-family:monospace;padding:1px 8px;text-align:left"
_GRID = "display:grid;grid-template-columns:max-content max-content;column-gap:12px;overflow-x:auto;margin:8px 0"
_QUIET = "opacity:.65"


def text_of(text: object) -> str:
    """Return a text as HTML: what is untrusted stays text.

    Examples
    --------
    >>> text_of("<script>")
    '&lt;script&gt;'
    """
    return escape(plain(text, 100_000))


def columns_page(titles: tuple[str, str], pairs: Sequence[tuple[Line | None, Line | None]]) -> str:
    """Return two graphs as two columns of HTML.

    Parameters
    ----------
    titles : tuple of str
        What stands above each.
    pairs : sequence of tuple of Line or None
        What `graphrewrite.testing.failure.columns.aligned` gives.

    Returns
    -------
    str

    Examples
    --------
    >>> html = columns_page(("before", "after"), [(Line("a", "a", mark="-", ringed=True), None)])
    >>> "outline" in html, html.count("<div")
    (True, 5)
    """
    cells = [f'<div style="{_CELL};font-weight:bold">{text_of(title)}</div>' for title in titles]
    cells += [_cell(line) for pair in pairs for line in pair]
    return f'<div style="{_GRID}">{"".join(cells)}</div>'


def _cell(line: Line | None) -> str:
    if line is None:
        return "<div></div>"
    style = ";".join(filter(None, [_CELL, _TINTS.get(line.mark), _RING if line.ringed else None]))
    value = f'<span style="{_QUIET}">  # {text_of(line.value)}</span>' if line.value else ""
    note = f'<b style="color:#cc3311">  ◂ {text_of(line.note)}</b>' if line.note else ""
    return f'<div style="{style}">{text_of(line.mark)} {text_of(line.text)}{value}{note}</div>'


def paragraphs(head: str, lines: Iterable[str]) -> str:
    """Return a sentence in bold, and others below it."""
    rest = "".join(f"<div>{text_of(line)}</div>" for line in lines)
    return f'<div><b>{text_of(head)}</b></div><div style="margin:4px 0">{rest}</div>'


def code_block(code: str) -> str:
    """Return code as HTML."""
    return f'<pre style="overflow-x:auto">{escape(code)}</pre>'


def fold(title: str, inside: str) -> str:
    """Return something that is shown when its title is clicked."""
    return f"<details><summary>{text_of(title)}</summary>{inside}</details>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return titles and what belongs to them as a small table."""
    style = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"
    cells = "".join(
        f'<tr style="background:none"><th style="{style}">{text_of(title)}</th>'
        f'<td style="{style}">{text_of(text)}</td></tr>'
        for title, text in rows
    )
    return f'<table style="border:none">{cells}</table>'


def bars(title: str, counts: Sequence[tuple[str, int]]) -> str:
    """Return a histogram: a bar for each count, its range and count shown when it is pointed at."""
    most = max((count for _, count in counts), default=1)
    drawn = "".join(
        f'<div title="{text_of(name)}: {count}" '
        f'style="width:14px;height:{round(40 * count / most)}px;background:rgba(0,114,178,.6)"></div>'
        for name, count in counts
    )
    ends = (counts[0][0].partition(" ")[0], counts[-1][0].rpartition(" ")[2]) if counts else ("", "")
    return (
        '<div style="display:flex;align-items:flex-end;gap:2px;margin:4px 0">'
        f'<b style="margin-right:10px">{text_of(title)}</b><span>{ends[0]}&nbsp;</span>{drawn}'
        f"<span>&nbsp;{ends[1]} nodes</span></div>"
    )
