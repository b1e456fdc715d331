"""Where new nodes come from, back to the graph that came in."""

from __future__ import annotations

from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY

__all__ = ["Provenance"]


class Provenance:
    """Remembers of each edit what it matched, and writes origins down when they are asked for.

    Writing them at once would copy ever longer lists along a chain of rewrites.
    """

    def __init__(self) -> None:
        self.edits: list[Edit] = []

    def note(self, edit: Edit) -> None:
        """Remember an edit that was carried out."""
        if edit.added:
            self.edits.append(edit)

    def settle(self, graph: Any) -> None:
        """Write the origin of each new node that is still there into its data."""
        if not self.edits or not isinstance(graph, Graph):
            self.edits = []
            return
        nodes = graph._node
        parents: dict[Any, Edit] = {name: edit for edit in self.edits for name, _ in edit.added}
        gone = {entry[0]: entry[1] for edit in self.edits for entry in edit.lost if len(entry) == 4}
        bridges = {name for name, op in (LIBRARY | graph.ops).items() if op.level == "bridge"}

        def origins(edit: Edit) -> tuple[Any, ...]:
            """The origins of what an edit matched, through all edits that came before it."""
            found: dict[Any, None] = {}
            seen = {id(edit)}
            work = [iter(edit.matched)]
            while work:
                for node in work[-1]:
                    before = parents.get(node)
                    if before is not None:
                        if id(before) not in seen:
                            seen.add(id(before))
                            work.append(iter(before.matched))
                            break
                        continue
                    data = gone.get(node) or nodes.get(node) or {}
                    if data.get("type") not in bridges:
                        found.update(dict.fromkeys(data.get("origin") or (node,)))
                else:
                    work.pop()
            return tuple(found)

        for edit in self.edits:
            alive = [nodes[name] for name, _ in edit.added if name in nodes]
            written = [data for data in alive if "origin" in data and data.get("type") not in bridges]
            if written:
                origin = origins(edit)
                for data in written:
                    data["origin"] = origin
        self.edits = []
