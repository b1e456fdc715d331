"""Graphs and inputs as Hypothesis shows them: code to paste, written only when an example is printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.testing.failure.code import array_code, own_origins, parse_arguments

__all__ = ["Batch", "as_code"]


class _Text:
    """A graph, printed as the arguments of `Graph.parse`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        try:
            code = parse_arguments(self.graph, [own.name for own in own_origins(self.graph)])
        except GraphRewriteError:  # it has no text form
            code = repr(self.graph)
        for index, line in enumerate(code.splitlines()):
            if index:
                printer.break_()
            printer.text(line.removeprefix("    "))


class _Parse:
    """The function from the text to the graph, by the name that it has for users."""

    def __call__(self, text: _Text) -> Graph:
        return text.graph

    def __repr__(self) -> str:
        return "Graph.parse"


_PARSE = _Parse()


def as_code(strategy: st.SearchStrategy[Graph]) -> st.SearchStrategy[Graph]:
    """Return a strategy of the same graphs, which Hypothesis prints as ``Graph.parse(…)``."""
    return strategy.map(_Text).map(_PARSE)


class Batch(dict[str, np.ndarray]):
    """Inputs of a graph, which Hypothesis prints entry by entry, as code that makes them again."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        with printer.group(4, "{", "}"):
            for index, (name, array) in enumerate(self.items()):
                printer.text(", " if index else "")
                printer.text(f"{name!r}: {array_code(array)}")
