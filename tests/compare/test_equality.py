from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.compare.equality import equals, structure_hash
from graphrewrite.errors import GraphError
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.op.generic_op import generic
from graphrewrite.testing import graphs

ROOT = Path(__file__).parents[2]
F = Tensor("f32", ("N", 2))


def shuffled(graph, rng, *, rename=True):
    """The same graph put together in another order, with other names."""
    names = list(graph)
    fresh = [f"n{i}" for i in range(len(names))]
    rng.shuffle(fresh)
    new = dict(zip(names, fresh if rename else names, strict=True))
    rng.shuffle(names)
    made = Graph("other" if rename else None, ops=graph.ops.values(), **({} if rename else graph.graph))
    for name in names:
        items = list(graph.nodes[name].items())
        rng.shuffle(items)
        made.add_node(new[name], **dict(items))
    edges = list(graph.edges(data=True))
    rng.shuffle(edges)
    for a, b, data in edges:
        made.add_edge(new[a], new[b], **{**data, "slots": tuple(rng.sample(data["slots"], len(data["slots"])))})
    return made


def with_dead_parts(graph, rng):
    """More nodes that no output reads, some of them alike, and edges that say an order."""
    values = [n for n in graph if graph.nodes[n]["type"] != "output"]
    for _ in range(rng.randrange(6)):
        source = rng.choice(values)
        kind, more = rng.choice([("Alike", ()), ("Two", (graph.value(rng.choice(values)),))])
        made = generic(kind)(graph.value(source), *more, result=F)
        values.append(made.node)
    nodes = list(graph.in_order())
    for _ in range(rng.randrange(4)):
        a, b = sorted(rng.sample(range(len(nodes)), 2))
        graph.add_control(nodes[a], nodes[b], kind=rng.choice(["control", "memory"]))
    return graph


@given(graphs(), st.randoms(use_true_random=False))
def test_equal_with_other_names_and_in_another_order(graph, rng):
    graph = with_dead_parts(graph, rng)
    same, renamed = shuffled(graph, rng, rename=False), shuffled(graph, rng)
    assert graph == same
    assert structure_hash(graph) == structure_hash(same)
    assert equals(graph, renamed, names=False)
    assert not equals(graph, renamed)
    assert structure_hash(graph, names=False) == structure_hash(renamed, names=False)
    assert structure_hash(graph) != structure_hash(renamed)


def _changed(graph, rng):
    """A graph in which one thing is another one."""
    made = graph.copy()
    node = rng.choice(list(made))
    ways = ["attribute", "dead", "control"]
    if made.nodes[node]["type"] == "constant":
        ways += ["bit"] * 3
    if made.nodes[node].get("result") is not None:
        ways.append("result")
    way = rng.choice(ways)
    if way == "attribute":
        made.nodes[node]["more"] = 1
    elif way == "dead":
        made.add_node("dead", type="counter", result=Tensor("i8", ()))
    elif way == "control":
        a, b = rng.sample(list(made), 2)
        if made.has_edge(a, b):
            made.edges[a, b]["kind"] = "new"
        else:
            made.add_edge(a, b, slots=(), kind="new")
    elif way == "bit":
        value = np.array(made.nodes[node]["value"], copy=True)
        bits = value.view(np.uint8) if value.ndim else value.reshape(1).view(np.uint8)
        bits.reshape(-1)[-1] ^= 1
        made.nodes[node]["value"] = value if value.ndim else bits.view(value.dtype).reshape(())
    else:
        made.nodes[node]["result"] = Tensor("u16", (77,))
    return made


@given(graphs(), st.randoms(use_true_random=False))
def test_small_changes_show(graph, rng):
    graph = with_dead_parts(graph, rng)
    other = _changed(graph, rng)
    for names in (True, False):
        assert not equals(graph, other, names=names)
        assert structure_hash(graph, names=names) != structure_hash(other, names=names)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ((1, 2), [1, 2], True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ("1", 1, False),
        (np.float32([0.0]), np.float32([-0.0]), False),
        (np.float32([1]), np.float64([1]), False),
        (np.float32([1]), np.float32([[1]]), False),
        (np.arange(6)[::2], np.array([0, 2, 4]), True),
        (Tensor("f32", (2,)), "f32[2]", False),
        (Tensor("f32", (2,)), Tensor("f32", (2,)), True),
        ({"a": [1]}, {"a": (1,)}, True),
    ],
    ids=str,
)
def test_values_are_compared_exactly(a, b, same):
    graphs_ = []
    for value in (a, b):
        graph = Graph("g")
        graph.add_node("n", type="thing", value=value)
        graphs_.append(graph)
    for names in (True, False):
        assert equals(*graphs_, names=names) == same
        assert (structure_hash(graphs_[0], names=names) == structure_hash(graphs_[1], names=names)) == same


@pytest.mark.parametrize("names", [True, False])
def test_operand_positions_and_results_count(names):
    def made(slots_a, slots_b):
        graph = Graph("g")
        a, b = graph.input("a", F), graph.input("b", F)
        graph.output("y", a - b)
        graph.edges["a", "sub_1"]["slots"], graph.edges["b", "sub_1"]["slots"] = slots_a, slots_b
        return graph

    straight = made(((0, 0),), ((1, 0),))
    assert not equals(straight, made(((1, 0),), ((0, 0),)), names=names)
    assert not equals(straight, made(((0, 1),), ((1, 0),)), names=names)
    assert equals(straight, made([(0, 0)], ((1, 0),)), names=names)


def test_the_order_of_outputs_counts():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x))
    graph.output("z", op.neg(x))
    other = graph.copy()
    other.nodes["y"]["index"], other.nodes["z"]["index"] = 1, 0
    assert not equals(graph, other)
    assert not equals(graph, other, names=False)


def test_attributes_of_graphs():
    a, b = Graph("a", author="me"), Graph("b", author="me")
    assert a != b
    assert a.equals(b, names=False)
    b.graph["author"] = "you"
    assert not a.equals(b, names=False)
    assert Graph() == Graph("")
    assert a != 3
    assert (a == nx.DiGraph()) is False


digraphs = st.integers(0, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from("ab"), min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0))), max_size=8)
        if n
        else st.just([]),
    )
)


def digraph(described):
    kinds, edges = described
    graph = nx.DiGraph()
    graph.add_nodes_from((i, {"type": kind}) for i, kind in enumerate(kinds))
    graph.add_edges_from(edges)
    return graph


@given(digraphs, digraphs, st.randoms(use_true_random=False))
def test_without_names_is_isomorphism(first, second, rng):
    a, b = digraph(first), digraph(second)
    places = list(a)
    rng.shuffle(places)
    c = nx.relabel_nodes(a, dict(zip(a, [f"n{i}" for i in places], strict=True)))
    assert equals(a, c, names=False)
    assert structure_hash(a, names=False) == structure_hash(c, names=False)
    wanted = nx.is_isomorphic(a, b, node_match=lambda m, n: m["type"] == n["type"])
    assert equals(a, b, names=False) == wanted
    if wanted:
        assert structure_hash(a, names=False) == structure_hash(b, names=False)


def test_what_colours_do_not_tell_apart_is_searched():
    hexagon = nx.cycle_graph(6, create_using=nx.DiGraph)
    triangles = nx.disjoint_union(*[nx.cycle_graph(3, create_using=nx.DiGraph)] * 2)
    for graph in (hexagon, triangles):
        graph.add_node("hub")
        graph.add_edges_from(("hub", n) for n in range(6))
    assert structure_hash(hexagon, names=False) == structure_hash(triangles, names=False)
    assert not equals(hexagon, triangles, names=False)
    assert equals(triangles, nx.relabel_nodes(triangles, {0: 5, 5: 0}), names=False)


def test_cycles_that_outputs_reach():
    def ring(names, closed):
        graph = nx.DiGraph()
        graph.add_nodes_from(names, type="delay")
        pairs = zip(names, [*names[1:], names[closed]], strict=True)
        for i, (a, b) in enumerate(pairs):
            graph.add_edge(a, b, slots=((1 if b == names[closed] and i < len(names) - 1 else 0, 0),))
        graph.add_node("y", type="output", index=0)
        graph.add_edge(names[-1], "y", slots=((0, 0),))
        return graph

    assert equals(ring("abcd", 0), ring("wxyz".replace("y", "q"), 0), names=False)
    assert not equals(ring("abcd", 0), ring("abcd", 1), names=False)


@pytest.mark.slow
@pytest.mark.parametrize("alive", [True, False])
def test_large_and_deep_graphs(alive):
    def chain(stem, count=10_000):
        graph = Graph("g")
        graph.add_node("x", type="input", index=0, result=F)
        before = "x"
        for i in range(count):
            graph.add_node(f"{stem}{i}", type="relu", result=F)
            graph.add_edge(before, f"{stem}{i}", slots=((0, 0),))
            before = f"{stem}{i}"
        for i in range(2_500):
            graph.add_node(f"{stem}twin{i}", type="neg", result=F)
            graph.add_edge(f"{stem}7", f"{stem}twin{i}", slots=((0, 0),))
        if alive:
            graph.add_node("y", type="output", index=0)
            graph.add_edge(before, "y", slots=((0, 0),))
        return graph

    a, b = chain("a"), chain("b")
    assert equals(a, b, names=False)
    assert structure_hash(a, names=False) == structure_hash(b, names=False)
    b.nodes["b4500"]["type"] = "neg"
    assert not equals(a, b, names=False)


PROGRAM = """
from tests.support.enabling import random_graph
for seed in range(20):
    graph = random_graph(seed, size=24)
    print(graph.structure_hash(), graph.structure_hash(names=False))
"""


@pytest.mark.slow(cases=0)
def test_hashes_are_the_same_under_any_hash_seed():
    found = set()
    for seed in (0, 1, 4711):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(set(found.pop().split())) == 40


def test_graphs_in_graphs_count():
    def nested(function, name="x"):
        block = Graph("block")
        block.output("out", function(block.input(name, F)))
        graph = Graph("g")
        graph.output("y", graph_op(block)(graph.input("x", F)))
        return graph

    a = nested(op.relu)
    assert a == nested(op.relu)
    assert a.structure_hash() == nested(op.relu).structure_hash()
    assert a != nested(op.neg)
    assert not a.equals(nested(op.neg), names=False)
    assert a.structure_hash(names=False) != nested(op.neg).structure_hash(names=False)
    assert a != nested(op.relu, "z")
    assert a.equals(nested(op.relu, "z"), names=False)


def test_graphs_in_graphs_that_share_one_or_have_each_their_own():
    def made(*, shared):
        def block():
            graph = Graph("block")
            graph.output("out", op.relu(graph.input("x", F)))
            return graph

        one = graph_op(block())
        inner = Graph("inner")
        inner.output("y", one(inner.input("x", F)))
        graph = Graph("g")
        x = graph.input("x", F)
        graph.output("y", graph_op(inner)((one if shared else graph_op(block()))(x)))
        return graph

    for names in (True, False):
        assert equals(made(shared=True), made(shared=False), names=names)
        assert structure_hash(made(shared=True), names=names) == structure_hash(made(shared=False), names=names)


@pytest.mark.parametrize("thing", [nx.MultiDiGraph(), nx.Graph(), 3, None], ids=lambda thing: type(thing).__name__)
def test_what_is_no_graph(thing):
    with pytest.raises(GraphError, match="make it a networkx"):
        equals(Graph(), thing)
    with pytest.raises(GraphError, match="make it a networkx"):
        structure_hash(thing)
