"""A journal of steps, to undo a rewrite of a graph in place."""

from __future__ import annotations

from typing import Any

from graphrewrite.graph.edit import revert_edit
from graphrewrite.graph.storage import stores_plainly
from graphrewrite.rewriting.fused import Record

__all__ = ["Journal"]


class Journal(list[Any]):
    """The steps of a rewrite, in order: edits, and the records of fused rules; made before the first of them."""

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph
        self.names = list(graph)
        self.bodies: list[tuple[Any, str, Any]] = []
        self.kept = {key: getattr(graph, key) for key in ("_fresh", "ops") if hasattr(graph, key)}
        if "ops" in self.kept:
            self.kept["ops"] = dict(self.kept["ops"])

    def undo(self) -> None:
        """Undo all steps, the last first."""
        graph = self.graph
        while self:
            step = self.pop()
            revert_edit(graph, Record(step, graph).edit if isinstance(step, tuple) else step)
        for node, key, body in reversed(self.bodies):
            if node in graph:
                graph._node[node][key] = body
        for key, value in self.kept.items():
            setattr(graph, key, value)
        if stores_plainly(graph):  # reverted nodes are added at the end: restore the old order
            for table in (graph._node, graph._pred, graph._succ):
                entries = [(name, table[name]) for name in self.names]
                table.clear()
                table.update(entries)
