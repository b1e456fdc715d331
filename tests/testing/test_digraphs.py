"""The strategy of digraphs: whatever there can be, what is asked for, and pattern graphs with what is around them."""

from __future__ import annotations

import re
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from graphrewrite import op, rule
from graphrewrite.errors import GraphRewriteError
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing import digraphs
from tests.support.digraph_reference import Written, matches

pytestmark = pytest.mark.slow

QUICK = settings(max_examples=2000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
SHRUNK = settings(QUICK, max_examples=500, phases=[Phase.generate, Phase.shrink])
COLOURED = {"colour": ["red", "blue"], "size": st.integers(0, 9)}


def values(graph):
    return [v for _, data in graph.nodes(data=True) for v in data.values()]


ANY = {
    "a name that is no text": lambda g: any(not isinstance(n, str) for n in g),
    "a loop": lambda g: nx.number_of_selfloops(g) > 0,
    "a cycle": lambda g: any(len(c) > 1 for c in nx.simple_cycles(g)),
    "a node without edges": lambda g: any(not d for _, d in g.degree()),
    "an array": lambda g: any(isinstance(v, np.ndarray) for v in values(g)),
    "a nested value": lambda g: any(isinstance(v, dict) for v in values(g)),
    "a node without attributes": lambda g: any(not data for _, data in g.nodes(data=True)),
    "an attribute of the graph": lambda g: bool(g.graph),
    "an edge with slots": lambda g: any(data.get("slots") for _, _, data in g.edges(data=True)),
}


@pytest.mark.parametrize("feature", ANY)
def test_any_digraph_is_generated(feature):
    assert ANY[feature](find(digraphs(max_size=4), ANY[feature], settings=QUICK))


def test_graphs_are_plain_digraphs_of_networkx_and_shrink_to_nothing():
    found = find(digraphs(), lambda graph: True, settings=SHRUNK)
    assert type(found) is nx.DiGraph
    assert (len(found), found.graph) == (0, {})


@given(digraphs(node_attributes=COLOURED, edge_attributes=st.just({"weight": 1}), names="abcdefgh", min_size=2))
def test_attributes_and_names_are_those_that_are_given(graph):
    assert 2 <= len(graph) <= 8
    assert set(graph) <= set("abcdefgh")
    assert all(
        list(data) == ["colour", "size"] and data["colour"] in ("red", "blue") and data["size"] in range(10)
        for _, data in graph.nodes(data=True)
    )
    assert all(data == {"weight": 1} for _, _, data in graph.edges(data=True))
    assert graph.graph == {}


def test_a_failure_shows_code_that_makes_the_graph():
    @settings(database=None, max_examples=50)
    @given(digraphs(node_attributes=COLOURED, edge_attributes={}, names=range(9)))
    def fails(graph):
        assert not graph.edges

    with pytest.raises(AssertionError) as caught:
        fails()
    code = "\n".join(line for note in caught.value.__notes__ for line in note.splitlines() if line.startswith("graph"))
    made: dict[str, nx.DiGraph] = {"nx": nx}
    exec(code, made)
    assert list(made["graph"].edges) in ([(0, 1)], [(0, 0)])


@given(digraphs(node_attributes={}, edge_attributes={}, acyclic=True, max_size=6))
def test_acyclic_graphs_have_no_cycles(graph):
    assert nx.is_directed_acyclic_graph(graph)
    assert len(graph) <= 6


def test_acyclic_graphs_are_no_trees_only_and_need_no_luck():
    seen: Counter[str] = Counter()

    @settings(max_examples=200)
    @given(digraphs(node_attributes={}, edge_attributes={}, names=range(9), acyclic=True))
    def examine(graph):
        seen["all"] += 1
        seen["joined again"] += any(degree > 1 for _, degree in graph.in_degree())
        seen["several parts"] += len(graph) > 0 and nx.number_weakly_connected_components(graph) > 1
        seen["connected"] += len(graph) > 2 and nx.is_weakly_connected(graph)

    examine()
    assert min(seen["joined again"], seen["several parts"], seen["connected"]) > 20, seen


def test_what_is_looked_for_shrinks_to_what_it_needs():
    asked = digraphs(node_attributes=COLOURED, edge_attributes={"weight": range(9)}, names=range(99))
    triangle = find(asked, lambda g: sum(nx.triangles(nx.Graph(g)).values()) > 0, settings=SHRUNK)
    assert (len(triangle), triangle.number_of_edges()) == (3, 3)
    assert {data["colour"] for _, data in triangle.nodes(data=True)} == {"red"}
    heavy = find(asked, lambda g: any(d["weight"] > 3 for *_, d in g.edges(data=True)), settings=SHRUNK)
    assert [data["weight"] for _, _, data in heavy.edges(data=True)] == [4]
    assert len(heavy) <= 2


def test_sets_are_in_an_order_of_their_own():
    smallest = find(digraphs(node_attributes={"c": {"z", "m", "a"}}, min_size=1), lambda g: True, settings=SHRUNK)
    assert [data["c"] for _, data in smallest.nodes(data=True)] == ["a"]


# ---------------------------------------------------------------------- containing


def written(**options) -> Written:
    """Chains of a mul and an add."""
    pattern = nx.DiGraph([("s", "m"), ("m", "a"), ("a", "e")])
    pattern.nodes["m"].update(type="mul", size={1, 4})
    pattern.nodes["a"]["type"] = "add"
    pattern.edges["m", "a"]["weight"] = range(2, 5)
    replacement = nx.DiGraph([("s", "f"), ("f", "e")])
    return Written(pattern, replacement, ["s"], ["e"], **options)


def absent() -> nx.DiGraph:
    graph = nx.DiGraph([("s", "x"), ("x", "other")])
    graph.nodes["x"]["type"] = "mul"
    return graph


IS_LARGE = Where(lambda size: size > 50, "it is large")
CASES = {
    "plain": written(),
    "induced": written(induced=True),
    "without": written(without=[absent()]),
    "condition": written(condition=Where(lambda m: m["m"].get("size") == 4, "its size is four")),
}


@pytest.mark.parametrize("case", CASES)
def test_every_graph_contains_the_pattern_with_something_around_it(case):
    asked, seen = CASES[case], Counter[str]()
    tested = asked.rule()

    @settings(max_examples=100)
    @given(digraphs(containing=tested))
    def examine(graph):
        seen["all"] += 1
        found = tested.find(graph)
        assert found
        seen["several"] += len(found) > 1
        seen["more nodes"] += len(graph) > len(found[0].nodes)
        seen["outside readers"] += any(
            set(graph.succ[m.bindings["s"]]) | set(graph.pred[m.bindings["s"]]) - set(m.nodes) for m in found
        )
        seen["several in a group"] += any(len(m.bindings["e"]) > 1 for m in found)
        seen["none in a group"] += any(not m.bindings["e"] for m in found)
        muls = sum(data.get("type") == "mul" for _, data in graph.nodes(data=True))
        seen["nearly"] += muls > len({m.bindings["m"] for m in found})
        seen["cyclic"] += not nx.is_directed_acyclic_graph(graph)

    examine()
    assert all(seen[what] > 2 for what in ("several", "several in a group", "none in a group", "nearly")), seen
    assert all(seen[what] > 10 for what in ("more nodes", "outside readers", "cyclic")), seen


def test_matches_are_those_of_exhaustive_search():
    asked = written(without=[absent()])
    tested = asked.rule()

    @given(digraphs(containing=tested).filter(lambda graph: len(graph) < 8))
    def examine(graph):
        shown = [dict(m.bindings) for m in tested.find(graph)]
        wanted = list(matches(nx.relabel_nodes(graph, str), Written(**vars(asked))))
        assert len(shown) == len(wanted)

    examine()


def test_the_smallest_graph_is_the_pattern():
    smallest = find(digraphs(containing=written().rule()), lambda g: True, settings=SHRUNK)
    assert list(smallest.edges(data=True)) == [("s", "m", {}), ("m", "a", {"weight": 2})]
    assert dict(smallest.nodes(data=True)) == {"s": {}, "m": {"type": "mul", "size": 1}, "a": {"type": "add"}}


def test_patterns_alone_are_contained_as_well():
    tested = written(induced=True, without=[absent()]).rule()
    found = find(digraphs(containing=tested.pattern), lambda g: len(g) > 6, settings=QUICK)
    assert tested.find(found)


def test_several_patterns_share_nodes():
    first, second = (
        written().rule(),
        from_graphs(nx.DiGraph([("p", "q")]), nx.DiGraph([("q", "p")]), name="turn", interface=["p", "q"]),
    )
    smallest = find(digraphs(containing=[first, second]), lambda g: True, settings=SHRUNK)
    assert len(smallest) == 3
    overlapping = []

    @given(digraphs(containing=[first, first]))
    def examine(graph):
        found = [set(m.interior) for m in first.find(graph)]
        assert found
        overlapping.append(any(a != b and a & b for a in found for b in found))

    examine()


def test_what_a_condition_asks_for_is_found_among_the_given_values():
    pattern = nx.DiGraph()
    pattern.add_node("n", size=IS_LARGE)
    large = from_graphs(pattern, nx.DiGraph([("n", "m")]), name="large", interface=["n"])
    assert find(digraphs(containing=large), lambda g: True, settings=SHRUNK).nodes["n"] == {"size": 64}
    given_values = digraphs(containing=large, node_attributes={"size": st.integers(0, 99)})
    assert find(given_values, lambda g: True, settings=SHRUNK).nodes["n"]["size"] > 50
    pattern.nodes["n"]["size"] = Where(lambda size: size == "no guess", "it is what nobody guesses")
    hard = from_graphs(pattern, nx.DiGraph([("n", "m")]), name="hard", interface=["n"])
    with pytest.raises(ValueError, match=r"of hard was found .*it is what nobody guesses.*node_attributes="):
        digraphs(containing=hard)
    assert find(digraphs(containing=hard, node_attributes={"size": ["no guess"]}), lambda g: True, settings=SHRUNK)


def test_what_cannot_be_contained_is_said_at_once():
    ring = from_graphs(nx.DiGraph([("a", "b"), ("b", "a")]), nx.DiGraph([("a", "b")]), name="cut", interface=["a", "b"])
    with pytest.raises(GraphRewriteError, match="it would close a cycle"):
        digraphs(containing=ring, acyclic=True)

    @rule
    def made_of_ops(x):
        yield op.neg(x)
        return x

    with pytest.raises(GraphRewriteError, match=re.escape("graphs(containing=...) has instances")):
        digraphs(containing=made_of_ops)


@given(st.data())
def test_strategies_are_made_within_a_test_as_well(data):
    tested = written().rule()
    assert tested.find(data.draw(digraphs(containing=tested, acyclic=True)))
