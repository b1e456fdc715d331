"""Choice of the direction in which a picture fits a page: top to bottom, or left to right."""

from __future__ import annotations

from graphrewrite.view.scene.content import Scene

__all__ = ["direction_for", "layers_of"]

_PAGE, _BOX, _GAP = 900, 130, 60
"""Widths in points: of a page, of a box, and of the label on an arrow from left to right."""


def layers_of(scene: Scene) -> list[int]:
    """Return how many boxes stand in each layer, where a box is below all that it reads."""
    above: list[list[int]] = [[] for _ in scene.boxes]
    waiting = [0] * len(scene.boxes)
    for arrow in scene.arrows:
        if arrow.source != arrow.destination:
            above[arrow.source].append(arrow.destination)
            waiting[arrow.destination] += 1
    layer = [0] * len(scene.boxes)
    ready = [box for box, count in enumerate(waiting) if not count]
    left = set(range(len(scene.boxes))) - set(ready)
    while ready or left:
        if not ready:  # a cycle: it is entered at the first of its boxes
            ready.append(min(left))
            left.discard(ready[0])
        box = ready.pop()
        for reader in above[box]:
            if reader in left:
                layer[reader] = max(layer[reader], layer[box] + 1)
                waiting[reader] -= 1
                if waiting[reader] <= 0:
                    left.discard(reader)
                    ready.append(reader)
    counts = [0] * (max(layer, default=-1) + 1)
    for number in layer:
        counts[number] += 1
    return counts


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
    layers = layers_of(scene)
    labelled = any(arrow.label or arrow.value for arrow in scene.arrows)
    across = max(layers, default=1) * _BOX
    along = len(layers) * _BOX + (len(layers) - 1) * (_GAP if labelled else 0)
    too_wide = {"TB": max(across - _PAGE, 0), "LR": max(along - _PAGE, 0)}
    if too_wide["TB"] == too_wide["LR"]:
        return "LR" if along <= _PAGE else "TB"
    return min(too_wide, key=too_wide.__getitem__)
