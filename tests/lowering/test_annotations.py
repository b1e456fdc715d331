"""Annotations of nodes on the way from a float network to streams, and through ONNX."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphrewrite import Constant, Graph, Tensor, op, rewrite, rule, verify
from graphrewrite.lowering import from_onnx, quantise, to_integer, to_onnx, to_stream
from graphrewrite.lowering.errors import ModelError
from graphrewrite.rules import RULES, eliminate_independent_nodes


def net() -> Graph:
    graph, rng = Graph("net"), np.random.default_rng(0)
    x = graph.input("x", Tensor("f32", ("N", 1, 6, 6)))
    w, v = rng.normal(size=(2, 1, 3, 3)).astype(np.float32), rng.normal(size=(3, 8)).astype(np.float32)
    pooled = op.max_pool(op.conv(x, w, np.zeros(2, np.float32)), kernel=(2, 2), strides=(2, 2))
    graph.output("y", op.linear(op.flatten(pooled), v, np.zeros(3, np.float32)))
    for node in graph:
        graph.nodes[node].update(mine=[node, (1,)], backend="dsp")
    return graph


def owners(graph: Graph) -> dict[str, str]:
    return {data["type"]: data["mine"][0] for _, data in graph.nodes(data=True) if "mine" in data}


def test_what_is_lowered_keeps_those_of_the_node_that_it_was():
    graph = net()
    quantised = quantise(graph, {"x": np.random.default_rng(1).normal(size=(4, 1, 6, 6)).astype(np.float32)})
    integer = to_integer(quantised)
    stream = to_stream(integer)
    for each in (quantised, integer, stream):
        verify(each)
    expected = {"input": "x", "constant": "constant_4", "conv": "conv_1", "max_pool": "max_pool_1"}
    assert owners(quantised).items() >= {**expected, "reshape": "flatten_1", "linear": "linear_1"}.items()
    assert owners(integer)["integer_conv"] == "conv_1"
    assert [d["mine"][0] for _, d in stream.nodes(data=True) if d["type"] == "matvec"] == ["conv_1", "linear_1"]
    assert (owners(stream)["stream_maximum"], owners(integer)["integer_linear"]) == ("max_pool_1", "linear_1")
    assert {stream.nodes[name]["mine"][0] for name in "xy"} == {"x", "y"}
    assert {data["backend"] for _, data in stream.nodes(data=True) if "mine" in data} == {"dsp"}


def test_onnx_carries_them_out_and_in():
    graph = net()
    graph.nodes["conv_1"][7] = np.float32([1, 2])
    model = to_onnx(graph)
    again = from_onnx(model)
    assert again == graph
    assert again.annotations("linear_1") == {"mine": ["linear_1", (1,)], "backend": "dsp"}
    assert all(isinstance(again.nodes[node]["mine"], list) for node in again)
    (node,) = (node for node in model.graph.node if node.name == "conv_1")
    entry = next(entry for entry in node.metadata_props if entry.key == "graphrewrite.mine")
    entry.key = "graphrewrite.strides"  # an attribute of conv here: it is no annotation
    assert from_onnx(model).attributes("conv_1") == graph.attributes("conv_1")
    for key, value in (("graphrewrite.mine", "{"), ("graphrewrite.type", "1"), ("graphrewrite.backend", "[1]")):
        entry.key, entry.value = key, value
        with pytest.raises(ModelError, match=f"node 'conv_1': its metadata {re.escape(repr(key))} is no annotation"):
            from_onnx(model)


@pytest.mark.parametrize("is_constant", [False, True])
def test_onnx_carries_predicates_too(is_constant):
    graph = Graph("g")
    x, flags = graph.input("x", Tensor("f32", ("N", 4))), graph.input("flags", Tensor("f32", (1,)))
    needed = graph.constant(np.array([True])) if is_constant else op.greater(flags, np.float32([0.5]))
    graph.output("y", op.relu(op.neg(x)))
    graph.set_predicate("relu_1", needed)
    graph.set_predicate("neg_1", needed)
    model = to_onnx(graph)
    assert from_onnx(model) == graph
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = "nobody"
    with pytest.raises(ModelError, match=r"the predicate of '.*' reads 'nobody', which nothing in the model computes"):
        from_onnx(model)


@pytest.mark.parametrize("batch", [3, "N"])
def test_one_constant_that_several_nodes_leave_out_is_read_as_one(batch):
    """ONNX leaves states of zeros out, those of both layers, which are one constant here."""
    graph, weights = Graph("g"), np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 16, 4)
    value = graph.input("x", Tensor("f32", (5, batch, 4)))
    for _ in range(2):
        value = op.reshape(op.lstm(value, weights, weights)[0], shape=(5, batch, 4))
    graph.output("y", value)
    merged = rewrite(graph, RULES)
    states = [node for node in merged if merged.nodes[node].get("result") == Tensor("f32", (1, 1, 4))]
    assert len(states) == 1
    model = to_onnx(merged)
    assert from_onnx(model, batch=None) == merged
    for node in model.graph.node:  # without what is written about it, or with what is not so, it is read as it was
        del node.metadata_props[:]
    assert len(from_onnx(model, batch=None)) > len(merged)
    for text in ('{"5": "x"}', '{"5": 3}', "[", "[1]", '{"a": "b"}'):
        model.graph.node[0].metadata_props.add(key="graphrewrite:left_out", value=text)
        assert len(from_onnx(model, batch=None)) > len(merged)
        del model.graph.node[0].metadata_props[:]


def test_what_is_computed_from_buffers_is_a_buffer():
    """By rules and by clean-up: it is not trained either; of parameters it is."""

    @rule
    def one_factor(x, c: Constant, d: Constant):
        yield op.mul(op.mul(x, c), d)
        return op.mul(x, c * d)

    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    for of_table, of_gain in ((False, False), (False, True), (True, True)):
        table, gain = graph.constant(np.ones((2, 3), np.float32)), graph.constant(np.float32([2, 3, 5]))
        for each, trainable in ((table, of_table), (gain, of_gain)):
            graph.nodes[each.node].update({} if trainable else {"trainable": False})
        row = op.slice(table, starts=(1,), ends=(2,), axes=(0,))
        graph.output(f"y{of_table}{of_gain}", op.mul(op.mul(op.mul(x, gain), np.float32(3)), row))
    folded = rewrite(rewrite(graph, [eliminate_independent_nodes]), [one_factor])
    for name, trainable in (("yFalseFalse", False), ("yFalseTrue", True), ("yTrueTrue", True)):
        factor = folded.operands(folded.operands(name)[0].node)[1].node
        np.testing.assert_array_equal(folded.nodes[factor]["value"], [[6, 9, 15]])
        assert folded.nodes[factor].get("trainable", True) == trainable
