"""A journal of steps, to undo a rewrite of a graph in place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from graphrewrite.graph.edit import Edit, revert_edit
from graphrewrite.graph.storage import stores_plainly
from graphrewrite.rewriting.fused import Layout, Record

__all__ = ["Journal"]


class Journal(list[Any]):
    """The steps of a rewrite, in order, made before the first of them: edits, and what fused rules tell of theirs.

    That is one flat list: no object is made for a step of a fused rule, which the garbage collector would walk over.
    """

    def __init__(self, graph: Any) -> None:
        super().__init__()
        self.graph = graph
        self.names = list(graph)
        self.bodies: list[tuple[Any, str, Any]] = []
        self.kept = {key: getattr(graph, key) for key in ("_fresh", "ops") if hasattr(graph, key)}
        if "ops" in self.kept:
            self.kept["ops"] = dict(self.kept["ops"])

    def steps(self) -> Iterator[Edit | Record]:
        """Yield the steps; edits of records are to be asked for the last first, each when the later ones are undone."""
        objects = iter(self)
        for first in objects:
            if isinstance(first, Edit):
                yield first
            else:
                layout: Layout = next(objects)
                yield Record((first, layout, *islice(objects, layout.size)), self.graph)

    def undo(self) -> None:
        """Undo all steps, the last first."""
        graph = self.graph
        for step in reversed(list(self.steps())):
            revert_edit(graph, step.edit if isinstance(step, Record) else step)
        self.clear()
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
