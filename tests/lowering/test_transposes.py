"""Networks with their channels last, as Keras exports them: hardware has no transpose, and the host at most two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.graph import Value
from graphrewrite.lowering import LoweringError, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.prequantised.transposes import (
    merge_into_shuffle,
    resize_before_transpose,
    transpose_after,
)
from graphrewrite.testing import check
from tests.support.trained_networks import stored
from tests.support.transposed_networks import channels_last, transposed_operands

RANDOM = np.random.default_rng(0)


def weights(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32) / 2


def conv(x: Value, outputs: int, groups: int = 1) -> Value:
    """A convolution between two transposes."""
    w = weights(outputs, x.type.shape[3] // groups, 3, 3)
    plain = {"strides": (1, 1), "dilations": (1, 1)}
    made = op.conv(op.transpose(x, perm=(0, 3, 1, 2)), w, pads=(1, 1, 1, 1), groups=groups, **plain)
    return op.transpose(made, perm=(0, 2, 3, 1))


def scaled(x: Value) -> Value:
    """A bias, and what is left of a batch norm."""
    count = x.type.shape[-1]
    return op.relu(op.mul(op.add(x, weights(count)), np.abs(weights(count)) + np.float32(0.5)))


def flat(x: Value) -> Value:
    return op.matmul(op.reshape(scaled(conv(x, 3)), shape=("N", 48)), weights(48, 2))


def residual(x: Value) -> Value:
    first = scaled(conv(x, 3))
    return op.reduce_mean(op.add(first, op.relu(conv(first, 3, groups=3))), axes=(1, 2), keep_dims=False)


def joined(x: Value) -> Value:
    first = conv(op.relu(op.concat(conv(x, 2), conv(x, 1), axis=3)), 2)
    return op.reduce_max(op.pad(first, pads=(0, 1, 0, 0, 0, 1, 2, 0)), axes=(2, 1), keep_dims=False)


def dense_on_positions(x: Value) -> Value:
    return op.reduce_mean(op.relu(op.matmul(op.relu(op.matmul(x, weights(3, 4))), weights(4, 2))), axes=(1, 2))


def up_sampled(x: Value) -> Value:
    larger = op.resize(scaled(conv(x, 2)), scales=(1.0, 2.0, 2.0, 1.0), coordinate_transformation_mode="asymmetric")
    return op.relu(conv(op.resize(larger, sizes=(8, 16), axes=(-3, 2)), 2))


NETWORKS = [flat, residual, joined, dense_on_positions, up_sampled]


def compare(g: Graph, x: np.ndarray) -> None:
    """The integers give what the network does, and so does the hardware, in which nothing is transposed."""
    whole = to_integer(g)
    parts = partition(whole)
    wanted = evaluate(g, {"x": x})["y"]
    np.testing.assert_array_equal(evaluate(whole, {"x": x})["y"], wanted)
    found = parts.decode(evaluate(to_stream(whole, parallelism="folded"), parts.encode({"x": x})))
    np.testing.assert_array_equal(found["y"], wanted)


@pytest.mark.parametrize("build", NETWORKS)
def test_they_are_quantised_and_compile(build: Callable[[Value], Value]) -> None:
    g, x = channels_last(build, 4, 4, 3), np.random.default_rng(1).normal(size=(6, 4, 4, 3)).astype(np.float32)
    compare(quantise(g, x, bits=6), x)


def test_interpolation_is_quantised_and_compiles() -> None:
    def build(x: Value) -> Value:
        return scaled(conv(op.resize(scaled(conv(x, 2)), scales=(1.0, 2.0, 2.0, 1.0), mode="linear"), 1))

    g, x = channels_last(build, 3, 3, 2), np.random.default_rng(1).normal(size=(6, 3, 3, 2)).astype(np.float32)
    compare(quantise(g, x, bits=6), x)


@pytest.mark.parametrize(
    "resized",
    [
        {"scales": (1.0, 2.0, 2.0, 1.0)},
        {"scales": (1.0, 3.0, 3.0, 1.0), "coordinate_transformation_mode": "asymmetric"},
        {"sizes": (2, 2), "axes": (1, 2)},
    ],
)
def test_stored_numbers_are_interpolated(resized: dict[str, Any]) -> None:
    random = np.random.default_rng(2)

    def build(x: Value) -> Value:
        positions = op.transpose(op.neg(stored(random, op.transpose(x, perm=(0, 3, 1, 2)))), perm=(0, 2, 3, 1))
        return stored(random, op.resize(stored(random, positions), mode="linear", **resized))

    g, x = channels_last(build, 4, 4, 2), np.random.default_rng(1).normal(size=(6, 4, 4, 2)).astype(np.float32)
    compare(g, x)


def test_axes_are_interpolated_in_their_order() -> None:
    def build(x: Value) -> Value:
        return op.resize(op.transpose(op.softmax(x), perm=(0, 3, 2, 1)), scales=(1, 1, 2, 3))

    nearest = channels_last(build, 3, 2, 2)
    linear = nearest.copy()
    linear.nodes["resize_1"]["mode"] = "linear"
    assert resize_before_transpose.find(nearest)
    assert "in another order" in str(resize_before_transpose.explain(linear, at="resize_1"))


@pytest.mark.parametrize("build", NETWORKS)
def test_stored_ones_compile(build: Callable[[Value], Value]) -> None:
    """Behind each op stands a quantiser, as onnxruntime's tool puts them."""
    random, x = np.random.default_rng(2), np.random.default_rng(1).normal(size=(6, 4, 4, 3)).astype(np.float32)
    plain = channels_last(build, 4, 4, 3)
    g, made = Graph("stored"), {}
    for node in plain.in_order():
        kind = plain.nodes[node]["type"]
        if kind == "constant":
            value = plain.nodes[node]["value"]
            scale = np.abs(value).max() / 31
            made[node] = g.constant((np.rint(value / scale) * scale).astype(np.float32))
        elif kind == "input":
            made[node] = stored(random, g.input(node, plain.result_type(node)))
        elif kind == "output":
            g.output(node, made[plain.operands(node)[0].node])
        else:
            value = g.add(plain.op(node), [made[o.node] for o in plain.operands(node)], plain.attributes(node))
            made[node] = value if kind in ("transpose", "reshape", "pad") else stored(random, value)
    whole = to_integer(g)
    assert {whole.nodes[n]["type"] for n in partition(whole).core}.isdisjoint({"transpose"})
    compare(g, x)


def test_channels_that_are_shuffled_by_a_transpose_are_chosen() -> None:
    """As PyTorch exports a ShuffleNet: a table of channels between two reshapes."""

    def build(x: Value) -> Value:
        table = op.transpose(op.reshape(x, shape=("N", 3, 2, 5)), perm=(0, 2, 1, 3))
        return op.relu(op.reshape(table, shape=("N", 6, 5)))

    g, x = channels_last(build, 6, 5), np.random.default_rng(1).normal(size=(3, 6, 5)).astype(np.float32)
    fixed = quantise(g, x)
    compare(fixed, x)
    stream = to_stream(to_integer(fixed))
    assert [stream.nodes[n]["type"] for n in stream.in_order()][1:-1] == ["stream_select", "stream_clip"]


def test_a_transpose_that_stays_is_refused_with_what_reads_it() -> None:
    def build(x: Value) -> Value:
        turned = op.transpose(op.relu(x), perm=(0, 1, 3, 2))
        return op.relu(op.conv(turned, weights(2, 2, 3, 1)))

    g, x = channels_last(build, 2, 4, 5), np.random.default_rng(1).normal(size=(3, 2, 4, 5)).astype(np.float32)
    with pytest.raises(LoweringError, match=r"transpose_1: axes longer than 1 change.*conv_1.*: it reads .*; replace"):
        to_stream(to_integer(quantise(g, x)))


def test_numbers_without_channels_are_not_shuffled() -> None:
    graph = Graph("row")
    table = op.reshape(graph.input("x", Tensor(FixedPoint(True, 8), ("N",))), shape=("N", 1, 1))
    graph.output("y", op.reshape(op.transpose(table, perm=(0, 2, 1)), shape=("N",)))
    assert "transpose_1" in rewrite(graph, merge_into_shuffle)


def test_a_reshape_counts_as_a_transpose_where_it_is_one() -> None:
    report = check(transpose_after, on=transposed_operands())
    assert report, str(report)
