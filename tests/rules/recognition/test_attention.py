"""Attention as exporters write it, and what is none."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.lowering import Target, from_onnx, optimise, to_onnx
from graphrewrite.rules.recognition import RECOGNISE_ATTENTION
from graphrewrite.rules.recognition.attention import (
    add_masks,
    hide_later_keys,
    recognise_attention,
    recognise_attention_of_chosen,
    recognise_masked_attention,
    scale_keys,
    scale_queries,
    share_keys,
)
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


INPUTS = "q = input() : f32[N,2,3,4]\nk = input() : f32[N,2,3,4]\nv = input() : f32[N,2,3,4]\n"
PRODUCT = "t = transpose(k, perm=[0, 1, 3, 2])\ns = matmul(q, t)\n"
SPLIT = "p = input() : f32[3,4,4]\nt = transpose(p, perm=[0, 2, 1])\nu = reshape(t, shape=[1, 2, 4, 6])\n"
DECLINED = {
    "a factor below 0": (
        recognise_attention,
        PRODUCT + "c = constant(value=-2.0) : f32[]\nx = mul(s, c)\nw = softmax(x)\nr = matmul(w, v)",
        "its factor is not one number above 0",
    ),
    "values of one head": (
        recognise_attention,
        "u = input() : f32[2,3,4]\n" + PRODUCT + "w = softmax(s)\nr = matmul(w, u)",
        r"values are \[N,heads,T,size\]",
    ),
    "keys of other entries": (
        recognise_attention,
        SPLIT + "o = input() : f32[1,2,6,4]\ns = matmul(o, u)\nw = softmax(s)\nr = matmul(w, o)",
        "more than split the first axis",
    ),
    "a mask that repeats": (
        recognise_masked_attention,
        "m = input() : f32[5,1,1,3,3]\n" + PRODUCT + "x = add(s, m)\nw = softmax(x)\nr = matmul(w, v)",
        "its mask repeats the scores",
    ),
    "two masks that repeat": (
        add_masks,
        "m = input() : f32[3,3]\nn = input() : f32[5,1,1,3,3]\n"
        + PRODUCT
        + "x = add(s, m)\nz = add(x, n)\nw = softmax(z)\nr = neg(w)",
        "a mask repeats the scores",
    ),
    "scores as low": (
        recognise_attention_of_chosen,
        "b = input() : bool[3,3]\nc = constant(value=-3.0) : f32[]\n"
        + PRODUCT
        + "x = where(b, s, c)\nw = softmax(x)\nr = matmul(w, v)",
        "not so low that it hides them",
    ),
    "a factor of each entry": (
        scale_queries,
        "c = constant(value=[1.0, 2.0, 1.0, 1.0]) : f32[4]\nx = mul(q, c)\nr = attention(x, k, v)",
        "the factor is not one number above 0",
    ),
    "a factor that is too large": (
        scale_queries,
        "c = constant(value=1e30) : f64[]\na = cast(q, element='f64')\nb = cast(k, element='f64')\nx = mul(a, c)\n"
        "r = attention(x, b, b, scale=1e300)",
        "is 0 or infinite",
    ),
    "a negative factor": (
        scale_keys,
        "c = constant(value=-1.0) : f32[]\nx = mul(k, c)\nr = attention(q, x, v)",
        "the factor is not one number above 0",
    ),
    "a mask that hides nothing": (
        hide_later_keys,
        "c = constant(value=[[0.0, -1e9, -1e9], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) : f32[3,3]\n"
        "r = attention(q, k, v, c)",
        "just the keys after each query",
    ),
    "a mask that adds": (
        hide_later_keys,
        "c = constant(value=[[0.0, -1e9, -1e9], [1.0, 0.0, -1e9], [0.0, 0.0, 0.0]]) : f32[3,3]\n"
        "r = attention(q, k, v, c)",
        "just the keys after each query",
    ),
    "heads one after the other": (
        share_keys,
        "e = input() : f32[N,1,2,3,4]\nf = input() : f32[N,1,2,3,4]\n"
        "x = expand(e, shape=['N', 2, 2, 3, 4])\na = reshape(x, shape=['N', 4, 3, 4])\n"
        "z = expand(f, shape=['N', 2, 2, 3, 4])\nb = reshape(z, shape=['N', 4, 3, 4])\n"
        "o = input() : f32[N,4,3,4]\nr = attention(o, a, b)",
        "not each head that is repeated",
    ),
    "heads in steps": (
        share_keys,
        "e = input() : f32[N,2,1,3,4]\nf = input() : f32[N,2,1,3,4]\n"
        "x = expand(e, shape=['N', 2, 2, 3, 4])\na = reshape(x, shape=['N', 2, 6, 4])\n"
        "z = expand(f, shape=['N', 2, 2, 3, 4])\nb = reshape(z, shape=['N', 2, 6, 4])\n"
        "o = input() : f32[N,2,3,4]\nr = attention(o, a, b)",
        "not the heads of each sample",
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_they_say_why_they_decline(name):
    member, lines, reason = DECLINED[name]
    graph = Graph.parse(f"graph g\n{INPUTS}{lines}\ny = output(r)")
    assert member(graph) == graph
    root = "w" if member is add_masks else "r"
    assert re.search(reason, " ".join(str(member.explain(graph, at=root)).split()))


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
