"""An edit: the changes of a rewrite as data, applied all at once and reverted."""

from __future__ import annotations

from typing import Any

import networkx as nx

from graphrewrite.graph.storage import own, stores_plainly

__all__ = ["Edit", "apply_edit", "difference", "is_unchanged", "reapply_edit", "revert_edit"]


class Edit:
    """Changes of a graph, planned before the first of them is made.

    Attributes
    ----------
    added : list of (node, data)
        New nodes.
    linked : list of (source, destination, data)
        Edges that are new, or get other data.
    unlinked : list of (source, destination)
        Edges that go although both ends stay.
    changed : list of (node, data)
        Nodes that get other data.
    removed : list of node
        Nodes that go, with all their edges.
    matched : tuple of node
        Origins of the new nodes.
    heirs : tuple of node
        Old nodes that stand in for others with annotations, where no node is new: they get their origins.
    views : dict
        Views of new nodes, as the graph stores them, by names that no view has yet.
    lost : list
        Removed and replaced data, to revert the edit; filled in when it is applied. A removed node is stored as name,
        data, sources and readers, an edge as source, destination and data, a changed node as name and data.

    Examples
    --------
    >>> graph = nx.DiGraph([("a", "b")])
    >>> edit = Edit(added=[("c", {"type": "new"})], linked=[("a", "c", {})], removed=["b"])
    >>> apply_edit(graph, edit)
    >>> list(graph.edges)
    [('a', 'c')]
    >>> revert_edit(graph, edit)
    >>> list(graph.edges)
    [('a', 'b')]
    """

    __slots__ = ("added", "changed", "heirs", "linked", "lost", "matched", "removed", "unlinked", "views")

    def __init__(
        self,
        added: list[tuple[Any, dict[str, Any]]] | None = None,
        linked: list[tuple[Any, Any, dict[str, Any]]] | None = None,
        unlinked: list[tuple[Any, Any]] | None = None,
        changed: list[tuple[Any, dict[str, Any]]] | None = None,
        removed: list[Any] | None = None,
        matched: tuple[Any, ...] = (),
        views: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.added = [] if added is None else added
        self.linked = [] if linked is None else linked
        self.unlinked = [] if unlinked is None else unlinked
        self.changed = [] if changed is None else changed
        self.removed = [] if removed is None else removed
        self.matched = matched
        self.views = {} if views is None else views
        self.heirs: tuple[Any, ...] = ()
        self.lost: list[tuple[Any, ...]] = []

    def __repr__(self) -> str:
        counts = {
            "nodes new": len(self.added),
            "removed": len(self.removed),
            "changed": len(self.changed),
            "edges": len(self.linked),
            "edges cut": len(self.unlinked),
        }
        return f"<edit: {', '.join(f'{count} {what}' for what, count in counts.items() if count) or 'nothing'}>"

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.added or self.linked or self.unlinked or self.changed or self.removed)


def apply_edit(graph: nx.DiGraph, edit: Edit) -> None:
    """Apply an edit to a graph."""
    if stores_plainly(graph):
        # The graph gets dictionaries of its own: the edit stays as it is however they change later.
        copied = Edit(
            [(name, own(data)) for name, data in edit.added],
            [(source, destination, data.copy()) for source, destination, data in edit.linked],
            edit.unlinked,
            [(name, own(data)) for name, data in edit.changed],
            edit.removed,
            views=edit.views,
        )
        apply_directly(graph, copied)
        edit.lost = copied.lost
        nx._clear_cache(graph)
    else:
        apply_publicly(graph, edit)


def reapply_edit(graph: nx.DiGraph, edit: Edit) -> Edit:
    """Apply a recorded edit to another copy of its graph; return it as applied, for the record stays as it is."""
    again = Edit(edit.added, edit.linked, edit.unlinked, edit.changed, edit.removed, edit.matched, edit.views)
    apply_edit(graph, again)
    return again


def apply_directly(graph: nx.DiGraph, edit: Edit) -> None:
    """Apply an edit to the dictionaries of a graph that stores plainly; those of the edit become the graph's."""
    node, pred, succ, lost = graph._node, graph._pred, graph._succ, edit.lost
    for source, destination in edit.unlinked:
        lost.append((source, destination, succ[source].pop(destination)))
        del pred[destination][source]
    for name, data in edit.added:
        node[name], pred[name], succ[name] = data, {}, {}
    for source, destination, data in edit.linked:
        readers = succ[source]
        if destination in readers:
            lost.append((source, destination, readers[destination]))
        readers[destination] = pred[destination][source] = data
    for name, data in edit.changed:
        lost.append((name, node[name]))
        node[name] = data
    for name in edit.removed:
        sources, readers = pred.pop(name), succ.pop(name)
        if name in sources:  # a self-loop
            sources, readers = dict(sources), dict(readers)
            lost.append((name, name, sources.pop(name)))
            del readers[name]
        for source in sources:
            del succ[source][name]
        for reader in readers:
            del pred[reader][name]
        lost.append((name, node.pop(name), sources, readers))
    if edit.views:
        graph.graph["views"] = {**graph.graph.get("views", {}), **edit.views}


def apply_publicly(graph: nx.DiGraph, edit: Edit) -> None:
    """Apply an edit through the public methods of a graph."""
    # Data is assigned once a node or an edge is there: as keyword arguments, its keys would have to be strings.
    lost = edit.lost
    for source, destination in edit.unlinked:
        lost.append((source, destination, dict(graph.edges[source, destination])))
        graph.remove_edge(source, destination)
    for name, data in edit.added:
        graph.add_node(name)
        graph.nodes[name].update(data)
    for source, destination, data in edit.linked:
        # networkx would merge new data with those of an edge that exists.
        if graph.has_edge(source, destination):
            lost.append((source, destination, dict(graph.edges[source, destination])))
            graph.remove_edge(source, destination)
        graph.add_edge(source, destination)
        graph.edges[source, destination].update(data)
    for name, data in edit.changed:
        lost.append((name, dict(graph.nodes[name])))
        graph.nodes[name].clear()
        graph.nodes[name].update(data)
    for name in edit.removed:
        sources = {a: dict(data) for a, _, data in graph.in_edges(name, data=True)}
        readers = {b: dict(data) for _, b, data in graph.out_edges(name, data=True)}
        lost.append((name, dict(graph.nodes[name]), sources, readers))
        graph.remove_node(name)
    if edit.views:
        graph.graph["views"] = {**graph.graph.get("views", {}), **edit.views}


def revert_edit(graph: nx.DiGraph, edit: Edit) -> None:
    """Undo the last edit; the graph is as before, its nodes perhaps in another order."""
    # Backwards: removed nodes with their edges, data of changed nodes, new edges and nodes, then replaced edges.
    removed: list[Any] = [entry for entry in reversed(edit.lost) if len(entry) == 4]
    for name, data, _, _ in removed:
        graph.add_node(name)
        graph.nodes[name].update(data)
    for name, _, sources, readers in removed:
        for source, data in sources.items():
            _link(graph, source, name, data)
        for reader, data in readers.items():
            _link(graph, name, reader, data)
    for entry in reversed(edit.lost):
        if len(entry) == 2:
            graph.nodes[entry[0]].clear()
            graph.nodes[entry[0]].update(entry[1])
    for source, destination, _ in edit.linked:
        if graph.has_edge(source, destination):
            graph.remove_edge(source, destination)
    for name, _ in edit.added:
        graph.remove_node(name)
    for entry in reversed(edit.lost):
        if len(entry) == 3:
            _link(graph, *entry)
    if edit.views:
        kept = {name: view for name, view in graph.graph.pop("views").items() if name not in edit.views}
        graph.graph.update({"views": kept} if kept else {})
    edit.lost = []


def _link(graph: nx.DiGraph, source: Any, destination: Any, data: dict[str, Any]) -> None:
    graph.add_edge(source, destination)
    graph.edges[source, destination].update(data)


def difference(old: nx.DiGraph, new: nx.DiGraph) -> Edit:
    """Return the edit between two versions of a graph, as if it had been applied to the first.

    Nothing in it is the second graph's, which may go on to change.

    Examples
    --------
    >>> edit = difference(nx.DiGraph([("a", "b")]), nx.DiGraph([("a", "c")]))
    >>> edit.removed, [name for name, _ in edit.added]
    (['b'], ['c'])
    """
    edit = Edit()
    for name, data in new._node.items():
        if name not in old._node:
            edit.added.append((name, own(data)))
        elif not is_unchanged(old._node[name], data):
            edit.changed.append((name, own(data)))
            edit.lost.append((name, old._node[name]))
    edit.removed = [name for name in old._node if name not in new._node]
    for source, readers in new._succ.items():
        for reader, data in readers.items():
            before = old._succ.get(source, {}).get(reader)
            if before is None or before != data:
                edit.linked.append((source, reader, own(data)))
                edit.lost += [(source, reader, before)] if before is not None else []
    for source, readers in old._succ.items():
        for reader, data in readers.items():
            if source in new._node and reader in new._node and not new.has_edge(source, reader):
                edit.unlinked.append((source, reader))
                edit.lost.append((source, reader, data))
    edit.lost += [(name, old._node[name], old._pred[name], old._succ[name]) for name in edit.removed]
    return edit


def is_unchanged(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Tell whether two attribute dictionaries hold the same objects or equal plain values."""
    if a.keys() != b.keys():
        return False
    return all(a[k] is b[k] or (not hasattr(a[k], "dtype") and not hasattr(b[k], "dtype") and a[k] == b[k]) for k in a)
