"""Layout and files: Graphviz' program ``dot``, and a clean-up of the SVG that it writes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from xml.etree import ElementTree

from graphrewrite.errors import MissingDependencyError
from graphrewrite.view.dot import dot_of
from graphrewrite.view.scene import Scene
from graphrewrite.view.written import PictureError

__all__ = ["render_png", "render_svg"]

_SVG = "http://www.w3.org/2000/svg"
_SECONDS = 60


def render_svg(scenes: Sequence[Scene], *, direction: str = "TB") -> str:
    """Return scenes as an SVG element that can stand alone or inside HTML.

    Parameters
    ----------
    scenes : sequence of Scene
    direction : {"TB", "LR"}

    Returns
    -------
    str
        Without comments, identifiers and scripts; each node's tooltip is its ``title``.

    Raises
    ------
    MissingDependencyError
        If pydot or Graphviz is not installed.
    """
    drawn = _run(dot_of(scenes, direction=direction, tooltips=False).to_string(), "svg")
    boxes = [box for scene in scenes for box in scene.boxes]
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(drawn)
    for group in root.iter(f"{{{_SVG}}}g"):
        group.attrib.pop("id", None)
        title = group.find(f"{{{_SVG}}}title")
        if title is None:
            continue
        if group.get("class") == "node" and boxes[int((title.text or "n0")[1:])].tooltip:
            title.text = boxes[int((title.text or "n0")[1:])].tooltip
        else:
            group.remove(title)
    root.set("style", "max-width:100%;height:auto")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def render_png(scenes: Sequence[Scene], *, direction: str = "TB") -> bytes:
    """Return scenes as a PNG file's content.

    Parameters
    ----------
    scenes : sequence of Scene
    direction : {"TB", "LR"}

    Returns
    -------
    bytes

    Raises
    ------
    MissingDependencyError
        If pydot or Graphviz is not installed.
    """
    return _run(dot_of(scenes, direction=direction, tooltips=False).to_string(), "png", "-Gdpi=120")


def _run(source: str, form: str, *options: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise MissingDependencyError(
            "pictures need Graphviz' program dot, which is not on the path: apt-get install graphviz"
        )
    try:
        done = subprocess.run(
            [program, f"-T{form}", *options], input=source.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise PictureError(
            f"Graphviz did not lay the graph out in {_SECONDS} s; draw a part of it, graph.subgraph(nodes)"
        ) from None
    if done.returncode or not done.stdout:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise PictureError(f"Graphviz failed: {reason[0] if reason else f'exit code {done.returncode}'}")
    return done.stdout
