"""The change that a match makes to a graph, planned as an edit."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.digraph_rules.naming import Names
from graphrewrite.rewriting.digraph_rules.pattern import Complain, GraphPattern
from graphrewrite.rewriting.pattern.condition import Where, same
from graphrewrite.rewriting.rule.replacement import Declined

__all__ = ["Change", "check_replacement", "loses_operands", "plan_change"]

_Data = dict[str, Any]


class _ConflictError(Exception):
    """An edge would take over different values of an attribute."""


def check_replacement(pattern: GraphPattern, new: nx.DiGraph, complain: Complain) -> None:
    """Refuse a replacement that does not fit the pattern."""
    for name in pattern.interface:
        if name not in new:
            raise complain(
                f"its replacement lacks the interface node {name!r}; interface nodes stay: add it to the replacement "
                "or take it out of interface"
            )
    for group in pattern.groups:
        if new.has_edge(group, group):
            raise complain(f"its replacement has an edge from the group {group!r} to itself; it would stand for many")
    set_data = [(f"node {name!r}", _set_by(data, _old(pattern, name))) for name, data in new.nodes(data=True)]
    set_data += [(f"edge {a!r} -> {b!r}", _set_by(data, _old(pattern, a, b))) for a, b, data in new.edges(data=True)]
    for what, data in set_data:
        for key, value in data.items():
            if isinstance(value, Where):
                raise complain(f"{what} of its replacement has a condition for {key!r}; give a value, or leave it out")


@dataclass(frozen=True, slots=True)
class Change:
    """What a replacement changes wherever the pattern matches; all by the names of the two graphs.

    Attributes
    ----------
    added : tuple of (name, data)
        Nodes that only the replacement has.
    changed : tuple of (name, data)
        Nodes that stay, and what is set of their attributes.
    removed : tuple of name
        Nodes that only the pattern has.
    changed_edges : tuple of (source, destination, data)
        Edges that stay, and what is set of their attributes.
    gone_edges : tuple of (source, destination, bool)
        Edges that only the pattern has, at a node that stays; whether both ends do.
    new_edges : tuple of (source, destination, data)
        Edges that only the replacement has.
    """

    added: tuple[tuple[Hashable, _Data], ...]
    changed: tuple[tuple[Hashable, _Data], ...]
    removed: tuple[Hashable, ...]
    changed_edges: tuple[tuple[Hashable, Hashable, _Data], ...]
    gone_edges: tuple[tuple[Hashable, Hashable, bool], ...]
    new_edges: tuple[tuple[Hashable, Hashable, _Data], ...]

    @classmethod
    def between(cls, pattern: GraphPattern, new: nx.DiGraph) -> Change:
        """Compare a pattern with its replacement."""
        old = pattern.graph
        given = ((name, _set_by(data, old.nodes[name])) for name, data in new.nodes(data=True) if name in old)
        both = ((a, b, _set_by(new.edges[a, b], data)) for a, b, data in old.edges(data=True) if new.has_edge(a, b))
        return cls(
            tuple((name, data) for name, data in new.nodes(data=True) if name not in old),
            tuple((name, data) for name, data in given if data),
            tuple(name for name in pattern.single if name not in new),
            tuple((a, b, data) for a, b, data in both if data),
            tuple(
                (a, b, a in new and b in new) for a, b in old.edges if not new.has_edge(a, b) and (a in new or b in new)
            ),
            tuple((a, b, data) for a, b, data in new.edges(data=True) if not old.has_edge(a, b)),
        )

    def inside(self, pattern: GraphPattern) -> tuple[tuple[Hashable, Hashable], ...]:
        """Return the new edges between nodes of the pattern: whether they are there decides what would change."""
        return tuple((a, b) for a, b, _ in self.new_edges if a in pattern.graph and b in pattern.graph)

    @property
    def is_empty(self) -> bool:
        """Whether pattern and replacement say the same."""
        return not (
            self.added or self.changed or self.removed or self.changed_edges or self.gone_edges or self.new_edges
        )


def plan_change(
    difference: Change, pattern: GraphPattern, graph: nx.DiGraph, bindings: dict[Hashable, Any], names: Names
) -> Edit | Declined:
    """Plan how a match is replaced; `rule.from_graphs` says what stays and what goes.

    Declined where an edge would take over different data, or nothing would change.
    """
    image = {name: found if name in pattern.groups else (found,) for name, found in bindings.items()}
    fresh: dict[Hashable, None] = {}
    for name, _ in difference.added:
        chosen = names.fresh(name, fresh)
        fresh[chosen] = None
        image[name] = (chosen,)
    try:
        linked, unlinked = _plan_edges(difference, graph, image, fresh)
    except _ConflictError as conflict:
        return Declined(str(conflict))
    changed: dict[Any, _Data] = {}
    for name, data in difference.changed:
        for node in image[name]:
            before = graph._node[node]
            if not same_attributes({**before, **data}, before):
                changed[node] = {**changed.get(node, before), **data}
    removed = [image[name][0] for name in difference.removed]
    edit = Edit(
        added=[(image[name][0], dict(data)) for name, data in difference.added],
        linked=[(a, b, data) for (a, b), data in linked.items()],
        unlinked=list(unlinked),
        changed=list(changed.items()),
        removed=removed,
        matched=tuple(removed or [image[name][0] for name in pattern.interior or pattern.single]),
    )
    return Declined("nothing would change") if edit.is_empty else edit


def _plan_edges(
    difference: Change, graph: nx.DiGraph, image: dict[Hashable, tuple[Any, ...]], fresh: dict[Hashable, None]
) -> tuple[dict[tuple[Any, Any], _Data], dict[tuple[Any, Any], None]]:
    """Return the edges that are new or get other data, and those that go between nodes that stay."""
    succ = graph._succ
    linked: dict[tuple[Any, Any], _Data] = {}
    unlinked: dict[tuple[Any, Any], None] = {}
    # What goes at each node: data of edges that come in, and of edges that go out.
    lost_in: dict[Any, list[_Data]] = {}
    lost_out: dict[Any, list[_Data]] = {}
    for source, destination, data in difference.changed_edges:
        for a, b in _pairs(succ, image[source], image[destination]):
            _merge(linked, (a, b), {**succ[a][b], **data}, succ[a][b])
    for source, destination, both in difference.gone_edges:
        for a, b in _pairs(succ, image[source], image[destination]):
            lost_in.setdefault(b, []).append(succ[a][b])
            lost_out.setdefault(a, []).append(succ[a][b])
            if both:
                unlinked[a, b] = None
    for source, destination, data in difference.new_edges:
        for a in image[source]:
            for b in image[destination]:
                there = succ[a].get(b) if a not in fresh and (a, b) not in unlinked else None
                lost = lost_out.get(a, ()) if b in fresh else lost_in.get(b, ())
                base = _taken_over((a, b), lost, data) if there is None else there
                _merge(linked, (a, b), {**base, **data}, there)
    return linked, unlinked


def _pairs(succ: Any, sources: tuple[Any, ...], destinations: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Return the edges of the graph that an edge of the pattern stands for."""
    return [(a, b) for a in sources for b in destinations if b in succ[a]]


def _taken_over(edge: tuple[Any, Any], lost: Iterable[_Data], given: _Data) -> _Data:
    """Return the data that a new edge takes over from edges that go."""
    found: _Data = {}
    for data in lost:
        for key, value in data.items():
            if key not in given and key in found and not same(found[key], value):
                raise _ConflictError(
                    f"the new edge {edge[0]!r} -> {edge[1]!r} would take over {key} {found[key]!r} and {value!r} of "
                    f"edges that go; give it a {key} in the replacement"
                )
            found.setdefault(key, value)
    return found


def _merge(linked: dict[tuple[Any, Any], _Data], edge: tuple[Any, Any], data: _Data, before: _Data | None) -> None:
    """Plan an edge, unless it is there and stays as it is; two reasons for one edge must agree."""
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


def _old(pattern: GraphPattern, *place: Hashable) -> _Data:
    """Return what the pattern requires of a node or an edge; nothing where it has none."""
    found = pattern.graph.nodes.get(place[0]) if len(place) == 1 else pattern.graph.get_edge_data(*place)
    return found or {}


def _set_by(data: _Data, old: _Data) -> _Data:
    """Return what a replacement sets: not what it repeats of the pattern, a condition or a choice for instance."""
    return {
        key: value for key, value in data.items() if not (key in old and (value is old[key] or same(value, old[key])))
    }


def loses_operands(graph: nx.DiGraph, edit: Edit) -> Any:
    """Return a node of a dataflow that stays and would not have all of its operand slots any more, if there is one."""
    gone, new = set(edit.removed), {(a, b): data for a, b, data in edit.linked}
    cut = set(edit.unlinked)
    touched = dict.fromkeys([b for _, b, _ in edit.linked] + [b for _, b in edit.unlinked])
    touched.update(dict.fromkeys(reader for node in edit.removed for reader in graph._succ[node]))
    for node in touched:
        if node in gone or node not in graph._node:
            continue
        before = graph._pred[node]
        kept = {a: data for a, data in before.items() if a not in gone and (a, node) not in cut}
        after = {**kept, **{a: data for (a, b), data in new.items() if b == node}}
        slots = [
            sorted(slot for data in edges.values() for slot, _ in data.get("slots", ())) for edges in (before, after)
        ]
        if slots[0] != slots[1]:
            return node
    return None
