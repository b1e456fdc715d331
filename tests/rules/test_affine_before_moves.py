"""Norms and constants of channels, on the other side of reshapes, transposes and slices."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import FOLDING, RULES, fold_batch_norm, norm_before_reshape
from graphrewrite.rules.affine_before_moves import norm_before_concat, slice_before_norm

RANDOM = np.random.default_rng(0)
PARAMETERS = [RANDOM.uniform(0.5, 2, 4) for _ in range(4)]


def _norm(x):
    return op.batch_norm(x, *PARAMETERS)


def _kinds(graph: Graph) -> list[str]:
    moves = ("input", "output", "constant", "name_axes")
    return sorted(graph.nodes[n]["type"] for n in graph if graph.nodes[n]["type"] not in moves)


def _named(y):
    return op.name_axes(op.reshape(y, shape=("N", 6, 5, 4)), layout="NHWC")


def _rows(y):
    return op.transpose(op.reshape(y, shape=("N", 30, 4)), perm=(0, 2, 1))


def _last(y):
    return op.transpose(y, perm=(0, 2, 3, 1))


BEHIND = {
    "flattened": (None, lambda y: _norm(op.reshape(y, shape=("N", 4, 30)))),
    "in other rows": (None, lambda y: _norm(op.reshape(y, shape=("N", 4, 6, 5)))),
    "channels last, named again": ("NHWC", lambda y: _norm(_named(y))),
    "channels last, flattened": ("NHWC", lambda y: _norm(_rows(y))),
    "transposed": (None, lambda y: _norm(op.transpose(y, perm=(0, 1, 3, 2)))),
    "transposed with names": ("NHWC", lambda y: _norm(op.transpose(y, perm=(0, 3, 1, 2)))),
    "cut": (None, lambda y: _norm(op.slice(y, starts=(1,), ends=(4,), axes=(2,)))),
    "a bias, transposed": (None, lambda y: op.add(_last(y), PARAMETERS[0])),
    "a scale, transposed": (None, lambda y: op.mul(_last(y), PARAMETERS[0])),
    "a number, transposed": (None, lambda y: op.mul(_last(y), np.float64(3))),
    "a bias, flattened": (None, lambda y: op.add(op.reshape(y, shape=("N", 4, 30)), PARAMETERS[0][:, None])),
    "a bias, channels last": ("NHWC", lambda y: op.add(op.reshape(y, shape=("N", 30, 4)), PARAMETERS[0])),
}


@pytest.mark.parametrize("name", BEHIND)
def test_the_layer_before_takes_them_up(name):
    layout, build = BEHIND[name]
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", 5, 6, 3) if layout else ("N", 3, 5, 6), layout))
    random = np.random.default_rng(1)
    y = op.conv(x, random.normal(size=(4, 3, 3, 3)), random.normal(size=4), pads=(1, 1, 1, 1))
    graph.output("y", build(y))
    made = rewrite(graph, RULES + FOLDING)
    assert {*_kinds(made)} <= {"conv", "reshape", "slice", "transpose"}
    inputs = {"x": random.normal(size=(2, *graph.result_type("x").shape[1:]))}
    np.testing.assert_allclose(evaluate(made, inputs)["y"], evaluate(graph, inputs)["y"], rtol=1e-9)


@pytest.mark.parametrize("shape", [("N", 8, 15), ("N", 2, 2, 30)])
def test_a_norm_of_other_channels_stays(shape):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 4, 5, 6)))
    parameters = [np.ones(shape[1], np.float32)] * 4
    graph.output("y", op.batch_norm(op.reshape(x, shape=shape), *parameters))
    assert rewrite(graph, norm_before_reshape) == graph


@pytest.mark.parametrize(("axis", "first"), [(2, "slice"), (1, "batch_norm")])
def test_less_is_normalised(axis, first):
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", 4, 5, 6)))
    graph.output("y", op.slice(_norm(op.relu(x)), starts=(1,), ends=(3,), axes=(axis,)))
    made = rewrite(graph, slice_before_norm)
    (after,) = [
        n for n in made.in_order() if made.operands(n) and made.nodes[made.operands(n)[0].node]["type"] == "relu"
    ]
    assert made.nodes[after]["type"] == first


@pytest.mark.parametrize("layout", [None, "NHWC"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_norm_of_joined_layers_is_one_of_each(layout, shared):
    random = np.random.default_rng(2)
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", 5, 6, 2) if layout else ("N", 2, 5, 6), layout))
    branches = [op.conv(x, random.normal(size=(n, 2, 1, 1)), random.normal(size=n)) for n in (3, 1)]
    graph.output("y", _norm(op.concat(*branches, axis=3 if layout else 1)))
    if shared:
        graph.output("z", branches[0])
    made = rewrite(graph, (norm_before_concat, fold_batch_norm))
    assert ("batch_norm" in _kinds(made)) == shared
    inputs = {"x": random.normal(size=(2, *graph.result_type("x").shape[1:]))}
    np.testing.assert_allclose(evaluate(made, inputs)["y"], evaluate(graph, inputs)["y"], rtol=1e-9)
