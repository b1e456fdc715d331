"""Scenes as files: laid out by Graphviz, and as SVG that can stand alone or inside of a page."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.view.layout.dot import dot_of
from graphrewrite.view.layout.program import laid_out
from graphrewrite.view.layout.svg import cleaned
from graphrewrite.view.scene import Scene

__all__ = ["laid_out", "render_png", "render_svg", "render_svgs"]

_END = b"</svg>\n"


def render_svg(scenes: Sequence[Scene], *, direction: str) -> str:
    """Return scenes as an SVG element that can stand alone or inside HTML."""
    return render_svgs([scenes], direction=direction)[0]


def render_svgs(pictures: Sequence[Sequence[Scene]], *, direction: str) -> list[str]:
    """Return many pictures as SVG elements, all laid out by one process."""
    if not pictures:
        return []
    # dot reads several graphs in a row, and writes as many documents.
    source = "\n".join(dot_of(scenes, direction=direction, tooltips=False).to_string() for scenes in pictures)
    drawn = [part + _END for part in laid_out(source, "svg").split(_END)[:-1]]
    return [cleaned(svg, scenes) for svg, scenes in zip(drawn, pictures, strict=True)]


def render_png(scenes: Sequence[Scene], *, direction: str) -> bytes:
    """Return scenes as a PNG file's content, in the light theme."""
    return laid_out(dot_of(scenes, direction=direction, tooltips=False).to_string(), "png", "-Gdpi=120")
