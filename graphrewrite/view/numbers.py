"""An evaluation as a table: for each edge a histogram, the use of its format, and the error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphrewrite.errors import GraphError, did_you_mean
from graphrewrite.execution.distribution import Distribution
from graphrewrite.execution.statistics import Evaluation
from graphrewrite.view.display import Display
from graphrewrite.view.plain import plain
from graphrewrite.view.table import Table

if TYPE_CHECKING:
    from graphrewrite.lowering import ValueProfile

__all__ = ["Numbers", "Row", "show_evaluation", "show_value_profile"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 16
"""Bars of a histogram that is text."""
_FAR = 0.1
"""From this relative error on, a row is marked."""
_ORDERS = ("graph", "error", "clipped")


@dataclass(frozen=True)
class Row:
    """Data of one edge in the display.

    Attributes
    ----------
    node : str
        The node, with the index of the result where it is not the first.
    kind, type : str
        Its op, and the type of the edge.
    bars : tuple of float
        Heights of the histogram, the highest 1: square roots of the counts, so that many zeros hide nothing. Its left
        end is `low`, its right end `high`.
    low, high, mean, zeros : str
        As text.
    zero : float or None
        The position of zero in the histogram, from 0 to 1.
    span : tuple of two float, or None
        The interval of the numbers in the range of their format, from 0 to 1.
    limits : str
        The range of the format.
    bits : str
        The number of bits of the format that are needed.
    clipped, is_clipped
        The number of values at a limit, as text, and whether there are any.
    error, against : str
        The error, and the node of the reference.
    off : float or None
        The relative error.
    length : float
        Of its bar, from 0 to 1; that of the largest is 1.
    is_far : bool
        Whether that is large.
    """

    node: str
    kind: str
    type: str
    bars: tuple[float, ...]
    low: str
    high: str
    mean: str
    zeros: str
    zero: float | None
    span: tuple[float, float] | None
    limits: str
    bits: str
    clipped: str
    is_clipped: bool
    error: str
    against: str
    off: float | None
    length: float
    is_far: bool


@dataclass(frozen=True)
class Numbers:
    """Data of the display of an evaluation.

    Attributes
    ----------
    title, subtitle : str
        Above the table; ``subtitle`` names the reference, and the number of edges that are left out.
    rows : tuple of Row
    is_compared : bool
        Whether there is a reference.
    """

    title: str
    subtitle: str
    rows: tuple[Row, ...]
    is_compared: bool


def show_evaluation(
    found: Evaluation,
    *,
    nodes: str | Iterable[str] | None = None,
    order: str = "graph",
    constants: bool = False,
    most: int = 100,
) -> Display:
    r"""Return a table of the numbers on each edge.

    Parameters
    ----------
    order : {"graph", "error", "clipped"}
        Operands first, or the largest errors first, or the most clipped edges first.

    Examples
    --------
    >>> from graphrewrite import Graph, evaluation
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N,2]
    ... r = requantise(x, shift=2, element=u4f2)
    ... y = output(r)''')
    >>> print(evaluation(g, {"x": [[6, 10], [-1, 127]]}))
    g: 2 frames
    node  op          type           low                    high     bits  at limits   zeros
    x     input       s8f4[N,2]  -0.0625  █▆             ▆  7.938  8 of 8  1 (25.0 %)  none
    r     requantise  u4f2[N,2]        0  ▆ █            ▆  3.75   4 of 4  1 (25.0 %)  1 (25.0 %)
    """
    # Outputs repeat the numbers of their operands.
    chosen = [
        key for key, edge in found.edges.items() if edge.kind != "output" and (constants or edge.kind != "constant")
    ]
    if nodes is not None:
        chosen = _of(found, [nodes] if isinstance(nodes, str) else list(nodes))
    edges = found.edges
    if order == "error":
        chosen.sort(key=lambda key: -error.relative if (error := edges[key].error) else 1.0)
    elif order == "clipped":
        chosen.sort(key=lambda key: -edges[key].clipped / max(edges[key].count, 1))
    elif order != "graph":
        raise GraphError(f"there is no order {order!r}{did_you_mean(order, _ORDERS)}; orders are {', '.join(_ORDERS)}")
    shown = [(key, edges[key]) for key in chosen[:most]]
    largest = max((edge.error.relative for _, edge in shown if edge.error), default=0.0)
    rows = tuple(_row(key, edge, largest) for key, edge in shown)
    subtitle = f"{found.frames} frame{'s' if found.frames != 1 else ''}"
    if found.reference:
        subtitle += f", compared with {found.reference}"
    if len(chosen) > most:
        subtitle += f"; {len(chosen) - most} more edges: raise most={most}, or choose some by nodes=[…]"
    data = Numbers(found.name, subtitle, rows, bool(found.reference))
    return Display(data, _text(data), template="numbers.html", title=f"{found.name}: numbers")


def show_value_profile(profile: ValueProfile, *, bits: int = 8, ranges: str | float = "mse") -> Display:
    """Return a table of a profile, with the format of so many bits that each value would get.

    Parameters
    ----------
    bits : int
        Width of the formats.
    ranges : str or float
        How they are chosen, as for `graphrewrite.lowering.quantise`.
    """
    edges = profile.distributions(bits, ranges)
    rows = tuple(
        replace(_row((name, 0), edge, 0.0), kind="range by hand" if name in profile.ranges else "value")
        for name, edge in edges.items()
    )
    name = profile.model or "values"
    data = Numbers(name, f"{profile.samples} sample{'s' * (profile.samples != 1)}", rows, is_compared=False)
    columns = ("value", "format", "low", "", "high", "bits", "beyond", "zeros")
    cells = tuple((r.node, r.type, r.low, _blocks(r.bars), r.high, r.bits, r.clipped, r.zeros) for r in rows)
    text = f"{plain(data.title, 80)}: {data.subtitle}\n{Table(columns, cells, frozenset({2, 5})).text()}"
    return Display(data, text, template="numbers.html", title=f"{name}: profile")


def _of(found: Evaluation, names: list[str]) -> list[tuple[str, int]]:
    known = {node for node, _ in found.edges}
    for name in names:
        if name not in known:
            raise GraphError(f"the evaluation has no numbers of {name!r}{did_you_mean(name, known)}")
    return [key for name in names for key in found.edges if key[0] == name]


def _row(key: tuple[str, int], edge: Distribution, largest: float) -> Row:
    node, result = key
    top = max(edge.counts, default=0)
    span = edge.high - edge.low
    error = edge.error
    return Row(
        node=node if not result else f"{node}:{result}",
        kind=edge.kind,
        type=edge.type,
        # Of roots, small counts are visible beside large ones.
        bars=tuple(math.sqrt(count / top) for count in edge.counts),
        low=_number(edge.low),
        high=_number(edge.high),
        mean=_number(edge.mean),
        zeros=_share(edge.zeros, edge.count) + (f", {edge.not_finite:,} not finite" if edge.not_finite else ""),
        zero=-edge.low / span if 0 < span < math.inf and edge.low <= 0 <= edge.high else None,
        span=_span(edge),
        limits="" if edge.limits is None else f"{_number(edge.limits[0])} … {_number(edge.limits[1])}",
        bits="" if edge.bits is None else f"{edge.bits} of {edge.width}",
        clipped="" if edge.limits is None else _share(edge.clipped, edge.count),
        is_clipped=edge.clipped > 0,
        error="" if error is None else _error(error.largest, error.mean, error.unequal, edge.count),
        against="" if error is None else error.node,
        off=None if error is None else error.relative,
        # Relative errors may be infinite.
        length=0.0 if error is None or not error.relative else min(error.relative, 1e9) / min(largest, 1e9),
        is_far=error is not None and error.relative >= _FAR,
    )


def _span(edge: Distribution) -> tuple[float, float] | None:
    if edge.limits is None or math.isnan(edge.low):
        return None
    least, most = edge.limits
    extent = most - least
    if not extent:
        return 0.0, 1.0
    low, high = (min(max((value - least) / extent, 0.0), 1.0) for value in (edge.low, edge.high))
    return low, high


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.4g}"


def _share(part: int, whole: int) -> str:
    if not part:
        return "none"
    share = 100 * part / whole
    return f"{part:,} (" + (f"{share:.1f}" if share >= 0.1 else "< 0.1") + " %)"


def _error(largest: float, mean: float, unequal: int, count: int) -> str:
    return "equal" if not unequal else f"≤ {largest:.2g}, mean {mean:.2g}, {_share(unequal, count)} differ"


def _text(data: Numbers) -> str:
    columns = ("node", "op", "type", "low", "", "high", "bits", "at limits", "zeros", *["error"] * data.is_compared)
    rows = tuple(
        (r.node, r.kind, r.type, r.low, _blocks(r.bars), r.high, r.bits, r.clipped, r.zeros, r.error)[: len(columns)]
        for r in data.rows
    )
    return f"{plain(data.title, 80)}: {data.subtitle}\n{Table(columns, rows, frozenset({3, 6})).text()}"


def _blocks(bars: tuple[float, ...]) -> str:
    if not bars:
        return ""
    each = math.ceil(len(bars) / _COLUMNS)  # bars are roots of counts: their hypotenuse is the root of the sum
    sums = [math.hypot(*bars[i : i + each]) for i in range(0, len(bars), each)]
    return "".join(_BLOCKS[math.ceil(total / max(sums) * (len(_BLOCKS) - 1))] for total in sums)
