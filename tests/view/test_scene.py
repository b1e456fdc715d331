"""What a picture shows, before it is laid out."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.view.colour import look_of
from graphrewrite.view.scene import scene_of


def network() -> Graph:
    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 1, 8, 8)))
    y = op.conv(x, np.ones((2, 1, 3, 3), np.float32), np.ones(2, np.float32), pads=(1, 1, 1, 1))
    graph.output("y", op.batch_norm(y, *np.ones((4, 2), np.float32)))
    return graph


def arrows(scene):
    names = [box.name for box in scene.boxes]
    return [(names[a.source], names[a.destination], a.port, a.label) for a in scene.arrows]


def test_constants_are_lines_of_their_readers():
    scene = scene_of(network())
    assert [box.name for box in scene.boxes] == ["x", "conv_1", "batch_norm_1", "y"]
    assert scene.box("conv_1").notes == ("w: f32[2,1,3,3]", "b: [1.0, 1.0]", "pads = [1, 1, 1, 1]")
    assert scene.box("conv_1").ports == ()


def test_edges_carry_types():
    assert arrows(scene_of(network()))[:2] == [
        ("x", "conv_1", None, "f32[N,1,8,8]"),
        ("conv_1", "batch_norm_1", None, "f32[N,2,8,8]"),
    ]


def test_operands_keep_their_order_and_are_drawn_once_each():
    graph = Graph("order")
    a, b = (graph.input(name, Tensor("f32", ("N",))) for name in "ab")
    graph.output("y", op.fma(b, a, b))
    scene = scene_of(graph)
    assert scene.box("fma_1").ports == ("x", "y", "z")
    assert sorted(arrows(scene), key=str)[:3] == [
        ("a", "fma_1", 1, "f32[N]"),
        ("b", "fma_1", 0, "f32[N]"),
        ("b", "fma_1", 2, "f32[N]"),
    ]


def test_a_constant_that_is_an_output_and_a_dead_one_are_drawn():
    graph = Graph("constants")
    graph.output("y", graph.constant([1.0, 2.0], name="c"))
    graph.constant(3.0, name="dead")
    assert {"c", "dead"} <= {box.name for box in scene_of(graph).boxes}
    assert scene_of(graph).box("c").notes == ("[1.0, 2.0]",)


def test_tooltips_hold_attributes_with_defaults_and_the_origin():
    graph = network()
    graph.nodes["conv_1"]["origin"] = ("/model/Conv_0",)
    tooltip = scene_of(graph).box("conv_1").tooltip
    assert "strides = [1, 1]" in tooltip
    assert "origin: /model/Conv_0" in tooltip
    assert "level nn" in tooltip


def test_levels_and_families_differ():
    looks = {name: look_of(name, getattr(op, name)) for name in ("conv", "relu", "integer_conv", "input")}
    assert looks["conv"].fill == looks["integer_conv"].fill
    assert looks["conv"].border != looks["integer_conv"].border
    assert len({looks[name].fill for name in ("conv", "relu", "input")}) == 3


def test_plain_digraphs_are_drawn_with_cycles_and_any_names():
    graph = nx.DiGraph([(1, (2, 3)), ((2, 3), 1)])
    graph.nodes[1]["type"] = "relu"
    graph.nodes[1]["width"] = FixedPoint(True, 8)
    scene = scene_of(graph)
    assert arrows(scene) == [("(2, 3)", "1", None, ""), ("1", "(2, 3)", None, "")]
    assert scene.box("1").notes == ("width = s8f0",)


def test_data_that_mean_something_here_are_anything_in_plain_digraphs():
    graph = nx.DiGraph()
    graph.add_node("a", type=np.array([1, 2]), value=object(), origin=5, result=("x", None))
    graph.add_node("b", type=["constant"])
    for i, slots in enumerate([None, 3, "zz", {"x": 1}, ((0,),), (("p", "q"),), ((-1, 0),), [(2, 1), (0, 0)]]):
        graph.add_edge("b", f"n{i}", slots=slots, kind=i)
        graph.add_edge("a", f"n{i}", slots=slots)
    scene = scene_of(graph)
    assert [box.name for box in scene.boxes] == [*graph]
    assert {(scene.boxes[a.source].name, scene.boxes[a.destination].name) for a in scene.arrows} == {*graph.edges}


def test_a_broken_graph_is_drawn_all_the_same():
    graph = network()
    del graph.edges["x", "conv_1"]["slots"]
    graph.nodes["y"]["type"] = "quark"
    assert {box.name for box in scene_of(graph).boxes} == {"x", "conv_1", "batch_norm_1", "y"}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_does_not_depend_on_how_the_graph_was_built(seed):
    graph = network()
    nodes = list(graph)
    np.random.default_rng(seed).shuffle(nodes)
    other = Graph("net")
    other.add_nodes_from((node, graph.nodes[node]) for node in nodes)
    other.add_edges_from(graph.edges(data=True))
    assert scene_of(other) == scene_of(graph)


def test_an_order_is_dashed_and_carries_nothing():
    graph = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ns = exp(x, ^r, ^x:memory)\ny = output(s)")
    scene = scene_of(graph)
    orders = [(scene.boxes[a.source].name, a.label, a.port) for a in scene.arrows if a.mark == "order"]
    assert orders == [("r", "", None)]
    assert scene.box("s").ports == ()
    graph.add_control("r", "y", kind="memory")
    assert [a.label for a in scene_of(graph).arrows if a.mark == "order"] == ["", "memory"]


def block() -> Graph:
    graph = Graph("block")
    x = graph.input("x", Tensor("f32", ("N", 4)))
    graph.output("y", op.relu(x) + x)
    return graph


def nested() -> Graph:
    outer = Graph("outer")
    outer.output("out", graph_op(block())(-outer.input("in", Tensor("f32", ("N", 4)))))
    graph = Graph("top")
    graph.output("b", graph_op(outer)(op.exp(graph.input("a", Tensor("f32", ("N", 4)))) * 2.0))
    return graph


def test_nodes_that_are_graphs_are_frames_around_them():
    scene = scene_of(nested(), nested=100, marks={"outer_1": "matched"})
    assert [(f.name, f.kind, f.parent, f.mark) for f in scene.frames] == [
        ("outer_1", "outer", None, "matched"),
        ("outer_1/block_1", "block", 0, ""),
    ]
    assert "result: f32[N,4]" in scene.frames[0].tooltip
    inside = {box.name: box.frame for box in scene.boxes if box.frame is not None}
    assert inside == {
        "outer_1/in": 0,
        "outer_1/neg_1": 0,
        "outer_1/block_1/x": 1,
        "outer_1/block_1/relu_1": 1,
        "outer_1/block_1/add_1": 1,
        "outer_1/block_1/y": 1,
        "outer_1/out": 0,
    }
    ends = [(source, destination) for source, destination, _, _ in arrows(scene)]
    assert ("mul_1", "outer_1/in") in ends
    assert ("outer_1/neg_1", "outer_1/block_1/x") in ends
    assert ("outer_1/block_1/y", "outer_1/out") in ends
    assert ("outer_1/out", "b") in ends


def test_frames_are_as_deep_as_they_fit():
    graph = nested()
    assert [len(scene_of(graph, nested=most).frames) for most in (0, 8, 9, 12, 13)] == [0, 0, 1, 1, 2]
    assert scene_of(graph).box("outer_1").kind == "outer"


def test_a_graph_with_several_operands_results_and_constants_is_a_frame():
    swap = Graph("swap")
    a, b = (swap.input(name, Tensor("f32", (2,))) for name in "ab")
    swap.output("first", b)
    swap.output("second", a)
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (2,)))
    first, second = graph_op(swap)(x, graph.constant(np.float32([1, 2]), name="c"))
    graph.output("y", second - first)
    scene = scene_of(graph, nested=50)
    found = arrows(scene)
    assert ("c", "swap_1/b", None, "f32[2]") in found
    assert ("swap_1/second", "sub_1", 0, "f32[2]") in found
    assert ("swap_1/first", "sub_1", 1, "f32[2]") in found


def test_a_graph_that_does_not_fit_its_node_is_a_box():
    graph = nested()
    graph.edges["mul_1", "outer_1"]["slots"] = ((3, 0),)
    assert scene_of(graph, nested=100).frames == ()
    graph.edges["mul_1", "outer_1"]["slots"] = ((0, 0),)
    graph.ops["outer"].library.clear()
    assert scene_of(graph, nested=100).box("outer_1").kind == "outer"


def test_what_is_not_drawn_is_told_by_stubs():
    graph = Graph("g")
    a, b, c = (graph.input(name, Tensor("f32", ("N",))) for name in "abc")
    total = op.fma(a, b, c)
    for name in ("p", "q", "r"):
        graph.output(name, total)
    scene = scene_of(graph, nodes=["b", "fma_1"])
    stubs = [(box.notes, box.tooltip) for box in scene.boxes if box.stub]
    assert stubs == [(("… 2 more",), "not drawn: a, c"), (("… 3 more",), "not drawn: p, q, r")]
    names = [box.name or box.notes[0] for box in scene.boxes]
    assert [(names[a.source], names[a.destination], a.port, a.mark) for a in scene.arrows] == [
        ("b", "fma_1", 1, ""),
        ("… 2 more", "fma_1", 0, "cut"),
        ("… 2 more", "fma_1", 2, "cut"),
        ("fma_1", "… 3 more", None, "cut"),
    ]


def test_marks_of_nodes_that_are_not_attributes_are_told():
    graph = network()
    graph.nodes["conv_1"].update(implementation="fast", backend="dsp", operator="first", latency=3)
    box = scene_of(graph).box("conv_1")
    assert box.notes[-4:] == ("implementation: fast", "backend: dsp", "operator: first", "latency = 3")
    assert {"implementation: fast", "latency = 3"} <= set(box.tooltip.splitlines())


def test_a_level_may_follow_from_the_type():
    graph = Graph("g")
    graph.output("y", op.relu(graph.input("x", Tensor(FixedPoint(True, 8), ("N",)))))
    assert scene_of(graph).box("relu_1").look.level == "integer"


def test_modules_of_a_framework_are_frames():
    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    made = {"body.0.act": op.relu(x)}
    made["body.0.add"] = op.add(made["body.0.act"], x)
    made["body.1"] = op.tanh(made["body.0.add"])
    made["head"] = op.neg(made["body.1"])
    for label, value in made.items():
        graph.nodes[value.node]["origin"] = (label,)
    graph.output("y", made["head"])
    graph.graph["origin"] = {"nodes": {label: {"metadata": {"module": "torch.nn.Module"}} for label in made}}
    scene = scene_of(graph, nested=100)
    assert [(frame.name, frame.parent) for frame in scene.frames] == [("body", None), ("body.0", 0)]
    assert [box.frame for box in scene.boxes] == [None, 1, 1, 0, None, None]
    assert not scene_of(graph).frames
