"""Timelines as one SVG: side by side, each with its memory over time, and the lives of its nodes below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from graphrewrite.view.charts.bars import Bar, Timeline, amount, rounded, ticks
from graphrewrite.view.colour import DIM, EDGE, FRAME, HIGHLIGHTS, INK, PAPER
from graphrewrite.view.layout.svg import finished
from graphrewrite.view.plain import plain

__all__ = ["MOST_BARS", "MOST_ROWS", "drawing"]

MOST_BARS, MOST_ROWS = 1500, 150
"""Buffers in a picture of memory, and nodes in one of their lives: the largest ones."""
_SVG = "http://www.w3.org/2000/svg"
_LEFT, _WIDE, _HIGH, _HEAD, _FOOT, _GAP = 126, 430, 230, 40, 34, 26
_LETTER, _MARK = 6.1, 4
_PEAK, _BOUND = HIGHLIGHTS["matched"].colour, HIGHLIGHTS["here"].colour


class _Drawing:
    """An SVG element that grows."""

    def __init__(self, wide: float, high: float) -> None:
        ElementTree.register_namespace("", _SVG)
        size = {"width": f"{wide:.0f}pt", "height": f"{high:.0f}pt", "viewBox": f"0 0 {wide:.0f} {high:.0f}"}
        self.root = ElementTree.Element(f"{{{_SVG}}}svg", size)
        self.group = ElementTree.SubElement(self.root, f"{{{_SVG}}}g")
        corners = f"0,0 {wide:.0f},0 {wide:.0f},{high:.0f} 0,{high:.0f}"
        self._add("polygon", points=corners, fill=PAPER.fill)

    def _add(self, tag: str, tooltip: str = "", text: str | None = None, **attributes: str | float) -> None:
        written = {
            key.replace("_", "-"): value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
            for key, value in attributes.items()
        }
        element = ElementTree.SubElement(self.group, f"{{{_SVG}}}{tag}", written)
        if tooltip:
            ElementTree.SubElement(element, f"{{{_SVG}}}title").text = plain(tooltip, 600)
        if text is not None:
            element.text = plain(text, 300)

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "start", size: float = 10, bold: bool = False
    ) -> None:
        colour = INK if bold else DIM
        weight = "bold" if bold else "normal"
        self._add("text", "", text, x=x, y=y, fill=colour, font_size=size, text_anchor=anchor, font_weight=weight)

    def label(self, x: float, y: float, text: str) -> None:
        self._add("text", "", text, x=x, y=y, fill=INK, font_size=9, pointer_events="none")

    def rectangle(
        self, x: float, y: float, wide: float, high: float, fill: str, tooltip: str, stroke: str = EDGE
    ) -> None:
        self._add("rect", tooltip, x=x, y=y, width=wide, height=high, fill=fill, stroke=stroke, stroke_width=0.5)

    def line(self, path: str, stroke: str, *, wide: float = 1, dashed: str = "none") -> None:
        style = {"stroke_dasharray": dashed} if dashed != "none" else {}
        self._add("path", "", d=path, fill="none", stroke=stroke, stroke_width=wide, pointer_events="none", **style)


def drawing(timelines: Sequence[Timeline], *, unit: str, lives: bool, label: str) -> str:
    """Return timelines side by side, of one scale, as an SVG element; with the lives of nodes below if asked for."""
    rows = _rows(timelines[0]) if lives else []
    pitch = min(14.0, max(4.0, 560 / len(rows))) if rows else 0.0
    wide = len(timelines) * (_LEFT + _WIDE + _GAP)
    below = _HEAD + _HIGH + _FOOT
    drawn = _Drawing(wide, below + (len(rows) * pitch + _FOOT if rows else 0))
    top = max([1, *(max(each.height, each.bound) for each in timelines)])
    for i, timeline in enumerate(timelines):
        x = i * (_LEFT + _WIDE + _GAP) + _LEFT
        scale = _WIDE / (timeline.last - timeline.first)
        _memory(drawn, timeline, x, scale, top, unit)
        if rows:
            _lives(drawn, timeline, rows, x, below, scale, pitch, unit)
    return finished(drawn.root, label)


def _rows(timeline: Timeline) -> list[str]:
    """Return the nodes of which lives are drawn, in their order: the largest ones."""
    sizes = dict.fromkeys(timeline.order, 0)
    for bar in timeline.bars:
        sizes[bar.name] = sizes.get(bar.name, 0) + bar.size
    seen = {*timeline.order[timeline.first : timeline.last], *(bar.name for bar, *_ in timeline.shown())}
    rows = [name for name in timeline.order if name in seen]
    chosen = set(sorted(rows, key=lambda name: -sizes[name])[:MOST_ROWS])
    return [name for name in rows if name in chosen]


def _memory(drawn: _Drawing, timeline: Timeline, x: float, scale: float, top: int, unit: str) -> None:
    """Draw what lies where at each step."""
    y = _HEAD + _HIGH
    drawn.text(x, 15, plain(timeline.title, 60), size=12, bold=True)
    drawn.text(x + _WIDE, 30, "line: sum of what lives, dashed: lower bound", anchor="end", size=9)
    state = "optimal" if timeline.load <= timeline.bound else f"lower bound {amount(timeline.bound, unit)}"
    placed = f", placed in {amount(timeline.height, unit)}" if timeline.height != timeline.load else ""
    drawn.text(x, 30, f"peak {amount(timeline.load, unit)}, {state}{placed}")
    for tick in ticks(top, unit):
        level = y - tick / top * _HIGH
        drawn.line(f"M{x} {level:.1f}h{_WIDE}", FRAME, wide=0.6)
        drawn.text(x - 6, level + 3, amount(tick, unit), anchor="end", size=9)
    largest = sorted(timeline.shown(), key=lambda each: -each[0].size * (each[2] - each[1]))[:MOST_BARS]
    for bar, begin, end in sorted(largest, key=lambda each: (each[1], each[0].offset)):
        left, wide = x + (begin - timeline.first) * scale, max((end - begin) * scale, 0.5)
        high = bar.size / top * _HIGH
        place = y - (bar.offset + bar.size) / top * _HIGH
        drawn.rectangle(left, place, wide, high, bar.fill, _words(bar, timeline, unit, with_offset=True))
        if high >= 11 and wide >= 4 * _LETTER:
            drawn.label(left + 3, place + high / 2 + 3, plain(bar.name, int((wide - 4) / _LETTER)))
    path, level = "", 0
    for step, total in timeline.loads():
        if timeline.first <= step < timeline.last:
            path += f"H{x + (step - timeline.first) * scale:.2f}V{y - total / top * _HIGH:.2f}"
        elif step < timeline.first:
            level = total
    start = f"M{x} {y - level / top * _HIGH:.2f}"
    drawn.line(f"{start}{path}H{x + _WIDE}", INK, wide=min(1.3, max(0.4, scale / 2)))
    if timeline.bound:
        drawn.line(f"M{x} {y - timeline.bound / top * _HIGH:.1f}h{_WIDE}", _BOUND, wide=1.2, dashed="6 3")
    _steps(drawn, timeline, x, y, scale)


def _lives(
    drawn: _Drawing, timeline: Timeline, rows: Iterable[str], x: float, y: float, scale: float, pitch: float, unit: str
) -> None:
    """Draw at which step each node runs, and how long its results live."""
    steps = {name: i for i, name in enumerate(timeline.order)}
    bars: dict[str, list[tuple[Bar, int, int]]] = {}
    for each in timeline.shown():
        bars.setdefault(each[0].name, []).append(each)
    for i, name in enumerate(rows):
        row, high = y + i * pitch, max(pitch - 2, 2.5)
        if pitch >= 9:
            drawn.text(x - 6, row + pitch / 2 + 3, plain(name, 20), anchor="end", size=9)
        for bar, begin, end in bars.get(name, []):
            tooltip = _words(bar, timeline, unit, with_offset=False)
            left, wide = x + (begin - timeline.first) * scale, max((end - begin) * scale, 0.5)
            drawn.rectangle(left, row + 1, wide, high, bar.fill, tooltip)
        if timeline.first <= steps.get(name, -1) < timeline.last:
            place = x + (steps[name] - timeline.first) * scale
            drawn.rectangle(place, row + 1, max(scale, 1), high, EDGE, f"{name}: runs at step {steps[name]}")
    _steps(drawn, timeline, x, y + len(list(rows)) * pitch, scale)


def _words(bar: Bar, timeline: Timeline, unit: str, *, with_offset: bool) -> str:
    """Return what is said of a buffer where one points at it."""
    last = timeline.order[bar.end - 1] if bar.end - 1 < len(timeline.order) else ""
    life = f"step {bar.begin}" if bar.end == bar.begin + 1 else f"steps {bar.begin} to {bar.end - 1}"
    said = [f"{bar.name}: {amount(bar.size, unit)}", life]
    said += [f"last read by {last}"] if last not in ("", bar.name) else []
    said += [f"at {bar.offset:,}"] if with_offset else []
    return ", ".join([*said, *([bar.words] if bar.words else [])])


def _steps(drawn: _Drawing, timeline: Timeline, x: float, y: float, scale: float) -> None:
    """Draw the axis of steps, and where most is taken."""
    length = timeline.last - timeline.first
    distance = rounded(length / 8)
    peak = next((step for step, total in timeline.loads() if total == timeline.load), None)
    is_marked = peak is not None and timeline.load and timeline.first <= peak < timeline.last
    middle = x + (peak - timeline.first + 0.5) * scale if peak is not None and is_marked else None
    for step in range(timeline.first, timeline.last, distance):
        place = x + (step - timeline.first) * scale
        if middle is None or not place - _MARK - 2 < middle < place + len(str(step)) * _LETTER + _MARK:
            drawn.text(place, y + 12, str(step), size=9)
    drawn.text(x - 6, y + 12, "step", anchor="end", size=9)
    if middle is not None:
        drawn.line(f"M{middle:.1f} {y + 3:.1f}l-{_MARK} 7h{2 * _MARK}z", _PEAK, wide=1.4)
        drawn.text(min(max(middle, x + 25), x + _WIDE - 25), y + 24, f"peak at {peak}", anchor="middle", size=9)
