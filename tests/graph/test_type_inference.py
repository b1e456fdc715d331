from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, op, verify
from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError, UnknownOpError
from graphrewrite.formats.text import to_text
from graphrewrite.graph.type_inference import infer
from graphrewrite.op.generic_op import generic
from graphrewrite.rules import inline
from graphrewrite.testing import graphs
from graphrewrite.types import element_dtype, element_of

F = Tensor("f32", ("N", 2))


@define_op(level="stream", stateful=True, infer=lambda x: x)
def held(x):
    """What it was given in the cycle before."""
    return x


@define_op(infer=lambda x, place: x)
def placed(x, *, place):
    """The operand, elsewhere."""
    return x


@given(graphs())
def test_what_was_inferred_stays(graph):
    before = to_text(graph, whole=True)
    assert infer(graph) == ()
    assert to_text(graph, whole=True) == before


def _is_of_numpy(kind):
    return kind == Tensor(element_of(element_dtype(kind.element)), kind.shape)


@given(graphs(), st.sampled_from([nx.DiGraph, Graph]))
def test_types_come_back(graph, kind):
    graph = inline(graph)  # a plain graph does not bring the graphs inside along
    bare = kind(graph)
    # The array of a constant does not say that its numbers are mantissas.
    told = {n for n, data in bare.nodes(data=True) if data["type"] == "constant" and not _is_of_numpy(data["result"])}
    told |= {*graph.inputs, *graph.outputs}
    gone = [n for n, data in bare.nodes(data=True) if n not in told and data.pop("result", 0)]
    constants = [n for n in gone if bare.nodes[n]["type"] == "constant"]
    found = infer(bare)
    assert sorted(found) == sorted(gone)
    for node, data in graph.nodes(data=True):
        if node not in constants:
            assert bare.nodes[node].get("result") == data.get("result")
    position = {node: i for i, node in enumerate(found)}
    assert all(position[a] < position[b] for a, b in bare.edges if a in position and b in position)
    verify(bare)


@given(graphs(), st.data())
def test_a_part_is_inferred_like_the_whole(graph, data):
    inputs = data.draw(st.lists(st.sampled_from(graph.inputs), unique=True) if graph.inputs else st.just([]))
    for node in inputs:
        kind = graph.nodes[node]["result"]
        graph.nodes[node]["result"] = Tensor(kind.element, ("M", *kind.shape[1:])) if kind.shape else kind
    part, whole = graph.copy(), graph.copy()
    try:
        wanted = infer(whole)
    except TypeMismatchError:
        assert whole == graph
        return
    readers = {reader for node in inputs for reader in graph.successors(node)}
    assert sorted(infer(part, readers)) == sorted(wanted)
    assert part == whole


def net():
    graph = Graph("g", ops=[held])
    x = graph.input("x", F)
    graph.output("y", op.relu(x) + x * np.ones(2, np.float32))
    return graph


BREAKS = {
    "mismatch": (
        lambda g: g.nodes["constant_1"].update(value=np.ones(3, np.float32), result=Tensor("f32", (3,))),
        TypeMismatchError,
        "node 'mul_1': mul.*do not broadcast.*; it reads 'x', 'constant_1'",
    ),
    "input": (lambda g: g.nodes["x"].pop("result"), GraphError, "node 'x': inputs need a declared type"),
    "op": (lambda g: g.nodes["relu_1"].update(type="rellu"), UnknownOpError, "did you mean 'relu'"),
    "attribute": (
        lambda g: g.nodes["relu_1"].update(type="transpose"),
        TypeMismatchError,
        "'relu_1': transpose needs the attribute 'perm'",
    ),
    "attribute's kind": (
        lambda g: g.nodes["relu_1"].update(type="transpose", perm=3),
        TypeMismatchError,
        "'relu_1': transpose",
    ),
    "slots": (lambda g: g.edges["x", "relu_1"].clear(), GraphError, "'relu_1': the slots"),
    "result": (lambda g: g.edges["x", "relu_1"].update(slots=((0, 2),)), GraphError, "'relu_1': reads result 2 of 'x'"),
    "operand": (lambda g: g.remove_edge("x", "relu_1"), TypeMismatchError, "'relu_1': relu needs operand"),
    "cycle": (
        lambda g: g.add_edge("add_1", "relu_1", slots=((1, 0),)),
        GraphError,
        "'add_1': is on a cycle add_1 -> re",
    ),
    "constant": (lambda g: g.nodes["constant_1"].clear(), GraphRewriteError, "'constant_1'"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_errors_name_the_node_and_change_nothing(case):
    break_it, error, message = BREAKS[case]
    graph = net()
    graph.nodes["x"]["result"] = Tensor("f32", ("M", 2))
    break_it(graph)
    before = {node: dict(data) for node, data in graph.nodes(data=True)}
    with pytest.raises(error, match=message):
        infer(graph)
    assert all(graph.nodes[node].keys() == data.keys() for node, data in before.items())
    assert all(graph.nodes[node].get("result") is data.get("result") for node, data in before.items())


def test_only_what_follows_is_inferred():
    graph = net()
    graph.nodes["mul_1"]["result"] = Tensor("f16", ("N", 2))
    assert infer(graph, "relu_1") == ()
    assert infer(graph, ["mul_1"]) == ("mul_1",)
    assert graph.infer() == ()
    with pytest.raises(GraphError, match="did you mean 'mul_1'"):
        infer(graph, ["mull_1"])


def test_generic_nodes_keep_what_they_state():
    graph = Graph("g")
    graph.output("y", op.relu(generic("Swirl")(graph.input("x", F), result=Tensor("f32", (7,)))))
    assert infer(graph) == ()
    del graph.nodes["Swirl_1"]["result"]
    assert infer(graph) == ("Swirl_1", "relu_1")
    assert graph.result_type("relu_1") == F


def test_cycles_through_state():
    graph = Graph("loop", ops=[held])
    x = graph.input("x", F)
    graph.add_node("d", type="held", result=F)
    total = x + graph.value("d")
    graph.add_edge(total.node, "d", slots=((0, 0),))
    graph.output("y", op.neg(total))
    del graph.nodes[total.node]["result"], graph.nodes["neg_1"]["result"]
    assert infer(graph) == (total.node, "neg_1")
    graph.nodes["x"]["result"] = Tensor("f32", (1, 2))
    assert infer(graph) == ()
    graph.nodes["d"]["result"] = Tensor("f32", (2,))
    with pytest.raises(TypeMismatchError, match=r"'d': gives f32\[1,2\] on its cycle but is declared f32\[2\]"):
        infer(graph)
    del graph.nodes["d"]["result"]
    with pytest.raises(GraphError, match="'d': is on a cycle and has no declared result type"):
        infer(graph)


def test_a_deep_graph():
    graph = nx.DiGraph()
    graph.add_node("x", type="input", index=0, result=F)
    before = "x"
    for i in range(20_000):
        graph.add_node(i, type="relu")
        graph.add_edge(before, i, slots=((0, 0),))
        before = i
    assert len(infer(graph)) == 20_000


@pytest.mark.parametrize("thing", [nx.MultiDiGraph(), nx.Graph(), 3, None], ids=lambda thing: type(thing).__name__)
def test_what_is_no_graph(thing):
    with pytest.raises(GraphError, match="make it a networkx"):
        infer(thing)


def test_a_mark_that_is_an_attribute_too():
    graph = Graph("g", ops=[placed])
    graph.output("y", placed(graph.input("x", F), place="gpu"))
    assert infer(graph) == ()
    verify(graph)
    del graph.nodes["placed_1"]["place"]
    with pytest.raises(TypeMismatchError, match="'placed_1': placed needs the attribute 'place'"):
        infer(graph)
