"""Attributes that take every value of a small range, so that a proof holds for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from graphrewrite.errors import GraphRewriteError, RuleError, did_you_mean
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Graph

__all__ = ["Ranges"]

_MOST = 4096
"""Maximum number of combinations of values for one graph."""


class Ranges:
    """Values of attributes, for every node that has such an attribute.

    Parameters
    ----------
    wanted : mapping of str to iterable
        Values by attribute, such as ``{"shift": range(8)}``; ``"requantise.shift"`` is that of one op.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse('''graph g
    ... x = input() : s8f4[N]
    ... r = requantise(x, shift=0, element=s4f0)
    ... y = output(r)''')
    >>> [each.nodes["r"]["shift"] for each in Ranges({"requantise.shift": range(4)}).over(g)]
    [0, 1, 2, 3]
    """

    def __init__(self, wanted: Mapping[str, Iterable[Any]]) -> None:
        self.wanted: dict[str, Sequence[Any]] = {name: tuple(values) for name, values in wanted.items()}
        self._met: set[str] = set()
        self._seen: set[str] = set()
        self._known: dict[str, None] = {}

    def over(self, graph: Graph) -> Iterator[Graph]:
        """Yield a graph with each combination of values, those left out that do not fit its types.

        Yields
        ------
        Graph
            The graph itself where none of its nodes has such an attribute.
        """
        slots = [(node, *entry) for node in graph.in_order() for entry in self._of(graph, node)]
        if not slots:
            yield graph
            return
        count = prod(len(values) for *_, values in slots)
        if count > _MOST:
            raise RuleError(
                f"{', '.join(self.wanted)}: a graph with {len(slots)} such attributes has {count:,} combinations of "
                f"their values, and {_MOST:,} are the most; give smaller ranges"
            )
        for chosen in product(*(values for *_, values in slots)):
            variant = graph.copy()
            for (node, name, _), value in zip(slots, chosen, strict=True):
                if value == variant.op(node).attributes[name]:  # defaults are not stored
                    variant.nodes[node].pop(name, None)
                else:
                    variant.nodes[node][name] = value
            try:
                variant.infer()
            except GraphRewriteError:  # a value that does not fit what is around it
                continue
            text = to_text(variant, whole=True)
            if text not in self._seen:  # graphs that differed in this attribute only are equal now
                self._seen.add(text)
                yield variant

    def _of(self, graph: Graph, node: str) -> Iterator[tuple[str, Sequence[Any]]]:
        kind = graph.nodes[node]["type"]
        if kind in ("input", "constant", "output"):
            return
        for name in graph.op(node).attributes:
            for key in (name, f"{kind}.{name}"):
                self._known[key] = None
                if key in self.wanted:
                    self._met.add(key)
                    yield name, self.wanted[key]

    def check(self) -> None:
        """Raise if no node had one of the attributes."""
        for name in self.wanted:
            if self._known and name not in self._met:
                raise RuleError(
                    f"no node of the graphs has an attribute {name!r}, for which there is a range"
                    f"{did_you_mean(name, list(self._known))}"
                )
