"""Where new nodes come from, back to the graph that came in."""

from __future__ import annotations

from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.graph import Graph
from graphrewrite.op import LIBRARY

__all__ = ["Provenance"]


class Provenance:
    """Remembers of each new node what was matched, and writes origins down when they are asked for.

    Writing them at once would copy ever longer lists along a chain of rewrites.

    Attributes
    ----------
    parents : dict
        New node to the nodes that were matched when it was made.
    told : dict
        Nodes that went, to what they said of their own origin.
    """

    def __init__(self) -> None:
        self.parents: dict[Any, tuple[Any, ...]] = {}
        self.told: dict[Any, dict[str, Any]] = {}

    def note(self, edit: Edit) -> None:
        """Remember an edit that was carried out."""
        for name, _ in edit.added:
            self.parents[name] = edit.matched
        for entry in edit.lost:
            if len(entry) == 4:
                self.told[entry[0]] = entry[1]

    def settle(self, graph: Any) -> None:
        """Write the origin of each new node that is still there into its data."""
        if isinstance(graph, Graph):
            nodes = graph._node
            bridges = {name for name, op in (LIBRARY | graph.ops).items() if op.level == "bridge"}
            parents, told = self.parents, self.told
            for name, matched in parents.items():
                data = nodes.get(name)
                if data is None or "origin" not in data or data["type"] in bridges:
                    continue
                found: dict[Any, None] = {}
                for node in matched:
                    before = told.get(node)
                    if node in parents or before is None:  # made by an earlier edit, or still there
                        data["origin"] = self.origins(name, nodes, bridges)
                        break
                    if before["type"] not in bridges:
                        for origin in before.get("origin") or (node,):
                            found[origin] = None
                else:
                    data["origin"] = tuple(found)
        self.parents, self.told = {}, {}

    def origins(self, name: Any, nodes: dict[Any, Any], bridges: set[str]) -> tuple[Any, ...]:
        """Return the origins of a new node, through all that was matched on the way to it."""
        parents, told = self.parents, self.told
        found: dict[Any, None] = {}
        seen = {name}
        work = [iter(parents[name])]
        while work:
            for node in work[-1]:
                data = told.get(node) or nodes.get(node) or {}
                if data.get("type") in bridges:
                    continue  # an op that only changes levels carries none
                before = parents.get(node)
                if before is not None:
                    if node not in seen:
                        seen.add(node)
                        work.append(iter(before))
                        break
                    continue
                for origin in data.get("origin") or (node,):
                    found[origin] = None
            else:
                work.pop()
        return tuple(found)
