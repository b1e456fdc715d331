"""A journal of steps, from which a graph that is edited in place is brought back to what it was."""

from __future__ import annotations

from typing import Any

from graphrewrite.edit import take_back
from graphrewrite.fused import Record
from graphrewrite.storage import stores_plainly

__all__ = ["Journal"]


class Journal(list[Any]):
    """The steps of a rewrite, in order: edits, and what fused rules tell.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        As it is before the first of them.
    """

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph
        self.names = list(graph)
        self.kept = {key: getattr(graph, key) for key in ("_fresh", "ops") if hasattr(graph, key)}
        if "ops" in self.kept:
            self.kept["ops"] = dict(self.kept["ops"])

    def take_back(self) -> None:
        """Undo all steps, the last first."""
        graph = self.graph
        while self:
            step = self.pop()
            take_back(graph, Record(step, graph).edit if isinstance(step, tuple) else step)
        for key, value in self.kept.items():
            setattr(graph, key, value)
        if stores_plainly(graph):  # nodes that came back stand where they stood
            for table in (graph._node, graph._pred, graph._succ):
                found = [(name, table[name]) for name in self.names]
                table.clear()
                table.update(found)
