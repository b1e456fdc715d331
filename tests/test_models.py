"""The shipped models are what they say they are."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import models
from graphrewrite.errors import GraphRewriteError

AT_LEAST = {"classes": 0.90, "digits": 0.97}


@pytest.mark.parametrize("name", models.NAMES)
def test_model_is_as_accurate_as_it_says(name: str) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = onnx.load(models.path(name))
    onnx.checker.check_model(model, full_check=True)
    with np.load(models.path(name).with_suffix(".npz")) as samples:
        x, labels, calibration = samples["test_x"], samples["test_y"], samples["calibration_x"]
    assert len(x) == len(labels) >= 360
    assert len(calibration) >= 128
    assert calibration.dtype == x.dtype == np.float32
    assert calibration.shape[1:] == x.shape[1:]

    session = runtime.InferenceSession(models.path(name), providers=["CPUExecutionProvider"])
    right = float((session.run(None, {"input": x})[0].argmax(1) == labels).mean())
    stated = {entry.key: entry.value for entry in model.metadata_props}
    assert right >= AT_LEAST[name]
    assert f"{right:.4f}" == stated["held_out_accuracy"]
    assert f"{right:.2%} of {len(x)}" in model.doc_string


@pytest.mark.parametrize("name", models.NAMES)
def test_no_sample_is_in_both_sets(name: str) -> None:
    with np.load(models.path(name).with_suffix(".npz")) as samples:
        calibration = {row.tobytes() for row in samples["calibration_x"]}
        assert not [i for i, row in enumerate(samples["test_x"]) if row.tobytes() in calibration]


def test_the_script_trains_such_a_network(tmp_path, capsys) -> None:
    onnx = pytest.importorskip("onnx")
    from graphrewrite.models import train_classes

    tmp_path = tmp_path / "new"
    train_classes.main(tmp_path)
    model, shipped = onnx.load(tmp_path / "classes.onnx"), onnx.load(models.path("classes"))
    stated = {entry.key: float(entry.value) for entry in model.metadata_props}
    assert stated["held_out_accuracy"] >= 0.945
    assert f"{stated['held_out_accuracy']:.2%} right on 1000" in capsys.readouterr().out
    for ports in ("input", "output"):
        assert getattr(model.graph, ports) == getattr(shipped.graph, ports)
    assert [node.op_type for node in model.graph.node] == [node.op_type for node in shipped.graph.node]
    with np.load(tmp_path / "classes.npz") as again, np.load(models.path("classes").with_suffix(".npz")) as kept:
        assert all(np.array_equal(again[key], kept[key]) for key in kept)


@pytest.mark.parametrize("name", ["digit", "", "../digits", "nothing"])
def test_unknown_model(name: str) -> None:
    with pytest.raises(GraphRewriteError, match=r"unknown model .* \(available: classes, digits\)"):
        models.path(name)


def test_digits_are_trained_on_images_moved_by_a_pixel() -> None:
    from graphrewrite.models.train_digits import shift

    images = np.random.default_rng(0).uniform(1, 2, (400, 1, 8, 8))
    moved = shift(images, np.random.default_rng(1))
    assert moved.shape == images.shape
    ways = {(down, right): 0 for down in (-1, 0, 1) for right in (-1, 0, 1)}
    for before, after in zip(np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1))), moved, strict=True):
        (way,) = (w for w in ways if np.array_equal(after, before[:, 1 + w[0] : 9 + w[0], 1 + w[1] : 9 + w[1]]))
        ways[way] += 1
    assert 200 <= ways.pop((0, 0)) <= 260
    assert min(ways.values()) >= 10
