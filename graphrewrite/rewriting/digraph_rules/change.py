"""The change that a match makes to a graph, planned as an edit."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.graph.dataflow import Dataflow
from graphrewrite.graph.edit import Edit
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.rewriting.digraph_rules.naming import Names
from graphrewrite.rewriting.digraph_rules.pattern import Complain, GraphPattern, same_requirement
from graphrewrite.rewriting.pattern.condition import Where, same
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["Change", "check_replacement", "loses_operands", "plan_change"]

_Data = dict[str, Any]
_OF_DATAFLOW = STRUCTURAL | {"slots", "kind"}
"""Data without which a node or an edge of a dataflow would not be one: not replaced, if they are not given."""


class _ConflictError(Exception):
    """An edge would take over different values of an attribute."""


def check_replacement(
    pattern: GraphPattern, new: nx.DiGraph, replaced: Collection[Hashable], complain: Complain
) -> None:
    """Refuse a replacement that does not fit the pattern."""
    for name in replaced:
        if name not in new and not (isinstance(name, tuple) and new.has_edge(*name)):
            raise complain(f"replaced names {name!r}, which the replacement does not have; it goes with its attributes")
    for name in pattern.interface:
        if name not in new:
            raise complain(
                f"its replacement lacks the interface node {name!r}; interface nodes stay: add it to the replacement "
                "or take it out of interface"
            )
    for group in pattern.groups:
        if new.has_edge(group, group):
            raise complain(f"its replacement has an edge from the group {group!r} to itself; it would stand for many")
    old = pattern.graph
    entries = [(f"node {n!r}", data, old.nodes.get(n)) for n, data in new.nodes(data=True)]
    entries += [(f"edge {a!r} -> {b!r}", data, old.get_edge_data(a, b)) for a, b, data in new.edges(data=True)]
    for what, data, required in entries:
        for key, value in _set_by(data, required or {}).items():
            if isinstance(value, Where):
                raise complain(f"{what} of its replacement has a condition for {key!r}; give a value, or leave it out")


class Setting(NamedTuple):
    """The attributes that a node or an edge that stays gets, and those that it keeps; None for all."""

    data: _Data
    kept: frozenset[str] | None

    def of(self, before: _Data, graph: nx.DiGraph) -> _Data:
        """Return the attributes afterwards."""
        if self.kept is None:
            return {**before, **self.data}
        always = _OF_DATAFLOW if isinstance(graph, Dataflow) else frozenset()
        return {key: value for key, value in before.items() if key in self.kept or key in always} | self.data

    @property
    def is_empty(self) -> bool:
        """Whether all stays as it is."""
        return not self.data and self.kept is None


class Change(NamedTuple):
    """The difference between a pattern and its replacement, by the names of the two graphs.

    Attributes
    ----------
    added : tuple of (name, data)
        Nodes that only the replacement has.
    changed : tuple of (name, Setting)
        Nodes that stay, where their attributes change.
    removed : tuple of name
        Nodes that only the pattern has.
    changed_edges : tuple of (source, destination, Setting)
        Edges that stay, where their attributes change.
    gone_edges : tuple of (source, destination, bool)
        Edges that only the pattern has, at a node that stays; whether both ends do.
    new_edges : tuple of (source, destination, data)
        Edges that only the replacement has.
    """

    added: tuple[tuple[Hashable, _Data], ...]
    changed: tuple[tuple[Hashable, Setting], ...]
    removed: tuple[Hashable, ...]
    changed_edges: tuple[tuple[Hashable, Hashable, Setting], ...]
    gone_edges: tuple[tuple[Hashable, Hashable, bool], ...]
    new_edges: tuple[tuple[Hashable, Hashable, _Data], ...]

    @classmethod
    def between(cls, pattern: GraphPattern, new: nx.DiGraph, replaced: Collection[Hashable]) -> Change:
        """Compare a pattern with its replacement; of some nodes and edges, attributes are replaced and not merged."""
        old = pattern.graph

        def setting(name: Hashable, data: _Data, required: _Data) -> Setting:
            given = _set_by(data, required)
            return Setting(given, frozenset(data.keys() - given.keys()) if name in replaced else None)

        changed = ((name, setting(name, data, old.nodes[name])) for name, data in new.nodes(data=True) if name in old)
        both = (
            (a, b, setting((a, b), new.edges[a, b], data)) for a, b, data in old.edges(data=True) if new.has_edge(a, b)
        )
        return cls(
            tuple((name, data) for name, data in new.nodes(data=True) if name not in old),
            tuple(entry for entry in changed if not entry[1].is_empty),
            tuple(name for name in pattern.single if name not in new),
            tuple(entry for entry in both if not entry[2].is_empty),
            tuple(
                (a, b, a in new and b in new) for a, b in old.edges if not new.has_edge(a, b) and (a in new or b in new)
            ),
            tuple((a, b, data) for a, b, data in new.edges(data=True) if not old.has_edge(a, b)),
        )

    def inside(self, pattern: GraphPattern) -> tuple[tuple[Hashable, Hashable], ...]:
        """Return the new edges between nodes of the pattern; where all of them are there, nothing may be left to do."""
        return tuple((a, b) for a, b, _ in self.new_edges if a in pattern.graph and b in pattern.graph)

    @property
    def is_empty(self) -> bool:
        """Whether the replacement is equal to the pattern."""
        return not any(self)


def plan_change(
    change: Change, pattern: GraphPattern, graph: nx.DiGraph, bindings: dict[Hashable, Any], names: Names
) -> Edit | Declined:
    """Plan the replacement of a match; `rule.from_graphs` documents it.

    Declined where an edge would take over different data, or nothing would change.
    """
    # Every name becomes a tuple of nodes: several for a group, a fresh one for a new node.
    image = {name: nodes if name in pattern.groups else (nodes,) for name, nodes in bindings.items()}
    fresh: dict[Hashable, None] = {}
    for name, _ in change.added:
        new_name = names.fresh(name, fresh)
        fresh[new_name] = None
        image[name] = (new_name,)
    try:
        linked, unlinked = _plan_edges(change, graph, image, fresh)
        changed = _plan_nodes(change, graph, image)
    except _ConflictError as conflict:
        return Declined(str(conflict))
    removed = [image[name][0] for name in change.removed]
    edit = Edit(
        added=[(image[name][0], dict(data)) for name, data in change.added],
        linked=[(a, b, data) for (a, b), data in linked.items()],
        unlinked=list(unlinked),
        changed=list(changed.items()),
        removed=removed,
        matched=tuple(removed or [image[name][0] for name in pattern.interior or pattern.single]),
    )
    return Declined("nothing would change") if edit.is_empty else edit


def _plan_nodes(change: Change, graph: nx.DiGraph, image: dict[Hashable, tuple[Any, ...]]) -> dict[Any, _Data]:
    """Return the nodes that stay with other attributes."""
    settings: dict[Any, list[Setting]] = {}
    for name, setting in change.changed:
        for node in image[name]:
            settings.setdefault(node, []).append(setting)
    changed: dict[Any, _Data] = {}
    for node, several in settings.items():  # several: two groups share it
        data: _Data = {}
        for setting in several:
            clash = next((k for k, value in setting.data.items() if k in data and not same(data[k], value)), None)
            if clash is not None:
                raise _ConflictError(f"{node!r} would get two values of {clash}, for it is in two groups")
            data |= setting.data
        kept = [setting.kept for setting in several if setting.kept is not None]
        before = graph._node[node]
        after = Setting(data, frozenset.intersection(*kept) if kept else None).of(before, graph)
        if not same_attributes(after, before):
            changed[node] = after
    return changed


def _plan_edges(
    change: Change, graph: nx.DiGraph, image: dict[Hashable, tuple[Any, ...]], fresh: dict[Hashable, None]
) -> tuple[dict[tuple[Any, Any], _Data], dict[tuple[Any, Any], None]]:
    """Return the edges that are new or get other data, and those that go between nodes that stay."""
    succ = graph._succ
    linked: dict[tuple[Any, Any], _Data] = {}
    unlinked: dict[tuple[Any, Any], None] = {}
    # Data of the removed edges at each node: a new edge there takes it over.
    lost_in: dict[Any, list[_Data]] = {}
    lost_out: dict[Any, list[_Data]] = {}
    for source, destination, setting in change.changed_edges:
        for a, b in _pairs(succ, image[source], image[destination]):
            _merge(linked, (a, b), setting.of(succ[a][b], graph), succ[a][b])
    for source, destination, both in change.gone_edges:
        for a, b in _pairs(succ, image[source], image[destination]):
            lost_in.setdefault(b, []).append(succ[a][b])
            lost_out.setdefault(a, []).append(succ[a][b])
            if both:
                unlinked[a, b] = None
    for source, destination, data in change.new_edges:
        for a in image[source]:
            for b in image[destination]:
                present = succ[a].get(b) if a not in fresh and (a, b) not in unlinked else None
                lost = lost_out.get(a, ()) if b in fresh else lost_in.get(b, ())
                # An edge that stays keeps its own data; a new one inherits.
                inherited = _inherited((a, b), lost, data) if present is None else present
                _merge(linked, (a, b), {**inherited, **data}, present)
    return linked, unlinked


def _pairs(succ: Any, sources: tuple[Any, ...], destinations: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Return the edges of the graph that match an edge of the pattern; several if an end is a group."""
    return [(a, b) for a in sources for b in destinations if b in succ[a]]


def _inherited(edge: tuple[Any, Any], lost: Iterable[_Data], own: _Data) -> _Data:
    """Return the data that a new edge takes over from removed edges; its own attributes come first."""
    inherited: _Data = {}
    for data in lost:
        for key, value in data.items():
            if key not in own and key in inherited and not same(inherited[key], value):
                raise _ConflictError(
                    f"the new edge {edge[0]!r} -> {edge[1]!r} would take over {key} {inherited[key]!r} and {value!r} "
                    f"of edges that go; give it a {key} in the replacement"
                )
            inherited.setdefault(key, value)
    return inherited


def _merge(linked: dict[tuple[Any, Any], _Data], edge: tuple[Any, Any], data: _Data, before: _Data | None) -> None:
    """Plan an edge, unless it stays as it is; where several edges of the pattern stand for it, they must agree."""
    planned = linked.get(edge)
    if planned is not None:
        clash = next((key for key in data if key in planned and not same(planned[key], data[key])), None)
        if clash is not None:
            raise _ConflictError(f"the edge {edge[0]!r} -> {edge[1]!r} would get two values of {clash}")
        planned.update(data)
    elif before is None or not same_attributes(data, before):
        linked[edge] = data


def same_attributes(one: _Data, other: _Data) -> bool:
    """Tell whether two attribute dictionaries are equal, arrays included."""
    return one.keys() == other.keys() and all(one[key] is other[key] or same(one[key], other[key]) for key in one)


def _set_by(data: _Data, required: _Data) -> _Data:
    """Return the attributes that a replacement sets: not those that it repeats of the pattern, such as a condition."""
    return {key: value for key, value in data.items() if not same_requirement({key: value}, required)}


def loses_operands(graph: nx.DiGraph, edit: Edit) -> Any:
    """Return a node of a dataflow that stays and would lose an operand slot, or get one twice, if there is one."""
    # Only nodes with other operands than before: the ends of edges that come or go, and readers of removed nodes.
    removed, cut = set(edit.removed), set(edit.unlinked)
    touched = dict.fromkeys([b for _, b, _ in edit.linked] + [b for _, b in edit.unlinked])
    touched.update(dict.fromkeys(reader for node in edit.removed for reader in graph._succ[node]))
    for node in touched:
        if node in removed or node not in graph._node:
            continue
        before = graph._pred[node]
        after = {a: data for a, data in before.items() if a not in removed and (a, node) not in cut}
        after |= {a: data for a, b, data in edit.linked if b == node}
        if _slots(before) != _slots(after):
            return node
    return None


def _slots(sources: dict[Any, _Data]) -> list[int]:
    return sorted(slot for data in sources.values() for slot, _ in data.get("slots", ()))
