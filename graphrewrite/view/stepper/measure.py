"""Estimates, without font metrics, of the sizes of text and boxes in pixels, on the large side."""

from __future__ import annotations

from graphrewrite.view.plain import plain, shortened
from graphrewrite.view.scene import Box
from graphrewrite.view.stepper.content import Shape

__all__ = ["LETTERS", "NOTES", "Sizes", "length", "lines_of"]

LETTERS = 26
"""Of a line in a box; longer lines lose their middle, and the tooltip has them all."""
NOTES = 3
_HEAD, _LINE, _PORTS, _RIM = 16, 13, 12, 6
_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[]{}/ "), frozenset("mwMWGOQ@%—…")


def length(text: str, size: float) -> int:
    """Return about how long a text is in a sans serif.

    Examples
    --------
    >>> length("relu", 10) < length("conv", 10) < length("層層層層", 10)
    True
    """
    # Three widths for Latin letters, and full width for East Asian ones.
    em = sum(0.34 if c in _NARROW else 0.92 if c in _WIDE else 1.05 if ord(c) > 0x2E80 else 0.6 for c in text)
    return int(em * size) + 1


def lines_of(box: Box) -> tuple[str, str, tuple[str, ...]]:
    """Return the texts of a box: its head, the line below that, and its notes."""
    name, kind = (shortened(plain(text), LETTERS) for text in (box.name, box.kind))
    notes = [shortened(note, LETTERS + 4) for note in box.notes[:NOTES]]
    if len(box.notes) > NOTES:
        notes[-1] = f"… {len(box.notes) - NOTES + 1} more"
    return (name, kind, tuple(notes)) if box.round else (kind or name, name if kind else "", tuple(notes))


class Sizes:
    """Sizes of nodes; each box is measured once."""

    def __init__(self) -> None:
        # By identity: one box is in many frames, and hashing it takes long.
        self.known: dict[tuple[int, bool], tuple[Box, tuple[int, int]]] = {}

    def __call__(self, shape: Shape) -> tuple[int, int]:
        """Return the width and the height that a node needs on both sides of a step."""
        sides = ((shape.before, shape.mark_before), (shape.after, shape.mark_after))
        sizes = [self._size(box, bool(mark)) for box, mark in sides if box is not None]
        return max([width for width, _ in sizes]), max([height for _, height in sizes])

    def _size(self, box: Box, is_marked: bool) -> tuple[int, int]:
        key = (id(box), is_marked)
        if key not in self.known:
            self.known[key] = (box, _size(box, is_marked))
        return self.known[key][1]


def _size(box: Box, is_marked: bool) -> tuple[int, int]:
    head, below, notes = lines_of(box)
    widths = [length(head, 12.5), length(below, 10.5), *(length(note, 10.5) for note in notes)]
    widths += [length("matched, removed", 11.5)] if is_marked else []
    widths += [sum(max(18, length(port, 9.5) + 8) for port in box.ports)]
    height = _HEAD + _LINE * (bool(below) + len(notes) + is_marked) + _PORTS * (bool(box.ports) + (box.results > 1))
    return max(*widths, 44) + (26 if box.round else 18), height + 2 * _RIM
