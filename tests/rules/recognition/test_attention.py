"""Attention as exporters write it, and what is none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.lowering import Target, from_onnx, optimise, to_onnx
from graphrewrite.rules.recognition import RECOGNISE_ATTENTION
from tests.rules.recognition.recognising import NUMPY, ops, recognised
from tests.support.sessions import session_of

LATER = np.triu(np.ones((5, 5), bool), 1)


def turned(k, perm=(0, 1, 3, 2)):
    return op.transpose(k, perm=perm)


def attended(q, k, v, scores=lambda s: s, axis=-1):
    return op.matmul(op.softmax(scores(op.matmul(q, turned(k))), axis=axis), v)


def number(x, value):
    return np.asarray(value, NUMPY[x.type.element])


def hidden(x):
    return np.where(LATER, number(x, -np.inf), 0).astype(NUMPY[x.type.element])


def split_before(q, k, v, m):
    """Heads and samples are one axis, on which keys are turned."""
    columns = op.transpose(op.reshape(k, shape=("3*N", 5, 4)), perm=(0, 2, 1))
    return op.matmul(op.softmax(op.matmul(q, op.reshape(columns, shape=("N", 3, 4, 5)))), v)


def guarded(q, k, v, m):
    """As PyTorch exports it where all keys may be hidden."""
    shares = op.softmax(op.matmul(q, turned(k)) + m)
    return op.matmul(op.where(op.is_nan(shares), number(q, 0), shares), v)


FORMS = {
    "plain": lambda q, k, v, m: attended(q, k, v),
    "over a root": lambda q, k, v, m: attended(q, k, v, lambda s: s / number(q, 2.0)),
    "times its inverse": lambda q, k, v, m: attended(q, k, v, lambda s: number(q, 0.5) * s, axis=3),
    "queries scaled": lambda q, k, v, m: attended(q * number(q, 0.5), k, v),
    "keys scaled": lambda q, k, v, m: attended(q, k / number(q, 2), v),
    "both scaled": lambda q, k, v, m: attended(q * number(q, 0.7), k * number(q, 0.7), v),
    "scaled below the transpose": lambda q, k, v, m: op.matmul(op.softmax(op.matmul(q, turned(k * number(q, 0.5)))), v),
    "scaled above the transpose": lambda q, k, v, m: op.matmul(op.softmax(op.matmul(q, turned(k) * number(q, 0.5))), v),
    "masked": lambda q, k, v, m: attended(q, k, v, lambda s: s * number(q, 0.5) + m),
    "mask first": lambda q, k, v, m: attended(q, k, v, lambda s: m + s / number(q, 2)),
    "masked twice": lambda q, k, v, m: attended(q, k, v, lambda s: hidden(q) + s * number(q, 0.5) + m),
    "masked last": lambda q, k, v, m: attended(q, k, v, lambda s: m + s + hidden(q)),
    "causal, -inf": lambda q, k, v, m: attended(q, k, v, lambda s: s + hidden(q)),
    "causal, chosen": lambda q, k, v, m: attended(q, k, v, lambda s: op.where(~LATER, s, number(q, -np.inf))),
    "causal, hidden": lambda q, k, v, m: attended(q, k, v, lambda s: op.where(LATER, number(q, -6e4), s)),
    "split before": split_before,
    "guarded": guarded,
}
OTHERS = {
    "another axis": lambda q, k, v, m: attended(q, k, v, axis=2),
    "no transpose": lambda q, k, v, m: op.matmul(op.softmax(op.matmul(q, op.reshape(k, shape=(0, 0, 4, 5)))), v),
    "a factor below 0": lambda q, k, v, m: attended(q, k, v, lambda s: s * number(q, -0.5)),
    "a factor of each head": lambda q, k, v, m: attended(q, k, v, lambda s: s * number(q, [1, 2, 3]).reshape(3, 1, 1)),
    "a step between": lambda q, k, v, m: attended(q, k, v, op.tanh),
    "shares as an output": lambda q, k, v, m: attended(q, k, v, lambda s: op.relu(op.softmax(s))),
}


def graph_of(body, element="f32", mask=("N", 1, 1, 5)):
    graph = Graph("parts")
    q, k, v = (graph.input(name, Tensor(element, ("N", 3, 5, 4))) for name in "qkv")
    graph.output("y", body(q, k, v, graph.input("m", Tensor(element, mask))))
    return graph


def only(graph, kind):
    (node,) = (node for node in graph if graph.nodes[node]["type"] == kind)
    return graph.attributes(node)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("name", FORMS)
def test_attention_is_recognised(name, element, folded):
    after = recognised(graph_of(FORMS[name], element), folded=folded)
    assert set(ops(after)) <= {"attention", "expand", "reshape", "add"}
    assert only(after, "attention")["is_causal"] == name.startswith("causal")


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_attention_stays(name, folded):
    assert "attention" not in ops(recognised(graph_of(OTHERS[name]), folded=folded))


@pytest.mark.parametrize("mask", [("N", 3, 5, 5), ("N", 1, 5, 5), (3, 1, 5), (5, 5), (5,), (1, 5), ()])
def test_a_mask_has_an_entry_for_each_query_and_key(mask):
    after = recognised(graph_of(FORMS["masked"], mask=mask))
    assert ops(after) == (["attention"] if mask[-2:] == (5, 5) else ["expand", "attention"])


def test_shares_that_others_read_stay():
    def body(q, k, v, m):
        shares = op.softmax(op.matmul(q, turned(k)))
        return op.matmul(shares, v) + op.reduce_sum(shares)

    assert "softmax" in ops(recognised(graph_of(body)))


def test_heads_that_are_repeated_are_shared():
    graph = Graph("llama")
    q, k, v = (graph.input(n, Tensor("f32", ("N", h, 5, 4))) for n, h in (("q", 6), ("k", 2), ("v", 2)))
    each = [
        op.reshape(op.expand(op.unsqueeze(x, axes=(2,)), shape=("N", 2, 3, 5, 4)), shape=("N", 6, 5, 4)) for x in (k, v)
    ]
    graph.output("y", attended(q, *each, lambda s: s * 0.5))
    after = recognised(graph)
    assert ops(after) == ["attention"]
    assert [operand.node for operand in after.operands(after.operands("y")[0].node)] == ["q", "k", "v"]


def transformer(shape=(2, 6, 16), heads=4):
    """A block of a transformer that sees what came before, written with onnx's helper."""
    random = np.random.default_rng(1)
    (_, steps, size), each, inits, nodes = shape, shape[2] // heads, [], []

    def constant(array):
        inits.append(numpy_helper.from_array(np.asarray(array), f"c{len(inits)}"))
        return inits[-1].name

    def node(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, [f"n{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def layer(x, outputs):
        return node("MatMul", x, constant(random.normal(0, 0.3, (size, outputs)).astype(np.float32)))

    def rows(x, perm):
        return node("Transpose", node("Reshape", x, constant(np.array([0, steps, heads, each]))), perm=perm)

    ones = constant(np.ones(size, np.float32))
    before = node("LayerNormalization", "x", ones)
    q, k, v = (rows(layer(before, size), perm) for perm in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)))
    scores = node("Div", node("MatMul", q, k), constant(np.float32(each**0.5)))
    mask = np.where(np.tri(steps, dtype=bool), 0, -np.inf).astype(np.float32)[None, None]
    shares = node("Softmax", node("Add", scores, constant(mask)), axis=-1)
    joined = node("Transpose", node("MatMul", shares, v), perm=(0, 2, 1, 3))
    mixed = node("Add", "x", layer(node("Reshape", joined, constant(np.array([0, steps, size]))), size))
    inner = node("Relu", layer(node("LayerNormalization", mixed, ones), size))
    node("Add", mixed, layer(inner, size))
    nodes[-1].output[0] = "y"
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ("N", *shape[1:])) for n in "xy"]
    model = helper.make_model(
        helper.make_graph(nodes, "block", info[:1], info[1:], inits), opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.checker.check_model(model, full_check=True)
    return model, random.normal(size=shape).astype(np.float32)


def test_a_block_of_a_transformer_has_one_node_of_attention():
    model, x = transformer()
    graph = from_onnx(model)
    after = optimise(graph, approximate=True)
    assert ops(after).count("attention") == 1
    assert "softmax" not in ops(after)
    assert only(after, "attention")["is_causal"]
    expected = session_of(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(evaluate(after, {"x": x})["y"], expected, rtol=1e-4, atol=1e-5)
    written = to_onnx(after)
    assert [node.op_type for node in written.graph.node].count("Attention") == 1
    older = to_onnx(after, opset=22)
    assert "Attention" not in {node.op_type for node in older.graph.node}
    for each in (written, older):
        found = session_of(each.SerializeToString()).run(None, {"x": x})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_target_without_attention_keeps_the_parts():
    graph = from_onnx(transformer()[0])
    parts = optimise(graph, Target("parts", fused=RECOGNISE_ATTENTION, ops=frozenset({"softmax"})), approximate=True)
    assert ops(parts).count("softmax") == 1
    assert "attention" not in ops(parts)


@pytest.mark.parametrize("batch", [(), ("N",)])
@pytest.mark.parametrize("mask", [None, (5, 6), (1, 6), ("N", 5, 6)])
def test_fewer_axes_have_one_head(batch, mask):
    graph = Graph("parts")
    q, k, v = (graph.input(n, Tensor("f32", (*batch, steps, 4))) for n, steps in (("q", 5), ("k", 6), ("v", 6)))
    scores = op.matmul(q, turned(k, (1, 0) if not batch else (0, 2, 1))) * np.float32(0.5)
    if mask is not None:
        scores = scores + graph.input("m", Tensor("f32", mask))
    graph.output("y", op.matmul(op.softmax(scores), v))
    repeats = mask is not None and len(mask) > len(graph.result_type("q").shape)
    assert ("attention" in ops(recognised(graph))) != repeats


def test_heads_beside_samples_leave_no_more_reshapes():
    """As PyTorch's multi-head attention is exported: heads and samples are one axis, steps the first one."""
    graph = Graph("parts")
    x = graph.input("x", Tensor("f32", (5, 2, 8)))

    def heads(y):
        return op.transpose(op.reshape(y, shape=(5, 4, 4)), perm=(1, 0, 2))

    q, k, v = heads(x), heads(op.relu(x)), heads(op.tanh(x))
    y = op.matmul(op.softmax(op.matmul(q, turned(k, (0, 2, 1)))), v)
    graph.output("y", op.reshape(op.transpose(y, perm=(1, 0, 2)), shape=(5, 2, 8)))
    after = ops(recognised(graph))
    assert (after.count("attention"), after.count("reshape"), after.count("transpose")) == (1, 4, 4)
