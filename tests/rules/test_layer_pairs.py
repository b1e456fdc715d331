"""Layers in a row, merged."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import FOLDING, RULES
from graphrewrite.rules.layer_pairs import merge_layers


def _kinds(graph: Graph) -> list[str]:
    return sorted(
        graph.nodes[n]["type"] for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")
    )


def _pair(first: tuple[int, ...], last: tuple[int, ...], one: dict, other: dict, layout: str | None = None) -> Graph:
    random = np.random.default_rng(0)
    graph = Graph("pair")
    sizes = (first[1] * one.get("groups", 1), 9, 8)[: len(first) - 1]
    shape = ("N", *sizes) if layout is None else ("N", *sizes[1:], sizes[0])
    x = graph.input("x", Tensor("f64", shape, layout))
    layer = op.conv if len(first) > 2 else op.linear
    middle = layer(x, random.normal(size=first), random.normal(size=first[0]), **one)
    graph.output("y", layer(middle, random.normal(size=last), random.normal(size=last[0]), **other))
    return graph


@pytest.mark.parametrize(
    ("first", "last", "one", "other", "weights"),
    [
        ((5, 3, 3, 2), (5, 1, 1, 1), {"strides": (2, 1), "pads": (1, 0, 2, 1)}, {"groups": 5}, (5, 3, 3, 2)),
        ((4, 3, 3, 3), (8, 1, 1, 1), {"dilations": (2, 1)}, {"groups": 4, "strides": (1, 2)}, (8, 3, 3, 3)),
        ((4, 2, 1, 1), (6, 2, 1, 1), {"groups": 2}, {"groups": 2}, (6, 2, 1, 1)),
        ((4, 2, 3, 3), (4, 2, 1, 1), {"groups": 2}, {"groups": 2}, (4, 2, 3, 3)),
        ((4, 1, 1, 1), (6, 4, 3, 3), {"groups": 4}, {"strides": (2, 2)}, (6, 4, 3, 3)),
        ((4, 1, 1, 1), (6, 2, 3, 3), {"groups": 4}, {"groups": 2}, (6, 2, 3, 3)),
        ((8, 2, 1, 1), (4, 8, 1, 1), {"groups": 2}, {}, (4, 4, 1, 1)),
        ((9, 3), (2, 9), {}, {}, (2, 3)),
    ],
)
@pytest.mark.parametrize("layout", [None, "NHWC"])
def test_two_layers_are_one(first, last, one, other, weights, layout):
    graph = _pair(first, last, one, other, layout if len(first) > 2 else None)
    merged = rewrite(graph, merge_layers)
    assert _kinds(merged) == ["linear" if len(first) == 2 else "conv"]
    assert weights in [merged.result_type(n).shape for n in merged if merged.nodes[n]["type"] == "constant"]
    x = np.random.default_rng(1).normal(size=(2, *graph.result_type("x").shape[1:]))
    np.testing.assert_allclose(evaluate(merged, {"x": x})["y"], evaluate(graph, {"x": x})["y"], rtol=1e-9)


@pytest.mark.parametrize(
    ("first", "last", "one", "other", "reason"),
    [
        ((3, 3, 3, 3), (3, 3, 3, 3), {}, {}, "windows of several positions"),
        ((3, 1, 3, 3), (3, 3, 1, 1), {"groups": 3}, {}, "more weights than both"),
        ((2, 8), (8, 2), {}, {}, "more weights than both"),
        ((3, 3, 1, 1), (3, 3, 3, 3), {}, {"pads": (1, 1, 1, 1)}, "the border is zero"),
        ((3, 3, 1, 1), (3, 3, 3, 3), {"strides": (2, 2)}, {}, "windows of several positions"),
    ],
)
def test_others_stay_two(first, last, one, other, reason):
    graph = _pair(first, last, one, other)
    assert rewrite(graph, merge_layers) == graph
    assert reason in merge_layers.explain(graph, at=graph.operands("y")[0].node)


def test_a_border_of_zeros_stays_zero_without_a_bias():
    graph = _pair((3, 3, 1, 1), (3, 3, 3, 3), {}, {"pads": (1, 1, 1, 1)})
    bias = graph.operands(graph.operands(graph.operands("y")[0].node)[0].node)[2].node
    graph.nodes[bias]["value"] = np.zeros(3)
    merged = rewrite(graph, merge_layers)
    x = np.random.default_rng(1).normal(size=(1, 3, 9, 8))
    np.testing.assert_allclose(evaluate(merged, {"x": x})["y"], evaluate(graph, {"x": x})["y"], rtol=1e-9)


def test_weights_that_are_computed_first_make_no_difference():
    graph = Graph.parse("""graph g
        x = input() : f32[N,3,8,8]
        v = constant(value=[[[[1.0]],[[2.0]]],[[[1.0]],[[2.0]]],[[[3.0]],[[4.0]]]]) : f32[3,2,1,1]
        w = transpose(v, perm=[1,0,2,3])
        b = constant(value=[1.0,2.0]) : f32[2]
        c = conv(x, w, b)
        n = batch_norm(c, b, b, b, b)
        y = output(n)""")
    assert _kinds(rewrite(graph, RULES + FOLDING)) == ["conv"]
