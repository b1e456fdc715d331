r"""Graphs and modules as text, as nested dictionaries of primitive types, as JSON, and in files.

Examples
--------
>>> from graphrewrite import Graph
>>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
>>> from_dict(to_dict(graph)) == graph
True
"""

from graphrewrite.formats.json.decode_graph import from_dict
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json_file import load, save
from graphrewrite.formats.text.graph_parser import parse, parse_module
from graphrewrite.formats.text.graph_printer import to_text
from graphrewrite.formats.text_file import read_text, write_text

__all__ = ["from_dict", "load", "parse", "parse_module", "read_text", "save", "to_dict", "to_text", "write_text"]


def __dir__() -> list[str]:
    return sorted(__all__)
