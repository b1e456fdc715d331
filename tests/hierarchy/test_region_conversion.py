"""Parts of a graph that compute in another element type or layout, or elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError
from graphrewrite.hierarchy.border import label_of
from graphrewrite.testing import graphs, inputs_for
from graphrewrite.types import element_kind


def network() -> Graph:
    """A small convolutional network with a shortcut."""
    rng = np.random.default_rng(1)

    def weights(*shape):
        return rng.integers(-2, 3, shape).astype(np.float32)

    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 2, 6, 5)))
    c = op.conv(x, weights(3, 2, 3, 3), weights(3), pads=(1, 1, 1, 1))
    r = op.relu(op.batch_norm(c, *(np.float32([1, 2, 4]) for _ in range(4))))
    s = op.add(r, op.mul(c, weights(3, 1, 1)))
    p = op.max_pool(s, kernel=(2, 2), strides=(2, 1))
    m = op.softmax(p, axis=1)
    graph.output("y", op.linear(op.flatten(m), weights(4, 3 * 3 * 4)))
    graph.output("z", p)
    return graph


def inputs() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(2).integers(-3, 4, (3, 2, 6, 5)).astype(np.float32)}


def inner(graph: Graph) -> list[str]:
    return [n for n in graph if graph.nodes[n]["type"] not in ("input", "output")]


def test_marks_are_set_on_all_and_taken_away():
    graph = network()
    view = graph.view("v", ["conv_1", "relu_1", "y"])
    made = view.set(backend="gpu", use_kernel="winograd")
    assert {n for n, d in made.nodes(data=True) if d.get("backend") == "gpu"} == {"conv_1", "relu_1"}
    assert "backend" not in graph.nodes["conv_1"]
    assert made.view("v").set(backend=None, use_kernel=None) == graph


def test_an_element_type_is_set_with_casts_at_the_border():
    graph = network()
    view = graph.view(
        "v", [n for n in inner(graph) if not n.startswith(("linear", "flatten", "constant"))], outputs=["max_pool_1"]
    )
    made = view.set(element="f16")
    verify(made)
    assert str(made.result_type("conv_1")) == "f16[N,3,6,5]"
    assert [made.nodes[n]["type"] for n in made].count("cast") == 3
    assert str(made.result_type("softmax_1")) == "f16[N,3,3,4]"
    assert [str(made.result_type(v.node)) for v in made.view("v").output_operands] == ["f32[N,3,3,4]"] * 2
    assert [label_of(v) for v in made.view("v").input_operands] == ["x"]
    assert {made.result_type(n).element for n in made.view("v").nodes if "cast" not in n} == {"f16"}
    before, after = evaluate(graph, inputs()), evaluate(made, inputs())
    np.testing.assert_allclose(after["y"], before["y"], rtol=1e-2, atol=1e-1)
    np.testing.assert_allclose(after["z"], before["z"], rtol=1e-2)
    assert graph == network_with_view(graph)


def network_with_view(graph: Graph) -> Graph:
    other = network()
    other.graph["views"] = graph.graph["views"]
    return other


@pytest.mark.parametrize("chosen", [inner, lambda g: ["conv_1", "relu_1"], lambda g: ["max_pool_1", "add_1"]])
def test_a_layout_is_set_with_transposes_at_the_border(chosen):
    graph = network()
    view = graph.view("v", chosen(graph))
    made = view.set(layout="NHWC")
    verify(made)
    layouts = {
        n: made.result_type(n).layout for n in chosen(graph) if n in made and len(made.result_type(n).shape) == 4
    }
    assert layouts.pop("softmax_1", None) is None
    assert {layouts[n] for n in layouts if made.nodes[n]["type"] != "constant"} == {"NHWC"}
    assert str(made.result_type(made.operands("z")[0].node)) == "f32[N,3,3,4]"
    for name, value in evaluate(graph, inputs()).items():
        np.testing.assert_array_equal(evaluate(made, inputs())[name], value)
    again = made.view("v").set(layout="NHWC")
    assert set(again) == set(made)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"element": "i8"}, TypeMismatchError, "quantise"),
        ({"layout": "NHHC"}, TypeMismatchError, "distinct"),
        ({"layout": "HWXY"}, TypeMismatchError, r"NC\*"),
        ({"layout": "NWC"}, TypeMismatchError, "no value in the view 'v' can have the layout NWC"),
        ({"backends": "gpu"}, GraphError, "did you mean 'backend'"),
    ],
)
def test_what_cannot_be_set_is_refused(settings, error, message):
    graph = network()
    before = graph.copy()
    with pytest.raises(error, match=message):
        graph.view("v", ["conv_1"]).set(**settings)
    del graph.graph["views"]
    assert graph == before


@st.composite
def chosen(draw: st.DrawFn) -> tuple[Graph, list[str]]:
    graph = draw(graphs())
    return graph, sorted(draw(st.sets(st.sampled_from(sorted(graph)), min_size=1)))


@given(chosen().flatmap(lambda c: st.tuples(st.just(c), inputs_for(c[0], moderate=True))))
def test_any_part_in_double_precision(case):
    """In f64 a graph of f32 gives the same values but for rounding, and its interface stays."""
    (graph, nodes), inputs = case
    try:
        made = graph.view("v", nodes).set(element="f64")
    except GraphRewriteError as error:
        known = ("no value in the view", "is not supported", "a graph to be inlined first")
        assume(not any(reason in str(error) for reason in known))
        raise
    verify(made)
    assert {n: made.result_type(n) for n in made.inputs} == {n: graph.result_type(n) for n in graph.inputs}
    with np.errstate(all="ignore"):
        before, after = evaluate(graph, inputs), evaluate(made, inputs)
    for name, value in before.items():
        assert after[name].dtype == value.dtype
    inside = {n for n in made.view("v") if made.nodes[n]["type"] not in ("cast", "input", "output", *made.ops)}
    of_floats = {n for n in inside if any(element_kind(t.element) == "float" for t in made.node(n).operand_types)}
    assert all("f32" not in str(made.nodes[n]["result"]) for n in of_floats)


def test_a_node_that_broadcasts_to_more_axes_reads_them_in_their_old_order():
    graph = Graph.parse("""graph g
x = input() : f32[N,3]
w = input() : f32[2,1,3]
n = neg(x) : f32[N,3]
a = add(n, w) : f32[2,N,3]
y = output(a)""")
    made = graph.view("v", ["n", "a"]).set(layout="CN")
    verify(made)
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "w": np.arange(6, dtype=np.float32).reshape(2, 1, 3)}
    assert made.result_type("n").layout == "CN"
    np.testing.assert_array_equal(evaluate(made, inputs)["y"], evaluate(graph, inputs)["y"])


@given(chosen().flatmap(lambda c: st.tuples(st.just(c), inputs_for(c[0], moderate=True))), st.data())
def test_any_part_in_any_layout(case, data):
    (graph, nodes), inputs = case
    layout = "".join(data.draw(st.permutations(data.draw(st.sampled_from(["NC", "NCW", "NCHW"])))))
    try:
        made = graph.view("v", nodes).set(layout=layout)
    except GraphRewriteError as error:
        known = ("no value in the view", "a graph to be inlined first")
        assume("NC" in layout and not any(reason in str(error) for reason in known))
        raise
    verify(made)
    with np.errstate(all="ignore"):
        before, after = evaluate(graph, inputs), evaluate(made, inputs)
    for name, value in before.items():
        if value.dtype.kind in "USO":
            np.testing.assert_array_equal(after[name], value)
        else:
            np.testing.assert_allclose(after[name], value, rtol=1e-5, atol=1e-4)
