"""Training: the same bits again, also after an interrupt, and clear words about wrong samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, Module, Tensor, evaluate, fit, op
from graphrewrite.hierarchy import layers, sequential
from graphrewrite.learning import SGD, Adam, Interrupted, Pruning, TrainingError, cosine, parameters


def _network() -> Graph:
    """Two layers with a norm and dropout between, and a closing softmax."""
    parts = (layers.linear(8), layers.batch_norm(), op.relu, lambda x: op.dropout(x, ratio=0.25), layers.linear(3))
    return sequential(*parts, op.softmax).graph(Tensor("f32", ("N", 2)))


def _samples(count: int = 96) -> tuple[np.ndarray, np.ndarray]:
    """Points around three centres."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, count)
    return (np.array([[0, 2], [2, -1], [-2, -1]])[labels] + rng.normal(0, 0.4, (count, 2))).astype(np.float32), labels


X, Y = _samples(8)


def _same(a: Graph, b: Graph) -> bool:
    return a.equals(b)


def test_a_network_learns_and_keeps_its_form():
    net, data = _network(), _samples()
    before = str(net)
    trained = fit(net, data, optimiser=Adam(0.02), epochs=12, batch=32, validation=data)
    assert trained.history[-1]["accuracy"] > 0.9
    assert max(entry["validation_accuracy"] for entry in trained.history) > 0.97
    found = evaluate(trained.graph, {net.inputs[0]: data[0]})[net.outputs[0]]
    assert (found.argmax(1) == data[1]).mean() > 0.97
    assert str(net) == before
    types = [trained.graph.nodes[node]["type"] for node in trained.graph]
    assert types == [net.nodes[node]["type"] for node in net]
    constants = [node for node in net if net.nodes[node]["type"] == "constant"]
    moved = [n for n in constants if not np.array_equal(net.nodes[n]["value"], trained.graph.nodes[n]["value"])]
    assert set(parameters(net)) < set(moved)  # statistics as well
    assert "3 epochs" not in repr(trained)
    assert "12 epochs" in repr(trained)


def test_the_same_arguments_give_the_same_bits():
    first, again, other = (fit(_network(), _samples(), epochs=2, seed=seed) for seed in (1, 1, 2))
    assert _same(first.graph, again.graph)
    assert first.history == again.history
    assert not _same(first.graph, other.graph)


def test_names_of_weights_may_be_those_of_gradients():
    net = Graph("net")
    w, v = (net.constant(np.float32([[1, 2], [3, 4]]), name=name) for name in ("w", "d_w"))
    net.output("y", op.linear(op.relu(op.linear(net.input("x", Tensor("f32", ("N", 2))), w)), v))
    trained = fit(net, (X, Y % 2), epochs=1, batch=8).graph
    assert not any(np.array_equal(trained.nodes[name]["value"], net.nodes[name]["value"]) for name in ("w", "d_w"))


class _Stopping(SGD):
    """Interrupts after some steps, as a user does."""

    left = 7

    def step(self, *arguments):
        type(self).left -= 1
        if type(self).left < 0:
            type(self).left = 10**9
            raise KeyboardInterrupt
        return super().step(*arguments)


def test_an_interrupt_loses_nothing(tmp_path: Path):
    path, arguments = tmp_path / "run.npz", {"epochs": 4, "batch": 32, "validation": _samples(30)}
    _Stopping.left = 10**9
    whole = fit(_network(), _samples(), optimiser=_Stopping(0.1, momentum=0.9), **arguments)
    _Stopping.left = 7
    with pytest.raises(Interrupted) as caught:
        fit(_network(), _samples(), optimiser=_Stopping(0.1, momentum=0.9), checkpoint=path, **arguments)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert len(caught.value.fit.history) == 2
    resumed = fit(_network(), _samples(), optimiser=_Stopping(0.1, momentum=0.9), checkpoint=path, **arguments)
    assert _same(resumed.graph, whole.graph)
    assert resumed.history == whole.history
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.npz"]
    longer = fit(
        _network(), _samples(), optimiser=_Stopping(0.1, momentum=0.9), checkpoint=path, **{**arguments, "epochs": 5}
    )
    assert longer.history[:4] == whole.history


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "run.npz"
    fit(_network(), _samples(), epochs=1, checkpoint=path)
    with pytest.raises(TrainingError, match="of another training: its seed is 0, and not 1"):
        fit(_network(), _samples(), epochs=1, checkpoint=path, seed=1)
    with pytest.raises(TrainingError, match="of another training: its data differs"):
        fit(_network(), _samples(95), epochs=1, checkpoint=path)
    with pytest.raises(TrainingError, match="of another training: its teacher differs"):
        fit(_network(), _samples(), epochs=1, checkpoint=path, teacher=_network())
    path.write_bytes(b"something else")
    with pytest.raises(TrainingError, match="is no checkpoint"):
        fit(_network(), _samples(), epochs=1, checkpoint=path)


def test_the_constants_of_a_module_are_learnt_once():
    rng = np.random.default_rng(0)
    module = Module("net")
    w, b = (module.constant(name, rng.normal(0, 0.5, size).astype("f4")) for name, size in (("w", (2, 2)), ("b", 2)))
    block = module.add_graph("block")
    hidden = op.linear(block.input("x", Tensor("f32", ("N", 2))), w.on(block), b.on(block))
    block.output("y", op.relu(op.linear(hidden, rng.normal(size=(2, 2)).astype("f4")) + hidden))
    main = module.add_graph("main")
    x = module.op("block")(module.op("block")(main.input("x", Tensor("f32", ("N", 2)))))
    main.output("y", op.linear(op.linear(x, w.on(main)), rng.normal(size=(3, 2)).astype("f4")))
    with pytest.raises(TrainingError, match=r"is a constant of a nested graph, .* or train the graph: fit"):
        fit(module, _samples())
    trained = fit(module, _samples(), wrt=["w", "b"], optimiser=Adam(0.02), epochs=3)
    inputs = {"x": _samples()[0]}
    found, again, before = (evaluate(graph, inputs)["y"] for graph in (trained.graph, trained.module["main"], main))
    assert np.array_equal(found, again)
    assert not np.array_equal(found, before)
    assert not np.array_equal(trained.module.constants["w"], module.constants["w"])
    apart = fit(main, _samples(), epochs=2).graph  # each use has weights of its own
    names = [f"block_{use}.constant_1" for use in (1, 2)]
    assert not np.array_equal(*(apart.nodes[name]["value"] for name in names))
    assert {"w", "b"} < {*apart}


def test_norms_learn_wherever_the_channels_are():
    rng, histories = np.random.default_rng(1), []
    arrays = [rng.normal(0.5, 0.5, shape).astype("f4") for shape in ((4, 2, 3, 3), (4,), (4,), (4,), (3, 4))]
    x, labels = rng.normal(size=(40, 2, 5, 5)).astype("f4"), np.arange(40) % 3
    for layout, images in (("NCHW", x), ("NHWC", x.transpose(0, 2, 3, 1))):
        graph = Graph("g")
        w, gain, shift, mean, last = arrays
        images_in = graph.input("x", Tensor("f32", ("N", *images.shape[1:]), layout))
        normed = op.batch_norm(op.conv(images_in, w), gain, shift, mean, np.ones(4, "f4"))
        graph.output("y", op.linear(op.flatten(op.global_average_pool(op.relu(normed))), last))
        histories.append(fit(graph, (images, labels), epochs=3, optimiser=SGD(0.1)).history)
    for entry, other in zip(*histories, strict=True):
        assert entry == pytest.approx(other, rel=1e-4)


def test_what_was_reached_is_kept_when_the_loss_is_no_number():
    with pytest.raises(TrainingError, match="the loss of validation is nan after epoch 2") as caught:
        fit(_network(), _samples(), optimiser=SGD(lambda step: 1e30 if step > 4 else 0.1), epochs=4, batch=32)
    assert len(caught.value.fit.history) == 1
    assert np.isfinite([*evaluate(caught.value.fit.graph, {_network().inputs[0]: X}).values()]).all()


def test_patience_ends_and_the_best_is_returned():
    data, seen = _samples(), []
    trained = fit(
        _network(), data, optimiser=SGD(2.0), epochs=50, validation=_samples(40), patience=2, watch=seen.append
    )
    losses = [entry["validation_loss"] for entry in trained.history]
    assert len(losses) == losses.index(min(losses)) + 3 < 50
    assert tuple(seen) == trained.history


@pytest.mark.parametrize("loss", ["cross_entropy", "hinge"])
def test_losses_by_name(loss):
    trained = fit(_network(), _samples(), loss=loss, optimiser=SGD(0.05, momentum=0.5, l1=1e-4, l2=1e-4), epochs=6)
    assert trained.history[-1]["loss"] < trained.history[0]["loss"]


def test_a_regression():
    x = np.random.default_rng(0).normal(size=(64, 2))
    net = sequential(layers.linear(1)).graph(Tensor("f32", ("N", 2)))
    trained = fit(net, (x, x @ [[2.0], [-1.0]]), optimiser=Adam(cosine(0.2, 60, warmup=5)), epochs=30)
    assert trained.history[-1]["loss"] < 1e-3
    assert "accuracy" not in trained.history[-1]


def test_a_teacher_is_learnt_from():
    data, inputs = _samples(), {_network().inputs[0]: _samples()[0]}
    taught = fit(_network(), data, optimiser=Adam(0.02), epochs=12, validation=None).graph
    (wanted,) = evaluate(taught, inputs).values()
    arguments = {"optimiser": Adam(0.02), "epochs": 6, "validation": None}
    wrong = data[0], (data[1] + 1) % 3  # half of the loss says otherwise
    apart = [
        float(
            np.abs(
                next(iter(evaluate(fit(_network(), wrong, teacher=each, **arguments).graph, inputs).values())) - wanted
            ).mean()
        )
        for each in (taught, None)
    ]
    assert apart[0] < 0.75 * apart[1]


def test_the_network_returned_is_as_good_as_the_best_on_what_is_held_out():
    trained = fit(_network(), _samples(200), optimiser=Adam(0.05), epochs=8, validation=0.3)
    held_out = int(0.3 * 200)
    drawn = np.sort(np.random.default_rng((0, 200)).permutation(200)[:held_out])
    x, labels = (array[drawn] for array in _samples(200))
    found = evaluate(trained.graph, {trained.graph.inputs[0]: x})[trained.graph.outputs[0]]
    losses = -np.log(found[np.arange(held_out), labels])
    assert losses.mean() <= min(entry["validation_loss"] for entry in trained.history) + losses.std() / 3


def test_pruned_weights_stay_zero():
    pruning = Pruning(Adam(0.02), {"linear_1.w": 0.5}, steps=6)
    trained = fit(_network(), _samples(), optimiser=pruning, epochs=4, batch=32).graph
    assert (trained.nodes["linear_1.w"]["value"] == 0).mean() == 0.5
    assert (trained.nodes["linear_2.w"]["value"] != 0).all()
    with pytest.raises(TrainingError, match="sparsity names 'linear', which is not learnt; did you mean"):
        fit(_network(), _samples(), optimiser=Pruning(Adam(), {"linear": 0.5}, steps=6))


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        ((X[:0], Y[:0]), {}, "the data are empty: the input 'x' has no samples"),
        (X, {}, "the data are a pair of inputs and targets"),
        ((X[:4], Y), {}, "the data have 4 samples of the input 'x', and 8 targets"),
        ((X[:, :1], Y), {}, r"the input 'x' is f32\[N,2\], one row a sample, and the data have the shape \[8, 1\]"),
        ((np.where(np.arange(16).reshape(8, 2) == 5, np.nan, X), Y), {}, "the sample 2 of the input 'x' has NaN"),
        ((X, np.array([0, 1, 2, 3, 0, 0, 0, 0])), {}, "classes from 0 to 2, and that of the sample 3 of the data is 3"),
        ((X, -Y - 1), {}, "classes from 0 to 2"),
        ((X, Y.astype(float)), {"loss": "cross_entropy"}, "labels are whole numbers, .* and the data have float64"),
        ((X, np.eye(3, dtype=int)[Y]), {}, "need a label for each sample, of 1 axes"),
        ((X, np.ones((8, 2))), {}, r"targets are compared with f32\[N,3\], and the data have the shape \[8, 2\]"),
        ((X, Y.astype(float)), {}, "if they are classes, give them as integers, for cross_entropy"),
        (({"z": X}, Y), {}, "have 'z', which is no input of the graph"),
        ((X, Y), {"loss": "hing"}, "unknown loss 'hing'.*did you mean 'hinge'"),
        ((X, Y), {"epochs": 0}, "epochs is a whole number from 1 on, got 0"),
        ((X, Y), {"patience": 2}, "give validation="),
        ((X, Y), {"validation": -0.1}, "validation is a share of the samples, from 0 to less than 1"),
        ((X, Y), {"teacher": sequential(layers.linear(2)).graph(Tensor("f32", ("N", 2)))}, "a teacher has the inputs"),
        ((X, Y), {"validation": (X, Y + 5)}, "of the samples of validation is"),
        ((X, Y), {"optimiser": SGD(-1.0)}, "the learning rate of step 0 is -1.0"),
        ((X, Y), {"optimiser": SGD(1e30), "epochs": 3}, "the loss is (nan|inf) in step . of epoch ."),
        ((X + 1j, Y), {}, "the input 'x' of the data are complex64, and should be real numbers"),
        ((X.astype(float) * 1e300, Y), {}, "the sample 0 of the input 'x' has NaN or an infinity"),
        (([[1.0, 2.0], [3.0]], Y[:2]), {}, "the input 'x' of the data are no array"),
        ((X, np.array(["a", "b"])[Y % 2]), {}, "targets of the data are <U1"),
        ((X, Y), {"seed": -1}, "seed is a whole number from 0 on, got -1"),
        ((X, Y), {"optimiser": "adam"}, "an optimiser has start and step"),
        ((X, Y), {"optimiser": Adam}, "an optimiser has start and step"),
        ((X, Y), {"watch": 3}, "watch is a function, got 3"),
        ((X, Y), {"wrt": []}, r"wrt is the name of a constant.*got \[\]"),
        ((X, Y), {"wrt": "linear"}, "'linear' is none of the graph.*did you mean"),
        ((X, Y), {"wrt": ["x"]}, "wrt names constants, and 'x' is none"),
        ((X, Y), {"augment": lambda rows, rng: rows[:1]}, r"of shape \[4, 2\], and gave \[1, 2\]"),
        ((X, Y), {"checkpoint": "nowhere/run.npz"}, "there is no folder 'nowhere' for the checkpoint"),
    ],
)
def test_what_is_wrong_is_said(data, arguments, message):
    with pytest.raises(TrainingError, match=message):
        fit(_network(), data, **{"batch": 4, **arguments})


def test_a_graph_without_weights_is_refused():
    net = sequential(op.relu).graph(Tensor("f32", ("N", 3)))
    with pytest.raises(TrainingError, match="has no weights of layers"):
        fit(net, (np.ones((2, 3)), np.ones((2, 3))))
