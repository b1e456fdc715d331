from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.compare.difference import diff
from graphrewrite.compare.result import Entry
from graphrewrite.errors import GraphError
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.hierarchy.module import Module
from graphrewrite.op.generic_op import generic
from graphrewrite.testing import graphs

F = Tensor("f32", ("N", 2))


def net(name="g"):
    graph = Graph(name)
    x = graph.input("x", F)
    r = op.relu(x)
    graph.output("y", r - x * np.ones(2, np.float32))
    return graph


def names(entries):
    return [entry.name for entry in entries]


def accounted(found, a, b):
    """Every node of both is in exactly one list."""
    before = [e.was for e in (*found.kept, *found.changed, *found.moved)] + names(found.removed)
    after = names((*found.kept, *found.changed, *found.moved, *found.inserted))
    assert sorted(before, key=str) == sorted(a, key=str)
    assert sorted(after, key=str) == sorted(b, key=str)
    for entry in (*found.kept, *found.changed, *found.moved):
        assert entry.before is not None
        assert entry.after is not None
    assert all(e.was is None and e.before is None and e.after for e in found.inserted)
    assert all(e.after is None and e.before for e in found.removed)
    assert all(e.keys for e in found.changed)


def edited(graph, draw):
    """A copy in which a few things are otherwise."""
    made = graph.copy()
    for _ in range(draw(st.integers(0, 3))):
        node = draw(st.sampled_from(sorted(made, key=str)))
        way = draw(st.sampled_from(["rename", "remove", "insert", "attribute", "edge", "origin", "graph"]))
        if way == "rename":
            nx.relabel_nodes(made, {node: f"{node}_new"}, copy=False)
        elif way == "remove":
            made.remove_node(node)
            if not made:
                return graph.copy()
        elif way == "insert" and made.nodes[node].get("result") is not None:
            generic("More")(made.value(node), result=F)
        elif way == "attribute":
            key = draw(st.sampled_from(["more", "type", "index", "backend"]))
            made.nodes[node][key] = 2 if key == "index" else draw(st.sampled_from(["a", 2]))
        elif way == "edge":
            other = draw(st.sampled_from(sorted(made, key=str)))
            made.add_edge(node, other, slots=(), kind=draw(st.sampled_from("ab")))
        elif way == "origin":
            made.nodes[node]["origin"] = ("elsewhere",)
        elif way == "graph":
            made.graph[draw(st.sampled_from(["name", "author"]))] = draw(st.sampled_from(["", "me"]))
    return made


@given(graphs(), st.data())
def test_every_node_is_accounted_for_and_nothing_is_found_in_equal_graphs(graph, data):
    other = edited(graph, data.draw)
    found = diff(graph, other)
    accounted(found, graph, other)
    accounted(diff(other, graph), other, graph)
    assert bool(found) == (graph != other)
    assert bool(diff(nx.DiGraph(graph), nx.DiGraph(other))) == (graph != other)
    assert not diff(graph, graph)
    assert not diff(other, other.copy())
    assert (str(found) == "no difference") == (not found)


@given(graphs())
def test_renamed_nodes_are_moved(graph):
    other = nx.relabel_nodes(graph, {n: f"{n}_new" for n in graph if graph.nodes[n]["type"] != "input"})
    other.ops.update(graph.ops)
    found = diff(graph, other)
    accounted(found, graph, other)
    assert not found.changed
    assert not found.inserted
    assert not found.removed
    assert not found.ports
    assert all(e.name == e.was or graph.nodes[e.was]["type"] == other.nodes[e.name]["type"] for e in found.moved)


def test_inserted_removed_changed_moved_kept():
    a, b = net(), net()
    b.nodes["relu_1"].update(type="neg", backend="fpga")
    extra = generic("Extra")(b.value("x"), turns=1)
    b.remove_edge("x", "mul_1")
    b.add_edge(extra.node, "mul_1", slots=((0, 0),))
    b.graph["author"] = "me"
    b.output("z", b.value("x"))
    a.add_node("dead", type="constant", value=np.float32([1]), result=Tensor("f32", (1,)))
    found = diff(a, b)
    accounted(found, a, b)
    assert names(found.inserted) == ["Extra_1", "z"]
    assert names(found.removed) == ["dead"]
    assert [(e.name, e.keys) for e in found.changed] == [("relu_1", ("backend", "type"))]
    assert names(found.moved) == ["mul_1"]
    assert names(found.kept) == ["x", "constant_1", "sub_1", "y"]
    assert found.attributes == (Entry("author", None, "'me'"),)
    assert found.ports == (Entry("outputs", "y", "y, z"),)
    assert str(found).splitlines() == [
        "+ author: 'me'",
        "~ outputs: y -> y, z",
        "~ relu_1 = relu(x) : f32[N,2]",
        "~   -> relu_1 = neg(x) {backend='fpga'} : f32[N,2]    (backend, type)",
        "+ Extra_1 = Extra(x, turns=1) : f32[N,2]",
        "> mul_1 = mul(x, constant_1) : f32[N,2]",
        ">   -> mul_1 = mul(Extra_1, constant_1) : f32[N,2]",
        "- dead = constant(value=[1.0]) : f32[1]",
        "+ z = output(x)",
        "(4 kept, 2 inserted, 1 removed, 1 changed, 1 moved)",
    ]


def test_swapped_operands_and_outputs():
    a, b = net(), net()
    b.edges["relu_1", "sub_1"]["slots"], b.edges["mul_1", "sub_1"]["slots"] = ((1, 0),), ((0, 0),)
    assert names(diff(a, b).moved) == ["sub_1"]
    for graph in (a, b):
        graph.output("z", graph.value("x"))
    b.nodes["y"]["index"], b.nodes["z"]["index"] = 1, 0
    found = diff(a, b)
    assert found.ports == (Entry("outputs", "y, z", "z, y"),)
    assert not found.changed


def test_values_bit_for_bit():
    a, b = net(), net()
    b.nodes["constant_1"]["value"] = np.float32([1, 1 + 2**-23])
    assert [(e.name, e.keys) for e in diff(a, b).changed] == [("constant_1", ("value",))]


def test_a_renamed_chain_behind_a_new_node_is_found():
    a, b = Graph("g"), Graph("g")
    for graph, stem in ((a, "old"), (b, "new")):
        x = graph.input("x", F)
        value = x if graph is a else graph.add(op.sqrt, [x], name="extra")
        for i in range(50):
            value = graph.add((op.relu, op.neg)[i % 2], [value], name=f"{stem}{i}")
        graph.output("y", value)
    found = diff(a, b)
    assert names(found.inserted) == ["extra"]
    assert len(found.moved) == 50
    assert not found.removed
    assert [e.was for e in found.moved] == [f"old{i}" for i in range(50)]


def test_large_graphs():
    def chain(stem):
        graph = nx.DiGraph()
        graph.add_node("x", type="input", index=0, result=F)
        before = "x"
        for i in range(10_000):
            graph.add_node(f"{stem}{i}", type="relu", result=F)
            graph.add_edge(before, f"{stem}{i}", slots=((0, 0),))
            before = f"{stem}{i}"
        graph.add_node("y", type="output", index=0)
        graph.add_edge(before, "y", slots=((0, 0),))
        return graph

    a, b = chain("a"), chain("b")
    b.nodes["b5000"]["type"] = "neg"
    found = diff(a, b)
    accounted(found, a, b)
    assert names(found.inserted) == ["b5000"]
    assert names(found.removed) == ["a5000"]


def test_graphs_in_graphs():
    def nested(function):
        block = Graph("block")
        block.output("out", function(block.input("x", F)))
        graph = Graph("g")
        graph.output("y", graph_op(block)(graph.input("x", F)))
        return graph

    assert not diff(nested(op.relu), nested(op.relu))
    found = diff(nested(op.relu), nested(op.neg))
    assert [(e.name, e.keys) for e in found.changed] == [("block_1", ("type",))]
    assert "\n~ graph block\n  - relu_1 = relu(x) : f32[N,2]\n" in str(found)
    assert ("removed", "  - relu_1 = relu(x) : f32[N,2]") in found.show().data.lines


def test_differences_deep_within_are_listed_once():
    def deep(latency):
        graph = Graph.parse("graph level_0\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
        graph.nodes["r"]["latency"] = latency
        for level in range(1, 60):  # each is used twice by the next
            around = Graph(f"level_{level}")
            use = graph_op(graph)
            around.output("y", use(use(around.input("x", Tensor("f32", ("N",))))))
            graph = around
        return graph

    found = diff(deep(1), deep(2))
    assert list(found.nested) == [f"level_{level}" for level in reversed(range(59))]
    assert [(node.name, node.keys) for node in found.nested["level_0"].changed] == [("r", ("latency",))]
    modules = Module("a"), Module("a")
    for module, latency in zip(modules, (1, 2), strict=True):
        module["top"] = deep(latency)
    assert str(diff(*modules)).count("~ graph level_0") == 1


def test_differences_within_loops():
    def looping(inner):
        body = Graph.parse(f"""graph body
i = input() : i64[]
x = input() : f32[N]
c = constant(value=True) : bool[]
r = {inner}(x)
go_on = output(c)
last = output(r)""")
        graph = Graph("g")
        x, count = graph.input("x", Tensor("f32", ("N",))), graph.constant(np.int64(2))
        graph.output("y", op.loop(count, graph.constant(np.array(True)), x, body=body))
        return graph

    found = diff(looping("relu"), looping("neg"))
    assert [(name, len(inner.changed)) for name, inner in found.nested.items()] == [("loop_1.body", 1)]
    assert not diff(looping("relu"), looping("relu")).nested


def test_modules():
    a, b = Module("net", stage=1), Module("net", stage=2)
    for module in (a, b):
        module["main"], module["same"] = net("main"), net("same")
        module.constant("w", np.float32([1]))
    b["more"] = net("more")
    a["less"] = net("less")
    b["main"].nodes["relu_1"]["type"] = "neg"
    b.constant("v", np.float32([2]))
    a.constant("q", np.int8([2]))
    b.constant("q", np.int8([2]), Tensor("i4", (1,)))
    found = diff(a, b)
    assert found.kept == ("same",)
    assert found.changed == ("main",)
    assert found.inserted == ("more",)
    assert found.removed == ("less",)
    assert found.attributes == (
        Entry("stage", "1", "2"),
        Entry("constant v", None, "[2.0]"),
        Entry("type of q", "i8[1]", "i4[1]"),
    )
    assert "~ graph main\n  ~ relu_1 = relu(x)" in str(found)
    assert not diff(a, a)
    assert not diff(a, a.copy())
    assert str(diff(a, a)) == "no difference"


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (Graph(), 3, "^int is not a graph that can be compared; make it a networkx.DiGraph"),
        (nx.Graph(), Graph(), "^networkx.Graph is not a graph that can be compared"),
        (Graph(), nx.MultiDiGraph(), "^networkx.MultiDiGraph is not a graph that can be compared"),
        (Graph(), Module(), "a graph and a module cannot be compared"),
    ],
    ids=["a number", "undirected", "several edges", "a module"],
)
def test_what_cannot_be_compared(a, b, message):
    with pytest.raises(GraphError, match=message):
        diff(a, b)
