"""Layers and their activations as one node."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, evaluate, verify
from graphrewrite.formats import load
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.rules import fuse_activations, fusing, inline

NETWORK = """graph g
x = input() : f32[N,2]
w = constant(value=[[1.0, 2.0], [0.5, -1.0]]) : f32[2,2]
l = linear(x, w)
r = relu(l)
m = linear(r, w)
c = clip(m, low=-1.0, high=1.0)
k = linear(c, w)
t = relu(k)
y = output(t)
z = output(k)"""


def kinds(graph):
    return sorted(graph.nodes[node]["type"] for node in graph if graph.nodes[node]["type"] not in ("constant", "input"))


def test_a_layer_that_only_its_activation_reads_becomes_one_node_with_it():
    graph = Graph.parse(NETWORK)
    fused = fuse_activations(graph)
    verify(fused)
    assert kinds(fused) == ["linear", "linear_clip", "linear_relu", "output", "output", "relu"]
    inputs = {"x": np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)}
    for name, wanted in evaluate(graph, inputs).items():
        np.testing.assert_array_equal(evaluate(fused, inputs)[name], wanted)
    assert kinds(inline(fused)) == kinds(graph)


def test_a_target_says_what_it_fuses():
    assert kinds(fusing(activations={"clip"})(Graph.parse(NETWORK))).count("relu") == 2
    assert "linear_clip" not in kinds(fusing(layers={"conv"})(Graph.parse(NETWORK)))


def test_it_comes_back_from_files(tmp_path):
    fused = fuse_activations(Graph.parse(NETWORK))
    fused.save(tmp_path / "net.json")
    assert kinds(load(tmp_path / "net.json")) == kinds(fused)
    assert kinds(from_onnx(to_onnx(fused))) == kinds(Graph.parse(NETWORK))
