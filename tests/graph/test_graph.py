from __future__ import annotations

import copy
import pickle
import random
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, op
from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError, UnknownOpError
from graphrewrite.formats.text import to_text
from graphrewrite.graph import Operand
from graphrewrite.graph.graph import Reader
from graphrewrite.graph.value import Value
from graphrewrite.testing import graphs

F = Tensor("f32", ("N", 2))


@define_op(results=2, infer=lambda x: (x, x))
def both(x):
    return x, -x


def diamond() -> Graph:
    graph = Graph("diamond")
    x, y = graph.input("x", F), graph.input("y", F)
    graph.output("z", op.relu(x - y) + (x - y))
    return graph


def test_x_plus_x_is_one_edge_with_two_slots():
    graph = Graph("g")
    x = graph.input("x", F)
    total = x + x
    assert graph.number_of_edges() == 1
    assert graph.edges["x", total.node]["slots"] == ((0, 0), (1, 0))
    assert graph.operands(total.node) == (Operand("x"), Operand("x"))
    assert graph.readers("x") == (Reader(total.node, 0), Reader(total.node, 1))


def test_x_minus_y_is_never_y_minus_x():
    graph = Graph("g")
    x, y = graph.input("x", F), graph.input("y", F)
    first, second = x - y, y - x
    graph.output("a", first)
    graph.output("b", second)
    assert graph.operands(first.node) == (Operand("x"), Operand("y"))
    assert graph.operands(second.node) == (Operand("y"), Operand("x"))
    found = evaluate(graph, {"x": [[5, 1]], "y": [[2, 2]]})
    assert found["a"].tolist() == [[3, -1]]
    assert found["b"].tolist() == [[-3, 1]]


def test_a_node_with_several_results_says_which_feeds_which_slot():
    graph = Graph("g", ops=[both])
    a, b = both(graph.input("x", F))
    graph.output("y", b - a)
    assert graph.operands("sub_1") == (Operand("both_1", 1), Operand("both_1", 0))
    assert graph.edges["both_1", "sub_1"]["slots"] == ((0, 1), (1, 0))
    assert evaluate(graph, {"x": [[1, 2]]})["y"].tolist() == [[-2, -4]]


def test_numbers_and_arrays_become_constants_of_the_element_type_that_they_meet():
    graph = Graph("g")
    x = graph.input("x", F)
    assert str((x * 2).type) == "f32[N,2]"
    assert str((1 - x).type) == "f32[N,2]"
    assert graph.operands("sub_1")[1] == Operand("x")
    assert str((np.ones(2, np.float32) + x).type) == "f32[N,2]"
    with pytest.raises(TypeMismatchError, match="different element types"):
        x + np.ones(2)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, Graph.copy, lambda g: pickle.loads(pickle.dumps(g)), Graph]
)
def test_a_copy_is_equal_and_separate(duplicate):
    graph = diamond()
    again = duplicate(graph)
    assert isinstance(again, Graph)
    assert again == graph
    assert str(again) == str(graph)
    before = str(graph)
    again.output("more", -again.value("x"))
    again.edges["x", "sub_1"]["slots"] = ((1, 0),)
    again.edges["y", "sub_1"]["slots"] = ((0, 0),)
    assert again != graph
    assert str(graph) == before


def test_graphs_with_ops_of_their_own_are_copied_deeply():
    @define_op
    def local(x):
        return x

    graph = Graph("g")
    graph.output("y", local(graph.input("x", F)))
    assert copy.deepcopy(graph) == graph
    assert copy.deepcopy(graph).op("local_1") is local


def test_equality_sees_data_operands_outputs_and_graph_attributes():
    base = diamond()
    for change in (
        lambda g: g.nodes["relu_1"].update(type="neg"),
        lambda g: g.edges["x", "sub_1"].update(slots=((1, 0),)) or g.edges["y", "sub_1"].update(slots=((0, 0),)),
        lambda g: g.nodes["x"].update(result=Tensor("f64", ("N", 2))),
        lambda g: g.graph.update(version=2),
        lambda g: setattr(g, "name", "other"),
        lambda g: g.nodes["z"].update(index=3),
    ):
        other = base.copy()
        change(other)
        assert other != base
    assert base != "a text"
    constant = Graph("g")
    constant.constant(np.zeros(2, np.float32))
    other = Graph("g")
    other.constant(np.array([0.0, -0.0], np.float32))
    assert constant != other


def shuffled(graph: Graph, seed: int) -> Graph:
    """The same graph, its nodes, edges and slots inserted in another order."""
    rng = random.Random(seed)
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(edges)
    new = Graph(**graph.graph)
    new.ops.update(graph.ops)
    new.add_nodes_from((n, dict(d)) for n, d in nodes)
    for a, b, data in edges:
        slots = list(data["slots"])
        rng.shuffle(slots)
        new.add_edge(a, b, **(data | {"slots": tuple(slots)}))
    return new


@given(graphs(), st.integers(0, 99))
def test_nothing_depends_on_the_order_of_insertion(graph, seed):
    other = shuffled(graph, seed)
    assert other == graph
    assert other.in_order() == graph.in_order()
    assert to_text(other, whole=True) == to_text(graph, whole=True)
    assert (other.inputs, other.outputs) == (graph.inputs, graph.outputs)


@given(graphs())
def test_the_order_is_topological(graph):
    place = {node: i for i, node in enumerate(graph.in_order())}
    assert len(place) == len(graph)
    assert all(place[a] < place[b] for a, b in graph.edges)
    assert graph.in_order()[: len(graph.inputs)] == graph.inputs


@given(graphs())
def test_walking_agrees_with_networkx(graph):
    live = set(graph.outputs).union(*(nx.ancestors(graph, o) for o in graph.outputs))
    driven = set(graph.inputs).union(*(nx.descendants(graph, i) for i in graph.inputs)) if graph.inputs else set()
    assert graph.dead_nodes() == set(graph) - live
    assert graph.independent_nodes() == set(graph) - driven
    for node in graph:
        assert graph.upstream(node) == nx.ancestors(graph, node)
        assert graph.downstream(node) == nx.descendants(graph, node)
        assert [(r.node, r.slot) for r in graph.readers(node)] == sorted(
            (n, i) for n in graph for i, o in enumerate(graph.operands(n)) if o.node == node
        )


def test_networkx_functions_work():
    graph = diamond()
    assert nx.is_directed_acyclic_graph(graph)
    assert set(nx.topological_sort(graph)) == set(graph)
    assert nx.dag_longest_path_length(graph) == 4
    assert isinstance(graph.subgraph(["x", "sub_1"]), nx.DiGraph)
    assert set(graph.reverse().successors("sub_1")) == {"x", "y"}
    renamed = nx.relabel_nodes(graph, {"x": "left"})
    assert isinstance(renamed, Graph)
    assert renamed.operands("sub_1") == (Operand("left"), Operand("y"))
    assert graph.to_undirected().number_of_edges() == graph.number_of_edges()
    assert nx.node_link_data(graph, edges="links")["nodes"][0]["type"] == "input"


def test_networkx_functions_that_ask_for_the_order_work():
    graph = diamond()
    assert nx.is_isomorphic(graph, nx.relabel_nodes(graph, {"x": "left"}))


def test_a_cycle_is_named():
    graph = diamond()
    graph.add_edge("relu_1", "sub_1", slots=((2, 0),))
    with pytest.raises(GraphError, match=r"cycle .*sub_1 -> relu_1|cycle .*relu_1 -> sub_1"):
        graph.in_order()


@pytest.mark.parametrize("slots", [None, (), ((1, 0),), ((0, 0), (0, 0)), ((0, 0), (5, 0))])
def test_missing_or_colliding_slots_are_named(slots):
    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", F)))
    graph.edges["x", "relu_1"].clear()
    if slots is not None:
        graph.edges["x", "relu_1"]["slots"] = slots
    with pytest.raises(GraphError, match="'relu_1': the slots of its operands"):
        graph.operands("relu_1")


def test_errors_name_the_node_and_suggest():
    graph = diamond()
    with pytest.raises(GraphError, match="is not in the graph; did you mean 'relu_1'"):
        graph.value("relu_l")
    with pytest.raises(GraphError, match="'x': that name is taken"):
        graph.input("x", F)
    with pytest.raises(GraphError, match="another graph"):
        graph.value("x") + diamond().value("x")
    with pytest.raises(TypeMismatchError, match=r"add\(f32\[N,2\], f32\[N,3\]\)"):
        graph.value("x") + graph.input("w", Tensor("f32", ("N", 3)))
    graph.nodes["relu_1"]["type"] = "rellu"
    with pytest.raises(UnknownOpError, match="did you mean 'relu'"):
        graph.op("relu_1")


def test_a_refused_node_leaves_the_graph_as_it_was():
    graph = diamond()
    before = to_text(graph)
    with pytest.raises(TypeMismatchError):
        op.linear(graph.value("x"), np.ones((3, 5), np.float32))
    assert to_text(graph) == before


def test_fresh_names_never_clash():
    graph = Graph("g")
    x = graph.input("relu_1", F)
    assert op.relu(op.relu(x)).node == "relu_3"
    assert graph.copy().fresh("relu") == "relu_4"


def test_inputs_and_outputs_keep_their_order():
    graph = Graph("g")
    values = [graph.input(name, F) for name in "cab"]
    for name, value in zip("zyx", values, strict=True):
        graph.output(name, value)
    assert graph.inputs == ("c", "a", "b")
    assert graph.outputs == ("z", "y", "x")


def test_attributes_have_their_defaults_filled_in():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 1, 3, 3)))
    op.conv(x, np.ones((1, 1, 2, 2), np.float32), strides=[1, 1], pads=[0, 0, 1, 1])
    assert graph.attributes("conv_1") == {"strides": (1, 1), "pads": (0, 0, 1, 1), "dilations": (1, 1), "groups": 1}
    same = Graph("g")
    op.conv(same.input("x", Tensor("f32", ("N", 1, 3, 3))), np.ones((1, 1, 2, 2), np.float32), pads=(0, 0, 1, 1))
    assert same == graph, "an attribute at its default is the same as one that is not given"


def test_a_result_cannot_be_unpacked_by_mistake():
    x = Graph("g").input("x", Tensor(FixedPoint(True, 8), ("N",)))
    with pytest.raises(GraphError, match="one result"):
        _a, _b = x


def test_a_copy_shares_arrays_and_nothing_else_that_can_change():
    graph = diamond()
    graph.graph["notes"] = {"by": ["me"]}
    node = next(iter(graph))
    graph.nodes[node]["shape"] = {"length": 4, "parts": [{"a": 1}]}
    for duplicate in (copy.copy, Graph.copy):
        twin = duplicate(graph)
        twin.nodes[node]["shape"]["length"] = 5
        twin.nodes[node]["shape"]["parts"][0]["a"] = 2
    copy.copy(graph).graph["notes"]["by"].append("you")
    assert graph.nodes[node]["shape"] == {"length": 4, "parts": [{"a": 1}]}
    assert graph.graph["notes"] == {"by": ["me"]}


def test_deep_copies_have_arrays_of_their_own():
    graph = Graph("g")
    graph.output("y", graph.constant(np.ones(3, np.float32), name="w"))
    weights = graph.nodes["w"]["value"]
    assert graph.copy().nodes["w"]["value"] is copy.copy(graph).nodes["w"]["value"] is weights
    assert copy.deepcopy(graph).nodes["w"]["value"] is not weights
    assert copy.deepcopy(graph) == graph


def test_two_ops_of_one_name_are_not_confused():
    def make(factor: int, where: str):
        def scale(x):
            return factor * x

        scale.__qualname__ = where
        return define_op(scale)

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    make(2, "first")(x)
    again = make(3, "first")  # as a notebook's cell that runs twice defines it
    again(x)
    assert graph.op("scale_1") is again
    before = graph.copy()
    with pytest.raises(GraphError, match="another op named 'scale'"):
        make(4, "second")(x)
    with pytest.raises(GraphError, match="the library has an op named 'relu'"):
        define_op(name="relu")(lambda x: x)(x)
    assert graph == before


def test_a_taken_name_leaves_no_constant_behind():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    with pytest.raises(GraphError, match="taken"):
        graph.add(op.add, [x, 1.0], name="x")
    assert list(graph) == ["x"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda g: g.output("z", 3), "^output takes a Value, got 3; pass what an input, a constant or an op"),
        (lambda g: g.output("z", None), "^output takes a Value, got None"),
        (lambda g: g.output("z", diamond().value("x")), "^node 'x': belongs to another graph than the one that output"),
        (lambda g: g.output("z", Value(g, "relu_9")), "^node 'relu_9': is not in the graph; did you mean 'relu_1'"),
        (lambda g: g.input("", F), "^node names are non-empty strings, got ''"),
        (lambda g: g.input(3, F), "^node names are non-empty strings, got 3"),
        (lambda g: g.constant(1.0, name=["w"]), r"^node names are non-empty strings, got \['w'\]"),
        (
            lambda g: g.input("z", "f32[N]"),
            r"^'f32\[N\]' is not a type; pass a Tensor or a Stream, such as Tensor\('f32'",
        ),
        (lambda g: g.result_type("relu_l"), "^node 'relu_l': is not in the graph; did you mean 'relu_1'"),
        (lambda g: g.result_type("relu_1", 2), "^node 'relu_1': has no result 2; the first is 0"),
        (lambda g: g.attributes("relu_l"), "^node 'relu_l': is not in the graph; did you mean 'relu_1'"),
    ],
)
def test_what_is_refused_changes_nothing(wrong, message):
    graph = diamond()
    with pytest.raises(GraphRewriteError, match=message):
        wrong(graph)
    assert graph == diamond()


@pytest.mark.parametrize("wrong", [3, [1.0, 2.0], "x"])
def test_an_op_that_is_given_no_array(wrong):
    with pytest.raises(
        TypeMismatchError, match=f"^relu computes with arrays, got {re.escape(repr(wrong))}; convert it with np.asarray"
    ):
        op.relu(wrong)


def test_asking_about_a_node_that_is_not_there():
    graph = diamond()
    asks = (graph.operands, graph.readers, graph.controls, graph.upstream, graph.downstream, graph.op, graph.attributes)
    for ask in asks:
        for node in ("xx", 3):
            with pytest.raises(GraphError, match="is not in the graph"):
                ask(node)


def test_a_node_is_named_when_it_is_built():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N",)))
    assert op.relu(x, name="a").node == "a"
    assert [value.node for value in op.top_k(x, k=1, name="b")] == ["b", "b"]
    assert g.attributes(op.generic("Swirl")(x, name="c").node) == {"name": "c"}
    before = g.copy()
    with pytest.raises(GraphError, match="node 'a': that name is taken"):
        op.relu(x, name="a")
    with pytest.raises(TypeMismatchError, match="relu has no attribute 'name'; it names a node"):
        op.relu(np.ones(3), name="a")
    assert g == before
