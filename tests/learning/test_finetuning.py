"""Fine-tuning: the fake-quantised network, the one in fixed point and the one in integers compute the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, fit, models, op
from graphrewrite.errors import GraphRewriteError
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import SGD, FineTuned, Interrupted, finetune
from graphrewrite.learning.widths import chosen_widths
from graphrewrite.lowering import from_onnx, to_integer
from graphrewrite.lowering.quantisation.calibration import Widths
from graphrewrite.lowering.quantisation.fake_network import FakeNetwork
from graphrewrite.lowering.quantisation.folded_norms import layers_with_norms, statistics_of
from graphrewrite.lowering.quantisation.preparation import prepared
from graphrewrite.models.train_classes import samples


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


@pytest.mark.parametrize(
    ("network", "options"),
    [
        (_residual, {"bits": 4}),
        (_functions, {"bits": {"default": (3, 4)}, "per_channel": True}),
        (_shared, {"bits": {"default": 3, "conv*": (2, 4)}}),
        (_autoencoder, {"bits": 2, "sparsity": 0.5, "learn_scales": False, "distil": False, "validation": None}),
    ],
)
def test_all_three_compute_the_same(network, options):
    graph = network()
    x = _inputs(graph, 40)
    targets = x[graph.inputs[0]] if network is _autoencoder else np.arange(40) % 3
    tuned = finetune(graph, (x, targets), epochs=2, **options)
    (name,) = graph.outputs
    unseen = {each: 5 * array for each, array in _inputs(graph, 200).items()}
    whole = to_integer(tuned.graph)
    fixed = evaluate(tuned.graph, unseen)[name]
    assert np.array_equal(evaluate(whole, unseen)[name], fixed)
    assert np.array_equal(evaluate(tuned.fake_quantised, unseen)[name], fixed)
    assert np.ptp(fixed) > 0
    assert ["validation_loss" in entry for entry in tuned.history] == [False, "validation" not in options]
    if "sparsity" in options:
        assert min(_shares_of_zeros(whole)) >= options["sparsity"]


def _shares_of_zeros(graph: Graph) -> list[float]:
    weights = [data["value"] for _, data in graph.nodes(data=True) if data["type"] == "constant"]
    return [float((each == 0).mean()) for each in weights if each.ndim > 1]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_norms_are_trained_in_their_places_and_folded_afterwards(layout):
    graph = Graph("norms")
    x = graph.input("x", Tensor("f32", tuple({"N": "N", "C": 2, "H": 6, "W": 6}[axis] for axis in layout), layout))

    def norm(x: Any, channels: int, seed: int) -> Any:
        return op.batch_norm(x, *(_random(channels, seed=i) + 1 for i in range(3)), np.abs(_random(channels)) + seed)

    first = op.relu(norm(op.conv(x, _random(4, 2, 3, 3)), 4, 1))
    second = op.relu(op.conv(norm(first, 4, 2), _random(4, 4, 1, 1)))  # its norm is before it
    third = op.relu(norm(op.linear(op.flatten(op.global_average_pool(second)), _random(5, 4)), 5, 3))
    graph.output("y", op.linear(third, _random(3, 5)))
    rows = _inputs(graph, 64)
    plain, inputs = prepared(graph, rows)
    norms = statistics_of(plain, layers_with_norms(graph, plain), inputs)
    shapes = [len(plain.nodes[plain.operands(layer)[1].node]["value"]) for layer in norms]
    assert shapes == [4, 5]
    network = FakeNetwork.of(plain, inputs, Widths(plain, 12), per_channel=False, norms=norms)

    def scores(graph: Graph) -> np.ndarray:
        return evaluate(graph, rows)["y"]

    assert scores(network.graph) == pytest.approx(scores(graph), abs=0.02)
    learnt = [*(name for names in network.layers.values() for name in names), *(n.gain for n in network.norms.values())]
    trained = fit(network.graph, (rows, np.arange(64) % 3), wrt=learnt, epochs=2, optimiser=SGD(0.1)).graph
    changed = [name for names in network.norms.values() for name in names]
    assert not any(np.array_equal(trained.nodes[name]["value"], network.graph.nodes[name]["value"]) for name in changed)
    assert np.abs(scores(trained) - scores(graph)).max() > 0.1
    assert scores(network.learnt(plain, trained)) == pytest.approx(scores(trained), abs=0.02)


def test_few_bits_lose_little_by_it():
    graph, (x, labels) = from_onnx(models.path("classes")), samples()
    ((source,), (scores,)) = graph.inputs, graph.outputs

    def right(network: Graph) -> float:
        return float((evaluate(network, {source: x[5000:]})[scores].argmax(1) == labels[5000:]).mean())

    rounded, tuned = (
        finetune(graph, (x[:2500], labels[:2500]), bits=3, epochs=count, optimiser=way)
        for count, way in ((1, SGD(0.0)), (6, None))
    )
    assert right(rounded.graph) < right(graph) - 0.05
    assert right(tuned.graph) > right(graph) - 0.03


def test_widths_are_chosen_within_a_budget():
    graph = _autoencoder()
    x = _inputs(graph, 64)[graph.inputs[0]]
    inputs = {graph.inputs[0]: x}
    few, some = (chosen_widths(graph, inputs, "auto", budget=budget, per_channel=False) for budget in (3, 5.5))
    layers_of = [name for name in some if name not in graph.inputs]
    sizes = dict(zip(layers_of, (6 * 8, 3 * 6, 6 * 3, 8 * 6), strict=True))
    for found, budget in ((few, 3), (some, 5.5)):
        read = [found[name][1] for name in (*graph.inputs, *layers_of)]
        costs = [sizes[name] * found[name][0] * read[at] for at, name in enumerate(layers_of)]
        assert (budget - 1.5) ** 2 < sum(costs) / sum(sizes.values()) <= budget**2
    assert len({*some.values()}) > 1


@pytest.mark.parametrize("network", [_residual, _functions, _shared, _autoencoder])
def test_a_network_whose_widths_can_be_learnt_computes_the_same(network):
    graph = network()
    folded, inputs = prepared(graph, _inputs(graph, 40))
    widths = Widths(folded, {"default": (3, 5)}, least=2)
    norms = statistics_of(folded, layers_with_norms(graph, folded), inputs)
    made = [
        FakeNetwork.of(folded, inputs, widths, per_channel=False, norms=norms, is_flexible=f) for f in (False, True)
    ]
    assert made[1].reaches
    wide = {name: 3 * array for name, array in inputs.items()}
    found, again = (evaluate(each.graph, wide) for each in made)
    assert all(np.array_equal(found[name], again[name]) for name in found)


def test_widths_are_learnt_within_a_budget(monkeypatch: pytest.MonkeyPatch):
    """Widths begin where they suit no layer: bits go from where they are of no use to where they are."""
    graph = Graph("two")
    x = graph.input("x", Tensor("f32", ("N", 4)))
    w = np.repeat(np.float32([[0.5], [-0.5]]), 4, axis=1)  # one bit and a sign hold them
    graph.output("y", op.linear(op.relu(op.linear(x, w, name="coarse")), _random(1, 2) + 1, name="fine"))
    begun = {"x": (8, 2), "coarse": (8, 2), "fine": (2, 8)}
    monkeypatch.setattr("graphrewrite.learning.finetuning.chosen_widths", lambda *_, **__: begun)
    x = _inputs(graph, 256)["x"]
    tuned = finetune(graph, (x, evaluate(graph, {"x": x})["y"]), bits="learnt", budget=4, epochs=24)
    assert isinstance(tuned.bits, dict)
    (values, _), (coarse, hidden), (fine, _) = ((b[1], 0) if n == "x" else b for n, b in tuned.bits.items())
    assert (8 * coarse * values + 2 * fine * hidden) / 10 <= 4**2
    assert coarse < 8
    assert values > 2
    assert to_integer(tuned.graph)


@pytest.mark.parametrize(
    ("bits", "of_inputs"),
    [(3, 8), ({"default": (4, 3), "linear_1": 2}, 8), (12, 12), ({"*": 3}, 3), ({"default": 3, "x": 5}, 5)],
)
def test_inputs_have_eight_bits_unless_they_are_named(bits, of_inputs):
    graph = sequential(layers.linear(3, name="linear_1")).graph(Tensor("f32", ("N", 4)))
    x = _inputs(graph, 32)["x"]
    tuned = finetune(graph, (x, np.arange(32) % 3), bits=bits, epochs=1)
    rounded = [node for node in tuned.graph.in_order() if tuned.graph.nodes[node]["type"] == "quantise"]
    assert tuned.graph.nodes[rounded[0]]["element"].width == of_inputs


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


def test_an_interrupt_between_the_halves_loses_nothing(monkeypatch: pytest.MonkeyPatch):
    graph, calls = _autoencoder(), []
    x = _inputs(graph, 64)[graph.inputs[0]]

    def training(*arguments: Any, **options: Any) -> Any:
        calls.append(options)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    monkeypatch.setattr("graphrewrite.learning.finetuning.fit", training)
    with pytest.raises(Interrupted) as stopped:
        finetune(graph, (x, x), bits=4, epochs=4)
    tuned = stopped.value.fit
    assert len(tuned.history) == 2
    (found,), (again,) = (evaluate(g, {graph.inputs[0]: x}).values() for g in (tuned.graph, tuned.fake_quantised))
    assert np.array_equal(found, again)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 1}, "widths are integers from 2 to 16"),
        ({"bits": {"first": 4}}, "bits names 'first', which is not a layer"),
        ({"bits": "few"}, "bits is a width, widths by layer, 'auto' or 'learnt', got 'few'"),
        ({"bits": "learnt", "learn_scales": False}, "widths are learnt with binary points"),
        ({"bits": "auto", "budget": 1}, "budget is a mean width, a number from 2 to 8, got 1"),
        ({"sparsity": 1.5}, "sparsity is a share of the weights, from 0 to less than 1, got 1.5"),
        ({"validation": 1.0}, "validation is a share of the samples"),
        ({"epochs": 0}, "epochs is a whole number from 1 on, got 0"),
        ({"graph": "net"}, "str is not a graph that can be trained"),
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
