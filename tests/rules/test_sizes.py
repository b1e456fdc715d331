"""Sizes that only run time tells: rules decline where these hinder, and ops refuse what they cannot compute."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, op, rewrite, verify
from graphrewrite.errors import ParseError
from graphrewrite.execution.evaluator import evaluate
from graphrewrite.lowering.integer.binary_points import lower_max_pool
from graphrewrite.rules import (
    FOLDING,
    add_bias,
    batch_norm_as_layer,
    global_average_pool_as_conv,
    merge_reshapes,
    transpose_as_reshape,
    write_as_reshape,
)

OPEN = [
    (merge_reshapes, "a = reshape(x, shape=[0, 1, 0])\nb = reshape(a, shape=[0, 0, 0, 1])"),
    (transpose_as_reshape, "b = transpose(x, perm=[1, 0, 2])"),
    (write_as_reshape, "b = unsqueeze(x, axes=[0])"),
]


@pytest.mark.parametrize(("rule", "lines"), OPEN, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("sizes", ["N,1,M", "N,1,4", "2*N,1,M + 3", "N,1,0"])
def test_a_reshape_keeps_open_sizes(rule, lines, sizes):
    graph = Graph.parse(f"graph g\nx = input() : f32[{sizes}]\n{lines}\ny = output(b)")
    made = rewrite(graph, rule, verify=True)
    assert [made.nodes[n]["type"] for n in made] == ["input", "output", "reshape"]
    x = np.arange(2 * (sizes[-1] != "0") * 4, dtype=np.float32).reshape(2, 1, -1)
    np.testing.assert_array_equal(evaluate(made, {"x": x})["y"], evaluate(graph, {"x": x})["y"])


EMPTY = {
    "a norm of no channels": ("N,0,2", "v = constant(value=[]) : f32[0]\nb = batch_norm(x, v, v, v, v)"),
    "a mean over no positions": ("N,2,0", "b = global_average_pool(x)"),
    "windows of no channels": ("N,0,2", "b = average_pool(x, kernel=[2])"),
    "a layer without results": (
        "N,2",
        """c = constant(value=[1.0, 2.0]) : f32[2]
        a = add(x, c)
        w = constant(value=[]) : f32[0,2]
        v = constant(value=[]) : f32[0]
        b = linear(a, w, v)""",
    ),
    "a number before a layer": (
        "",
        """a = transpose(x, perm=[])
        c = reshape(a, shape=[1, 1])
        w = constant(value=[[2.0]]) : f32[1,1]
        v = constant(value=[1.0]) : f32[1]
        b = linear(c, w, v)""",
    ),
}
"""The sizes of an input, and what is computed of it."""


@pytest.mark.filterwarnings("ignore:.*empty slice|invalid value:RuntimeWarning")
@pytest.mark.parametrize(("sizes", "lines"), EMPTY.values(), ids=EMPTY)
def test_layers_of_nothing_compute_the_same(sizes, lines):
    graph = Graph.parse(f"graph g\nx = input() : f32[{sizes}]\n{lines}\ny = output(b)")
    made = rewrite(graph, FOLDING, verify=True)
    x = np.ones([3 if size == "N" else int(size) for size in sizes.split(",") if size], np.float32)
    np.testing.assert_array_equal(evaluate(made, {"x": x})["y"], evaluate(graph, {"x": x})["y"])


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (2, 3, 0, 2)])
@pytest.mark.parametrize("rule", [batch_norm_as_layer, global_average_pool_as_conv])
def test_images_without_positions_or_channels_are_left_as_they_are(rule, shape):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", shape))
    numbers = [graph.constant(np.ones(shape[1], np.float32)) for _ in range(4)]
    is_norm = rule is batch_norm_as_layer
    graph.output("y", graph.add(op.batch_norm, [x, *numbers], {}) if is_norm else op.global_average_pool(x))
    assert rule(graph) == graph


def test_sums_of_names_are_no_sizes_that_evaluation_knows():
    graph = Graph.parse("graph g\nx = input() : f32[N,1,M + seq]\nb = squeeze(x, axes=[1])\ny = output(b)")
    assert rewrite(graph, write_as_reshape) == graph
    assert "one of them has several names" in write_as_reshape.explain(graph, at="b")


def test_a_reshape_that_leaves_two_is_refused():
    with pytest.raises(
        ParseError, match=r"\[-1, -1\] leaves several sizes open, of which only one can follow; 0 keeps"
    ):
        Graph.parse("graph g\nx = input() : f32[N,M]\na = reshape(x, shape=[-1, -1])\ny = output(a)")


def test_a_bias_of_so_many_results_as_run_time_tells():
    graph = Graph.parse("graph g\nx = input() : f32[N,3]\nw = input() : f32[M,3]\na = linear(x, w)\ny = output(a)")
    assert rewrite(graph, add_bias) == graph
    assert "the number of its results is symbolic" in add_bias.explain(graph, at="a")


def test_the_windows_of_a_pool_move_along_the_axes_of_its_layout():
    text = """graph g
    x = input() : s8f1[N,{}] NWC
    r = from_fixed(x, fraction=1)
    p = max_pool(r, kernel=[2], strides=[2], pads=[1, 2])
    y = output(p)"""
    short, long = (Graph.parse(text.format(sizes)) for sizes in ("1,9", "9,1"))
    assert rewrite(short, lower_max_pool) == short
    assert "a window may lie wholly in the border" in lower_max_pool.explain(short, at="p")
    verify(rewrite(long, lower_max_pool))
