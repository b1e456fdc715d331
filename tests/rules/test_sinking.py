"""Transposes and reshapes behind ops that they do not concern."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import REARRANGE_LAST, RULES, eliminate_dead_nodes
from graphrewrite.rules.sinking import (
    clip_before_rearranging,
    greatest_without_transpose,
    sum_without_transpose,
    tile_before_transpose,
    transpose_after_sum,
)

TO_FIRST = (0, 3, 1, 2)
C = np.arange(15 * 5 * 10, dtype=np.float32).reshape(1, 15, 5, 10)


def _chain(graph: Graph) -> list[str]:
    """The ops from the output back to the input, through first operands."""
    kinds, node = [], graph.operands("y")[0].node
    while graph.nodes[node]["type"] != "input":
        kinds.append(graph.nodes[node]["type"])
        node = next(o.node for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant")
    return kinds


def _graph(build, *shapes) -> Graph:
    graph = Graph("g")
    values = [graph.input(name, Tensor("f32", shape)) for name, shape in zip("xz", shapes, strict=False)]
    graph.output("y", build(*values))
    return graph


def _check(build, shapes, rules, chain) -> Graph:
    graph = _graph(build, *shapes)
    made = rewrite(graph, rules)
    assert _chain(made) == chain
    random = np.random.default_rng(0)
    inputs = {n: random.normal(size=(1, *graph.result_type(n).shape[1:])).astype(np.float32) for n in graph.inputs}
    np.testing.assert_allclose(evaluate(made, inputs)["y"], evaluate(graph, inputs)["y"], rtol=1e-6)
    assert rewrite(made, rules) == made
    return made


def _stored(x):
    return op.dequantize_linear(op.quantize_linear(x, np.float32(0.1), np.int8(2)), np.float32(0.1), np.int8(2))


SHAPE = ("N", 5, 10, 15)
FORMS = {
    "relu": (op.relu, ["relu"]),
    "clip": (lambda x: op.clip(x, low=0.0, high=6.0), ["clip"]),
    "pad": (lambda x: op.pad(x, pads=(0, 2, 3, 1, 4, 6, 7, 5), fill=23.0), ["pad"]),
    "constant first": (lambda x: op.add(C, x), ["add"]),
    "constant subtracted from": (lambda x: op.sub(C, x), ["sub"]),
    "constant last": (lambda x: op.div(x, C + 1), ["div"]),
    "constant of each channel": (lambda x: op.mul(x, C[0, :, :1, :1]), ["mul"]),
    "number": (lambda x: op.pow(x, np.float32(2)), ["pow"]),
    "cast": (lambda x: op.cast(op.cast(x, element="f64"), element="f32"), ["cast", "cast"]),
    "cut": (lambda x: op.slice(x, starts=(1,), ends=(3,), axes=(2,)), ["slice"]),
    "greatest": (lambda x: op.reduce_max(x, axes=(1,)), ["reduce_max"]),
    "stored": (_stored, ["dequantize_linear", "quantize_linear"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_transpose_comes_last(name):
    build, kinds = FORMS[name]
    _check(lambda x: build(op.transpose(x, perm=TO_FIRST)), [SHAPE], REARRANGE_LAST, ["transpose", *kinds])


@pytest.mark.parametrize("kind", ["add", "pow", "concat"])
def test_two_transposes_of_one_kind_are_one(kind):
    binary = {"add": op.add, "pow": op.pow, "concat": lambda x, z: op.concat(x, z, axis=1)}[kind]
    build = lambda x, z: binary(op.transpose(x, perm=TO_FIRST), op.transpose(z, perm=TO_FIRST))  # noqa: E731
    rules = (*REARRANGE_LAST, eliminate_dead_nodes)
    made = _check(build, [SHAPE, SHAPE], rules, ["transpose", kind])
    assert sum(made.nodes[n]["type"] == "transpose" for n in made) == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda x, z: op.add(op.transpose(x, perm=TO_FIRST), op.transpose(z, perm=(0, 3, 2, 1))),
        lambda x, z: op.add(op.transpose(x, perm=TO_FIRST), z),
    ],
)
def test_others_stay(build):
    graph = _graph(build, ("N", 5, 5, 5), ("N", 5, 5, 5))
    assert rewrite(graph, REARRANGE_LAST) == graph


def test_what_others_read_transposed_stays():
    graph = Graph.parse("""graph g
        x = input() : f32[N,5,10,15]
        t = transpose(x, perm=[0,3,1,2])
        r = relu(t)
        y = output(r)
        z = output(t)""")
    assert rewrite(graph, REARRANGE_LAST) == graph


def test_a_reshape_comes_last():
    def build(x):
        return op.tanh(op.clip(op.sin(op.abs(op.reshape(x, shape=("N", 5, 20)))), low=-4.0, high=5.0))

    _check(build, [("N", 10, 10)], REARRANGE_LAST, ["reshape", "tanh", "clip", "sin", "abs"])


def test_a_sum_of_reshapes_is_one_reshape():
    build = lambda x, z: op.sub(op.reshape(x, shape=("N", 20)), op.reshape(z, shape=("N", 20)))  # noqa: E731
    _check(build, [("N", 4, 5), ("N", 4, 5)], REARRANGE_LAST, ["reshape", "sub"])


def test_what_is_repeated_is_transposed_before():
    build = lambda x: op.transpose(op.tile(x, repeats=(1, 1, 1, 4)), perm=TO_FIRST)  # noqa: E731
    _check(build, [SHAPE], REARRANGE_LAST, ["tile", "transpose"])
    back = lambda x: op.tile(op.transpose(x, perm=TO_FIRST), repeats=(1, 4, 1, 1))  # noqa: E731
    _check(back, [SHAPE], tile_before_transpose, ["transpose", "tile"])


def test_a_softmax_comes_before_within_rounding():
    build = lambda x: op.softmax(op.transpose(x, perm=TO_FIRST), axis=1)  # noqa: E731
    made = _check(build, [SHAPE], transpose_after_sum, ["transpose", "softmax"])
    assert [made.attributes(n)["axis"] for n in made if made.nodes[n]["type"] == "softmax"] == [3]


def test_limits_come_before_all_rearrangements():
    def build(x):
        y = op.transpose(op.reshape(x, shape=("N", 16, 4)), perm=(0, 2, 1))
        return op.clip(op.tile(op.slice(y, starts=(4,), ends=(16,), axes=(2,)), repeats=(1, 2, 1)), low=-0.1, high=0.1)

    _check(build, [("N", 64)], clip_before_rearranging, ["tile", "slice", "transpose", "reshape", "clip"])


def test_they_agree_with_the_clean_up():
    build = lambda x: op.transpose(op.relu(op.transpose(x, perm=TO_FIRST)), perm=(0, 2, 3, 1))  # noqa: E731
    _check(build, [SHAPE], (*RULES, *REARRANGE_LAST), ["relu"])


@pytest.mark.parametrize("name", ["reduce_max", "reduce_mean"])
@pytest.mark.parametrize(("axes", "left"), [((2, 3), []), ((1,), []), ((0,), ["transpose"]), (None, [])])
def test_reductions_do_without(name, axes, left):
    build = lambda x: getattr(op, name)(op.transpose(x, perm=TO_FIRST), axes=axes, keep_dims=False)  # noqa: E731
    _check(build, [("N", 5, 10, 15)], (greatest_without_transpose, sum_without_transpose), [name, *left])
