"""Drawings within displays, as data; laid out when the display is drawn, many by one process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cached_property

from graphrewrite.errors import GraphRewriteError
from graphrewrite.view.layout.render import render_svg, render_svgs
from graphrewrite.view.scene import Scene

__all__ = ["Drawing", "drawings"]


class Drawing:
    r"""A drawing in a display.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.view.scene import scene_of
    >>> Drawing((scene_of(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")),))
    <drawing of 2 boxes>
    """

    def __init__(self, scenes: tuple[Scene, ...], direction: str = "TB") -> None:
        self.scenes, self.direction = scenes, direction
        self._sheet = _Sheet((self,), direction)

    @property
    def panels(self) -> tuple[tuple[str, str], ...]:
        """The title and the SVG of each scene; none if they cannot be drawn.

        Scenes are laid out one by one: side by side they would be clusters, whose layout by Graphviz depends on those
        before them.
        """
        svgs = self._sheet.drawn[0]
        return tuple((scene.title, svgs[id(scene)]) for scene in self.scenes if id(scene) in svgs)

    @property
    def hint(self) -> str:
        """Why it cannot be drawn; empty where it can."""
        return self._sheet.drawn[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Drawing) and (self.scenes, self.direction) == (other.scenes, other.direction)

    def __hash__(self) -> int:
        return hash((self.scenes, self.direction))

    def __repr__(self) -> str:
        count = sum(len(scene.boxes) for scene in self.scenes)
        return f"<drawing of {count} box{'' if count == 1 else 'es'}>"


class _Sheet:
    """Drawings that are laid out together, when the first of them is drawn."""

    def __init__(self, drawings: tuple[Drawing, ...], direction: str) -> None:
        self.drawings, self.direction = drawings, direction

    @cached_property
    def drawn(self) -> tuple[dict[int, str], str]:
        """SVG by the identity of a scene, and why there are none."""
        shown = [scene for drawing in self.drawings for scene in drawing.scenes if scene.boxes]
        framed = [scene for scene in shown if scene.frames]
        plain = [scene for scene in shown if not scene.frames]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydot may use deprecated functions of its own libraries
            try:
                svgs = render_svgs([(scene,) for scene in plain], direction=self.direction)
                svgs += [render_svg((scene,), direction=self.direction) for scene in framed]
            except GraphRewriteError as error:
                return {}, f"no picture: {error}"
        return {id(scene): svg for scene, svg in zip((*plain, *framed), svgs, strict=True)}, ""


def drawings(pictures: Iterable[tuple[Scene, ...]], direction: str = "TB") -> tuple[Drawing, ...]:
    """Return drawings that one process lays out together."""
    together = tuple(Drawing(scenes, direction) for scenes in pictures)
    sheet = _Sheet(together, direction)
    for drawing in together:
        drawing._sheet = sheet
    return together
