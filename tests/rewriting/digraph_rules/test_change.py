"""What carrying out a match changes: what stays, what goes, what is new, and what edges take over."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphrewrite.errors import RuleError
from graphrewrite.graph.edit import apply_edit, revert_edit
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.rule.outcome import Declined
from tests.support.digraph_reference import Written, random_graph, random_written
from tests.support.profiles import some_of


def state(graph: nx.DiGraph) -> tuple[Any, ...]:
    return dict(graph.nodes(data=True)), {(a, b): d for a, b, d in graph.edges(data=True)}, dict(graph.graph)


def images(written: Written, bindings: dict, fresh: dict) -> dict[Any, tuple]:
    found = {name: node if name in written.groups else (node,) for name, node in bindings.items()}
    return {**found, **{name: (node,) for name, node in fresh.items()}}


def replaced(graph: nx.DiGraph, written: Written, bindings: dict, fresh: dict) -> nx.DiGraph | None:
    """Replace a match straight from the definition; None where attributes that an edge takes over differ."""
    old, new, image = written.pattern, written.replacement, images(written, bindings, fresh)
    result = deepcopy(graph)
    pairs = {(a, b): [(x, y) for x in image[a] for y in image[b] if graph.has_edge(x, y)] for a, b in old.edges}
    lost = [edge for pair, found in pairs.items() if not new.has_edge(*pair) for edge in found]
    result.remove_edges_from(lost)
    result.remove_nodes_from([image[name][0] for name in old if name not in new])
    assert set(graph.edges) - set(result.edges) == set(lost), "an edge goes that the pattern does not have"
    wanted: dict[tuple, list[dict]] = {}
    for a, b, data in new.edges(data=True):
        if old.has_edge(a, b):
            given = {k: v for k, v in data.items() if old.edges[a, b].get(k) != v}
            whole = (a, b) in written.replaced
            for edge in pairs[a, b] if given or whole else []:
                kept = {k: v for k, v in graph.edges[edge].items() if k in data or not whole}
                wanted.setdefault(edge, []).append({**kept, **given})
            continue
        for x in image[a]:
            for y in image[b]:
                taken: dict[str, Any] = {}
                if result.has_edge(x, y):
                    taken = dict(graph.edges[x, y])
                else:
                    for edge in lost:
                        if (edge[0] == x) if b in fresh else (edge[1] == y):
                            for key, value in graph.edges[edge].items():
                                if key not in data and taken.setdefault(key, value) != value:
                                    return None
                wanted.setdefault((x, y), []).append({**taken, **data})
    gets: dict[Any, list[Any]] = {}
    for name in new:
        for node in image[name]:
            gets.setdefault(node, []).append(name)
    for node, names in gets.items():
        kept = dict(result.nodes.get(node, {}))
        given: dict[str, Any] = {}
        for name in names:
            if name in written.replaced:
                kept = {k: v for k, v in kept.items() if k in new.nodes[name]}
            for key, value in new.nodes[name].items():
                if (name not in old or old.nodes[name].get(key) != value) and given.setdefault(key, value) != value:
                    return None
        result.add_node(node)
        result.nodes[node].clear()
        result.nodes[node].update({**kept, **given})
    result.remove_edges_from(list(wanted))
    for edge, several in wanted.items():
        for data in several:
            if any(d.get(k, v) != v for d in several for k, v in data.items()):
                return None
            result.add_edge(*edge, **data)
    return result


@pytest.mark.slow
def test_a_replacement_is_as_defined_and_can_be_taken_back() -> None:
    done = declined = 0
    for seed in some_of(range(6000)):
        rng = random.Random(f"change {seed}")
        graph = random_graph(rng)
        written = random_written(rng, graph)
        rule = written.rule()
        for match in [m for node in graph for m in rule.matches_at(graph, node)]:
            before = deepcopy(state(graph))
            edit = rule.edit(graph, match)
            assert state(graph) == before, f"seed {seed}: planning changes the graph"
            if isinstance(edit, Declined):
                fresh = {n: f"fresh {n}" for n in written.replacement if n not in written.pattern}
                expected = replaced(graph, written, match.bindings, fresh)
                assert expected is None or state(expected) == before, f"seed {seed}: {edit.reason}"
                declined += 1
                continue
            names = [n for n in written.replacement if n not in written.pattern]
            fresh = dict(zip(names, [name for name, _ in edit.added], strict=True))
            assert not set(fresh.values()) & set(graph)
            assert len(set(fresh.values())) == len(fresh)
            expected = replaced(graph, written, match.bindings, fresh)
            assert expected is not None, f"seed {seed}"
            apply_edit(graph, edit)
            assert state(graph) == state(expected), f"seed {seed}"
            revert_edit(graph, edit)
            assert state(graph) == before, f"seed {seed}"
            done += 1
    assert done > 500
    assert declined > 6


# ---------------------------------------------------------------------- one by one


def graph_of(edges: list[tuple], **types: str) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from(edges)
    for name, kind in types.items():
        graph.add_node(name, type=kind)
    return graph


def apply_first(rule, graph: nx.DiGraph) -> nx.DiGraph:
    edit = rule.edit(graph, rule.find(graph)[0])
    apply_edit(graph, edit)
    return graph


def skip(**options):
    return from_graphs(
        graph_of([("s", "x"), ("x", "e")], x="B"), graph_of([("s", "e")]), name="skip", interface=["s", "e"], **options
    )


def test_a_new_edge_takes_over_what_its_destination_loses() -> None:
    graph = graph_of([("a", "b", {"slot": 0}), ("b", "c", {"slot": 1})], b="B")
    assert list(apply_first(skip(), graph).edges(data=True)) == [("a", "c", {"slot": 1})]


def test_an_edge_to_a_new_node_takes_over_what_its_source_loses() -> None:
    rule = from_graphs(
        graph_of([("s", "x"), ("x", "e")], x="B"),
        graph_of([("s", "y"), ("y", "z"), ("z", "e")]),
        name="split",
        interface=["s", "e"],
    )
    graph = graph_of([("a", "b", {"slot": 0}), ("b", "c", {"slot": 1})], b="B")
    assert list(apply_first(rule, graph).edges(data=True)) == [
        ("a", "y", {"slot": 0}),
        ("y", "z", {}),
        ("z", "c", {"slot": 1}),
    ]


def test_attributes_that_differ_are_declined_unless_given() -> None:
    pattern = graph_of([("s", "x"), ("s", "z"), ("x", "e"), ("z", "e")], x="B", z="B")
    graph = graph_of([("a", "b", {}), ("a", "c", {}), ("b", "d", {"slot": 0}), ("c", "d", {"slot": 1})], b="B", c="B")
    silent = from_graphs(pattern, graph_of([("s", "e")]), name="merge", interface=["s", "e"])
    assert silent.find(graph) == []
    assert silent.explain(graph, at="b").endswith(
        "declined: the new edge 'a' -> 'd' would take over slot 0 and 1 of edges that go; give it a slot in the "
        "replacement."
    )
    told = from_graphs(pattern, graph_of([("s", "e", {"slot": 5})]), name="merge", interface=["s", "e"])
    assert list(apply_first(told, graph).edges(data=True)) == [("a", "d", {"slot": 5})]


def test_a_group_keeps_the_data_of_each_of_its_edges() -> None:
    rule = from_graphs(
        graph_of([("s", "x"), ("x", "e")], x="B"), graph_of([("s", "y"), ("y", "e")]), name="swap", groups=["s", "e"]
    )
    graph = graph_of(
        [("a1", "b", {"w": 1}), ("a2", "b", {"w": 2}), ("b", "c1", {"w": 3}), ("b", "c2", {"w": 4})], b="B"
    )
    (match,) = rule.find(graph)
    assert match.bindings == {"s": ("a1", "a2"), "x": "b", "e": ("c1", "c2")}
    assert match["s"] == ({}, {})
    assert match.edge("x", "e") == ({"w": 3}, {"w": 4})
    assert sorted(apply_first(rule, graph).edges(data="w")) == [
        ("a1", "y", 1),
        ("a2", "y", 2),
        ("y", "c1", 3),
        ("y", "c2", 4),
    ]


def test_a_group_may_be_empty() -> None:
    rule = from_graphs(graph_of([("x", "e")], x="B"), graph_of([("y", "e")]), name="swap", groups=["e"])
    graph = graph_of([], b="B")
    assert list(apply_first(rule, graph)) == ["y"]


def test_a_node_in_both_graphs_stays_with_its_attributes() -> None:
    rule = from_graphs(
        graph_of([("s", "x")], x="B"), graph_of([("s", "x"), ("x", "t")], x="C"), name="retype", interface=["s"]
    )
    graph = graph_of([("a", "b", {"w": 1})], b="B")
    graph.nodes["b"]["size"] = 3
    apply_first(rule, graph)
    assert graph.nodes["b"] == {"type": "C", "size": 3}
    assert list(graph.edges(data=True)) == [("a", "b", {"w": 1}), ("b", "t", {})]


def test_attributes_are_replaced_where_it_says_so() -> None:
    pattern = graph_of([("s", "x", {"w": {1, 2}})], x="B")
    replacement = graph_of([("s", "x", {"w": {1, 2}, "seen": True})], x="C")
    rule = from_graphs(pattern, replacement, name="retype", interface=["s"], replaced=["s", "x", ("s", "x")])
    graph = graph_of([("a", "b", {"w": 1, "note": "old"})], a="A", b="B")
    graph.nodes["b"]["size"] = 3
    after = rule(graph)
    assert dict(after.nodes) == {"a": {}, "b": {"type": "C"}}
    assert after.edges["a", "b"] == {"w": 1, "seen": True}
    computed = from_graphs(
        nx.DiGraph([("x", "y")]),
        lambda m: graph_of([("x", "y")], x="kept") if m["x"] else Declined("done"),
        name="forget",
        interface=["x", "y"],
        replaced=["y"],
    )
    assert computed(graph).nodes["b"] == {}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("x", r"write replaced=\['x'\]"),
        (["u"], "replaced names 'u', which the pattern does not have"),
        ([("x", "s")], r"replaced names \('x', 's'\), which the pattern does not have"),
        (["x"], "replaced names 'x', which the replacement does not have"),
        ([("s", "x")], r"replaced names \('s', 'x'\), which the replacement does not have"),
    ],
)
def test_what_cannot_be_replaced_is_said(names, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        from_graphs(graph_of([("s", "x")]), graph_of([("s", "y")]), name="swap", interface=["s"], replaced=names)


def test_what_a_replacement_repeats_of_the_pattern_is_not_set() -> None:
    pattern = graph_of([("s", "x")], x="B")
    pattern.nodes["s"]["type"] = {"A", "C"}
    replacement = graph_of([("s", "y")], y="D")
    replacement.nodes["s"]["type"] = {"A", "C"}
    rule = from_graphs(pattern, replacement, name="keep", interface=["s"])
    graph = graph_of([("a", "b")], a="A", b="B")
    assert apply_first(rule, graph).nodes["a"] == {"type": "A"}


def test_an_edit_that_changes_nothing_is_declined() -> None:
    pattern = nx.DiGraph()
    pattern.add_node("x", type="B")
    replacement = nx.DiGraph()
    replacement.add_node("x", table=np.arange(3))
    rule = from_graphs(pattern, replacement, name="label", interface=["x"])
    graph = graph_of([], b="B")
    assert len(rule.find(graph)) == 1
    apply_first(rule, graph)
    assert rule.find(graph) == []
    assert rule.explain(graph, at="b") == "label does not match at 'b' as x: declined: nothing would change."


def test_a_replacement_may_be_computed() -> None:
    def double(match):
        if match["x"]["size"] > 4:
            return Declined("large enough")
        made = graph_of([("s", "y")])
        made.nodes["y"]["size"] = 2 * match["x"]["size"] + match.edge("s", "x")["w"]
        return made

    rule = from_graphs(graph_of([("s", "x")], x="B"), double, name="double", interface=["s"])
    graph = graph_of([("a", "b", {"w": 1})], b="B")
    graph.nodes["b"]["size"] = 4
    assert apply_first(rule, graph).nodes["y"] == {"size": 9}
    graph = graph_of([("a", "b", {"w": 1})], b="B")
    graph.nodes["b"]["size"] = 5
    assert (
        rule.explain(graph, at="b") == "double does not match at 'b' as x: with s='a', x='b', declined: large enough."
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda m: graph_of([("y", "z")]), "its replacement lacks the interface node 's'"),
        (lambda m: None, "what its replacement returns is a NoneType; make it a networkx.DiGraph"),
        (lambda m: nx.Graph(), "what its replacement returns is a Graph; make it"),
        (lambda m: m["t"], "its replacement fails at 'b': RuleError: the pattern of rule 'r' has no node 't'"),
        (lambda m: m.edge("x", "s"), "its replacement fails at 'b': RuleError: .*has no edge from 'x' to 's'"),
        (lambda m: 1 / 0, r"rule 'r' \(.*test_change.py:\d+\): its replacement fails at 'b': ZeroDivisionError"),
    ],
)
def test_a_wrong_computed_replacement_is_refused_at_the_match(made, message: str) -> None:
    rule = from_graphs(graph_of([("s", "x")], x="B"), made, name="r", interface=["s"])
    graph = graph_of([("a", "b")], b="B")
    with pytest.raises(RuleError, match=message):
        rule.find(graph)
    assert list(graph.edges) == [("a", "b")]


def test_a_match_gives_no_way_to_change_the_graph() -> None:
    (match,) = skip().find(graph_of([("a", "b"), ("b", "c")], b="B"))
    with pytest.raises(TypeError):
        match["x"]["type"] = "C"
