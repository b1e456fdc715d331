"""A picture of a schedule: memory over time, and below it when each node runs and how long its results live."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx

from graphrewrite.graph.arguments import as_graph
from graphrewrite.memory.ordering import Schedule
from graphrewrite.memory.placement import place
from graphrewrite.op.library import find_op
from graphrewrite.view.charts.bars import Bar, Timeline, tint
from graphrewrite.view.charts.chart import Chart
from graphrewrite.view.charts.memory_chart import chart_of
from graphrewrite.view.colour import look_of

__all__ = ["show_schedule"]


def show_schedule(
    schedule: Schedule,
    *,
    before: Schedule | None = None,
    on: nx.DiGraph | None = None,
    steps: tuple[int, int] | None = None,
    titles: tuple[str, str] | None = None,
    unit: str = "bytes",
) -> Chart:
    r"""Return a chart of a schedule: memory over time with a rectangle for each value, and the lives of nodes below.

    Parameters
    ----------
    before : Schedule, optional
        Another order, to be shown on the left, in the same scale, with the nodes in the same rows.
    on : Graph, optional
        The graph that is scheduled: nodes have the colours of their ops, and their ops and types are named.
    steps : tuple of (int, int), optional
        The first step that is drawn, and the one after the last; all where not given.
    titles : tuple of two str, optional
        Titles of both.
    unit : str
        What sizes count.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.memory import schedule
    >>> g = Graph.parse("graph g\nx = input() : f32[8]\na = exp(x)\nb = relu(a)\ny = output(b)")
    >>> schedule(g).show()
    schedule: peak 64 bytes at step 1 (b), optimal
      a  32 bytes  steps 0 to 1
      b  32 bytes  steps 1 to 3
    """
    heads = titles or ("before", "after")
    head = "schedule" if before is None and titles is None else heads[1]
    timelines = [_timeline(schedule, on, head)]
    if before is not None:
        timelines.insert(0, _timeline(before, on, heads[0]))
        if _sizes(before) == _sizes(schedule):  # what is proved of one order is true of the other
            bound = max(before.bound, schedule.bound)
            timelines = [replace(timeline, bound=bound) for timeline in timelines]
    return chart_of(timelines, unit=unit, lives=True, steps=steps)


def _sizes(schedule: Schedule) -> tuple[set[str], dict[tuple[str, int], int]]:
    """Return what is ordered."""
    return set(schedule.order), {value: span.size for value, span in schedule.spans.items()}


def _timeline(schedule: Schedule, on: nx.DiGraph | None, title: str) -> Timeline:
    values = list(schedule.spans)
    placed = place(list(schedule.spans.values()), steps=0)
    colours, words = _looks(on)
    bars = []
    for i, (name, result) in enumerate(values):
        span = placed.spans[i]
        if span.size and span.begin < span.end:
            said = [words[name]] if name in words else []
            said += [f"result {result}"] if result else []
            said += [f"over {values[span.over][0]}"] if span.over is not None else []
            fill = colours.get(name, tint(i))
            bars.append(Bar(name, span.size, placed.offsets[i], span.begin, span.end, fill, ", ".join(said)))
    return Timeline(title, tuple(bars), schedule.order, placed.height, schedule.peak, schedule.bound)


def _looks(on: nx.DiGraph | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the colour of each node's op, and op and type in words."""
    if on is None:
        return {}, {}
    graph = as_graph(on, "that is scheduled")
    colours, words = {}, {}
    for node, data in graph.nodes(data=True):
        kind, result = str(data.get("type")), data.get("result")
        colours[node] = look_of(kind, find_op(kind, graph.ops), result).fill
        shown = ", ".join(map(str, result)) if isinstance(result, tuple) else str(result)
        words[node] = f"{kind} : {shown}" if result is not None else kind
    return colours, words
