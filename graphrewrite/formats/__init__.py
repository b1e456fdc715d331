r"""Graphs and modules as text, as nested dictionaries of primitive types, as JSON, as ordered calls, and in files.

Examples
--------
>>> from graphrewrite import Graph
>>> graph = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
>>> from_dict(to_dict(graph)) == graph
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import no_attribute

if TYPE_CHECKING:
    from graphrewrite.formats.calls import CallList, from_calls, to_calls
    from graphrewrite.formats.documents import load, save
    from graphrewrite.formats.json.decode_graph import from_dict
    from graphrewrite.formats.json.encode_graph import to_dict
    from graphrewrite.formats.text.graph_parser import parse, parse_module
    from graphrewrite.formats.text.graph_printer import to_text
    from graphrewrite.formats.text_file import read_text, write_text

__all__ = [
    "CallList",
    "from_calls",
    "from_dict",
    "load",
    "parse",
    "parse_module",
    "read_text",
    "save",
    "to_calls",
    "to_dict",
    "to_text",
    "write_text",
]

_HOMES = {
    "CallList": "calls",
    "from_calls": "calls",
    "from_dict": "json.decode_graph",
    "load": "documents",
    "parse": "text.graph_parser",
    "parse_module": "text.graph_parser",
    "read_text": "text_file",
    "save": "documents",
    "to_calls": "calls",
    "to_dict": "json.encode_graph",
    "to_text": "text.graph_printer",
    "write_text": "text_file",
}
"""The module of each public name, loaded when it is asked for: messages of the engine need the printer only."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise no_attribute(__name__, name, __all__)
    member = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return member


def __dir__() -> list[str]:
    return sorted(__all__)
