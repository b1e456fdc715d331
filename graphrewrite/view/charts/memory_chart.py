"""A picture of a placement: each span as a rectangle over time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphrewrite.memory.placement import Placement
from graphrewrite.view.charts.bars import Bar, Timeline, alive_at, amount, tint
from graphrewrite.view.charts.chart import Chart, Drawn
from graphrewrite.view.charts.drawing import MOST_BARS, MOST_ROWS, drawing
from graphrewrite.view.plain import plain
from graphrewrite.view.written import PictureError

__all__ = ["chart_of", "show_placement"]

_LISTED = 6
"""Buffers that the text names."""


def show_placement(
    placement: Placement,
    *,
    before: Placement | None = None,
    names: Sequence[str] | None = None,
    steps: tuple[int, int] | None = None,
    titles: tuple[str, str] | None = None,
    unit: str = "bytes",
) -> Chart:
    """Return a chart of memory over time: each span is a rectangle, as long as it lives and as high as its size.

    Parameters
    ----------
    before : Placement, optional
        Another placement, to be shown on the left, in the same scale.
    names : sequence of str, optional
        Names of the spans, of both placements; their numbers where not given.
    steps : tuple of (int, int), optional
        The first step that is drawn, and the one after the last; all where not given.
    titles : tuple of two str, optional
        Titles of both.
    unit : str
        What sizes count.

    Examples
    --------
    >>> from graphrewrite.memory import Span, place
    >>> place([Span(4, 0, 2), Span(8, 1, 3)]).show(names=["x", "y"])
    memory: peak 12 bytes at step 1, optimal
      y  8 bytes  steps 1 to 2
      x  4 bytes  steps 0 to 1
    """
    heads = titles or ("before", "after")
    timelines = [] if before is None else _timelines(before, names, heads[0])
    timelines += _timelines(placement, names, "memory" if before is None and titles is None else heads[1])
    return chart_of(timelines, unit=unit, lives=False, steps=steps)


def _timelines(placement: Placement, names: Sequence[str] | None, title: str) -> list[Timeline]:
    """Return a timeline of each pool."""
    spans = placement.spans
    if names is None:
        names = [f"span {i}" for i in range(len(spans))]
    if len(names) < len(spans):
        raise PictureError(f"there are {len(spans)} spans, and {len(names)} names; give one for each span")
    found = []
    for pool, usage in placement.pools.items():
        bars = [
            Bar(names[i], span.size, placement.offsets[i], begin, end, tint(i), over)
            for i, span in enumerate(spans)
            if span.pool == pool and span.size
            for over in ["" if span.over is None else f"over {names[span.over]}"]
            for begin, end in span.lives()
        ]
        head = f"{title}, pool {pool}" if pool else title
        found.append(Timeline(head, tuple(bars), (), usage.height, usage.load, usage.bound))
    return found


def chart_of(timelines: Sequence[Timeline], *, unit: str, lives: bool, steps: tuple[int, int] | None) -> Chart:
    """Return the chart of timelines, with the same in words."""
    if steps is not None and not steps[0] < steps[1]:
        raise PictureError(f"the first step is before the one after the last, got {steps}")
    timelines = [replace(timeline, window=steps) for timeline in timelines]
    text = "\n".join(_text(timeline, unit) for timeline in timelines) or "nothing takes memory"
    hints = []
    most = max((len(timeline.shown()) for timeline in timelines), default=0)
    if most > MOST_BARS:
        hints.append(f"the {MOST_BARS:,} largest of {most:,} buffers are drawn")
    if lives and steps is None and (nodes := len(timelines[0].order)) > MOST_ROWS:
        hints.append(
            f"the lives of the {MOST_ROWS} largest of {nodes:,} nodes are drawn; steps=(first, end) draws a part"
        )
    label = "; ".join(_text(timeline, unit).partition("\n")[0] for timeline in timelines)
    svg = drawing(timelines, unit=unit, lives=lives, label=label) if timelines else ""
    title = timelines[0].title if timelines else "memory"
    return Chart(Drawn(svg, tuple(hints)), text, title=title)


def _text(timeline: Timeline, unit: str) -> str:
    """Return the peak in words, and what lives then."""
    peak = next((step for step, total in timeline.loads() if total == timeline.load), 0)
    at = f"step {peak}" + (f" ({plain(timeline.order[peak], 60)})" if peak < len(timeline.order) else "")
    is_optimal = timeline.load <= timeline.bound
    state = "optimal" if is_optimal else f"lower bound {amount(timeline.bound, unit)}"
    placed = f", placed in {amount(timeline.height, unit)}" if timeline.height != timeline.load else ""
    lines = [f"{plain(timeline.title, 120)}: peak {amount(timeline.load, unit)} at {at}, {state}{placed}"]
    alive = alive_at(timeline.bars, peak)
    shown = [
        (plain(bar.name, 60), amount(bar.size, unit), f"steps {bar.begin} to {bar.end - 1}") for bar in alive[:_LISTED]
    ]
    widths = [max((len(row[i]) for row in shown), default=0) for i in range(2)]
    lines += [f"  {name.ljust(widths[0])}  {size.rjust(widths[1])}  {life}" for name, size, life in shown]
    if rest := alive[_LISTED:]:
        others = "another one" if len(rest) == 1 else f"{len(rest)} others"
        lines.append(f"  and {others} of {amount(sum(bar.size for bar in rest), unit)}")
    return "\n".join(lines)
