"""Layers in the forms that targets have."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import AS_CONVOLUTIONS, AS_MEANS, AS_PRODUCTS, RULES

RANDOM = np.random.default_rng(0)


def _kinds(graph: Graph) -> list[str]:
    return sorted(
        graph.nodes[n]["type"] for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")
    )


def _conv(size, **attributes):
    return lambda x: op.conv(x, RANDOM.normal(size=(4, 3, *size)), RANDOM.normal(size=4), **attributes)


def _row(x):
    return op.reshape(op.global_average_pool(x), shape=("N", 3))


IMAGE = ("N", 3, 5, 6)
FORMS = {
    "linear": (
        AS_CONVOLUTIONS,
        ("N", 3),
        lambda x: op.linear(x, RANDOM.normal(size=(4, 3))),
        ["conv", *["reshape"] * 2],
    ),
    "mean": (AS_CONVOLUTIONS, IMAGE, lambda x: op.reduce_mean(x, axes=(2, 3)), ["global_average_pool"]),
    "mean, no axes": (
        AS_CONVOLUTIONS,
        IMAGE,
        lambda x: op.reduce_mean(x, axes=(-1, -2), keep_dims=False),
        ["global_average_pool", "reshape"],
    ),
    "mean over channels": (AS_CONVOLUTIONS, IMAGE, lambda x: op.reduce_mean(x, axes=(1,)), ["reduce_mean"]),
    "one window": (AS_PRODUCTS, IMAGE, _conv((5, 6)), ["linear", "reshape", "reshape"]),
    "several windows": (AS_PRODUCTS, IMAGE, _conv((3, 3)), ["conv"]),
    "positions": (AS_PRODUCTS, IMAGE, _conv((1, 1)), ["add", "matmul", "transpose", "transpose"]),
    "steps": (AS_PRODUCTS, IMAGE, _conv((1, 1), strides=(2, 2)), ["conv"]),
    "pool": (AS_MEANS, IMAGE, _row, ["reduce_mean"]),
    "pool of a window": (AS_MEANS, IMAGE, lambda x: op.average_pool(x, kernel=(5, 6)), ["global_average_pool"]),
    "pool of windows": (AS_MEANS, IMAGE, lambda x: op.average_pool(x, kernel=(5, 5)), ["average_pool"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_layer_takes_the_form(name):
    rules, shape, build, kinds = FORMS[name]
    graph = Graph("g")
    graph.output("y", build(graph.input("x", Tensor("f64", shape))))
    made = rewrite(graph, (*rules, *RULES))
    assert _kinds(made) == kinds
    x = RANDOM.normal(size=(2, *shape[1:]))
    np.testing.assert_allclose(evaluate(made, {"x": x})["y"], evaluate(graph, {"x": x})["y"], rtol=1e-9)
