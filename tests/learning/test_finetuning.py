"""Fine-tuning: the fake-quantised network, the one in fixed point and the one in integers compute the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, models, op
from graphrewrite.errors import GraphRewriteError
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import SGD, FineTuned, Interrupted, finetune
from graphrewrite.lowering import from_onnx, to_integer


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).normal(0, 0.5, shape).astype(np.float32)


def _residual() -> Graph:
    """A norm to fold, a sum, a concatenation of two binary points, a mean, a closing softmax."""
    graph = Graph("residual")
    x = graph.input("x", Tensor("f32", ("N", 2, 6, 6)))
    norm = [_random(4, seed=i) + 1 for i in range(3)]
    first = op.batch_norm(op.conv(x, _random(4, 2, 3, 3), pads=(1, 1, 1, 1)), *norm, np.abs(_random(4)) + 0.5)
    summed = op.relu(op.add(op.relu(first), op.conv(op.relu(first), _random(4, 4, 3, 3), pads=(1, 1, 1, 1))))
    wide = op.concat(summed, op.max_pool(summed * 0.3, kernel=3, strides=1, pads=(1, 1, 1, 1)), axis=1)
    scores = op.linear(op.flatten(op.global_average_pool(wide)), _random(3, 8), _random(3))
    graph.output("y", op.softmax(scores))
    return graph


def _functions() -> Graph:
    """Functions by table, in double precision."""
    graph = Graph("functions")
    x = graph.input("x", Tensor("f64", ("N", 5)))

    def wide(*shape: int) -> np.ndarray:
        return _random(*shape).astype(np.float64)

    hidden = op.sigmoid(op.linear(op.tanh(op.linear(x, wide(6, 5))), wide(6, 6), wide(6)))
    graph.output("y", op.linear(op.mul(hidden, op.gelu(hidden)), wide(3, 6)))
    return graph


def _shared() -> Graph:
    """Two inputs, one array of weights, a difference and a product; axes with names."""
    graph = Graph("shared")
    w = graph.constant(_random(4, 1, 3, 3))
    one, other = (graph.input(name, Tensor("f32", ("N", 1, 5, 5), "NCHW")) for name in ("one", "other"))
    a, b = op.relu(op.conv(one, w)), op.relu(op.conv(other, w))
    pooled = op.average_pool(a - b * 0.5 + op.mul(a, b), kernel=3)
    graph.output("y", op.linear(op.flatten(pooled), _random(3, 4)))
    return graph


def _autoencoder() -> Graph:
    parts = (layers.linear(6), op.relu, layers.linear(3), layers.linear(6), op.relu, layers.linear(8))
    return sequential(*parts).graph(Tensor("f32", ("N", 8)))


def _inputs(graph: Graph, count: int) -> dict[str, np.ndarray]:
    return {name: 2 * _random(count, *graph.result_type(name).shape[1:]) for name in graph.inputs}


@pytest.mark.parametrize("options", [{"bits": 4}, {"bits": {"default": (3, 4)}, "per_channel": True}, {"bits": 2}])
@pytest.mark.parametrize("network", [_residual, _functions, _shared, _autoencoder])
def test_all_three_compute_the_same(network, options):
    graph = network()
    x = _inputs(graph, 70)
    targets = x[graph.inputs[0]] if network is _autoencoder else np.arange(70) % 3
    tuned = finetune(graph, (x, targets), epochs=2, learn_scales=options["bits"] != 2, **options)
    (name,) = graph.outputs
    unseen = {each: 5 * array for each, array in _inputs(graph, 200).items()}
    fixed = evaluate(tuned.graph, unseen)[name]
    assert np.array_equal(evaluate(to_integer(tuned.graph), unseen)[name], fixed)
    assert np.array_equal(evaluate(tuned.fake_quantised, unseen)[name], fixed)
    assert np.ptp(fixed) > 0
    assert len(tuned.history) == 2


def test_few_bits_lose_little_by_it():
    graph = from_onnx(models.path("classes"))
    with np.load(models.path("classes").with_suffix(".npz")) as file:
        data = dict(file)
    ((source,), (scores,)), x = (graph.inputs, graph.outputs), data["test_x"]

    def right(network: Graph) -> float:
        return float((evaluate(network, {source: x[700:]})[scores].argmax(1) == data["test_y"][700:]).mean())

    near = np.repeat(x[:700], 5, axis=0) + np.random.default_rng(0).normal(0, 0.6, (3500, 16)).astype(np.float32)
    taught = near, evaluate(graph, {source: near})[scores].argmax(1)  # by the float network
    rounded, tuned = (
        finetune(graph, taught, bits=3, epochs=count, optimiser=way, batch=64)
        for count, way in ((1, SGD(0.0)), (8, None))
    )
    assert right(rounded.graph) < right(graph) - 0.08
    assert right(tuned.graph) > right(graph) - 0.04


class _Stopping(SGD):
    def step(self, *arguments: object) -> object:
        raise KeyboardInterrupt


def test_an_interrupt_loses_nothing():
    graph = _autoencoder()
    x = _inputs(graph, 64)[graph.inputs[0]]
    with pytest.raises(Interrupted) as stopped:
        finetune(graph, (x, x), bits=4, optimiser=_Stopping(0.1))
    assert isinstance(stopped.value.fit, FineTuned)
    assert to_integer(stopped.value.fit.graph)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 1}, "widths are integers from 2 to 16"),
        ({"bits": {"first": 4}}, "bits names 'first', which is not a layer"),
        ({"epochs": 0}, "epochs is a whole number from 1 on, got 0"),
        ({"data": (np.zeros((0, 8)), np.zeros((0, 8)))}, "empty"),
        ({"graph": Graph.parse("graph g\nx = input() : f32[N,8]\nr = relu(x)\ny = output(r)")}, "no layer whose"),
    ],
)
def test_what_cannot_be_tuned_is_refused(changed, message):
    graph = changed.get("graph", _autoencoder())
    data = changed.get("data", (np.ones((4, 8)), np.ones((4, 8))))
    rest = {key: value for key, value in changed.items() if key not in ("graph", "data")}
    with pytest.raises(GraphRewriteError, match=message):
        finetune(graph, data, **rest)
