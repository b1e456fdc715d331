"""Networks whose axes have names, lowered: the same integers, and streams where the channels come first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Rule, Tensor, evaluate, op, rewrite, verify
from graphrewrite.graph import Value
from graphrewrite.lowering import quantise, to_integer, to_stream
from graphrewrite.lowering.errors import LoweringError
from graphrewrite.lowering.prequantised.layers import add_whole_bias
from graphrewrite.lowering.prequantised.stored_integers import lower_matmul_integer, lower_qlinear_matmul
from graphrewrite.types import permutation


def network(layout: str | None) -> Graph:
    """A classifier whose input has a layout; its head sees the channels first."""
    rng = np.random.default_rng(0)
    kind = Tensor("f32", ("N", 2, 6, 6), None if layout is None else "NCHW")
    g = Graph("g")
    x = g.input("x", kind if layout is None else kind.permuted(permutation("NCHW", layout)))
    y = op.conv(x, rng.normal(size=(4, 2, 3, 3)).astype(np.float32), rng.normal(size=4).astype(np.float32))
    y = op.max_pool(op.relu(y), kernel=(2, 2), strides=(2, 2))
    if layout not in (None, "NCHW"):
        y = op.transpose(y, perm=permutation(layout, "NCHW"))
    g.output("y", op.linear(op.flatten(y), rng.normal(size=(3, 16)).astype(np.float32)))
    return g


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NWHC"])
def test_the_integers_are_the_same_in_every_layout(layout):
    x = np.random.default_rng(1).normal(size=(8, 2, 6, 6)).astype(np.float32)
    moved = x.transpose(permutation("NCHW", layout))
    plain, named = network(None), network(layout)
    wanted = to_integer(quantise(plain, {"x": x}))
    found = to_integer(quantise(named, {"x": moved}))
    verify(found)
    np.testing.assert_array_equal(evaluate(found, {"x": moved})["y"], evaluate(wanted, {"x": x})["y"])


def test_a_stream_knows_its_axes_by_their_places():
    x = np.random.default_rng(1).normal(size=(8, 2, 6, 6)).astype(np.float32)
    plain, named = (to_stream(to_integer(quantise(network(layout), {"x": x}))) for layout in (None, "NCHW"))
    assert [data["type"] for data in plain.nodes.values()] == [data["type"] for data in named.nodes.values()]
    moved = to_integer(quantise(network("NHWC"), {"x": x.transpose(0, 2, 3, 1)}))
    with pytest.raises(LoweringError, match=r"node 'x': its axes are NHWC, and a stream needs NCHW"):
        to_stream(moved)


W = np.array([[1, 2, -3], [0, 5, 1]], np.int8)
SCALE, ZERO = np.float32(0.5), np.int8(2)


def matmul_integer(stored: Value) -> Value:
    return op.matmul_integer(stored, W.T, ZERO)


def qlinear_matmul(stored: Value) -> Value:
    return op.qlinear_matmul(stored, SCALE, ZERO, W.T, SCALE, np.int8(0), SCALE, ZERO)


@pytest.mark.parametrize(
    ("product", "rule"), [(matmul_integer, lower_matmul_integer), (qlinear_matmul, lower_qlinear_matmul)]
)
@pytest.mark.parametrize(("layout", "fires"), [(None, True), ("NC", True), ("CN", False)])
def test_stored_products_keep_their_types_whatever_the_axes_are_called(
    product: Callable[[Value], Value], rule: Rule, layout: str | None, fires: bool
) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 4), (3, 3), layout))
    g.output("y", product(op.quantize_linear(op.from_fixed(x, fraction=0), np.float32(1), ZERO)))
    changed = rewrite(g, [rule])
    assert (changed != g) is fires
    verify(changed)
    values = {"x": np.arange(-4, 5, dtype=np.int8).reshape(3, 3)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


@pytest.mark.parametrize(("layout", "fires"), [(None, True), ("NCHW", True), ("NHWC", False)])
def test_addends_of_sums_are_biases_where_their_channels_come_first(layout: str | None, fires: bool) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 4), (1, 2, 2, 2), layout))
    sums = op.integer_conv(x, np.ones((2, 2, 1, 1), np.int64), np.array([1, 2]), element=FixedPoint(True, 12))
    real = op.cast(op.from_fixed(sums, fraction=0, element="f32"), element="f64")
    g.output("y", op.add(real, np.array([0.5, -0.25]).reshape(2, 1, 1)))
    changed = rewrite(g, [add_whole_bias])
    assert (changed != g) is fires
    values = {"x": np.arange(-4, 4, dtype=np.int8).reshape(1, 2, 2, 2)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])
