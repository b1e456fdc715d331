"""Parts of a graph, its numbers, and what is shown of one that is too large."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, op, show
from graphrewrite.errors import GraphError
from graphrewrite.execution.statistics import evaluation
from graphrewrite.view import before_after
from graphrewrite.view.display import Display
from graphrewrite.view.scene.layers import layers_of
from graphrewrite.view.scene.shading import Shading
from graphrewrite.view.written import PictureError

pytest.importorskip("jinja2")


def chain(length: int) -> Graph:
    """x -> n0 -> n1 -> … -> y, an exp each tenth node."""
    graph = Graph("chain")
    value = graph.input("x", Tensor("f32", ("N", 4)))
    for i in range(length):
        value = graph.add(op.relu if i % 10 else op.exp, [value], name=f"n{i}")
    graph.output("y", value)
    return graph


def names(picture) -> list[str]:
    return [box.name for box in picture.scenes[0].boxes if not box.stub]


def stubs(picture) -> list[str]:
    return [box.notes[0] for box in picture.scenes[0].boxes if box.stub]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_nodes": "many"}, "max_nodes"),
        ({"max_nodes": 0}, "max_nodes must be a positive integer"),
        ({"search": 3}, "search is a text"),
    ],
)
def test_options_that_are_none(options, told):
    with pytest.raises((PictureError, GraphError), match=told):
        chain(3).show(**options)


def test_around():
    picture = chain(300).show(around="n150", depth=1)
    assert (names(picture), stubs(picture)) == (["n149", "n150", "n151"], ["… n148", "… n152"])
    assert picture.scenes[0].box("n150").mark == "here"
    assert picture.data.hints == ("1 step around n150: 3 of 302 nodes",)
    assert repr(picture).splitlines()[0] == "n149 = relu(n148) : f32[N,4]"
    assert len(names(chain(300).show(around=["n0", "n200"]))) == 4 + 5
    assert names(chain(9).show(around="n3", depth=0)) == ["n3"]


def test_constants_are_no_way_from_one_reader_to_another():
    graph = Graph("g")
    x, c = graph.input("x", Tensor("f32", ("N",))), graph.constant(np.float32(2), name="c")
    first, second = x * c, op.exp(x) * c
    graph.output("y", first)
    graph.output("z", second)
    assert names(show(graph, around="y", depth=1)) == ["mul_1", "y"]
    assert "mul_2" not in names(show(graph, around="mul_1", depth=1))


def test_between():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N",)))
    a = op.relu(x)
    graph.output("y", op.exp(a) + op.neg(a))
    graph.output("z", op.abs(x))
    assert names(show(graph, between=("relu_1", "add_1"))) == ["relu_1", "exp_1", "neg_1", "add_1"]
    with pytest.raises(GraphError, match="no path leads from 'add_1' to 'relu_1'; there is one the other way"):
        show(graph, between=("add_1", "relu_1"))
    with pytest.raises(GraphError, match="no path leads from 'abs_1' to 'exp_1'; look around"):
        show(graph, between=("abs_1", "exp_1"))
    with pytest.raises(GraphError, match="a pair of nodes"):
        show(graph, between="relu_1")


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("N15", ["n15"]),
        ("exp", ["n0", "n10", "n20"]),
        ("alpha = 0.5", ["n7"]),
        ("/model/Deep", ["n8"]),
        (lambda name, data: data["type"] == "exp" and name != "n0", ["n10", "n20"]),
    ],
)
def test_search(search, found):
    graph = chain(25)
    graph.nodes["n7"]["alpha"] = 0.5
    graph.nodes["n8"]["origin"] = ("/model/deep_1",)
    picture = show(graph, search=search, depth=0)
    assert names(picture) == found
    assert {box.mark for box in picture.scenes[0].boxes if not box.stub} == {"found"}


def test_a_search_for_a_constant_finds_its_readers():
    graph = Graph("g")
    x, c = graph.input("x", Tensor("f32", ("N",))), graph.constant(np.float32(2), name="gain")
    graph.output("y", x * c)
    assert names(show(graph, search="gain", depth=0)) == ["mul_1"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"around": "n40"}, GraphError, "node 'n40': is not in the graph; did you mean 'n4'"),
        ({"between": ("x", "z9")}, GraphError, "node 'z9': is not in the graph"),
        ({"search": "rellu"}, GraphError, "holds 'rellu'; did you mean 'relu'"),
        ({"search": lambda name, data: False}, GraphError, "true for no node"),
        ({"highlight": ["n1x"]}, GraphError, "did you mean 'n1'"),
        ({"around": "n1", "search": "n2"}, GraphError, "around and search are two parts"),
        ({"around": "n1", "depth": -1}, GraphError, "must be a non-negative number of steps, got -1"),
        ({"depth": 2}, GraphError, "needs around= or search="),
        ({"direction": "RL"}, PictureError, "'TB' or 'LR'"),
        ({"arround": "n1"}, PictureError, "not shown with an option 'arround'; did you mean 'around'"),
        ({"values": 3}, PictureError, "inputs by name, got int"),
        ({"values": {"x": [[1, 2, 3, 4]]}, "by": "colour"}, PictureError, "'range', 'error', 'bits'"),
        ({"values": {"x": [[1, 2, 3, 4]]}, "by": "error"}, PictureError, "reference=…"),
        ({"values": {"x": [[1, 2, 3, 4]]}, "by": "bits"}, PictureError, "by='range'"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_remedy(options, error, message):
    graph = chain(12)
    before = graph.copy()
    with pytest.raises(error, match=message):
        show(graph, **options)
    assert graph == before


def test_what_is_too_large_says_how_to_see_a_part():
    graph = chain(300)
    picture = show(graph)
    assert picture.scenes == ()
    assert picture.data.summaries[0].ops.rows[0] == ("relu", "270", "0", "0")
    (hint,) = picture.data.hints
    calls = re.findall(r"show\(graph, .*?\)(?=, show|$)", hint)
    assert len(calls) == 3
    for call in calls:  # as they stand: they show something of this graph
        assert eval(call, {"show": show, "graph": graph}).scenes[0].boxes
    for text in (picture.html, repr(picture)):
        assert "max_nodes=200" in text


def test_the_part_around_what_is_highlighted_is_drawn_of_a_large_graph():
    picture = show(chain(300), highlight="n200")
    assert names(picture) == ["n199", "n200", "n201"]
    assert picture.scenes[0].box("n200").mark == "matched"


def test_values_are_shades_numbers_and_a_legend():
    graph = Graph.parse("graph g\nx = input() : f32[N,2]\na = exp(x)\nb = neg(a)\ny = output(b)")
    picture = show(graph, values={"x": [[0.0, 1.0], [-2.0, 3.0]]})
    assert repr(picture).startswith(f"{graph}\n\n")
    assert "20.09" in repr(picture)
    scene = picture.scenes[0]
    assert [arrow.value for arrow in scene.arrows] == ["-2 … 3", "0.135 … 20.1", "-20.1 … -0.135"]
    assert {box.name: box.shade for box in scene.boxes} == {"x": 0, "a": 4, "b": 4, "y": 4}
    assert scene.legend.title == "largest absolute value"
    assert scene.legend.shades == ((0, "3"), (4, "20.1"))


def test_errors_and_bit_widths_are_shown_against_a_reference():
    graph = Graph.parse("graph g\nx = input() : s8f4[N,2]\nr = requantise(x, shift=2, element=u4f2)\ny = output(r)")
    found = evaluation(graph, {"x": [[6, 10], [-1, 127]]}, reference={"r": [[0.375, 0.625], [0, 7.9375]]})
    error = show(graph, values=found, by="error").scenes[0]
    assert {box.name: box.shade for box in error.boxes} == {"x": None, "r": 0, "y": None}
    assert error.box("x").look.fill == "#ffffff"  # no colour of a family beside those of numbers
    assert [arrow.value for arrow in error.arrows] == ["", "± 4.19"]
    bits = show(graph, values=found, by="bits").scenes[0]
    assert [arrow.value for arrow in bits.arrows] == ["8 of 8 bits", "4 of 4 bits"]


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False, width=32), min_size=4, max_size=4))
def test_shades_grow_with_the_numbers(row):
    graph = Graph.parse("graph g\nx = input() : f32[N,4]\na = exp(x)\nb = mul(a, x)\nc = neg(b)\ny = output(c)")
    found = evaluation(graph, {"x": [row]})
    shading = Shading(found, "range")
    pairs = [(shading.measure(edge), shading.shade(shading.measure(edge))) for edge in found.edges.values()]
    known = sorted((m, s) for m, s in pairs if s is not None)
    assert [s for _, s in known] == sorted(s for _, s in known)
    assert {shade for shade, _ in shading.legend().shades} == {s for _, s in known}


def test_large_comparisons_leave_out_what_is_far():
    before = chain(120)
    after = before.copy()
    after.nodes["n60"]["type"] = "abs"
    picture = before_after(before, after, marks=({"n60": "changed"}, {"n60": "changed"}))
    for scene in picture.scenes:
        assert [box.name for box in scene.boxes if not box.stub] == ["n58", "n59", "n60", "n61", "n62"]
        assert scene.box("n60").mark == "changed"
    small = before_after(chain(5), chain(6))
    assert [len(scene.boxes) for scene in small.scenes] == [7, 8]
    many = before_after(before, chain(3), max_nodes=50)
    assert many.scenes == ()
    assert "118 nodes" in many.data.hints[0] or "117 nodes" in many.data.hints[0]


def test_modules_show_their_graphs_and_what_they_share():
    module = Module("net")
    weights = module.constant("w", np.eye(2, dtype=np.float32))
    inner = module.add_graph("inner")
    inner.output("y", op.linear(inner.input("x", Tensor("f32", ("N", 2))), weights.on(inner)))
    main = module.add_graph("main")
    main.output("y", module.op("inner")(main.input("x", Tensor("f32", ("N", 2)))))
    picture = module.show()
    assert [scene.title for scene in picture.scenes] == ["inner", "main"]
    assert picture.scenes[0].box("linear_1").notes == ("w: shared w, [[1.0, 0.0], [0.0, 1.0]]",)
    assert picture.data.tables[0].rows == (("w", "constant", "f32[2,2]", "[[1.0, 0.0], [0.0, 1.0]]", "inner"),)
    assert [frame.name for frame in main.show().scenes[0].frames] == ["inner_1"]
    (hint,) = module.show(max_nodes=3).data.hints
    assert "show(module['inner'])" in hint


def test_views_of_a_graph_are_parts_of_it():
    graph = chain(30)
    graph.view("head", ["n1", "n2"])
    assert names(show(graph.view("head"))) == ["n1", "n2"]


def test_anything_that_shows_itself_is_shown():
    class Own:
        def show(self, **options):
            return ("shown", options)

    display = show(chain(2))
    assert isinstance(display, Display)
    assert show(display) is display
    assert show(Own(), big=True) == ("shown", {"big": True})
    for thing in (3, "relu", None, Own):
        with pytest.raises(GraphError, match=r"nor anything else that can be shown \(rules, .*graphs.*\)"):
            show(thing)
    with pytest.raises(GraphError, match=r"networkx.Graph is not a graph that can be drawn"):
        show(nx.Graph())


@given(st.integers(0, 12), st.integers(0, 30), st.randoms(use_true_random=False))
def test_any_digraph_has_layers_and_a_direction(size, edges, random):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    if size:
        graph.add_edges_from((random.randrange(size), random.randrange(size)) for _ in range(edges))
    picture = show(graph)
    assert picture.direction in ("TB", "LR")
    for scene in picture.scenes:
        layers = layers_of(scene)
        assert sum(layers) == size
        if nx.is_directed_acyclic_graph(graph):
            assert len(layers) == nx.dag_longest_path_length(graph) + 1
