"""After an edit, all anchors are looked at again at which something has become possible; and few others."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest

from graphrewrite.graph.edit import Edit, apply_edit
from graphrewrite.rewriting.digraph_rules import GraphRule, from_graphs
from graphrewrite.rewriting.rule.outcome import Declined
from tests.support.digraph_reference import Written, random_graph, random_written
from tests.support.profiles import some_of


def accepted(rule: GraphRule, graph: nx.DiGraph) -> list[Any]:
    return [(m.bindings, m.roots[0]) for m in rule.find(graph)]


def random_edit(rng: random.Random, graph: nx.DiGraph) -> Edit | None:
    """One of another rule, or anything that changes a little."""
    if rng.random() < 0.5:
        other = random_written(rng, graph).rule()
        edits = [other.edit(graph, match) for match in other.find(graph)]
        return rng.choice(edits) if edits else None
    edit, nodes = Edit(), list(graph)
    kind = rng.randrange(5)
    if kind == 0:
        edit.removed = [rng.choice(nodes)]
    elif kind == 1:
        node = rng.choice(nodes)
        edit.changed = [(node, {"type": rng.choice("AB"), "size": rng.randint(0, 2)})]
    elif kind == 2 and graph.edges:
        edit.unlinked = [rng.choice(list(graph.edges))]
    elif kind == 3:
        edit.linked = [(rng.choice(nodes), rng.choice(nodes), {"weight": rng.randint(0, 1)})]
    else:
        edit.added = [("more", {"type": rng.choice("AB")})]
        edit.linked = [("more", rng.choice(nodes), {})] if rng.random() < 0.7 else []
    return edit


def rule_of(rng: random.Random, written: Written) -> GraphRule:
    if rng.random() < 0.3:  # the same, but known only at the match

        def computed(match: Any) -> Any:
            first = written.pattern.nodes and next(iter(written.pattern))
            if isinstance(match[first], tuple) or match[first].get("size") != 1:
                return written.replacement
            return Declined("not of size 1")

        return from_graphs(
            written.pattern,
            computed,
            name="computed",
            interface=written.interface,
            groups=written.groups,
            induced=written.induced,
            without=written.without,
            condition=written.condition,
        )
    return written.rule()


@pytest.mark.slow
def test_what_has_become_possible_is_looked_at_again() -> None:
    new = 0
    for seed in some_of(range(4000)):
        rng = random.Random(f"wake {seed}")
        graph = random_graph(rng)
        rule = rule_of(rng, random_written(rng, graph))
        edit = random_edit(rng, graph)
        if rule.radius is None or edit is None:
            continue
        before = accepted(rule, graph)
        apply_edit(graph, edit)
        woken = rule.enabled_by(graph, edit)
        assert len(set(woken)) == len(woken)
        assert graph.nodes >= set(woken)
        for match, anchor in accepted(rule, graph):
            if (match, anchor) not in before:
                new += 1
                assert anchor in woken, f"seed {seed}: {match} is new"
    assert new > 50


def test_a_rule_that_declined_for_an_edge_is_looked_at_when_that_goes() -> None:
    path = nx.path_graph(["s", "x", "e"], nx.DiGraph)
    path.nodes["x"]["type"] = "B"
    shorter = nx.DiGraph(path)
    shorter.add_edge("s", "e")
    rule = from_graphs(path, shorter, name="shorten", interface=["s", "e"])
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    graph.nodes["b"]["type"] = "B"
    assert rule.find(graph) == []
    edit = Edit(unlinked=[("a", "c")])
    apply_edit(graph, edit)
    assert rule.enabled_by(graph, edit) == ["b"]


def test_a_neighbour_with_many_edges_costs_nothing() -> None:
    pattern = nx.DiGraph([("hub", "b"), ("b", "c")])
    pattern.nodes["b"]["type"] = "b"
    rule = from_graphs(pattern, nx.DiGraph([("hub", "c")]), name="shorten", interface=["hub", "c"])
    graph = nx.DiGraph()
    for i in range(100):
        graph.add_node(f"b{i}", type="b")
        nx.add_path(graph, ["hub", f"b{i}", f"c{i}"])
    edit = rule.edit(graph, rule.find(graph)[0])
    apply_edit(graph, edit)
    assert rule.enabled_by(graph, edit) == []
