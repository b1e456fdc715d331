"""Attention, and layers with a state: the whole sequence at once, or a part after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graphrewrite import Graph, GraphRewriteError, evaluate, op
from graphrewrite.lowering import from_onnx, to_onnx
from tests.support.sessions import session_of

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def run(kind, operands, outputs, *, opset=24, **attributes):
    """The outputs of one node, some operands of which are missing."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(operands)]
    given_inputs = {name: array for name, array in zip(names, operands, strict=True) if name}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given_inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([helper.make_node(kind, names, outputs, **attributes)], "g", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return evaluate(from_onnx(model, batch=None), given_inputs)


def attended(q, k, v, seen):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.where(seen, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


@given(seeds, st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2]), st.booleans())
def test_a_cache_continues_a_sequence(rng, before, now, groups, masked):
    shape = (2, 2, before + now, 4)
    q = rng.normal(size=(2, 2 * groups, now, 4)).astype(np.float32)
    k, v = rng.normal(size=(2, *shape)).astype(np.float32)
    mask = rng.random((2, 1, now, before + now)) < 0.7 if masked else None
    operands = [q, k[:, :, before:], v[:, :, before:], mask, k[:, :, :before], v[:, :, :before]]
    found = run("Attention", operands, ["y", "keys", "values"], is_causal=1)
    seen = np.arange(before + now) <= np.arange(now)[:, None] + before
    seen = seen if mask is None else seen & mask
    expected = attended(q, np.repeat(k, groups, 1), np.repeat(v, groups, 1), seen)
    np.testing.assert_allclose(found["y"], expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(found["keys"], k)
    assert np.array_equal(found["values"], v)


@pytest.mark.parametrize("shown", range(4))
@pytest.mark.parametrize(
    "attributes", [{"softcap": 0.5}, {"scale": 0.3}, {"softmax_precision": 11, "is_causal": 1}], ids=str
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_part_is_that_of_the_reference(shown, attributes, packed):
    rng = np.random.default_rng(shown)
    q, k, v = (rng.normal(size=(2, *shape)).astype(np.float32) for shape in ((4, 3, 6), (2, 3, 6), (2, 3, 5)))
    mask = rng.normal(size=(3, 3)).astype(np.float32)
    if packed:
        q, k, v = (x.swapaxes(1, 2).reshape(2, 3, -1) for x in (q, k, v))
        attributes = {**attributes, "q_num_heads": 4, "kv_num_heads": 2}
    attributes = {**attributes, "qk_matmul_output_mode": shown}
    operands, names = [q, k, v, mask], ["y", "", "", "scores"]
    node = helper.make_node("Attention", ["q", "k", "v", "m"], names, **attributes)
    typed = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in zip("qkvm", operands, strict=True)
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "scores")]
    graph = helper.make_graph([node], "g", typed, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    inputs = dict(zip("qkvm", operands, strict=True))
    found = evaluate(from_onnx(model, batch=None), inputs)
    wanted = ReferenceEvaluator(model).run(None, inputs)
    if "softcap" in attributes and shown == 0:  # where the reference caps them already, against the specification
        wanted[1] = np.arctanh(wanted[1] / 0.5) * 0.5
    for name, want in zip(("y", "scores"), wanted, strict=True):
        np.testing.assert_allclose(found[name], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shapes", "attributes", "told"),
    [
        (((2, 3, 6),) * 3, {}, "q_num_heads and kv_num_heads"),
        (((2, 3, 6),) * 3, {"q_num_heads": 4, "kv_num_heads": 2}, "not divisible by 4 heads"),
        (((2, 4, 3, 6), *((2, 3, 3, 6),) * 2), {"softcap": 1.0}, "4 heads of queries cannot share 3"),
    ],
)
def test_heads_that_do_not_fit(shapes, attributes, told):
    with pytest.raises(GraphRewriteError, match=told):
        run("Attention", [np.ones(shape, np.float32) for shape in shapes], ["y"], **attributes)


@given(seeds, st.integers(-1, 2), st.integers(-1, 2), st.booleans())
def test_queries_see_what_is_in_their_window_and_within_the_length(rng, left, right, causal):
    q, k, v = rng.normal(size=(3, 2, 1, 4, 3)).astype(np.float32)
    lengths = rng.integers(1, 5, 2)
    window = {"left_window_size": left, "right_window_size": right, "is_causal": int(causal)}
    found = run("Attention", [q, k, v, None, None, None, lengths], ["y"], opset=25, **window)
    counts = lengths[:, None, None, None]
    ahead = np.arange(4) - (np.arange(4)[:, None] + counts - 4)
    seen = (np.arange(4) < counts) & (ahead <= (right if right >= 0 else 9)) & (ahead >= (-left if left >= 0 else -9))
    expected = attended(q, k, v, seen & (ahead <= 0) if causal else seen)
    np.testing.assert_allclose(found["y"], expected, rtol=1e-4, atol=1e-5)


@given(seeds, st.sampled_from(["linear", "gated", "delta", "gated_delta"]), st.integers(1, 3))
def test_linear_attention_goes_on_from_its_state(rng, rule, split):
    q, k = rng.normal(size=(2, 2, 4, 8))
    v, decay, beta = rng.normal(size=(2, 4, 6)), -rng.random((2, 4, 2)), rng.random((2, 4, 1))
    heads = {"heads": 2, "kv_heads": 2, "update_rule": rule}
    state = np.zeros((2, 2, 4, 3))
    whole, last = op.linear_attention(q, k, v, state, decay, beta, **heads)
    parts = []
    for part in (slice(split), slice(split, None)):
        given_part = [x[:, part] for x in (q, k, v)], [x[:, part] for x in (decay, beta)]
        y, state = op.linear_attention(*given_part[0], state, *given_part[1], **heads)
        parts.append(y)
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole)
    np.testing.assert_allclose(state, last)


@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_a_causal_convolution_goes_on_from_its_state(rng, width, split):
    x, w = rng.normal(size=(2, 3, 5)).astype(np.float32), rng.normal(size=(3, 1, width)).astype(np.float32)
    whole = run("CausalConvWithState", [x, w], ["y", "state"], opset=27)
    first = run("CausalConvWithState", [x[:, :, :split], w], ["y", "state"], opset=27)
    then = run("CausalConvWithState", [x[:, :, split:], w, None, first["state"]], ["y", "state"], opset=27)
    np.testing.assert_allclose(np.concatenate([first["y"], then["y"]], axis=2), whole["y"], atol=1e-5)
    assert np.array_equal(then["state"], whole["state"])


INPUTS = "q = input() : f32[N,4,T,6]\nk = input() : f32[N,2,S,6]\nv = input() : f32[N,2,S,5]\n"
WRITTEN = {
    "plain": ("r = attention(q, k, v)", "Attention"),
    "scaled": ("r = attention(q, k, v, scale=0.25, is_causal=True)", "Attention"),
    "masked": ("m = input() : f32[N,1,T,S]\nr = attention(q, k, v, m)", "Attention"),
    "truth": ("m = input() : bool[T,S]\nr = attention(q, k, v, m, is_causal=True)", "Attention"),
    "turned": ("c = input() : f32[N,T,3]\ns = input() : f32[N,T,3]\nr = rotary_embedding(q, c, s)", "RotaryEmbedding"),
    "turned in part": (
        "c = input() : f32[N,T,2]\ns = input() : f32[N,T,2]\nr = rotary_embedding(q, c, s, interleaved=True)",
        "RotaryEmbedding",
    ),
}


def operands_of(graph):
    random = np.random.default_rng(0)
    sizes = {"N": 2, "T": 3, "S": 7}
    found = {}
    for name in graph.inputs:
        kind = graph.result_type(name)
        array = random.normal(size=[sizes.get(size, size) for size in kind.shape])
        found[name] = array > -1 if kind.element == "bool" else array.astype(np.float32)
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_they_are_written_as_what_they_are_or_by_older_ops(name):
    lines, kind = WRITTEN[name]
    graph = Graph.parse(f"graph g\n{INPUTS}{lines}\ny = output(r)")
    model, older = to_onnx(graph), to_onnx(graph, opset=18)
    assert model.opset_import[0].version == 23
    assert [node.op_type for node in model.graph.node] == [kind]
    assert kind not in {node.op_type for node in older.graph.node}
    assert from_onnx(model, batch=None) == graph
    given_inputs = operands_of(graph)
    expected = evaluate(graph, given_inputs)["y"]
    for each in (model, older):
        found = session_of(each.SerializeToString()).run(None, given_inputs)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ReferenceEvaluator(model).run(None, given_inputs)[0], expected, rtol=1e-4, atol=1e-5)


def test_a_turn_of_doubles_is_written_by_products():
    graph = Graph.parse(
        "graph g\nx = input() : f64[N,2,T,4]\nc = input() : f64[N,T,2]\nr = rotary_embedding(x, c, c)\ny = output(r)"
    )
    model = to_onnx(graph)
    assert "RotaryEmbedding" not in {node.op_type for node in model.graph.node}
    x, c = np.random.default_rng(0).normal(size=(2, 2, 3, 4)), np.ones((2, 3, 2))
    found = session_of(model.SerializeToString()).run(None, {"x": x, "c": c})[0]
    np.testing.assert_allclose(found, evaluate(graph, {"x": x, "c": c})["y"])


@given(seeds, st.sampled_from([(1, 1, 1, 5), (1, 5), (5,), (2, 1, 4, 3)]), st.booleans())
def test_masks_that_repeat_or_end_before_the_keys_are_made_whole(rng, shape, truth):
    q, k, v = (rng.normal(size=(2, 3, n, 2)).astype(np.float32) for n in (4, 5, 5))
    mask = rng.normal(size=shape).astype(np.float32)
    mask = mask < 0.5 if truth else mask
    seen = np.broadcast_to(mask, (2, 3, 4, shape[-1])) if truth else np.ones((2, 3, 4, shape[-1]), bool)
    seen = np.concatenate([seen, np.zeros((2, 3, 4, 5 - shape[-1]), bool)], -1)
    added = np.zeros((*shape[:-1], 5)) if truth else np.concatenate([mask, np.zeros((*shape[:-1], 5 - shape[-1]))], -1)
    scores = np.where(seen, q @ k.swapaxes(-1, -2) / np.sqrt(2) + added, -np.inf)
    weights = np.where(seen, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    found = run("Attention", [q, k, v, mask], ["y"])["y"]
    np.testing.assert_allclose(found, weights / np.where(total == 0, 1, total) @ v, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "outputs", "fused"),
    [
        ({}, ["y"], True),
        ({"softcap": 2.0}, ["y"], False),
        ({"softmax_precision": TensorProto.FLOAT}, ["y"], True),
        ({"softmax_precision": TensorProto.DOUBLE}, ["y"], False),
        ({"qk_matmul_output_mode": 3}, ["y", "", "", "w"], False),
        ({"is_causal": 1}, ["y"], True),
    ],
)
def test_what_the_op_says_is_one_node(attributes, outputs, fused):
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 2, 3, 4)) for n in "qkv"]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    node = helper.make_node("Attention", ["q", "k", "v"], outputs, **attributes)
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, results), opset_imports=[helper.make_opsetid("", 23)]
    )
    graph = from_onnx(model)
    assert ("attention" in {graph.nodes[each]["type"] for each in graph}) == fused
