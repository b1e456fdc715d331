"""Layout of a frame: both sides are laid out together, so that unchanged nodes do not move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from graphrewrite.view.layout.program import laid_out
from graphrewrite.view.stepper.content import Frame, Rectangle, Shape
from graphrewrite.view.stepper.measure import Sizes

__all__ = ["placed"]

_INCH = 72
_BATCH = 200
"""Frames that one process lays out."""
_HEAD = 'digraph f{nodesep=.28 ranksep=.42 node[shape=box label="" margin=0] edge[arrowhead=none]'


def placed(frames: Iterable[Frame]) -> list[Frame]:
    """Return frames with rectangles for their boxes and curves for their arrows."""
    # One thread runs dot on a batch while the next one is prepared.
    sizes = Sizes()
    coming = iter(frames)
    with ThreadPoolExecutor(1) as thread:
        batches = []
        while batch := list(islice(coming, _BATCH)):
            graphs = "".join(_graph(frame, [sizes(shape) for shape in frame.shapes]) for frame in batch)
            batches.append((batch, thread.submit(laid_out, graphs, "plain")))
        return [
            _placed(frame, lines, sizes) if frame.shapes else frame
            for batch, output in batches
            for frame, lines in zip(batch, _blocks(output.result()), strict=True)
        ]


def _graph(frame: Frame, sizes: Sequence[tuple[int, int]]) -> str:
    lines = [_HEAD, *(_node(i, shape, *size) for i, (shape, size) in enumerate(zip(frame.shapes, sizes, strict=True)))]
    for i, link in enumerate(frame.links):
        tail = f":r{link.result}:s" if _results(frame.shapes[link.source]) > 1 else ""
        count = _ports(frame.shapes[link.destination])
        head = f":i{min(link.port, count - 1)}:n" if link.port is not None and count else ""
        # The output of dot does not number edges: the colour serves as the number.
        lines.append(f'n{link.source}{tail}->n{link.destination}{head}[color="{i}"]')
    return "\n".join([*lines, "}\n"])


def _node(index: int, shape: Shape, width: int, height: int) -> str:
    ports, results = _ports(shape), _results(shape)
    if not ports and results < 2:
        return f"n{index}[width={width / _INCH:.3f} height={height / _INCH:.3f} fixedsize=true]"
    # Ports are cells of a table as large as the box: the upper half for operands, the lower half for results.
    rows = [
        "".join(
            f'<TD FIXEDSIZE="TRUE" WIDTH="{width / count:.0f}" HEIGHT="{height / 2:.0f}" PORT="{key}{i}"></TD>'
            for i in range(count)
        )
        for key, count in (("i", ports or 1), ("r", results))
    ]
    rim = 'BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"'
    inner = "".join(f"<TR><TD><TABLE {rim}><TR>{row}</TR></TABLE></TD></TR>" for row in rows)
    return f"n{index}[shape=plain label=<<TABLE {rim}>{inner}</TABLE>>]"


def _ports(shape: Shape) -> int:
    return max(len(box.ports) for box in (shape.before, shape.after) if box is not None)


def _results(shape: Shape) -> int:
    return max(box.results for box in (shape.before, shape.after) if box is not None)


def _blocks(output: bytes) -> Iterator[list[str]]:
    """Yield the lines of each graph."""
    block: list[str] = []
    for line in output.decode("ascii", "replace").splitlines():
        if line == "stop":
            yield block
            block = []
        else:
            block.append(line)


def _placed(frame: Frame, lines: Iterable[str], sizes: Sizes) -> Frame:
    rectangles: dict[int, Rectangle] = {}
    points: dict[int, tuple[int, ...]] = {}
    top = 0.0
    for line in lines:
        words = line.split(" ")
        if words[0] == "graph":
            top = float(words[3])
        elif words[0] == "node":
            index = int(words[1][1:])
            x, y = round(float(words[2]) * _INCH), round((top - float(words[3])) * _INCH)
            rectangles[index] = Rectangle(x, y, *sizes(frame.shapes[index]))
        elif words[0] == "edge":
            count = int(words[3])
            # Inches from below become pixels from above.
            along = [round(float(word) * _INCH) for word in words[4 : 4 + 2 * count : 2]]
            down = [round((top - float(word)) * _INCH) for word in words[5 : 5 + 2 * count : 2]]
            points[int(words[-1])] = tuple([number for point in zip(along, down, strict=True) for number in point])
    curves = tuple([points.get(i, ()) for i in range(len(frame.links))])
    return replace(frame, places=tuple([rectangles[i] for i in range(len(frame.shapes))]), curves=curves)
