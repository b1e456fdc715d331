"""What forbids a node for a node of a pattern graph: as data while a search runs, in words when someone asks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from graphrewrite.rewriting.digraph_rules.fits import DataTest, in_words
from graphrewrite.rewriting.pattern.condition import Where

__all__ = ["Fault", "blamed_by", "in_context", "reason_of"]

Fault = tuple[Any, ...]
"""The kind of fault, and what it is about."""

_SHOWN = 4  # nodes that fit are listed up to so many


def in_context(images: Mapping[Hashable, Any], reason: str) -> str:
    """Write a reason after the nodes that fit, without a full stop."""
    if len(images) < 2:
        return reason
    shown = [f"{name}={node!r}" for name, node in images.items()]
    more = f", … ({len(shown)} nodes)" if len(shown) > _SHOWN else ""
    return f"with {', '.join(shown[:_SHOWN])}{more}, {reason}"


def blamed_by(fault: Fault, images: Mapping[Hashable, Any]) -> tuple[Any, Any]:
    """Return the node of the pattern that nothing could be, and the node of the graph that did not fit; or None."""
    match fault:
        case ("missing", step):
            return step.name, images.get(step.backs[0][0]) if step.backs else None
        case (("node" | "few" | "many" | "outside"), name, node, *_):
            return name, node
        case (("edge" | "no edge" | "extra edge"), (a, b), (source, destination), *_):
            return (a, source) if b in images else (b, destination)
        case ("present", _, found):
            return None, next((node for node in found.values() if node not in images.values()), None)
    return None, None


def reason_of(fault: Fault) -> str:
    """Write in words what does not fit."""
    match fault:
        case ("missing", step) if not step.backs:
            return f"no node is left that could be {step.name}"
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
    raise AssertionError(f"there is no such fault: {fault!r}")


def _edges(count: int) -> str:
    return f"{count} edge{'' if count == 1 else 's'}"


def _difference(key: str, data: dict[str, Any], test: DataTest) -> str:
    required = test.required[key]
    wanted = f"needs: {required.reason}" if isinstance(required, Where) else f"needs {in_words(required)}"
    if key not in data:
        return f"has no attribute {key!r}, and the pattern {wanted}"
    return f"has {key} {data[key]!r}, and the pattern {wanted}"
