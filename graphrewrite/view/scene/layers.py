"""Choice of the direction in which a picture fits a page: top to bottom, or left to right."""

from __future__ import annotations

from collections import Counter

import networkx as nx

from graphrewrite.view.scene.content import Scene

__all__ = ["direction_for", "layers_of"]

_PAGE, _BOX, _GAP = 900, 130, 60
"""Widths in points: of a page, of a box, and of the label on an arrow from left to right."""


def layers_of(scene: Scene) -> list[int]:
    """Return how many boxes stand in each layer, where a box is below all that it reads."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(scene.boxes)))
    graph.add_edges_from((arrow.source, arrow.destination) for arrow in scene.arrows)
    counts: Counter[int] = Counter()
    ends: dict[int, int] = {}
    # A component of several boxes is a cycle: it is drawn as a chain, one box below the other.
    components = nx.condensation(graph)
    for component in nx.topological_sort(components):
        top = max((ends[above] for above in components.pred[component]), default=0)
        ends[component] = top + len(components.nodes[component]["members"])
        counts.update(range(top, ends[component]))
    return [counts[layer] for layer in range(max(ends.values(), default=0))]


def direction_for(scene: Scene) -> str:
    """Return the direction in which a scene is not, or less, wider than a page; from left to right if it is short.

    Examples
    --------
    >>> from graphrewrite.view.colour import PAPER
    >>> from graphrewrite.view.scene.content import Arrow, Box
    >>> boxes = tuple(Box(str(i), "", PAPER) for i in range(20))
    >>> direction_for(Scene("chain", boxes, tuple(Arrow(i, i + 1) for i in range(19))))
    'TB'
    >>> direction_for(Scene("star", boxes, tuple(Arrow(0, i) for i in range(1, 20))))
    'LR'
    """
    # Boxes of a layer stand side by side from top to bottom, and layers from left to right, with labels between them.
    layers = layers_of(scene)
    labelled = any(arrow.label or arrow.value for arrow in scene.arrows)
    across = max(layers, default=1) * _BOX
    along = len(layers) * _BOX + (len(layers) - 1) * (_GAP if labelled else 0)
    too_wide = {"TB": max(across - _PAGE, 0), "LR": max(along - _PAGE, 0)}
    if too_wide["TB"] == too_wide["LR"]:
        return "LR" if along <= _PAGE else "TB"
    return min(too_wide, key=too_wide.__getitem__)
