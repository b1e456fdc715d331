"""Borders and windows."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import FOLDING, RULES, fold_pad
from graphrewrite.rules.windows import (
    crop_window,
    dilate_conv,
    fold_pad_into_average_pool,
    fold_pad_into_max_pool,
    pool_before_relu,
)

FOLD_PADS = (fold_pad, fold_pad_into_average_pool, fold_pad_into_max_pool)


def _kinds(graph: Graph) -> list[str]:
    return sorted(
        graph.nodes[n]["type"] for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")
    )


def _padded(reader, begins=(1, 0), ends=(2, 3), *, layout=None, fill=0.0, rectified=False) -> Graph:
    graph = Graph("g")
    shape = ("N", 5, 6, 3) if layout else ("N", 3, 5, 6)
    x = graph.input("x", Tensor("f64", shape, layout))
    x = op.relu(x) if rectified else x
    pads = (0, *begins, 0, 0, *ends, 0) if layout else (0, 0, *begins, 0, 0, *ends)
    graph.output("y", reader(op.pad(x, pads=pads, fill=fill)))
    return graph


def _same(one: Graph, other: Graph, rtol: float = 0) -> None:
    x = np.random.default_rng(1).normal(size=(2, *one.result_type("x").shape[1:]))
    np.testing.assert_allclose(evaluate(one, {"x": x})["y"], evaluate(other, {"x": x})["y"], rtol=rtol)


def _conv(x, **attributes):
    random = np.random.default_rng(0)
    return op.conv(x, random.normal(size=(4, 3, 3, 2)), random.normal(size=4), **attributes)


READERS = {
    "conv": _conv,
    "conv, padded": lambda x: _conv(x, pads=(1, 2, 0, 1), strides=(2, 1)),
    "average": lambda x: op.average_pool(x, kernel=(4, 5), strides=(2, 2)),
    "average, padded": lambda x: op.average_pool(x, kernel=(4, 5), pads=(1, 1, 0, 1), count_include_pad=True),
}


@pytest.mark.parametrize("layout", [None, "NHWC"])
@pytest.mark.parametrize("name", READERS)
def test_a_border_of_zeros_becomes_padding(name, layout):
    graph = _padded(READERS[name], layout=layout)
    made = rewrite(graph, FOLD_PADS)
    assert "pad" not in _kinds(made)
    _same(made, graph)


@pytest.mark.parametrize("layout", [None, "NHWC"])
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("change", [{"fill": 1.0}, {"begins": (-1, 0)}, {"ends": (0, -2), "begins": (1, 1)}])
def test_any_other_border_stays(name, layout, change):
    graph = _padded(READERS[name], layout=layout, **change)
    made = rewrite(graph, FOLD_PADS)
    assert "pad" in _kinds(made)
    _same(made, graph)


def test_padding_that_does_not_count_stays_apart():
    graph = _padded(lambda x: op.average_pool(x, kernel=(4, 5), pads=(1, 1, 1, 1)))
    assert rewrite(graph, FOLD_PADS) == graph


@pytest.mark.parametrize(
    ("fill", "rectified", "kernel", "folded"),
    [
        (-np.inf, False, (3, 4), True),
        (0.0, True, (3, 4), True),
        (0.0, False, (3, 4), False),
        (1.0, True, (3, 4), False),
        (0.0, True, (2, 2), False),
    ],
)
@pytest.mark.parametrize("layout", [None, "NHWC"])
def test_a_border_that_never_wins_becomes_padding(fill, rectified, kernel, folded, layout):
    graph = _padded(lambda x: op.max_pool(op.identity(x), kernel=kernel), layout=layout, fill=fill, rectified=rectified)
    made = rewrite(graph, (*FOLD_PADS, *RULES))
    assert ("pad" not in _kinds(made)) == folded
    _same(made, graph)


def _one_position(sizes, kernel, layout=None, **attributes) -> Graph:
    random = np.random.default_rng(0)
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", *sizes, 4) if layout else ("N", 4, *sizes), layout))
    graph.output("y", op.conv(x, random.normal(size=(6, 4, *kernel)), random.normal(size=6), **attributes))
    return graph


@pytest.mark.parametrize("layout", [None, "NHWC"])
@pytest.mark.parametrize(
    ("sizes", "kernel", "attributes", "left"),
    [
        ((2, 2), (5, 5), {"strides": (2, 2), "pads": (2, 1, 1, 2)}, (2, 2)),
        ((1, 1), (3, 3), {"pads": (1, 1, 1, 1)}, (1, 1)),
        ((7, 2), (7, 3), {"pads": (0, 1, 0, 0)}, (7, 2)),
        ((3, 3), (3, 3), {"dilations": (2, 2), "pads": (2, 2, 0, 0)}, (2, 2)),
        ((4, 4), (3, 3), {"strides": (4, 4)}, (3, 3)),
    ],
)
def test_a_convolution_of_one_position_has_weights_for_the_entries_only(sizes, kernel, attributes, left, layout):
    graph = _one_position(sizes, kernel, layout, **attributes)
    made = rewrite(graph, crop_window)
    conv = made.operands("y")[0].node
    assert made.result_type(made.operands(conv)[1].node).shape[2:] == left
    assert not any(made.attributes(conv)["pads"])
    _same(made, graph, rtol=1e-12)
    assert rewrite(made, RULES + FOLDING) == made


@pytest.mark.parametrize(
    ("sizes", "kernel", "attributes"),
    [((3, 3), (3, 3), {}), ((4, 4), (3, 3), {}), ((2, 2), (2, 2), {"dilations": (3, 3), "pads": (2, 2, 1, 1)})],
)
def test_others_keep_their_weights(sizes, kernel, attributes):
    graph = _one_position(sizes, kernel, **attributes)
    assert rewrite(graph, crop_window) == graph


def test_a_maximum_comes_before_rectifying():
    graph = Graph.parse("""graph g
        x = input() : f32[N,2,6,6]
        r = relu(x)
        m = max_pool(r, kernel=[3,3], strides=[2,2], pads=[1,1,1,1])
        y = output(m)""")
    made = rewrite(graph, pool_before_relu)
    assert made.nodes[made.operands("y")[0].node]["type"] == "relu"


@pytest.mark.parametrize("attributes", [{}, {"groups": 3}, {"dilations": (2, 1)}])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_positions_taken_apart_are_holes_in_windows(attributes, mode):
    random = np.random.default_rng(0)
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", (2, 3, 12, 10)))
    w = random.normal(size=(6, 3 // attributes.get("groups", 1), 3, 2))
    apart = op.space_to_depth(op.transpose(x, perm=(1, 0, 2, 3)), block_size=2, mode=mode)
    conv = op.conv(op.transpose(apart, perm=(1, 0, 2, 3)), w, random.normal(size=6), **attributes)
    together = op.depth_to_space(op.transpose(conv, perm=(1, 0, 2, 3)), block_size=2, mode=mode)
    graph.output("y", op.transpose(together, perm=(1, 0, 2, 3)))
    made = rewrite(graph, (dilate_conv, *RULES))
    assert _kinds(made) == ["conv"]
    _same(made, graph, rtol=1e-12)


@pytest.mark.parametrize("is_stored", [False, True])
def test_so_they_are_with_channels_last_and_stored(is_stored):
    random = np.random.default_rng(1)
    graph = Graph("g")
    x = graph.input("x", Tensor("i8" if is_stored else "f64", (2, 10, 12, 3), "NHWC"))

    def swapped(value):
        """Batch and channels in each other's place, under the names that they had."""
        moved = op.transpose(value, perm=(3, 1, 2, 0))
        return op.name_axes(op.name_axes(moved, layout=None), layout="NHWC")

    step = [graph.constant(each) for each in (np.float64(0.5), np.int8(3))]
    blocks = swapped(op.space_to_depth(swapped(x), block_size=2))
    real = op.dequantize_linear(blocks, *step) if is_stored else blocks
    conv = op.conv(real, random.normal(size=(4, 3, 2, 3)), random.normal(size=4))
    conv = op.quantize_linear(conv, *step) if is_stored else conv
    graph.output("y", swapped(op.depth_to_space(swapped(conv), block_size=2)))
    made = rewrite(graph, (dilate_conv, *RULES))
    kinds = {"dequantize_linear", "conv", "quantize_linear"} if is_stored else {"conv"}
    assert set(_kinds(made)) - {"name_axes"} == kinds
    x = random.integers(-90, 90, (2, 10, 12, 3)).astype(np.int8 if is_stored else np.float64)
    ours, theirs = evaluate(made, {"x": x})["y"], evaluate(graph, {"x": x})["y"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1 if is_stored else 0)
