"""A picture of a failure: both graphs side by side, with values, the first difference ringed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.testing.failure.columns import ListingLine
from graphrewrite.view import Picture
from graphrewrite.view.scene import scene_of

__all__ = ["picture", "svg_or_reason", "write_svg"]


def picture(
    graphs: tuple[Any, Any], titles: tuple[str, str], columns: tuple[list[ListingLine], list[ListingLine]], text: str
) -> Picture:
    r"""Return a picture of two graphs: nodes of only one of them are marked, and the first difference is ringed.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> lines = [ListingLine("x", "x = input()", "1.0", ringed=True)]
    >>> shown = picture((g, g), ("before", "after"), (lines, lines), "")
    >>> shown.scenes[0].box("x").mark, shown.scenes[0].box("x").notes[-1]
    ('different', '= 1.0')
    """
    before, after = graphs
    scenes = []
    for graph, other, word, title, lines in zip(
        graphs, (after, before), ("removed", "added"), titles, columns, strict=True
    ):
        if graph is None:
            continue
        marks = {} if other is None else {node: word for node in graph if node not in other}
        marks.update({line.node: "different" for line in lines if line.ringed})
        scene = scene_of(graph, marks=marks, title=title)
        values = {str(line.node): line.value for line in lines if line.value}
        boxes = tuple(
            replace(box, notes=(*box.notes, f"= {values[box.name]}")) if box.name in values else box
            for box in scene.boxes
        )
        scenes.append(replace(scene, boxes=boxes))
    return Picture(tuple(scenes), text)


def svg_or_reason(shown: Picture) -> tuple[str, str]:
    """Return a picture as SVG, or an empty string and the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # drawing libraries may use deprecated functions of others
        try:
            return shown.svg, ""
        except GraphRewriteError as error:
            return "", f"no picture: {error}"


def write_svg(shown: Picture, path: Path) -> str:
    """Write a picture to a file, creating its folder; return the reason if there is no picture."""
    svg, reason = svg_or_reason(shown)
    if reason:
        return reason
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        return f"no picture: {error.strerror or error}: {path}"
    return ""
