"""Why there is no match: the furthest point that the search reached, and what failed there first."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from graphrewrite.graph_rule.fits import DataTest, in_words
from graphrewrite.graph_rule.pattern import GraphPattern
from graphrewrite.pattern.condition import Where

__all__ = ["Obstacle", "in_a_sentence", "nodes_in", "place_of"]

_SHOWN = 4  # nodes that fit are listed up to so many


class Obstacle:
    """Keeps what stopped the search furthest into the pattern, first."""

    def __init__(self) -> None:
        self.progress = -1
        self.fault: tuple[Any, ...] = ()
        self.image: dict[Hashable, Any] = {}

    def note(self, progress: int, fault: tuple[Any, ...], image: dict[Hashable, Any]) -> None:
        """Remember what failed if the search came further than before."""
        if progress > self.progress:
            self.progress, self.fault, self.image = progress, fault, dict(image)


def in_a_sentence(obstacle: Obstacle, pattern: GraphPattern) -> str:
    """Write in words what an obstacle keeps, without a full stop.

    Parameters
    ----------
    obstacle : Obstacle
        Of a search that found nothing.
    pattern : GraphPattern
        What was looked for.

    Returns
    -------
    str
    """
    reason = _reason(obstacle.fault, pattern)
    if len(obstacle.image) < 2:
        return reason
    shown = [f"{name}={node!r}" for name, node in obstacle.image.items()]
    more = f", … ({len(shown)} nodes)" if len(shown) > _SHOWN else ""
    return f"with {', '.join(shown[:_SHOWN])}{more}, {reason}"


def nodes_in(obstacle: Obstacle, pattern: GraphPattern) -> tuple[Any, ...]:
    """Return the nodes that fit, those of groups one by one.

    Parameters
    ----------
    obstacle : Obstacle
        Of a search that found nothing.
    pattern : GraphPattern
        What was looked for.

    Returns
    -------
    tuple of node
    """
    found: dict[Any, None] = {}
    for name, node in obstacle.image.items():
        found.update(dict.fromkeys(node if name in pattern.groups else (node,)))
    return tuple(found)


def place_of(obstacle: Obstacle) -> tuple[Any, Any]:
    """Return the node of the pattern that nothing could be, and the node of the graph that is no such; None for none.

    Parameters
    ----------
    obstacle : Obstacle
        Of a search that found nothing.

    Returns
    -------
    tuple of name and node
    """
    match obstacle.fault:
        case ("missing", step):
            return step.name, obstacle.image.get(step.backs[0][0])
        case (("node" | "few" | "many" | "outside"), name, node, *_):
            return name, node
        case (("edge" | "no edge" | "extra edge"), (a, b), (source, destination), *_):
            return (a, source) if b in obstacle.image else (b, destination)
        case ("present", _, found):
            return None, next((node for node in found.values() if node not in obstacle.image.values()), None)
    return None, None


def _reason(fault: tuple[Any, ...], pattern: GraphPattern) -> str:
    match fault:
        case ("missing", step):
            other, forward, _ = step.backs[0]
            edge = f"{other} -> {step.name}" if forward else f"{step.name} -> {other}"
            return f"there is no edge left that could be {edge}"
        case ("node", name, node, key, data, test):
            return f"{node!r} {_difference(key, data, test)} for {name}"
        case ("edge", (a, b), (source, destination), key, data, test):
            return f"the edge {source!r} -> {destination!r} {_difference(key, data, test)} for {a} -> {b}"
        case ("no edge", (a, b), (source, destination)):
            return f"there is no edge {source!r} -> {destination!r}, and the pattern has {a} -> {b}"
        case ("extra edge", (a, b), (source, destination)):
            return f"there is an edge {source!r} -> {destination!r}, and the induced pattern has no {a} -> {b}"
        case ("few", name, node, incoming, least, found):
            way, index = ("coming in", 0) if incoming else ("going out", 1)
            return f"{node!r} has {_edges(found[index])} {way}, and the pattern has {least[index]} for {name}"
        case ("many", name, node, incoming, most, found):
            way, index = ("coming in", 0) if incoming else ("going out", 1)
            return (
                f"{node!r} has {_edges(found[index])} {way}, more than {most[index]}: one is to the outside of {name}"
            )
        case ("outside", name, node, (source, destination)):
            return (
                f"{node!r} has an edge to the outside of the match, {source!r} -> {destination!r}, and {name} is no "
                "interface node"
            )
        case ("present", index, found):
            there = ", ".join(f"{name}={node!r}" for name, node in found.items())
            return f"what without[{index}] forbids is there: {there}"
        case ("condition", reason):
            return f"the pattern needs of the whole match: {reason}"
        case ("declined", reason):
            return f"declined: {reason}"
    return f"nothing in the graph can be {next(iter(pattern.single))}"


def _edges(count: int) -> str:
    return f"{count} edge{'' if count == 1 else 's'}"


def _difference(key: str, data: dict[str, Any], test: DataTest) -> str:
    required = test.required[key]
    wanted = f"needs: {required.reason}" if isinstance(required, Where) else f"needs {in_words(required)}"
    if key not in data:
        return f"has no attribute {key!r}, and the pattern {wanted}"
    return f"has {key} {data[key]!r}, and the pattern {wanted}"
