"""Origins of new nodes in the graph before rewriting."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from graphrewrite.graph.edit import Edit
from graphrewrite.graph.graph import Graph
from graphrewrite.op.library import find_op

__all__ = ["SHORT", "Provenance", "give_origin"]

SHORT = 9
"""Origins of fewer nodes are written at once."""


def give_origin(graph: Graph, count: int, origin: str, *, keep: bool = False) -> None:
    """Give an origin to the nodes that have been added since a graph had so many; with ``keep``, to those without."""
    for node in islice(reversed(graph._node), len(graph) - count):  # and none of the others is looked at
        data = graph._node[node]
        data["origin"] = (keep and data.get("origin")) or (origin,)


class Provenance:
    """Origins of new nodes: written at once if they are few nodes, otherwise by `settle`.

    Writing all of them at once would copy ever longer tuples along a chain of rewrites.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        The graph that is rewritten; only a `Graph` gets origins.

    Attributes
    ----------
    pending : dict
        New node to the nodes of its match, as long as its origin is not written; of an old node that stands in for
        others, itself and these.
    replaced : dict
        Matched nodes to their data at that time, with their own origin.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.pending: dict[Any, Sequence[Any]] = {}
        self.replaced: dict[Any, dict[str, Any]] = {}

    def note(self, edit: Edit) -> None:
        """Record an edit that was applied."""
        if not (edit.added or edit.heirs) or not isinstance(self.graph, Graph):
            return
        nodes = self.graph._node
        gone = {entry[0]: entry[1] for entry in edit.lost if len(entry) == 4}
        if edit.heirs:
            stood_in = {name: gone[name] for name in edit.matched if name in gone}
            for heir in edit.heirs:
                edit.lost.append((heir, nodes[heir].copy()))
                self.extend(heir, stood_in)
            return
        data = [gone.get(name) or nodes.get(name) or {} for name in edit.matched]
        origin = self.origin(edit.matched, data)
        if origin is None:
            self.later([name for name, _ in edit.added], edit.matched, data)
            return
        for name, _ in edit.added:
            if nodes[name].get("origin") == () and not self.is_bridge(nodes[name]):
                nodes[name]["origin"] = origin

    def extend(self, heir: Any, gone: dict[Any, dict[str, Any]]) -> None:
        """Add to the origin of an old node those of the nodes that it stands in for."""
        data = self.graph._node[heir]
        if self.is_bridge(data):
            return
        before = self.pending.get(heir)
        origin = None if before else self.origin([heir, *gone], [data, *gone.values()])
        if origin is not None:
            data["origin"] = origin
            return
        if not isinstance(before, list):  # itself first, where it has an origin already
            before = self.pending[heir] = [*(before or (heir,))]
            data.setdefault("origin", ())
            self.replaced[heir] = data
        before += gone
        self.replaced |= gone

    def origin(self, matched: Sequence[Any], data: Sequence[dict[str, Any]]) -> tuple[Any, ...] | None:
        """Return the origin of some matched nodes; None if it is long or not known yet."""
        origins: dict[Any, None] = {}
        for name, before in zip(matched, data, strict=True):
            if name in self.pending:
                return None
            if not self.is_bridge(before):  # ops that only change levels have no origin of their own
                origins.update(dict.fromkeys(before.get("origin") or (name,)))
        return tuple(origins) if 0 < len(origins) < SHORT else None

    def later(self, new: Sequence[Any], matched: tuple[Any, ...], data: Sequence[dict[str, Any]]) -> None:
        """Remember the matched nodes of new ones, for `settle`."""
        for name in new:
            self.pending[name] = matched
        self.replaced.update(zip(matched, data, strict=True))

    def is_bridge(self, data: dict[str, Any]) -> bool:
        """Tell whether a node's op only changes between levels."""
        kind = data.get("type", "")
        op = find_op(kind, self.graph.ops)
        return op is not None and op.level == "bridge"

    def settle(self) -> None:
        """Write the origin of each new node that is still there into its data."""
        nodes = self.graph._node
        origins: dict[int, tuple[Any, ...]] = {}  # one for all nodes of a step, of which a group makes many
        for name, matched in self.pending.items():
            data = nodes.get(name)
            if data is not None and "origin" in data and not self.is_bridge(data):
                if id(matched) not in origins:
                    origins[id(matched)] = self._origin_of(name)
                data["origin"] = origins[id(matched)]
        self.pending.clear()
        self.replaced.clear()

    def _origin_of(self, name: Any) -> tuple[Any, ...]:
        """Return the origins of a new node, depth first through the matches that led to it."""
        pending, replaced, nodes = self.pending, self.replaced, self.graph._node
        origins: dict[Any, None] = {}
        # Without recursion: chains of rewrites are as long as the trace. The stack holds iterators over matched nodes.
        seen = {name}
        work = [iter(pending[name])]
        while work:
            for node in work[-1]:
                data = replaced.get(node) or nodes.get(node) or {}
                if self.is_bridge(data):
                    continue
                before = pending.get(node)
                if before is not None:
                    if node not in seen:
                        seen.add(node)
                        work.append(iter(before))
                        break
                    if before[0] != node:
                        continue
                for origin in data.get("origin") or (node,):
                    origins[origin] = None
            else:
                work.pop()
        return tuple(origins)
