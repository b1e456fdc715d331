"""Gradients of graphs equal difference quotients, and what has none is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, define_op, differentiate, evaluate, op, rule
from graphrewrite.learning import DifferentiationError
from graphrewrite.learning.differentiation import WITHOUT
from graphrewrite.learning.preparation import COMPOSITES, differentiated_ops
from graphrewrite.lowering import optimise
from graphrewrite.lowering.composite import lowered_ops
from graphrewrite.lowering.gradients import GRADIENTS
from graphrewrite.op import LIBRARY
from tests.support.float_graphs import inputs_of, slope, with_losses

SQUARE = """graph square
x = input() : f64[N,3]
w = constant(value=[1.0, 2.0, 3.0]) : f64[3]
p = mul(x, w)
s = mul(p, p)
m = reduce_mean(s, keep_dims=False)
loss = output(m)"""


def _checked(graph: Graph, rng: np.random.Generator) -> None:
    inputs = inputs_of(graph, rng)
    try:
        made = differentiate(graph, "loss")
    except DifferentiationError:
        return
    try:
        found = evaluate(made, inputs)
    except Exception:  # what the graph itself refuses, such as indices
        return
    names = [name for name in inputs if f"d_{name}" in found]
    along = {name: rng.standard_normal(inputs[name].shape) for name in names}
    wanted = slope(graph, inputs, along)
    if wanted is not None:
        got = sum(float((found[f"d_{name}"] * along[name]).sum()) for name in names)
        greatest = max(1.0, abs(wanted), *(float(np.abs(found[f"d_{name}"]).max(initial=0)) for name in names))
        assert abs(got - wanted) < 1e-6 * greatest
        assert float(found["loss"]) == pytest.approx(float(evaluate(graph, inputs)["loss"]), rel=1e-12)


@given(with_losses(), st.integers(0, 2**16))
def test_gradients_are_the_slopes(graph, seed):
    _checked(graph, np.random.default_rng(seed))


@settings(max_examples=10)
@given(
    with_losses(("mul", "sigmoid", "matmul", "exp", "softmax", "reduce_mean", "conv", "layer_norm")), st.integers(0, 99)
)
def test_gradients_of_gradients_are_the_slopes_of_gradients(graph, seed):
    rng = np.random.default_rng(seed)
    try:
        first = differentiate(graph, "loss")
    except DifferentiationError:
        return
    new = first.copy()
    ends = [new.value(*new.operands(name)[0]) for name in new.outputs if name.startswith("d_")]
    for name in new.outputs:
        new.remove_node(name)
    total = op.reduce_sum(op.sin(ends[0]), keep_dims=False)
    for end in ends[1:]:
        total = total + op.reduce_sum(op.sin(end), keep_dims=False)
    new.output("loss", total)
    _checked(new, rng)


def test_each_gradient_of_gradients_has_a_name_of_its_own():
    made = Graph.parse("graph g\nx = input() : f64[]\ns = sin(x)\nloss = output(s)")
    for loss in ("loss", "d_x", "d_d_x"):
        made = differentiate(made, loss)
    assert made.outputs == ("loss", "d_x", "d_d_x", "d_d_d_x")
    found = [float(each) for each in evaluate(made, {"x": 0.7}).values()]
    assert found == pytest.approx([np.sin(0.7), np.cos(0.7), -np.sin(0.7), -np.cos(0.7)])


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("kind", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])
def test_gradients_of_recurrent_layers_are_products_of_all_steps(kind, gates, direction):
    graph, count, rows = Graph("g"), 1 + (direction == "bidirectional"), 3 * gates
    shapes = {"x": (4, "N", 2), "w": (count, rows, 2), "r": (count, rows, 3), "b": (count, 2 * rows)}
    operands = [graph.input(name, Tensor("f64", shape)) for name, shape in shapes.items()]
    every, *last = getattr(op, kind)(*operands, direction=direction)
    end = [op.reduce_mean(op.sin(each * 1.5), keep_dims=False) for each in (every, *last)]
    graph.output("loss", end[0] + end[1])
    _checked(graph, np.random.default_rng(0))
    made = differentiate(graph, "loss")
    types = [made.nodes[node]["type"] for node in made]
    assert "pad" not in types
    # Of each direction one a step forwards and one backwards, of a GRU two; and five of all steps.
    assert types.count("matmul") <= count * (4 * (4 if kind == "gru" else 2) + 5)


def test_every_op_of_floats_has_a_gradient_or_a_reason():
    known = {name.removeprefix("vjp_") for name in differentiated_ops(GRADIENTS)}
    known |= frozenset().union(*map(lowered_ops, COMPOSITES))
    integers = {"equal", "less", "less_or_equal", "greater", "greater_or_equal", "is_nan", "is_inf", "shape", "size"}
    integers |= {name for name in LIBRARY if name.startswith(("logical_", "bitwise_", "bit_shift", "arg_", "string_"))}
    integers |= {name for name in LIBRARY if "integer" in name or "qlinear" in name}
    integers |= {"regex_full_match", "nonzero", "non_max_suppression", "tfidf_vectorize", "dynamic_quantize_linear"}
    sources = {"constant_of_shape", "range", "mel_weight_matrix"}
    plain = {"name_axes"}  # taken out beforehand
    floats = {name for name, each in LIBRARY.items() if each.level in ("nn", "bridge")} - integers - sources - plain
    assert floats - known - WITHOUT.keys() == set()
    assert known.isdisjoint(WITHOUT)


def test_what_comes_out_is_a_graph_like_any_other():
    graph = Graph.parse(SQUARE)
    made = differentiate(graph, wrt=["w", "x"])
    assert made.outputs == ("loss", "d_w", "d_x")
    assert made.inputs == graph.inputs
    assert np.array_equal(made.nodes["w"]["value"], graph.nodes["w"]["value"])
    inputs = {"x": np.random.default_rng(0).normal(size=(5, 3))}
    found, again = evaluate(made, inputs), evaluate(optimise(made), inputs)
    w = graph.nodes["w"]["value"]
    assert np.allclose(found["d_w"], (2 * inputs["x"] ** 2 * w).sum(0) / 15)
    assert np.allclose(found["d_x"], 2 * inputs["x"] * w**2 / 15)
    assert all(np.array_equal(found[name], again[name]) for name in found)
    assert str(differentiate(graph, wrt=["w", "x"])) == str(made)
    assert graph == Graph.parse(SQUARE)


def test_a_frozen_network_of_named_axes_and_nested_graphs():
    module = Module("net")
    block = module.add_graph("block")
    block.output("y", op.tanh(block.input("x", Tensor("f64", ("N", 4, 5, 2), "NHWC"))))
    graph = module.add_graph("main")
    x = graph.input("x", Tensor("f64", ("N", 4, 5, 2), "NHWC"))
    w = np.random.default_rng(0).normal(size=(3, 2, 3, 3))
    y = op.max_pool(op.conv(module.op("block")(x), w, pads=1), kernel=2, strides=2)
    graph.output("loss", op.reduce_sum(op.sin(y), keep_dims=False))
    made = differentiate(graph)
    inputs = {"x": np.random.default_rng(1).normal(size=(2, 4, 5, 2))}
    found = evaluate(made, inputs)["d_x"]
    along = {"x": np.random.default_rng(2).normal(size=(2, 4, 5, 2))}
    assert (found * along["x"]).sum() == pytest.approx(slope(graph, inputs, along), rel=1e-6)


def test_names_of_transposes_around_named_axes_are_new():
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", 4, 5, 2), "NHWC"))
    moved = op.transpose(op.max_pool(x, kernel=2), perm=(0, 3, 1, 2))
    graph.output("name_axes_1", op.reduce_sum(op.sin(op.max_pool(moved, kernel=2)), keep_dims=False))
    assert {"transpose_1", "max_pool_1"} < {*graph}
    inputs, along = ({"x": np.random.default_rng(seed).normal(size=(2, 4, 5, 2))} for seed in (0, 1))
    found = evaluate(differentiate(graph), inputs)["d_x"]
    renamed = Graph.parse(str(graph).replace("name_axes_1", "loss"))
    assert (found * along["x"]).sum() == pytest.approx(slope(renamed, inputs, along), rel=1e-6)


def test_a_module_gets_a_graph_that_shares_its_variables():
    module = Module("net")
    w, v = module.constant("w", np.float32([[1, 2], [3, 4]])), module.constant("v", np.float32([1, 1]))
    state = module.placeholder("state", Tensor("f32", (2,)))
    main = module.add_graph("main")
    y = op.linear(main.input("x", Tensor("f32", ("N", 2))), w.on(main)) * v.on(main) + state.on(main)
    main.output("loss", op.reduce_sum(y, keep_dims=False))
    made = differentiate(module, wrt=["w", "state"])
    assert [*made] == ["main", "main_gradient"]
    assert [*module] == ["main"]
    assert made["main"] == module["main"]
    assert made["main_gradient"].nodes["w"]["value"] is made["main"].nodes["w"]["value"]
    made.set_constant("v", np.float32([1, 10]))
    found = evaluate(made["main_gradient"], {"x": [[1, 2]], "state": [0, 0]})
    assert found["d_w"].tolist() == [[1, 2], [10, 20]]
    assert found["d_state"].tolist() == [1, 1]
    with pytest.raises(DifferentiationError, match="has a graph 'main_gradient'; rename it"):
        differentiate(made)


def test_rules_of_ones_own_come_first_and_ops_of_ones_own_bring_one():
    @define_op
    def cube(x):
        """Third power."""
        return x * x * x

    @rule(keeps="rounding")
    def differentiate_cube(g, x):
        """The square times three."""
        yield cube.vjp(g, x)
        return g * (x * x * 3.0)

    @rule(keeps="assumes")
    def pass_straight_through(g, x):
        """Assumes that rounding changes nothing."""
        yield op.round.vjp(g, x)
        return g

    graph = Graph("g")
    x = graph.input("x", Tensor("f64", (3,)))
    graph.output("loss", op.reduce_sum(op.round(cube(x)), keep_dims=False))
    with pytest.raises(DifferentiationError, match=r"'cube_1' has no gradient: .* give a rule of cube.vjp by rules"):
        differentiate(graph)
    found = evaluate(differentiate(graph, rules=[differentiate_cube, pass_straight_through]), {"x": [1, 2, 3]})
    assert found["d_x"].tolist() == [3, 12, 27]
    assert evaluate(differentiate(graph, rules=[differentiate_cube]), {"x": [1, 2, 3]})["d_x"].tolist() == [0, 0, 0]


def test_a_query_that_sees_nothing_has_no_gradient():
    graph = Graph("g")
    q, k, v = (graph.input(n, Tensor("f64", (1, 1, 2, 3))) for n in "qkv")
    y = op.attention(q, k, v, np.array([[True, False], [False, False]]))
    graph.output("loss", op.reduce_sum(y, keep_dims=False))
    rng = np.random.default_rng(0)
    found = evaluate(differentiate(graph), {n: rng.normal(size=(1, 1, 2, 3)) for n in "qkv"})
    assert all(np.isfinite(array).all() for array in found.values())
    assert found["d_q"][0, 0, 1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (SQUARE, {"loss": "los"}, "no output of the graph 'square'.*did you mean 'loss'"),
        (SQUARE, {"wrt": "p"}, "wrt names inputs and constants, and 'p' is a computed value"),
        (SQUARE, {"wrt": ["y"]}, "'y' is not there"),
        (SQUARE, {"wrt": []}, "wrt is empty"),
        (SQUARE + "\nz = input() : f64[N]", {"wrt": ["z"]}, "the loss 'loss' does not depend on 'z'"),
        (SQUARE + "\nb = output(p)", {}, "say which output is the loss: .* loss, b"),
        (
            "x = input() : f32[N]\nloss = output(x)",
            {},
            r"one number of f32 or f64, and this is f32\[N\]; take its mean",
        ),
        ("x = input() : f16[2]\nr = reduce_sum(x, keep_dims=False)\nloss = output(r)", {}, "and this is f16"),
        (
            "x = input() : f32[2]\ni = arg_max(x, axis=0, keep_dims=False)\n"
            "c = cast(i, element='f32')\nloss = output(c)",
            {},
            r"only through what has no gradient, such as the node 'i' \(arg_max\), whose result is i64",
        ),
        (
            "x = input() : f32[T,N,2]\nw = input() : f32[1,3,2]\nr = input() : f32[1,3,3]\n"
            "b = input() : f32[1,6]\nh = input() : f32[1,N,3]\ny = rnn(x, w, r, b, h)\n"
            "s = reduce_sum(y, keep_dims=False)\nloss = output(s)",
            {},
            "the node 'y' has no gradient: there is no rule for rnn here: .*only run time tells how many steps",
        ),
        (
            "x = input() : f32[4]\nr = unique(x)\ns = reduce_sum(r, keep_dims=False)\nloss = output(s)",
            {},
            "the node 'r' has no gradient: there is no rule for unique here: how many entries it gives",
        ),
        (
            "x = input() : f32[1,1,4,4]\nq = input() : f32[R,4]\ni = input() : i64[R]\n"
            "r = roi_align(x, q, i, mode='max')\ns = reduce_sum(r, keep_dims=False)\nloss = output(s)",
            {},
            "there is no rule for roi_align here: .*of the greatest weighted entries there is none; use mode='avg'",
        ),
    ],
)
def test_what_has_no_gradient_is_named(text, arguments, message):
    graph = Graph.parse(text if text.startswith("graph") else f"graph g\n{text}")
    with pytest.raises(DifferentiationError, match=message):
        differentiate(graph, **arguments)


def test_sums_with_a_padded_number_have_gradients():
    graph = Graph.parse(
        "graph g\nx = input() : f64[]\np = pad(x, pads=())\ns = add(p, x)\nu = add(s, x)\nloss = output(u)"
    )
    assert evaluate(differentiate(graph), {"x": 3.0})["d_x"].tolist() == 3.0


@pytest.mark.parametrize(
    ("form", "at", "wanted"),
    [
        ("relu(x)", 0.0, 0.0),
        ("abs(x)", 0.0, 0.0),
        ("leaky_relu(x, alpha=0.5)", 0.0, 0.5),
        ("clip(x, low=0.0, high=1.0)", 1.0, 1.0),
        ("hard_tanh(x)", 1.0, 0.0),
        ("maximum(x, x)", 2.0, 1.0),
        ("elu(x)", 0.0, 1.0),
        ("floor(x)", 0.5, 0.0),
        ("reduce_l2(x, keep_dims=False)", 0.0, 0.0),
    ],
)
def test_kinks_have_the_slopes_of_pytorch(form, at, wanted):
    graph = Graph.parse(f"graph g\nx = input() : f64[]\ny = {form}\nloss = output(y)")
    assert evaluate(differentiate(graph), {"x": at})["d_x"].tolist() == wanted
