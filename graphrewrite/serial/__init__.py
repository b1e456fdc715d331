r"""Graphs and modules as nested dictionaries of primitive types, as JSON, as text, and in files.

Examples
--------
>>> from graphrewrite import Graph
>>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
>>> from_dict(to_dict(graph)) == graph
True
"""

from __future__ import annotations

from graphrewrite.serial.decode_graph import from_dict
from graphrewrite.serial.encode_graph import to_dict
from graphrewrite.serial.json_file import load, save
from graphrewrite.serial.text_file import read_text, write_text

__all__ = ["from_dict", "load", "read_text", "save", "to_dict", "write_text"]
