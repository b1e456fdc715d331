"""Where new nodes come from, back to the graph that came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite.edit import Edit
from graphrewrite.graph import Graph
from graphrewrite.op import find_op

__all__ = ["SHORT", "Provenance"]

SHORT = 9
"""An origin of fewer nodes than this is written down at once."""


class Provenance:
    """Finds of each new node where it comes from: at once where that is a few nodes, the rest when it is asked for.

    Writing all at once would copy ever longer lists along a chain of rewrites.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        In which rules are applied; of a graph that is none of this library's, nothing is noted.

    Attributes
    ----------
    pending : dict
        New node to the nodes that were matched when it was made, where its origin is not written down yet.
    told : dict
        Nodes that went, to what they said of their own origin.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.pending: dict[Any, tuple[Any, ...]] = {}
        self.told: dict[Any, dict[str, Any]] = {}

    def note(self, edit: Edit) -> None:
        """Remember an edit that was carried out."""
        if not edit.added or not isinstance(self.graph, Graph):
            return
        nodes = self.graph._node
        gone = {entry[0]: entry[1] for entry in edit.lost if len(entry) == 4}
        data = [gone.get(name) or nodes.get(name) or {} for name in edit.matched]
        origin = self.origin(edit.matched, data)
        if origin is None:
            self.later([name for name, _ in edit.added], edit.matched, data)
            return
        for name, _ in edit.added:
            if nodes[name].get("origin") == () and not self.is_bridge(nodes[name]):
                nodes[name]["origin"] = origin

    def origin(self, matched: Sequence[Any], data: Sequence[dict[str, Any]]) -> tuple[Any, ...] | None:
        """Return what some matched nodes come from, or None where that is to be found later."""
        found: dict[Any, None] = {}
        for name, before in zip(matched, data, strict=True):
            if name in self.pending:
                return None
            if not self.is_bridge(before):  # an op that only changes levels carries none
                found.update(dict.fromkeys(before.get("origin") or (name,)))
        return tuple(found) if 0 < len(found) < SHORT else None

    def later(self, new: Sequence[Any], matched: tuple[Any, ...], data: Sequence[dict[str, Any]]) -> None:
        """Remember what new nodes were made of, to write down their origin later."""
        for name in new:
            self.pending[name] = matched
        self.told.update(zip(matched, data, strict=True))

    def is_bridge(self, data: dict[str, Any]) -> bool:
        """Tell whether a node's op only changes between levels."""
        kind = data.get("type", "")
        op = find_op(kind, self.graph.ops)
        return op is not None and op.level == "bridge"

    def settle(self) -> None:
        """Write the origin of each new node that is still there into its data."""
        nodes = self.graph._node
        for name in self.pending:
            data = nodes.get(name)
            if data is not None and "origin" in data and not self.is_bridge(data):
                data["origin"] = self._found(name)
        self.pending.clear()
        self.told.clear()

    def _found(self, name: Any) -> tuple[Any, ...]:
        """Return the origins of a new node, through all that was matched on the way to it."""
        pending, told, nodes = self.pending, self.told, self.graph._node
        found: dict[Any, None] = {}
        seen = {name}
        work = [iter(pending[name])]
        while work:
            for node in work[-1]:
                data = told.get(node) or nodes.get(node) or {}
                if self.is_bridge(data):
                    continue
                before = pending.get(node)
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
