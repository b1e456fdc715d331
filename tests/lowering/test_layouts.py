"""Networks whose axes have names, lowered: the same integers, and streams where the channels come first."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import quantise, to_integer, to_stream
from graphrewrite.lowering.errors import LoweringError
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
