"""Edits: carried out by whatever way, they say the same, and can be taken back."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.graph.edit import (
    Edit,
    apply_directly,
    apply_edit,
    apply_publicly,
    difference,
    is_unchanged,
    revert_edit,
)

NODES = ("a", "b", "c", "d", "e", "f")
NAMES = st.sampled_from(NODES)
DATA = st.dictionaries(st.sampled_from(("type", "size")), st.integers(0, 3), max_size=2)


@st.composite
def digraphs(draw: Any, nodes: Any = NODES[:4]) -> nx.DiGraph:
    """A small digraph with data everywhere; self-loops and edges there and back among them."""
    graph = nx.DiGraph()
    for name in draw(st.lists(st.sampled_from(nodes), unique=True)):
        graph.add_node(name, **draw(DATA))
    if graph:
        ends = st.sampled_from(list(graph))
        for source, destination in draw(st.lists(st.tuples(ends, ends), max_size=8)):
            graph.add_edge(source, destination, **draw(DATA))
    return graph


@st.composite
def edits(draw: Any, graph: nx.DiGraph) -> Edit:
    """An edit of a graph, of every kind of change."""
    removed = draw(st.lists(st.sampled_from(list(graph)), unique=True)) if graph else []
    added = [(n, draw(DATA)) for n in draw(st.lists(st.sampled_from(NODES[4:]), unique=True))]
    kept = [n for n in graph if n not in removed]
    changed = [(n, draw(DATA)) for n in draw(st.lists(st.sampled_from(kept), unique=True))] if kept else []
    there = list(graph.edges)
    unlinked = draw(st.lists(st.sampled_from(there), unique=True)) if there else []
    ends = [*kept, *(n for n, _ in added)]
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(ends)] * 2), unique=True)) if ends else []
    linked = [(a, b, draw(DATA)) for a, b in pairs if (a, b) not in unlinked]
    return Edit(added, linked, unlinked, changed, removed)


def seen(graph: nx.DiGraph) -> Any:
    """All that a graph says, without order; forwards and backwards."""
    forwards = {(a, b): dict(data) for a, b, data in graph.edges(data=True)}
    backwards = {(a, b): dict(data) for b, known in graph.pred.items() for a, data in known.items()}
    assert forwards == backwards
    return {n: dict(data) for n, data in graph.nodes(data=True)}, forwards


def expected(graph: nx.DiGraph, edit: Edit) -> Any:
    """What the fields of an edit mean, in the order in which they are listed."""
    nodes, edges = seen(graph)
    for edge in edit.unlinked:
        del edges[edge]
    nodes.update((n, dict(data)) for n, data in edit.added)
    edges.update(((a, b), dict(data)) for a, b, data in edit.linked)
    nodes.update((n, dict(data)) for n, data in edit.changed)
    for name in edit.removed:
        del nodes[name]
    return nodes, {(a, b): data for (a, b), data in edges.items() if a in nodes and b in nodes}


def parts(edit: Edit) -> Any:
    """What an edit plans."""
    pairs = [dict(data) for _, *_, data in (*edit.added, *edit.linked, *edit.changed)]
    return repr((edit.added, edit.linked, edit.unlinked, edit.changed, edit.removed)), pairs


class Unplain(nx.DiGraph):
    """A class that may want to know of its changes: it is edited by its public methods."""

    def add_edge(self, u: Any, v: Any, **data: Any) -> None:
        super().add_edge(u, v, **data)


@pytest.mark.parametrize("kind", [nx.DiGraph, Unplain])
@given(st.data())
def test_an_edit_does_what_it_says_and_can_be_taken_back(kind, data):
    graph = kind(data.draw(digraphs()))
    edit = data.draw(edits(graph))
    before, wanted, planned = seen(graph), expected(graph, edit), parts(edit)
    for _ in range(2):
        apply_edit(graph, edit)
        assert seen(graph) == wanted
        for _, known in graph.nodes(data=True):  # what becomes of the graph is nothing to the edit
            known["spoilt"] = True
        for *_, known in graph.edges(data=True):
            known["spoilt"] = True
        assert parts(edit) == planned
        for _, known in graph.nodes(data=True):
            del known["spoilt"]
        for *_, known in graph.edges(data=True):
            del known["spoilt"]
        revert_edit(graph, edit)
        assert seen(graph) == before
        assert edit.lost == []


@given(st.data())
def test_both_ways_to_carry_out_lose_the_same(data):
    graph = data.draw(digraphs())
    edit = data.draw(edits(graph))
    told = []
    for way in (apply_directly, apply_publicly):
        fresh = Edit(
            [(n, dict(d)) for n, d in edit.added],
            [(a, b, dict(d)) for a, b, d in edit.linked],
            list(edit.unlinked),
            [(n, dict(d)) for n, d in edit.changed],
            list(edit.removed),
        )
        other = graph.copy()
        way(other, fresh)
        told.append((seen(other), sorted(map(repr, _without_loops(fresh.lost)))))
    assert told[0] == told[1]


def _without_loops(lost: list[Any]) -> list[Any]:
    """Entries with an edge from a node that goes to itself said in one way: as an edge of its own."""
    found = []
    for entry in lost:
        if len(entry) == 4 and entry[0] in entry[2]:
            name, data, sources, readers = entry
            found.append((name, name, sources[name]))
            entry = (
                name,
                data,
                {k: v for k, v in sources.items() if k != name},
                {k: v for k, v in readers.items() if k != name},
            )
        found.append(entry)
    return found


@given(digraphs(NODES), digraphs(NODES))
def test_a_difference_makes_one_graph_of_another_and_can_be_taken_back(old, new):
    edit = difference(old, new)
    before = seen(old)
    made = old.copy()
    apply_edit(made, difference(old, new))
    assert seen(made) == seen(new)
    assert edit.is_empty == (seen(old) == seen(new))
    made = new.copy()
    revert_edit(made, edit)  # as if it had been carried out
    assert seen(made) == before


def test_a_difference_says_what_differs_alone():
    old = nx.DiGraph([("a", "b", {"kind": "x"}), ("b", "c", {"kind": "x"})])
    new = nx.DiGraph([("a", "b", {"kind": "x"}), ("b", "c", {"kind": "y"})])
    edit = difference(old, new)
    assert edit.linked == [("b", "c", {"kind": "y"})]
    assert edit.lost == [("b", "c", {"kind": "x"})]
    assert difference(old, old.copy()).is_empty


@given(digraphs(NODES), digraphs(NODES))
def test_a_difference_says_nothing_that_is_the_same(old, new):
    edit = difference(old, new)
    assert all(name not in old for name, _ in edit.added)
    assert all(old.nodes[name] != data for name, data in edit.changed)
    assert all(name not in new for name in edit.removed)
    assert all(old.get_edge_data(a, b) != data for a, b, data in edit.linked)
    assert all(not new.has_edge(a, b) and a in new and b in new for a, b in edit.unlinked)


def test_data_is_the_same_where_its_objects_or_plain_values_are():
    array, other = np.zeros(2), np.zeros(2)
    assert is_unchanged({"v": array, "n": 1}, {"v": array, "n": 1})
    assert not is_unchanged({"v": array}, {"v": other})  # comparing arrays would cost what copying them does
    assert not is_unchanged({"v": array}, {"v": 0})
    assert not is_unchanged({"v": 0}, {"v": array})
    assert not is_unchanged({"v": array, "n": 1}, {"v": array, "n": 2})
    assert not is_unchanged({"n": 1}, {"n": 1, "m": 1})
    assert is_unchanged({"n": [1]}, {"n": [1]})


def test_an_edit_in_short():
    assert repr(Edit()) == "<edit: nothing>"
    assert Edit().is_empty
    whole = Edit([("n", {})], [("n", "m", {})] * 2, [("a", "b")] * 3, [("c", {})] * 4, ["d"] * 5)
    assert repr(whole) == "<edit: 1 nodes new, 5 removed, 4 changed, 2 edges, 3 edges cut>"
    for one in (Edit([("n", {})]), Edit(None, [("n", "m", {})]), Edit(unlinked=[("a", "b")]), Edit(removed=["d"])):
        assert not one.is_empty
    assert not Edit(changed=[("c", {})]).is_empty


@pytest.mark.parametrize("kind", [nx.DiGraph, Unplain])
def test_what_networkx_remembers_of_a_graph_is_forgotten(kind):
    graph = kind([("a", "b")])
    assert list(graph.nodes) == ["a", "b"]
    assert graph.adj["a"]
    apply_edit(graph, Edit(removed=["b"]))
    assert list(graph.nodes) == ["a"]
    assert not graph.adj["a"]
