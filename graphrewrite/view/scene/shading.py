"""Numbers as colours: range, error or bit width of what a graph computes, in a few shades with a legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from graphrewrite.execution.distribution import Distribution
from graphrewrite.execution.statistics import Evaluation
from graphrewrite.view.colour import SHADES
from graphrewrite.view.scene.content import Legend
from graphrewrite.view.written import PictureError

__all__ = ["Shading"]


class Shading:
    r"""Shading of nodes by the numbers of an evaluation.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite import evaluation
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> shading = Shading(evaluation(g, {"x": [[-4.0, 1.0]]}), "range")
    >>> shading.on_edge("x", 0), shading.on_edge("r", 0)
    ('-4 … 1', '0 … 1')
    >>> shading.legend()
    Legend(title='largest absolute value', shades=((0, '1'), (4, '4')))
    """

    def __init__(self, numbers: Evaluation, by: str, nodes: Collection[Any] | None = None) -> None:
        counted = None if nodes is None else set(nodes)
        self.edges: dict[tuple[Any, int], Distribution] = {
            key: edge for key, edge in numbers.edges.items() if counted is None or key[0] in counted
        }
        if by not in _KINDS:
            raise PictureError(f"numbers are shown by {', '.join(map(repr, _KINDS))}, not by {by!r}")
        self.title, self.measure, self.written = _KINDS[by]
        if not any(self.measure(edge) is not None for edge in self.edges.values()):
            raise PictureError(_MISSING[by])

    @cached_property
    def steps(self) -> tuple[float, ...]:
        """The lower bound of each shade: even steps, of the logarithm where the measures differ by much."""
        measures = (self.measure(edge) for edge in self.edges.values())
        finite = sorted({m for m in measures if m is not None and math.isfinite(m)})
        if not finite:
            return ()
        if len(finite) <= len(SHADES):
            return tuple(finite)
        # Orders of magnitude need logarithmic steps; zero has no logarithm, and is in the first shade anyway.
        above = [m for m in finite if m > 0]
        low, high = above[0] if above else 0.0, finite[-1]
        count = len(SHADES)
        if low > 0 and high / low > 20:
            bounds = [low * (high / low) ** (i / count) for i in range(count)]
        else:
            bounds = [finite[0] + (high - finite[0]) * i / count for i in range(count)]
        bounds[0] = finite[0]
        return tuple(bounds)

    def shade(self, measure: float | None) -> int | None:
        """Return the shade of a measure: an index into `SHADES`; None where there is no measure."""
        if measure is None or math.isnan(measure) or not self.steps:
            return None
        # With fewer steps than shades, they spread over all shades.
        step = max((i for i, low in enumerate(self.steps) if measure >= low), default=0)
        return round(step * (len(SHADES) - 1) / max(len(self.steps) - 1, 1))

    def of_node(self, node: Any) -> int | None:
        """Return the shade of a node: that of its result, or of the darkest of them."""
        return self._shades.get(node)

    @cached_property
    def _shades(self) -> dict[Any, int]:
        shades: dict[Any, int] = {}
        for (node, _), edge in self.edges.items():
            shade = self.shade(self.measure(edge))
            if shade is not None:
                shades[node] = max(shade, shades.get(node, 0))
        return shades

    def on_edge(self, node: Any, result: int) -> str:
        """Return the text on the arrows of a result; empty where its numbers are unknown."""
        edge = self.edges.get((node, result))
        return "" if edge is None or self.measure(edge) is None else self.written(edge)

    def legend(self) -> Legend:
        """Return the legend of the shades."""
        measures = [m for edge in self.edges.values() if (m := self.measure(edge)) is not None and not math.isnan(m)]
        rows = []
        for shade in range(len(SHADES)):
            inside = [m for m in measures if self.shade(m) == shade]
            if inside:
                low, high = number(min(inside)), number(max(inside))
                rows.append((shade, low if low == high else f"{low} … {high}"))
        return Legend(self.title, tuple(rows))


def number(value: float) -> str:
    """Return a number in three digits.

    Examples
    --------
    >>> number(-0.123456), number(1234567.0), number(3.0)
    ('-0.123', '1.23e+06', '3')
    """
    return f"{value:.3g}"


def _largest(edge: Distribution) -> float | None:
    return None if math.isnan(edge.low) else max(abs(edge.low), abs(edge.high))


def _error(edge: Distribution) -> float | None:
    return None if edge.error is None else edge.error.largest


def _bits(edge: Distribution) -> float | None:
    return None if edge.bits is None else float(edge.bits)


def _range(edge: Distribution) -> str:
    clipped = f", {100 * edge.clipped / edge.count:.2g} % clipped" if edge.clipped else ""
    return f"{number(edge.low)} … {number(edge.high)}{clipped}"


_KINDS: dict[str, tuple[str, Callable[[Distribution], float | None], Callable[[Distribution], str]]] = {
    "range": ("largest absolute value", _largest, _range),
    "error": ("largest error", _error, lambda e: f"± {number(_error(e) or 0.0)}"),
    "bits": ("bits needed", _bits, lambda e: f"{e.bits} of {e.width} bits"),
}
_MISSING = {
    "range": "the evaluation has no numbers to show; give it a batch of at least one frame",
    "error": "the evaluation has no errors, for it has no reference: evaluation(graph, inputs, reference=…)",
    "bits": "the evaluation has no bit widths: all its numbers are floats; show it by='range'",
}
