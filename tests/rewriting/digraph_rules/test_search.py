"""Matches of graph rules: all of them, no other, none twice, in a stable order, and quickly."""

from __future__ import annotations

import random
import time

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.errors import RuleError
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.pattern.condition import Where
from tests.support.digraph_reference import comparable, matches, random_graph, random_written
from tests.support.profiles import some_of

PAIRS = 5_000
CHUNKS = 8
SEEDS = [range(i, i + PAIRS // CHUNKS) for i in range(0, PAIRS, PAIRS // CHUNKS)]


def found_by(rule, graph: nx.DiGraph) -> list[tuple]:
    """What the rule's search finds, whether or not its replacement declines."""
    return [comparable(m.bindings) for node in sorted(graph) for m in rule.matches_at(graph, node)]


@pytest.mark.parametrize("seeds", some_of(SEEDS), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_matches_are_those_of_exhaustive_search(seeds: range) -> None:
    met = 0
    for seed in seeds:
        rng = random.Random(seed)
        graph = random_graph(rng)
        written = random_written(rng, graph)
        found = found_by(written.rule(), graph)
        assert len(found) == len(set(found)), f"seed {seed}: a match is reported twice"
        assert set(found) == set(map(comparable, matches(graph, written))), f"seed {seed}"
        met += bool(found)
    assert met > PAIRS / CHUNKS / 5, "too few of the pairs have a match to say anything"


@given(st.randoms(use_true_random=False))
def test_matches_are_those_of_exhaustive_search_and_shrink(rng: random.Random) -> None:
    graph = random_graph(rng)
    written = random_written(rng, graph)
    assert sorted(found_by(written.rule(), graph)) == sorted(map(comparable, matches(graph, written)))


@pytest.mark.parametrize("patience", [0, 1, 20])
def test_sorting_out_the_hopeless_loses_no_match(patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrewrite.rewriting.digraph_rules.search._PATIENCE", patience)
    for seed in range(300):
        rng = random.Random(f"hopeless {seed}")
        graph = random_graph(rng)
        written = random_written(rng, graph)
        assert sorted(found_by(written.rule(), graph)) == sorted(map(comparable, matches(graph, written))), (
            f"seed {seed}"
        )


def test_order_does_not_depend_on_how_the_graph_was_built() -> None:
    for seed in range(300):
        rng = random.Random(f"order {seed}")
        graph = random_graph(rng)
        rule = random_written(rng, graph).rule()
        other = nx.DiGraph()
        other.add_nodes_from(rng.sample(list(graph.nodes(data=True)), len(graph)))
        other.add_edges_from(rng.sample(list(graph.edges(data=True)), graph.number_of_edges()))
        assert [m.bindings for m in rule.find(graph)] == [m.bindings for m in rule.find(other)], f"seed {seed}"


# ---------------------------------------------------------------------- kinds of requirement, one by one


def edge_rule(*, source: dict | None = None, edge: dict | None = None, **options):
    pattern = nx.DiGraph()
    pattern.add_node("a", **(source or {}))
    pattern.add_edge("a", "b", **(edge or {}))
    replacement = pattern.copy()
    replacement.nodes["b"]["seen"] = True
    return from_graphs(pattern, replacement, name="see", interface=["a", "b"], **options)


def pairs(rule, graph: nx.DiGraph) -> list[tuple]:
    return [(m.bindings["a"], m.bindings["b"]) for m in rule.find(graph)]


def three() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node(1, type="A", size=3)
    graph.add_node(2, type="B", size=(2, 2))
    graph.add_node(3, type="A")
    graph.add_edge(1, 2, weight=1)
    graph.add_edge(2, 3, weight=2)
    graph.add_edge(3, 1)
    return graph


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "A"}, [(1, 2), (3, 1)]),
        ({"type": {"B", "C"}}, [(2, 3)]),
        ({"size": range(2, 4)}, [(1, 2)]),
        ({"size": {(2, 2), 7}}, [(2, 3)]),
        ({"size": [2, 2]}, [(2, 3)]),
        ({"size": Where(lambda s: s == 3, "its size is 3")}, [(1, 2)]),
        ({"type": "A", "size": 3}, [(1, 2)]),
        ({"colour": "red"}, []),
    ],
)
def test_attributes(source: dict, expected: list) -> None:
    assert pairs(edge_rule(source=source), three()) == expected


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ({"weight": 2}, [(2, 3)]),
        ({"weight": {1, 2}}, [(1, 2), (2, 3)]),
        ({"weight": Where(lambda w: w > 1, "it is heavy")}, [(2, 3)]),
        ({}, [(1, 2), (2, 3), (3, 1)]),
    ],
)
def test_edge_attributes(edge: dict, expected: list) -> None:
    assert pairs(edge_rule(edge=edge), three()) == expected


def test_a_condition_sees_the_whole_match() -> None:
    rule = edge_rule(condition=Where(lambda m: m["a"]["type"] == m["b"]["type"], "both have one type"))
    assert pairs(rule, three()) == [(3, 1)]


def test_self_loops() -> None:
    pattern = nx.DiGraph([("a", "a")])
    rule = from_graphs(pattern, nx.DiGraph([("a", "more")]), name="unroll", interface=["a"])
    graph = nx.DiGraph([(1, 1), (1, 2), (2, 3), (3, 3)])
    assert [m.bindings["a"] for m in rule.find(graph)] == [1, 3]


def test_components_are_matched_apart() -> None:
    pattern = nx.DiGraph()
    pattern.add_node("a", type="A")
    pattern.add_node("b", type="B")
    rule = from_graphs(pattern, nx.DiGraph([("a", "b")]), name="join", interface=["a", "b"])
    graph = nx.DiGraph()
    graph.add_nodes_from([(1, {"type": "A"}), (2, {"type": "B"}), (3, {"type": "B"})])
    assert pairs(rule, graph) == [(1, 2), (1, 3)]
    assert rule.radius is None


def test_a_predicate_that_raises_names_rule_and_node() -> None:
    rule = edge_rule(source={"size": Where(lambda s: s > 2, "it is large")})
    with pytest.raises(
        RuleError, match=r"rule 'see' \(.*test_search.py:\d+\): the predicate on 'size' fails at 2: Type"
    ):
        rule.find(three())
    rule = edge_rule(condition=Where(lambda m: m["c"], "its c"))
    with pytest.raises(RuleError, match=r"the condition on the whole match fails at .*has no node 'c'"):
        rule.find(three())


def test_views_and_subclasses_are_searched_as_well() -> None:
    class Mine(nx.DiGraph):
        pass

    graph = Mine(three())
    assert pairs(edge_rule(), graph) == [(1, 2), (2, 3), (3, 1)]
    assert pairs(edge_rule(), graph.subgraph([1, 2])) == [(1, 2)]


# ---------------------------------------------------------------------- no blow-up


def typed(edges: list[tuple], types: dict) -> nx.DiGraph:
    graph = nx.DiGraph(edges)
    for node, kind in types.items():
        graph.add_node(node, type=kind)
    return graph


def marking(pattern: nx.DiGraph, **options):
    """A rule that keeps all it matches."""
    replacement = pattern.copy()
    replacement.nodes[next(iter(pattern))]["seen"] = True
    return from_graphs(pattern, replacement, name="mark", interface=list(pattern), **options)


def star() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node("hub", type="hub")
    for i in range(4000):
        graph.add_node(f"b{i}", type="b")
        graph.add_edges_from([("hub", f"b{i}"), (f"b{i}", f"c{i}")])
    return graph


def diamonds(count: int) -> nx.DiGraph:
    return nx.DiGraph(
        e for i in range(count) for side in "lr" for e in [(f"d{i}", f"{side}{i}"), (f"{side}{i}", f"d{i + 1}")]
    )


def layers() -> nx.DiGraph:
    """Two thousand nodes in layers of two, each reading both of the layer before: 2 ** 63 paths of 64 nodes."""
    return nx.DiGraph((f"{a}{i}", f"{b}{i + 1}") for i in range(999) for a in "ab" for b in "ab")


def binary_tree(count: int) -> nx.DiGraph:
    return nx.DiGraph(((i - 1) // 2, i) for i in range(1, count))


def with_type(graph: nx.DiGraph, node: object, kind: str) -> nx.DiGraph:
    graph.nodes[node]["type"] = kind
    return graph


CASES = {
    "star": lambda: (
        from_graphs(nx.DiGraph([("h", "b"), ("b", "c")]), nx.DiGraph([("h", "c")]), name="r", interface=["h", "c"]),
        star(),
        4000,
    ),
    "star without partner": lambda: (
        marking(typed([("h", "b"), ("h", "d")], {"h": "hub", "b": "b", "d": "none"})),
        star(),
        0,
    ),
    "diamonds": lambda: (
        from_graphs(diamonds(1), nx.DiGraph([("d0", "x"), ("x", "d1")]), name="r", interface=["d0", "d1"]),
        diamonds(1000),
        2000,
    ),
    "diamonds without end": lambda: (marking(with_type(diamonds(8), "d8", "none")), diamonds(1000), 0),
    "path": lambda: (
        from_graphs(nx.path_graph(64, nx.DiGraph), nx.DiGraph([(0, 63)]), name="r", interface=[0, 63]),
        nx.path_graph(2000, nx.DiGraph),
        1937,
    ),
    "path without end": lambda: (marking(with_type(nx.path_graph(64, nx.DiGraph), 63, "none")), layers(), 0),
    "path with start and without end": lambda: (
        marking(with_type(with_type(nx.path_graph(64, nx.DiGraph), 63, "none"), 0, "start")),
        with_type(layers(), "a0", "start"),
        0,
    ),
    "tree": lambda: (marking(with_type(binary_tree(64), 63, "none")), binary_tree(2000), 0),
    "triangle": lambda: (
        marking(nx.DiGraph([(0, 1), (1, 2), (0, 2)]), induced=True),
        nx.gnp_random_graph(60, 0.5, seed=1, directed=True),
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_blow_up(name: str) -> None:
    rule, graph, expected = CASES[name]()
    start = time.process_time()
    found = rule.find(graph)
    seconds = time.process_time() - start
    print(f"{name}: {len(found)} matches, {seconds:.2f} s")
    assert expected is None or len(found) == expected
    assert seconds < 2


@pytest.mark.slow
def test_a_pattern_of_a_thousand_nodes() -> None:
    rule = from_graphs(
        nx.path_graph(1000, nx.DiGraph), nx.DiGraph([(0, 999)]), name="shorten", interface=[0, 999], keeps="assumes"
    )
    assert len(rule.find(nx.path_graph(1001, nx.DiGraph))) == 2
    assert rule.explain(nx.path_graph(999, nx.DiGraph), at=500).startswith("shorten does not match at 500 as ")
    assert str(rule.pattern).startswith("0 -> 1 -> 2")


def test_a_rule_of_a_large_pattern_is_made_quickly():
    pattern = nx.empty_graph(20_000, create_using=nx.DiGraph)
    replacement = pattern.copy()
    replacement.nodes[0]["done"] = True
    start = time.process_time()
    from_graphs(pattern, replacement, name="mark")
    assert time.process_time() - start < 4
