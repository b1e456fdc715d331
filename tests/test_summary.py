"""The table of a graph."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.hierarchy.graph_ops import graph_op
from graphrewrite.summary import multiply_accumulates, summary


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split() for line in text.splitlines()[2:]}


def test_parameters_and_multiply_accumulates():
    graph = Graph("net")
    x = graph.input("x", Tensor("f32", ("N", 4, 8, 8)))
    ones = np.ones(8, np.float32)
    y = op.conv(x, np.ones((8, 2, 3, 3), np.float32), ones, groups=2, strides=(2, 2), pads=(1, 1, 1, 1))
    y = op.flatten(op.batch_norm(y, ones, ones, ones, ones))
    graph.output("y", op.linear(y, np.ones((10, 128), np.float32)))
    found = rows(summary(graph))
    # 8 channels of 4 x 4 results, each of 2 channels of 3 x 3 taps.
    assert found["conv_1"][-2:] == ["152", f"{8 * 4 * 4 * 2 * 9:,}"]
    assert found["batch_norm_1"][-2:] == ["32", "0"]
    assert found["linear_1"][-2:] == ["1,280", "1,280"]
    assert found["total"] == ["total", "4", "operations", f"{152 + 32 + 1280:,}", f"{2304 + 1280:,}"]


def test_a_shared_constant_counts_once():
    graph = Graph("shared")
    x, c = graph.input("x", Tensor("f32", ("N", 3))), graph.constant(np.ones(3, np.float32))
    graph.output("y", (x + c) * c)
    assert rows(summary(graph))["total"][-2] == "3"


def test_integer_level_counts_like_the_float_level():
    graph = Graph("integer")
    x = graph.input("x", Tensor(FixedPoint(True, 8), ("N", 16)))
    weights, bias = np.ones((5, 16), np.int8), np.zeros(5, np.int32)
    w = graph.constant(weights, type=Tensor(FixedPoint(True, 8), (5, 16)))
    b = graph.constant(bias, type=Tensor(FixedPoint(True, 32), (5,)))
    graph.output("y", op.integer_linear(x, w, b, element=FixedPoint(True, 24)))
    assert multiply_accumulates(graph, "integer_linear_1") == 80


def test_a_matrix_product_counts_its_inner_size():
    graph = Graph.parse(
        "graph g\na = input() : f32[6,4]\nb = input() : f32[6,5]\nm = gemm(a, b, trans_a=True)\ny = output(m)"
    )
    assert multiply_accumulates(graph, "m") == 4 * 5 * 6


def test_any_digraph_has_a_summary():
    graph = nx.DiGraph([(1, 2), (2, 1)])
    graph.nodes[1]["type"] = "weird\nname\u202e"
    text = summary(graph)
    assert "weird\\nname\\u202e" in text
    assert len(text.splitlines()) == 5


def test_long_names_are_cut():
    graph = Graph("long")
    graph.output("y", graph.input("x" * 1000, Tensor("f32", ("N",))))
    assert max(map(len, summary(graph).splitlines())) < 250


def test_a_graph_that_is_a_node_counts_its_parameters_once_and_its_products_each_time():
    block = Graph("block")
    x = block.input("x", Tensor("f32", ("N", 4)))
    block.output("y", op.linear(x, np.ones((4, 4), np.float32), np.ones(4, np.float32)))
    layer = graph_op(block)
    graph = Graph("g")
    graph.output("y", layer(layer(graph.input("x", Tensor("f32", ("N", 4))))))
    found = rows(graph.summary())
    assert found["block_1"][-2:] == ["20", "16"]
    assert found["block_2"][-2:] == ["0", "16"]
    assert found["total"][-2:] == ["20", "32"]


def test_a_summary_is_its_text_and_shows_itself_as_a_table(tmp_path):
    graph = Graph("net")
    value = graph.input("<b>x</b>", Tensor("f32", ("N", 4)))
    for i in range(40):
        value = op.linear(value, np.ones((4, 4), np.float32)) if i % 4 == 0 else op.relu(value)
    graph.output("y", value)
    found = graph.summary()
    assert isinstance(found, str)
    assert (repr(found), found.splitlines()[0]) == (str(found), "net")
    assert (found.graphs[0].parameters, found.graphs[0].operations) == (160, 40)
    assert pickle.loads(pickle.dumps(found)).graphs == found.graphs
    pytest.importorskip("jinja2")
    shown = found.show()
    assert shown.data[0].ops.rows[:2] == (("relu", "30", "0", "0"), ("linear", "10", "160", "160"))
    html = found._repr_html_()
    assert "<td>linear_1</td><td>linear</td><td>&lt;b&gt;x&lt;/b&gt;</td>" in html
    assert "<b>x</b>" not in html
    assert shown.save(tmp_path / "s.txt").read_text() == f"{found}\n"
