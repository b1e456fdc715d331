"""Content of a picture as data, before layout: boxes, arrows and frames."""

from __future__ import annotations

from dataclasses import dataclass

from graphrewrite.view.colour import Look

__all__ = ["Arrow", "Box", "Frame", "Legend", "Scene"]


@dataclass(frozen=True)
class Box:
    """One node of a picture.

    Attributes
    ----------
    name : str
        The node's name, after those of the nodes that contain it; empty where the picture needs none.
    kind : str
        The op's name, in bold.
    look : Look
        Its colours.
    ports : tuple of str
        Names of the operands that are drawn, in order, where there is more than one.
    results : int
        The number of its results.
    notes : tuple of str
        Lines below the name: tucked constants and attributes.
    code : tuple of str
        Lines of source below them.
    tooltip : str
        All facts about the node.
    mark : str
        A key of `HIGHLIGHTS`, or nothing.
    round : bool
        Whether it is a value rather than an operation.
    stub : bool
        Whether it stands for nodes that are not drawn, named in its notes.
    frame : int or None
        The frame of the scene that it stands in.
    shade : int or None
        The shade of its numbers, in `SHADES`.
    """

    name: str
    kind: str
    look: Look
    ports: tuple[str, ...] = ()
    results: int = 1
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    tooltip: str = ""
    mark: str = ""
    round: bool = False
    stub: bool = False
    frame: int | None = None
    shade: int | None = None


@dataclass(frozen=True)
class Arrow:
    """One operand: from a box's result to a box's port.

    Attributes
    ----------
    source, destination : int
        Positions of boxes.
    result : int
        Of the source.
    port : int or None
        Of the destination, where it has several.
    label : str
        The type that it carries.
    mark : str
        A key of `HIGHLIGHTS`, or nothing.
    value : str
        Figures of the numbers that it carries.
    """

    source: int
    destination: int
    result: int = 0
    port: int | None = None
    label: str = ""
    mark: str = ""
    value: str = ""


@dataclass(frozen=True)
class Frame:
    """A node that is a graph, around the boxes of that graph.

    Attributes
    ----------
    name, kind : str
        As of a box.
    parent : int or None
        The frame that it stands in.
    tooltip, mark : str
        As of a box.
    """

    name: str
    kind: str
    parent: int | None = None
    tooltip: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Legend:
    """Key of a picture's shades: a title, and an interval for each shade."""

    title: str
    shades: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Scene:
    """A picture's content: a title, boxes, arrows between boxes by their position, and frames around boxes."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    frames: tuple[Frame, ...] = ()
    legend: Legend | None = None

    def box(self, name: str) -> Box:
        """Return the box of a node."""
        return next(box for box in self.boxes if box.name == name)
