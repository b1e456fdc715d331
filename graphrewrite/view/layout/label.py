"""Contents of boxes as Graphviz' HTML-like labels."""

from __future__ import annotations

from graphrewrite.view.colour import DIM, HIGHLIGHTS, INK, SHADES
from graphrewrite.view.plain import markup
from graphrewrite.view.scene import Box, Frame, Legend

__all__ = ["head_of", "label_of", "legend_label", "small"]

_TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
_RIM = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3">'


def label_of(box: Box, path: str, direction: str) -> str:
    """Return the label of a box: ports, op and name, notes, code, results."""
    if box.stub:
        return f"<I>{small(markup(' '.join(box.notes), 60))}</I>"
    dim = DIM if box.shade is None else INK  # to be read on any shade
    head = [] if box.code and not box.kind and not box.name else [head_of(box, path, dim)]
    rows = [*head, *(small(markup(note, 48), dim) for note in box.notes)]
    if box.mark:
        mark = HIGHLIGHTS[box.mark]
        rows.append(small(f"<I>{mark.word}</I>", mark.colour))
    body = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    body += "".join(f'<TR><TD ALIGN="LEFT">{_code(line)}</TD></TR>' for line in box.code)
    ports = [f'<TD PORT="i{i}">{small(markup(name) or " ", dim)}</TD>' for i, name in enumerate(box.ports)]
    results = [f'<TD PORT="r{i}">{small(str(i), dim)}</TD>' for i in range(box.results if box.results > 1 else 0)]
    # Ports are table cells on the sides from which arrows come: above and below, or left and right.
    if direction == "TB":
        above, below = (f"<TR><TD>{_RIM}<TR>{''.join(c)}</TR></TABLE></TD></TR>" if c else "" for c in (ports, results))
        return f"{_TABLE}{above}{body}{below}</TABLE>"
    if not ports and not results:
        return f"{_TABLE}{body}</TABLE>"
    columns = ["".join(f"<TR>{cell}</TR>" for cell in cells) for cells in (ports, results)]
    left, right = (f"<TD>{_RIM}{column}</TABLE></TD>" if column else "" for column in columns)
    return f"{_TABLE}<TR>{left}<TD>{_TABLE}{body}</TABLE></TD>{right}</TR></TABLE>"


def legend_label(legend: Legend) -> str:
    """Return the label that explains the shades."""
    cells = [f"<TD>{markup(legend.title)}</TD>"]
    for shade, words in legend.shades:
        cells.append(f'<TD BGCOLOR="{SHADES[shade]}"><FONT COLOR="{INK}">{markup(words)}</FONT></TD>')
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="2" CELLPADDING="3"><TR>{"".join(cells)}</TR></TABLE>'


def small(text: str, colour: str = DIM) -> str:
    """Return markup in small letters."""
    return f'<FONT COLOR="{colour}" POINT-SIZE="9">{text}</FONT>'


def head_of(box: Box | Frame, path: str, dim: str = DIM) -> str:
    """Return the first line: the op, then the rest of the name, or, of a value, the name first.

    Examples
    --------
    >>> head_of(Frame("block_1", "block"), "")
    '<B>block</B><FONT COLOR="#57606a" POINT-SIZE="9">_1</FONT>'
    """
    name, kind = box.name.removeprefix(path), box.kind
    if not name or not kind:
        return f"<B>{markup(kind)}</B>" if kind else markup(name) or " "
    if isinstance(box, Box) and box.round:
        return markup(name) if name == kind else f"{markup(name)} {small(markup(kind), dim)}"
    if name.startswith(kind):
        rest = name.removeprefix(kind)
        return f"<B>{markup(kind)}</B>{small(markup(rest), dim) if rest else ''}"
    return f"<B>{markup(kind)}</B> {small(markup(name), dim)}"


def _code(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return f'<FONT FACE="Courier New" POINT-SIZE="9">{"&#160;" * indent}{markup(line.strip(), 90)}</FONT>'
