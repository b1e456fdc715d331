"""A design in one VHDL file: its entities in the order of analysis, without the test bench."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import BinaryIO

from graphrewrite import Graph
from graphrewrite.formats.files import replaced
from graphrewrite.hdl.emission.design import Design
from graphrewrite.hdl.emission.project import emit

__all__ = ["save", "single_file"]


def single_file(design: Design) -> str:
    """Return the VHDL of a design as one text, which any tool analyses as it is.

    Examples
    --------
    >>> from graphrewrite.hdl.components.clip import clip
    >>> from graphrewrite.types import FixedPoint, Stream
    >>> g = Graph("rectify")
    >>> _ = g.output("y", clip(g.input("x", Stream(FixedPoint(True, 8), (2, 5))), low=0, high=127))
    >>> [line for line in single_file(emit(g)).splitlines() if line.startswith("entity ")]
    ['entity stream_buffer is', 'entity clip is', 'entity rectify is']
    """
    sources = [path for path in design.files["compile_order.txt"].split() if not path.startswith("testbench/")]
    return "\n".join(f"-- {path}\n{design.files[path]}" for path in sources)


def save(graph: Graph, path: str | PathLike[str]) -> None:
    """Write the VHDL of a graph at the stream level to one file, with an entity of the graph's name on top."""
    text = single_file(emit(graph))

    def write(stream: BinaryIO, _: str) -> None:
        stream.write(text.encode())

    replaced(Path(path), write)
