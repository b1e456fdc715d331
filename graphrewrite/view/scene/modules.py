"""Frames around what the modules of a framework made, such as those of PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate, takewhile
from typing import Any

import networkx as nx

from graphrewrite.graph import Graph
from graphrewrite.view.scene.content import Frame

__all__ = ["module_frames"]


def module_frames(graph: nx.DiGraph, drawn: Iterable[Any]) -> tuple[list[Frame], dict[Any, int]]:
    """Return a frame for each module of several nodes, outer ones first, and the frame of each node that is in one.

    Modules are known by the record of a graph's origin; the paths of nodes are those of the origins, so that they hold
    for what rules made of them.
    """
    stored = graph.graph.get("origin")
    records = stored.get("nodes", {}) if isinstance(stored, Mapping) else {}
    if not isinstance(graph, Graph) or not any("module" in each.get("metadata", ()) for each in records.values()):
        return [], {}
    labels = {node: [label for label in graph.origin(node) if label in records] for node in drawn}
    outer = {prefix for each in labels.values() for label in each for prefix in _prefixes(label)[:-1]}
    paths = {node: _common([_path(label, outer) for label in each]) for node, each in labels.items() if each}
    sizes = Counter(prefix for path in paths.values() for prefix in _prefixes(path))
    frames: list[Frame] = []
    at: dict[str, int] = {}
    for prefix in sorted((prefix for prefix, count in sizes.items() if count > 1), key=lambda name: name.count(".")):
        at[prefix] = len(frames)
        frames.append(Frame(prefix, "module", _innermost(prefix.rpartition(".")[0], at)))
    places = {node: _innermost(path, at) for node, path in paths.items()}
    return frames, {node: place for node, place in places.items() if place is not None}


def _prefixes(path: str) -> list[str]:
    """Return a path and those of the modules around it, the outermost first."""
    return list(accumulate(path.split("."), "{}.{}".format)) if path else []


def _path(label: str, outer: set[str]) -> str:
    """Return the module of a node: that of its own name where other nodes are in it, or the one around it."""
    return label if label in outer else label.rpartition(".")[0]


def _common(paths: list[str]) -> str:
    """Return the module that holds all of some."""
    steps = zip(*(path.split(".") for path in paths), strict=False)
    return ".".join(step[0] for step in takewhile(lambda step: len(set(step)) == 1, steps))


def _innermost(path: str, at: Mapping[str, int]) -> int | None:
    """Return the frame of the innermost module around a path that has one."""
    return next((at[prefix] for prefix in reversed(_prefixes(path)) if prefix in at), None)
