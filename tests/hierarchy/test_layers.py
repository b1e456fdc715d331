"""Layers with fresh weights: sizes that follow from what they read, names, sharing, and what cannot be built."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.hierarchy import layers, parallel, residual, sequential
from graphrewrite.hierarchy.graph_ops import graph_op
from tests.support.whole_way import goes_on

IMAGE = Tensor("f32", ("N", 2, 6, 6))
SAME = {"pads": (1, 1, 1, 1)}


def on_images(inner):
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        some.map(lambda parts: sequential(*parts)),
        some.map(lambda parts: sequential(parallel(*parts), partial(op.concat, axis=1))),
        inner.map(lambda part: sequential(layers.conv(4, 1), residual(part, layers.conv(4, 1)))),
    )


images = st.recursive(
    st.sampled_from(
        [
            op.relu,
            layers.conv(4, 3, **SAME),
            layers.conv(2, (1, 3), pads=(0, 1, 0, 1), bias=False),
            layers.conv_transpose(3, 1),
            layers.batch_norm(),
            layers.layer_norm(axis=2),
            layers.prelu(),
        ]
    ),
    on_images,
    max_leaves=5,
)


@given(images, st.integers(1, 4))
def test_any_nest_of_layers_is_a_graph_whose_sizes_follow(part, features):
    net = sequential(part, op.flatten, layers.linear(features, name="head"))
    graph = net.graph(IMAGE, name="net")
    assert graph.result_type("head").shape == ("N", features)
    assert graph == net.graph(IMAGE, name="net"), "weights depend on the seed and their names only"
    weights = [d["value"] for _, d in graph.nodes(data=True) if d["type"] == "constant"]
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in weights)
    assert len({n for n in graph if n.endswith(".w")}) == sum(
        data["type"] in ("conv", "conv_transpose", "linear") for _, data in graph.nodes(data=True)
    )
    goes_on(graph, {"x": np.linspace(-1, 1, 144, dtype="f4").reshape(2, 2, 6, 6)})


@pytest.mark.parametrize("layer", [layers.lstm, layers.gru, layers.rnn])
def test_recurrent_layers_begin_at_zero(layer):
    net = sequential(layer(4, direction="bidirectional"), lambda y, *_: op.reshape(y, shape=("seq", -1, 8)))
    graph = net.graph(Tensor("f32", ("seq", "N", 3)), name="net")
    goes_on(graph, {"x": np.linspace(-1, 1, 30, dtype="f4").reshape(5, 2, 3)})


def test_a_graph_of_layers_nests():
    block = sequential(layers.conv(2, 3, **SAME), op.relu).graph(IMAGE, name="block")
    net = sequential(graph_op(block), graph_op(block)).graph(IMAGE)
    assert [data["type"] for _, data in net.nodes(data=True)] == ["input", "block", "block", "output"]


def test_a_use_has_weights_of_its_own_and_a_name_shares_them():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    own, named = layers.linear(3), layers.linear(3, name="twin", seed=7)
    graph.output("y", named(named(own(own(x)))))
    assert not np.array_equal(graph.nodes["linear_1.w"]["value"], graph.nodes["linear_2.w"]["value"])
    assert [graph.operands(n)[1].node for n in ("twin", "linear_3")] == ["twin.w", "twin.w"]
    assert not np.array_equal(
        layers.linear(3, name="twin", seed=8).weights(x.type)["w"].array("f32", 8, "twin.w"),
        graph.nodes["twin.w"]["value"],
    )


def test_weights_are_within_the_bound_of_glorot_and_fill_it():
    weight = layers.conv(32, 5).weights(Tensor("f32", ("N", 16, 9, 9)))["w"]
    array, bound = weight.array("f32", 0, "w"), np.sqrt(6 / (16 * 25 + 32 * 25))
    assert 0.99 * bound < np.abs(array).max() <= bound
    assert abs(array.mean()) < 0.01 * bound


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x: layers.conv(4, 3)(np.ones((1, 2, 6, 6))), GraphError, r"sequential\(…\).graph"),
        (lambda x: layers.linear(4)(op.transpose(x, perm=(1, 2, 3, 0))), TypeMismatchError, "a number in place of 'N'"),
        (layers.conv(4, (3, 3, 3)), TypeMismatchError, "conv"),
        (layers.conv(4, 3, stries=(2, 2)), TypeMismatchError, "did you mean 'strides'"),
        (layers.group_norm(3), TypeMismatchError, "groups"),
        (lambda x: [layers.conv(n, 1, name="one")(x) for n in (2, 3)], TypeMismatchError, "of another name"),
    ],
)
def test_what_cannot_be_built_is_refused_and_leaves_nothing(build, error, message):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 2, 6, 6)))
    with pytest.raises(error, match=message):
        build(x)
    assert set(graph) <= {"x", "transpose_1", "one", "one.w", "one.b"}
