"""Models of Keras and saved models of TensorFlow compute what these computed; damaged and foreign ones are refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import evaluate, load, verify
from graphrewrite.lowering import ModelError, OpenSizesError, UnsupportedOpsError, from_keras, from_tensorflow

h5py = pytest.importorskip("h5py")
# Written by `tests.support.record_keras` with Keras 3.15 and 2.21, on TensorFlow 2.21.
RECORDED = Path(__file__).with_name("recorded_keras.zip")
SECONDS = 5.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("recorded")
    with zipfile.ZipFile(RECORDED) as archive:
        archive.extractall(target)
    return target


def results(graph, folder, stem):
    with np.load(folder / f"{stem}.npz") as stored:
        names = {name: next(n for n in graph.inputs if n.startswith(name)) for name in ("image", "rows")}
        found = evaluate(graph, {names[name]: stored[name] for name in names})
        return [found[name] for name in graph.outputs], [stored["first"], stored["second"]]


@pytest.mark.parametrize("name", ["keras_3.keras", "keras_3.h5", "keras_2.keras", "keras_2.h5", "saved_model"])
def test_a_network_computes_what_was_recorded(folder, name):
    graph = load(folder / name)
    verify(graph)
    found, wanted = results(graph, folder, "keras_3" if name == "saved_model" else name.split(".")[0])
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["further.keras", "further.h5", "further_saved", "further.pb"])
def test_a_network_of_an_open_length(folder, name):
    """Variables that only the saved objects name, and loops that freezing wrote as nodes, among others."""
    graph = load(folder / name)
    verify(graph)
    assert str(graph.input_types[0]) == "f32[N,?1,8]"
    with np.load(folder / "further.npz") as stored:
        found = sorted(evaluate(graph, {graph.inputs[0]: stored["steps"]}).values(), key=np.ndim)
        for ours, theirs in zip(found, (stored["first"], stored["second"]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["keras", "h5"])
@pytest.mark.parametrize("name", ["masked_3", "masked_2", "mixed_3", "mixed_2", "volumes_3"])
def test_masks_half_precision_and_images_in_time(folder, name, kind):
    graph = load(folder / f"{name}.{kind}")
    with np.load(folder / f"{name}.npz") as stored:
        wanted = [stored[key] for key in stored.files if key.startswith("arr")]
        found = evaluate(graph, dict(zip(graph.inputs, (stored["a"], stored.get("b")), strict=False)))
    for ours, theirs in zip(found.values(), wanted, strict=True):
        bound = 2**-10 if name.startswith("mixed") else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound)


def test_names_and_origins_are_those_of_the_layers(folder):
    graph = from_keras(folder / "keras_3.keras", batch="batch")
    assert (graph.inputs, [str(kind) for kind in graph.input_types]) == (
        ("image", "rows"),
        ["f32[batch,8,9,3]", "f32[batch,5,6]"],
    )
    origins = {origin for name in graph for origin in graph.nodes[name].get("origin", ())}
    assert {"conv2d", "bidirectional/forward_lstm"} <= origins


def test_signatures_of_a_saved_model(folder):
    graph = from_tensorflow(folder / "saved_model", signature="serve")
    assert graph.inputs == ("image", "rows")
    assert graph.outputs == ("output_0", "output_1")
    assert load(folder / "saved_model" / "saved_model.pb").inputs == ("image", "rows")
    with pytest.raises(ModelError, match=r"no signature 'serv'.*did you mean 'serve'"):
        from_tensorflow(folder / "saved_model", signature="serv")
    with pytest.raises(ModelError, match="no saved model"):
        from_tensorflow(folder)


def test_a_saved_model_without_its_variables(folder, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes((folder / "saved_model" / "saved_model.pb").read_bytes())
    with pytest.raises(ModelError, match=r"variables.index.*copy the whole folder"):
        load(tmp_path)


def stored(*layers, kind="Sequential", **config):
    """A file with an architecture of layers and no weights."""
    buffer, weights = io.BytesIO(), io.BytesIO()
    h5py.File(weights, "w").close()
    with zipfile.ZipFile(buffer, "w") as archive:
        model = {"class_name": kind, "config": {"name": "m", "layers": list(layers), **config}}
        archive.writestr("config.json", json.dumps(model))
        archive.writestr("metadata.json", '{"keras_version": "3.0.0"}')
        archive.writestr("model.weights.h5", weights.getvalue())
    return buffer.getvalue()


def layer(kind, name, **config):
    return {"class_name": kind, "config": {"name": name, **config}}


INPUT = layer("InputLayer", "x", batch_shape=[None, 4])


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        (
            stored(INPUT, layer("Lambda", "f")),
            UnsupportedOpsError,
            r"'f' \(Lambda\) holds code, which is never executed",
        ),
        (
            stored(INPUT, layer("Swirl", "s"), layer("Twist", "t")),
            UnsupportedOpsError,
            r"Swirl \('s'\); Twist \('t'\); a saved",
        ),
        (stored(INPUT, layer("StringLookup", "s")), UnsupportedOpsError, "a keras.Model of the layers behind these"),
        (stored(INPUT, layer("Dense", "d", units=3)), ModelError, r"0 weights at 'layers/dense', and kernel, bias"),
        (stored(INPUT, layer("Activation", "a", activation="reluu")), ModelError, "did you mean 'relu'"),
        (stored(layer("InputLayer", "x", batch_shape=None)), OpenSizesError, "shapes={'x'"),
        (
            stored(layer("InputLayer", "x", batch_shape=[None, 4, 3]), layer("Masking", "m"), layer("Softmax", "s")),
            ModelError,
            r"layer 's' \(Softmax\): its mask is not supported",
        ),
        (stored(INPUT, layer("Dense", "d", dtype="int8_from_float32")), ModelError, "'d' has the policy 'int8_from"),
        (stored(INPUT, layer("Reshape", "r", target_shape=[3])), ModelError, r"layer 'r' \(Reshape\)"),
        (stored(INPUT, 3), ModelError, "no dictionary"),
        (stored(kind="Mine"), UnsupportedOpsError, "Mine"),
        (b"\x89HDF\r\n\x1a\n" + bytes(20), ModelError, "no model of Keras, or damaged"),
    ],
)
def test_what_is_not_supported_is_named(tmp_path, content, error, told):
    (tmp_path / "m.keras").write_bytes(content)
    with pytest.raises(error, match=told):
        from_keras(tmp_path / "m.keras")


def test_weights_only(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.create_dataset("a", data=[1.0])
    with pytest.raises(ModelError, match=r"weights only.*model.save"):
        load(tmp_path / "w.h5")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda g: g.create_dataset("0", shape=(4, 1 << 28), dtype="f4"), "bytes, and 0 in the file"),
        (lambda g: g.create_dataset("0", shape=(4, 2), dtype="f4", external=[("other.bin", 0, 32)]), "not in the file"),
        (lambda g: g.__setitem__("0", h5py.ExternalLink("other.h5", "/a")), "is a link"),
        (lambda g: g.create_dataset("0", data=[b"text"]), "not supported"),
        (lambda g: g.create_group("0"), "not in the file"),
    ],
)
def test_weights_that_are_not_there(tmp_path, make, told):
    path = with_weights(tmp_path, stored(INPUT, layer("Dense", "d", units=2, use_bias=False)), "layers/dense", make)
    with pytest.raises(ModelError, match=told):
        from_keras(path)


def with_weights(folder, content, place, make):
    """A file with an architecture, and weights that a function makes in the group of a layer."""
    path, weights = folder / "m.keras", io.BytesIO()
    with h5py.File(weights, "w") as file:
        make(file.create_group(f"{place}/vars"))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, weights.getvalue() if name.endswith(".h5") else old.read(name))
    return path


def test_a_model_in_two_models_has_its_weights_at_the_first(tmp_path):
    inner = layer("Sequential", "inner", layers=[INPUT, layer("Dense", "d", units=4, use_bias=False)])
    content = stored(INPUT, layer("Sequential", "outer", layers=[INPUT, inner]), inner)
    weights = np.arange(16, dtype=np.float32).reshape(4, 4)
    make = lambda group: group.create_dataset("0", data=weights)  # noqa: E731
    first = "layers/sequential/layers/sequential/layers/dense"
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(from_keras(with_weights(tmp_path, content, first, make))(x), x @ weights @ weights)
    with pytest.raises(ModelError, match="0 weights at 'layers/sequential/layers/sequential/layers/dense'"):
        from_keras(with_weights(tmp_path, content, "layers/dense", make))
