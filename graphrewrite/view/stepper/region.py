"""The part of a graph that a frame shows: the nodes that a step touches, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphrewrite.view.stepper.drawn import Drawn

__all__ = ["region"]

_SIDE = 12
"""At most so many neighbours on each side of a node are visited."""


def region(
    core: Iterable[Any], sides: Iterable[Drawn], *, near: Iterable[Any] = (), radius: int, most: int
) -> dict[Any, None]:
    r"""Return the nodes of a frame, nearest first.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = exp(a)\nc = abs(b)\ny = output(c)")
    >>> list(region(["b"], [Drawn(g)], radius=1, most=10))
    ['b', 'a', 'c']
    """
    sides = tuple(sides)

    def visible(nodes: Iterable[Any]) -> dict[Any, None]:
        return dict.fromkeys(n for n in nodes if any(n in side.graph and side[n] is not None for side in sides))

    found = dict.fromkeys(list(visible(core))[:most])
    layer, first = list(found), visible(near)
    for _ in range(radius):  # breadth-first, `near` together with the first neighbours
        around = {node: None for node in first if node not in found}
        first = {}
        for node in layer:
            for side in sides:
                if node in side.graph:
                    around.update(dict.fromkeys(n for n in side.neighbours(node, _SIDE) if n not in found))
        layer = list(around)[: most - len(found)]
        found.update(dict.fromkeys(layer))
    return found
