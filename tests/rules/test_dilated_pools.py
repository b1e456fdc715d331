"""Pools with gaps or with windows beyond the border: rules and lowerings carry them on, or decline."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite, verify
from graphrewrite.lowering.integer.binary_points import lower_max_pool
from graphrewrite.lowering.streaming.bridge import leave
from graphrewrite.lowering.streaming.layers import map_max_pool
from graphrewrite.rules import average_pool_as_conv
from graphrewrite.types import Stream

UNUSUAL = [
    {"dilations": (2, 1)},
    {"ceil_mode": True, "strides": (2, 2)},
    {"dilations": (1, 2), "ceil_mode": True, "strides": (3, 2), "pads": (1, 0, 0, 1)},
]
S8 = FixedPoint(True, 8, 4)


def types(graph: Graph) -> list[str]:
    return [data["type"] for _, data in graph.nodes(data=True)]


@pytest.mark.parametrize("attributes", UNUSUAL)
def test_a_mean_becomes_a_convolution_with_the_same_gaps_or_stays(attributes):
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 7)).astype(np.float32)
    g = Graph("g")
    value = g.input("x", Tensor("f32", ("N", 3, 6, 7)))
    g.output("y", op.average_pool(value, kernel=(2, 2), count_include_pad=True, **attributes))
    after = rewrite(g, average_pool_as_conv)
    verify(after)
    assert ("conv" in types(after)) == (not attributes.get("ceil_mode", False))
    np.testing.assert_allclose(evaluate(after, {"x": x})["y"], evaluate(g, {"x": x})["y"], rtol=1e-5)


@pytest.mark.parametrize("attributes", UNUSUAL)
def test_a_maximum_of_mantissas_is_taken_over_the_same_windows(attributes):
    x = np.random.default_rng(0).integers(-128, 128, (20, 3, 6, 7), np.int8)
    g = Graph("g")
    real = op.from_fixed(g.input("x", Tensor(S8, ("N", 3, 6, 7))), fraction=4, element="f32")
    g.output("y", op.to_fixed(op.max_pool(real, kernel=(2, 2), **attributes), element=S8))
    after = rewrite(g, lower_max_pool)
    verify(after)
    order = [after.nodes[n]["type"] for n in after.in_order()]
    assert order.index("max_pool") < order.index("from_fixed")
    wanted = op.max_pool(x, kernel=(2, 2), **attributes)
    for graph in (g, after):
        np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], wanted)


@pytest.mark.parametrize("attributes", UNUSUAL)
def test_a_window_takes_them(attributes):
    x = np.random.default_rng(0).integers(-128, 128, (20, 3, 6, 7), np.int8)
    g = Graph("g")
    g.output("y", op.max_pool(leave(g.input("x", Stream(S8, (3, 6, 7)))), kernel=(2, 2), **attributes))
    after = rewrite(g, map_max_pool)
    assert {"window", "stream_maximum"} <= set(types(after))
    np.testing.assert_array_equal(evaluate(after, {"x": x})["y"], evaluate(g, {"x": x})["y"])
