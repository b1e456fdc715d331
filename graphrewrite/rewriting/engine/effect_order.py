"""The order of effects across an edit: new ones take the place of those that go, and nothing is moved past another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import EFFECT, predicate_in
from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.rule.outcome import Declined

__all__ = ["order_effects", "touches_effects"]


def touches_effects(graph: Graph, edit: Edit) -> bool:
    """Tell whether an edit removes nodes that are in the order of effects."""
    for node in edit.removed:
        for edges in (graph._pred[node], graph._succ[node]):
            for data in edges.values():
                if "kind" in data and data["kind"] == EFFECT:
                    return True
    return False


def order_effects(graph: Graph, edit: Edit, new: Sequence[str]) -> Declined | None:
    """Extend an edit by the order of its effects, or decline it where there is none.

    Parameters
    ----------
    new : sequence of str
        New nodes with effects, in the order in which they were made.
    """
    order, removed = graph.effects, set(edit.removed)
    read = {source for source, _, _ in edit.linked}
    for node in edit.matched:
        if new and node in order and node not in removed and node not in read:
            return Declined("stays for its other readers, so that its effect would happen twice", node)
    gone = [node for node in order if node in removed]
    at = order.index(gone[0]) if gone else _first_after(graph, edit, new, order)
    between = [node for node in order[at : at + len(gone)] if node not in removed]
    if new and between:
        return Declined(f"its effect would move past that of {between[0]!r}", gone[-1])
    before = [node for node in order[:at] if node not in removed]
    after = [node for node in order[at:] if node not in removed]
    chain = [*before[-1:], *new, *after[:1]]
    if new and any(_reached(graph, edit, [node]) & set(chain[:at]) for at, node in enumerate(chain)):
        return Declined("its effect would come before what it depends on", gone[0] if gone else None)
    known = set(pairwise(order))
    if new and before and after:
        _unlink(graph, edit, before[-1], after[0])
    for source, destination in pairwise([*before, *new, *after]):
        if (source, destination) not in known:
            _link(graph, edit, source, destination)
    return None


def _first_after(graph: Graph, edit: Edit, new: Sequence[str], order: Sequence[str]) -> int:
    """Return the place of the first effect that depends on what is new; the end if none does."""
    reached = _reached(graph, edit, new)
    return next((index for index, node in enumerate(order) if node in reached), len(order))


def _reached(graph: Graph, edit: Edit, nodes: Iterable[str]) -> set[str]:
    """Return what depends on some nodes after an edit."""
    linked: dict[str, list[str]] = {}
    for source, destination, _ in edit.linked:
        linked.setdefault(source, []).append(destination)
    unlinked, removed = set(edit.unlinked), set(edit.removed)
    reached: set[str] = set()
    work = list(nodes)
    while work:
        node = work.pop()
        kept = [n for n in graph._succ.get(node, ()) if n not in removed and (node, n) not in unlinked]
        for reader in (*kept, *linked.get(node, ())):
            if reader not in reached:
                reached.add(reader)
                work.append(reader)
    return reached


def _link(graph: Graph, edit: Edit, source: str, destination: str) -> None:
    """Add the edge that orders two effects, which may be there for another reason."""
    pair = source, destination
    data: dict[str, Any] = {"slots": ()}
    if pair in edit.unlinked:
        edit.unlinked.remove(pair)
    else:
        data = graph._succ.get(source, {}).get(destination, data)
    for index, (*others, planned) in enumerate(edit.linked):
        if tuple(others) == pair:
            data = planned
            del edit.linked[index]
            break
    edit.linked.append((*pair, data if predicate_in(data) is not None else {**data, "kind": EFFECT}))


def _unlink(graph: Graph, edit: Edit, source: str, destination: str) -> None:
    """Take away the edge between two effects that others come between, unless it is there for another reason, too."""
    data = graph._succ[source].get(destination)
    if data is not None and data.get("kind") == EFFECT and not data["slots"]:
        edit.unlinked.append((source, destination))
