"""Rotary embedding as exporters write it, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.lowering import optimise, to_onnx
from graphrewrite.rewriting.facts import facts_of
from graphrewrite.rules.recognition.rotary import (
    repeated,
)
from tests.rules.recognition.recognising import NUMPY, ops, recognised
from tests.support.rotations import cut, halves, side_by_side, whole
from tests.support.sessions import session_of

SIZES = ("N", 2, 5, 8)


def graph_of(form, element="f32", *, angles=(1, 5, 4), first=True, more=0, start=0):
    """Entries of which some in front and behind are not turned."""
    graph = Graph("parts")
    x = graph.input("x", Tensor(element, (*SIZES[:3], start + 8 + more)))
    turned = x if not start + more else cut(x, start, start + 8)
    y = form(turned, graph.input("a", Tensor(element, angles)), first=first)
    around = [cut(x, 0, start)] * (start > 0), [cut(x, start + 8, start + 8 + more)] * (more > 0)
    graph.output("y", op.concat(*around[0], y, *around[1], axis=-1) if start + more else y)
    return graph


def embedding(graph):
    (node,) = (node for node in graph if graph.nodes[node]["type"] == "rotary_embedding")
    return graph.attributes(node)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("element", NUMPY)
@pytest.mark.parametrize("form", [whole, halves, side_by_side])
def test_a_rotary_embedding_is_recognised(form, element, first, folded):
    after = recognised(graph_of(form, element, first=first), folded=folded)
    assert set(ops(after)) == {"cos", "sin", "expand", "rotary_embedding"}
    assert embedding(after)["interleaved"] == (form is side_by_side)


@pytest.mark.parametrize("angles", [("N", 1, 5, 4), (1, 1, 5, 4), (5, 4), (1, 4), (4,)])
@pytest.mark.parametrize("form", [whole, halves, side_by_side])
def test_angles_may_be_those_of_all_samples_or_steps(form, angles):
    assert ops(recognised(graph_of(form, angles=angles))).count("rotary_embedding") == 1


@pytest.mark.parametrize(("start", "more"), [(0, 2), (3, 0), (3, 2)])
@pytest.mark.parametrize("form", [whole, halves, side_by_side])
def test_a_part_of_the_entries_may_be_turned(form, start, more):
    after = recognised(graph_of(form, start=start, more=more))
    assert set(ops(after)) <= {"cos", "sin", "expand", "rotary_embedding", *["slice", "concat"] * (start > 0)}


@pytest.mark.parametrize("form", [whole, halves, side_by_side])
def test_heads_may_come_behind_the_steps(form):
    after = recognised(graph_of(form, angles=("N", 2, 1, 4)))
    assert [kind for kind in ops(after) if kind not in ("cos", "sin", "expand", "reshape")] == [
        *("transpose", "rotary_embedding", "transpose")
    ]


@pytest.mark.parametrize("angles", [("N", 2, 5, 4), (2, 5, 4)])
@pytest.mark.parametrize("form", [whole, halves, side_by_side])
def test_angles_that_differ_from_head_to_head_stay(form, angles):
    assert "rotary_embedding" not in ops(recognised(graph_of(form, angles=angles)))


def test_tables_of_angles_are_halved():
    def tables(x, places, *, first):
        table = np.arange(48, dtype=np.float32).reshape(12, 4)
        full = [np.concatenate([f(table)] * 2, -1) for f in (np.cos, np.sin)]
        cos, sin = (op.unsqueeze(op.gather(each, op.cast(places, element="i64"), axis=0), axes=(1,)) for each in full)
        exchanged = op.concat(op.neg(cut(x, 4, 8)), cut(x, 0, 4), axis=-1)
        return x * cos + exchanged * sin

    graph = Graph("llama")
    x, places = graph.input("x", Tensor("f32", SIZES)), graph.input("p", Tensor("i64", ("N", 5)))
    graph.output("y", tables(x, places, first=True))
    after = optimise(graph, approximate=True)
    assert ops(after).count("rotary_embedding") == 1
    given = {
        "x": np.random.default_rng(0).normal(size=(3, 2, 5, 8)).astype(np.float32),
        "p": np.arange(15).reshape(3, 5) % 12,
    }
    expected = evaluate(graph, given)["y"]
    np.testing.assert_allclose(evaluate(after, given)["y"], expected, rtol=1e-5, atol=1e-6)
    model = to_onnx(after)
    assert "RotaryEmbedding" in [node.op_type for node in model.graph.node]
    for each in (model, to_onnx(after, opset=22)):
        found = session_of(each.SerializeToString()).run(None, given)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("z = concat(a, a, axis=-1)", True),
        ("z = concat(a, b, axis=-1)", False),
        ("z = concat(a, a, axis=0)", False),
        ("z = concat(a, a, a, axis=1)", False),
        ("z = constant(value=[[1.0, 2.0, 1.0, 2.0]]) : f32[1,4]", True),
        ("z = constant(value=[[1.0, 2.0, 1.0]]) : f32[1,3]", False),
        ("z = constant(value=1.0) : f32[]", False),
        ("c = concat(a, a, axis=-1)\ns = sin(c)\nn = constant(value=2.0) : f32[]\nz = mul(s, n)", True),
        ("c = concat(a, a, axis=-1)\nz = add(c, d)", False),
        ("c = concat(a, a, axis=-1)\nz = add(c, e)", True),
        ("c = concat(a, a, axis=-1)\nz = reshape(c, shape=[1, 3, 4])", True),
        ("c = concat(a, a, axis=-1)\nz = reshape(c, shape=[4, 3])", False),
        ("c = concat(a, a, axis=-1)\nz = transpose(c, perm=[1, 0])", False),
        ("c = concat(a, a, axis=-1)\nu = unsqueeze(c, axes=[0])\nz = transpose(u, perm=[1, 0, 2])", True),
        ("c = concat(a, a, axis=-1)\nz = slice(c, starts=[1], ends=[3], axes=[0])", True),
        ("c = concat(a, a, axis=-1)\nz = slice(c, starts=[1], ends=[3], axes=[1])", False),
        ("c = concat(a, a, axis=-1)\nz = gather(c, i, axis=0)", True),
        ("c = concat(a, a, axis=-1)\nz = gather(c, i, axis=1)", False),
    ],
)
def test_what_is_known_of_halves(line, known):
    inputs = "".join(f"{n} = input() : f32[{s}]\n" for n, s in zip("abde", ("3,2", "3,2", "3,4", "3,1"), strict=True))
    graph = Graph.parse(f"graph g\n{inputs}i = input() : i64[2]\n{line}\ny = output(z)")
    assert facts_of(graph, repeated)["z"] is known


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("form", [whole, halves])
def test_halves_may_be_results_of_a_split(form, folded):
    graph = graph_of(form)
    slices = [node for node in graph if graph.nodes[node]["type"] == "slice"]
    split = op.split(graph.value("x"), sizes=(4, 4), axis=3)
    for node in slices:
        first = dict(graph.attributes(node))["starts"] == (0,)
        rewire(graph, node, Operand(split[0].node, 0 if first else 1))
        graph.remove_node(node)
    assert "rotary_embedding" in ops(recognised(graph, folded=folded))


def test_halves_that_are_not_turned_stay_a_split():
    graph = Graph("gated")
    gate, value = op.split(graph.input("x", Tensor("f32", SIZES)), sizes=(4, 4), axis=3)
    graph.output("y", op.mul(op.sigmoid(gate), value))
    assert "split" in ops(recognised(graph))
