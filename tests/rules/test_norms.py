"""Norms that do nothing, and constants behind norms."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules import FOLDING, RULES
from graphrewrite.rules.norms import drop_norm


def _kinds(graph: Graph) -> list[str]:
    return sorted(
        graph.nodes[n]["type"] for n in graph if graph.nodes[n]["type"] not in ("input", "output", "constant")
    )


def _norm(gain: float, shift: float, mean: float, var: float, epsilon: float) -> Graph:
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 4, 5, 3), "NHWC"))
    parameters = [np.full(3, value, np.float32) for value in (gain, shift, mean, var)]
    graph.output("y", op.batch_norm(x, *parameters, epsilon=epsilon))
    return graph


@pytest.mark.parametrize(
    "numbers", [(1, 0, 0, 1, 0), (15, -3, -3, 225, 0), (1, 33, 33, 0.999999, 1e-6), (2, 0, 0, 3, 1)]
)
def test_a_norm_that_does_nothing_is_dropped(numbers):
    assert not _kinds(rewrite(_norm(*numbers), RULES + FOLDING))


@pytest.mark.parametrize("numbers", [(1, 0.1, 0, 1, 0), (1.001, 0, 0, 1, 0), (1, -3, 3, 1, 0), (1, 0, 0, 1, 0.01)])
def test_one_that_does_something_stays(numbers):
    graph = _norm(*numbers)
    assert rewrite(graph, drop_norm) == graph


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm", "group_norm", "layer_norm"])
@pytest.mark.parametrize("kind", ["channels", "all"])
def test_a_chain_of_constants_belongs_to_the_norm(name, kind):
    random = np.random.default_rng(0)
    graph = Graph("g")
    x = graph.input("x", Tensor("f64", ("N", 4, 5)))
    size = (5,) if name == "layer_norm" else (4,)
    given = [graph.input(p, Tensor("f64", size)) for p in ("mean", "var")] if name == "batch_norm" else []
    groups = {"groups": 2} if name == "group_norm" else {}
    y = getattr(op, name)(x, random.normal(size=size), random.normal(size=size), *given, **groups)
    shape = (4, 5) if kind == "all" else (5,) if name == "layer_norm" else (4, 1)
    c, d = random.uniform(1, 2, (2, *shape))
    graph.output("y", op.sub(c, op.div(op.mul(op.add(y, c), d), c)) if name != "layer_norm" else op.mul(d, y) + c)
    made = rewrite(graph, RULES + FOLDING)
    if kind == "channels":
        assert _kinds(made) == [name]
    else:
        assert len(_kinds(made)) > 1
    inputs = {n: random.uniform(1, 2, (3, 4, 5) if n == "x" else size) for n in graph.inputs}
    np.testing.assert_allclose(evaluate(made, inputs)["y"], evaluate(graph, inputs)["y"], rtol=1e-9)
