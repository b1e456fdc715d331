"""Pairing of equal nodes of two graphs: by name, else by data and neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import networkx as nx

from graphrewrite.compare.equality import describe_edge

__all__ = ["pair"]

_ROUNDS = 8
"""Maximum number of rounds of searching for further pairs."""


def pair(
    a: nx.DiGraph, b: nx.DiGraph, order: Sequence[Any], text_a: Callable[[Any], str], text_b: Callable[[Any], str]
) -> dict[Any, Any]:
    """Return a one-to-one mapping from nodes of one graph to nodes of another.

    Nodes of the same name are paired. Others are paired if they have equal data and equal operands, equal data and
    equal readers, or data that is unique on both sides. `order` lists the nodes of `b`, operands first.

    Examples
    --------
    >>> a, b = nx.DiGraph([("x", "r"), ("r", "y")]), nx.DiGraph([("x", "s"), ("s", "y")])
    >>> pair(a, b, ["x", "s", "y"], lambda node: "", lambda node: "")
    {'x': 'x', 'y': 'y', 'r': 's'}
    """
    images = {node: node for node in a if node in b}
    originals = dict(images)
    if len(images) == len(a) or len(images) == len(b):
        return images
    for _ in range(_ROUNDS):
        count = len(images)
        for near_a, near_b, way in ((a._pred, b._pred, order), (a._succ, b._succ, order[::-1])):
            _pair_near(images, originals, (a, near_a, text_a), (b, near_b, text_b), way)
        _pair_alone(images, originals, (a, text_a), (b, text_b))
        if len(images) == count or len(images) == len(a) or len(images) == len(b):
            break
    return images


def _around(near: Mapping[Any, Any], named: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """Return a node's neighbours with their edges; None if one of them is not paired."""
    around = []
    for other, edge in near.items():
        image = named(other)
        if image is None:
            return None
        around.append((describe_edge(edge), str(image), image))
    return tuple(sorted(around, key=lambda entry: entry[:2]))


def _pair_near(images: dict[Any, Any], originals: dict[Any, Any], of_a: Any, of_b: Any, way: Sequence[Any]) -> None:
    """Add pairs that have the same data and the same neighbours on one side, along existing pairs."""
    (a, near_a, text_a), (_, near_b, text_b) = of_a, of_b
    waiting: dict[Any, list[Any]] = {}
    # A node of `a` can be paired when all its neighbours on that side are: count those that are missing.
    beside: dict[Any, int] = {
        node: sum(other not in images for other in near_a[node]) for node in a if node not in images
    }
    other_way = a._succ if near_a is a._pred else a._pred

    def offer(node: Any) -> None:
        around = _around(near_a[node], images.get)
        if around:
            waiting.setdefault((text_a(node), around), []).append(node)

    for node, count in beside.items():
        if not count:
            offer(node)
    for node in way:
        if node in originals:
            continue
        around = _around(near_b[node], lambda other: other if other in originals else None)
        likely = waiting.get((text_b(node), around)) if around else None
        if not likely:
            continue
        chosen = likely.pop(0)
        images[chosen], originals[node] = node, chosen
        for reader in other_way[chosen]:
            if reader in beside and reader not in images:
                beside[reader] -= 1
                if not beside[reader]:
                    offer(reader)


def _pair_alone(images: dict[Any, Any], originals: dict[Any, Any], of_a: Any, of_b: Any) -> None:
    """Add pairs whose data is unique on both sides."""
    (a, text_a), (b, text_b) = of_a, of_b
    by_text: dict[str, tuple[list[Any], list[Any]]] = {}
    for side, graph, paired, text in ((0, a, images, text_a), (1, b, originals, text_b)):
        for node in graph:
            if node not in paired:
                by_text.setdefault(text(node), ([], []))[side].append(node)
    for ours, theirs in by_text.values():
        if len(ours) == len(theirs) == 1:
            images[ours[0]], originals[theirs[0]] = theirs[0], ours[0]
