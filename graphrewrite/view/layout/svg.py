"""Graphviz' SVG with tooltips, classes, and colours of the light and of the dark theme."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from graphrewrite.view.colour import DARK, PAPER
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import Box, Frame, Scene

__all__ = ["cleaned", "finished"]

_SVG = "http://www.w3.org/2000/svg"
_FONT = "Helvetica,Arial,'Liberation Sans',sans-serif"
_MONO = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,'Courier New',monospace"
_PAPER = ("#ffffff", "#15191f")
_SMALLEST = 0.6
"""A picture that is wider than its page shrinks down to this scale; then it scrolls."""
_NAMED = {"white": "#ffffff"}
_LOWER = 0.14
"""Graphviz leaves room for descenders: moved down by this share of its size, a text is centred."""


def cleaned(drawn: bytes, scenes: Sequence[Scene]) -> str:
    """Return an SVG element that can stand alone or inside of HTML, and is readable in light, in dark, and printed."""
    boxes = [box for scene in scenes for box in scene.boxes]
    frames = [frame for scene in scenes for frame in scene.frames]
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(drawn)
    for group in root.iter(f"{{{_SVG}}}g"):
        group.attrib.pop("id", None)
        _name(group, boxes, frames)
    return finished(root, "; ".join(plain(scene.title, 120) for scene in scenes if scene.title) or "picture")


def finished(root: ElementTree.Element, label: str) -> str:
    """Return a drawing, in the colours of the light theme, as an SVG element for both themes, with a label."""
    # Both themes in one element: `light-dark` chooses by the page around it, and printing by the light one.
    roles = _themed(root)
    root.set("class", "gr-picture")
    root.set("role", "img")
    root.set("aria-label", label)
    root.set("font-family", _FONT)
    # As wide as drawn, but no wider than its page; below the smallest scale it scrolls.
    root.set("style", f"max-width:max(100%,{_SMALLEST * _width(root):.0f}pt);height:auto")
    style = ElementTree.Element(f"{{{_SVG}}}style")
    style.text = _style(roles)
    root.insert(0, style)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _name(group: ElementTree.Element, boxes: Sequence[Box], frames: Sequence[Frame]) -> None:
    """Replace Graphviz' names of a group by classes and a tooltip."""
    title = group.find(f"{{{_SVG}}}title")
    if title is None:
        return
    # Titles are the keys in the dot source: n or cluster_f, and an index.
    key, kind = title.text or "", group.get("class")
    shown: Box | Frame | None = None
    if kind == "node":
        shown = box = boxes[int(key[1:])]
        shade = "" if box.shade is None else f"shade-{box.shade}"
        for text in group.iter(f"{{{_SVG}}}text"):
            lower = float(text.get("y", "0")) + _LOWER * float(text.get("font-size", "0"))
            text.set("y", f"{lower:.2f}")
        words = [box.look.family, box.look.level, box.mark, shade, "stub" if box.stub else ""]
        group.set("class", " ".join(["node", *filter(None, words)]))
    elif kind == "cluster" and key.startswith("cluster_f"):
        shown = frames[int(key.removeprefix("cluster_f"))]
        group.set("class", " ".join(["cluster", *filter(None, [shown.mark])]))
    if shown is not None and shown.tooltip:
        title.text = shown.tooltip
    else:
        group.remove(title)


def _themed(root: ElementTree.Element) -> set[tuple[str, str]]:
    """Give each element classes for its colours; return these, as the property and the colour."""
    roles = set()
    # Graphviz' first polygon is the background of the whole picture.
    paper = root.find(f"{{{_SVG}}}g/{{{_SVG}}}polygon")
    for element in root.iter():
        family = element.attrib.pop("font-family", None)
        if family is not None and "Courier" in family:
            element.set("font-family", _MONO)
        if element is paper:
            element.set("fill", PAPER.fill)
            element.set("class", "paper")
            continue
        classes = []
        for what in ("fill", "stroke"):
            colour = element.get(what, "")
            colour = _NAMED.get(colour, colour)
            if colour in DARK:
                roles.add((what, colour))
                classes.append(f"{what[0]}-{DARK[colour][0]}")
        if classes:
            element.set("class", " ".join([*filter(None, [element.get("class")]), *classes]))
    return roles


def _style(roles: set[tuple[str, str]]) -> str:
    rules = [
        ":root.gr-picture{color-scheme:light dark}",
        "@media print{.gr-picture,:root.gr-picture{color-scheme:light}}",
        f".gr-picture .paper{{fill:light-dark({_PAPER[0]},{_PAPER[1]})}}",
    ]
    for what, light in sorted(roles, key=lambda role: (role[0], DARK[role[1]][0])):
        name, dark = DARK[light]
        rules.append(f".gr-picture .{what[0]}-{name}{{{what}:light-dark({light},{dark})}}")
    return "".join(rules)


def _width(root: ElementTree.Element) -> float:
    return float(root.get("width", "0pt").removesuffix("pt"))
