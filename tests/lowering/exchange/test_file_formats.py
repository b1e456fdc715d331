"""Files of models are recognised by what they hold, whatever they are called; foreign ones are refused by name."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import pytest

from graphrewrite import GraphRewriteError, load, models, save
from graphrewrite.lowering import Hook, ModelError, from_onnx


@pytest.fixture(scope="module")
def network():
    return from_onnx(models.path("digits"))


@pytest.mark.parametrize("name", ["g.json", "g.npz", "g.txt", "g.graph", "g.onnx"])
def test_what_is_saved_is_loaded(tmp_path: Path, network, name: str) -> None:
    save(network, tmp_path / name)
    assert load(tmp_path / name) == network
    assert load(str(tmp_path / name)).inputs == network.inputs


@pytest.mark.parametrize("name", ["net.gr", "net", "net.onnx"])
def test_a_text_by_any_name(tmp_path: Path, network, name: str) -> None:
    save(network, tmp_path / "net.graph")
    (tmp_path / "net.graph").rename(tmp_path / name)
    for arrays in tmp_path.glob("net.graph.*"):
        arrays.rename(tmp_path / arrays.name.replace("net.graph", name))
    assert load(tmp_path / name) == network


@pytest.mark.parametrize(
    "name", ["model", "model.bin", "model.pdf", "model.ONNX", "model.tflite", "model.json", "model.h5"]
)
def test_onnx_by_any_name(tmp_path: Path, network, name: str) -> None:
    (tmp_path / name).write_bytes(models.path("digits").read_bytes())
    assert load(tmp_path / name) == network


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(20), "no model of Keras, or damaged"),
        ("m.keras", zipped("config.json", "model.weights.h5"), "model of Keras"),
        ("m.pt", zipped("m/data.pkl", "m/version"), r"model of PyTorch.*torch.onnx.export"),
        ("m.onnx", zipped("m/data.pkl"), "model of PyTorch"),
        ("m.pth", pickle.dumps({"weight": 1}, protocol=2), "model of PyTorch"),
        ("m.pb", b"\x0a\x05\x0a\x03abc", "not supported"),
        ("m.pb", b"nothing", "no frozen graph of TensorFlow"),
        ("m.bin", b"\1\2\3", "no format that is known.*.onnx"),
        ("m.pdf", b"%PDF-1.7", "PDF document"),
        ("empty", b"", "is empty; write or download it again"),
        ("m.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS.*git lfs pull"),
        ("m.tflite", b"\n<!DOCTYPE html><html>", "web page in place of the file"),
        ("m.pb", b"\x89PNG\r\n", "is a picture"),
        ("m.h5", b"GGUF\3\0\0\0", "llama.cpp"),
        ("m.onnx", b'\x20\0\0\0\0\0\0\0{"w":{}}', "safetensors.*torch.onnx.export"),
        ("m.pkl", pickle.dumps([1]), "a pickle, which is never opened"),
        ("m.mlmodel", b"\x08\4\x12\x10", "Core ML"),
        ("m.json", b'{"format": "layers-model"}', "TensorFlow.js"),
        ("m.onnx", zipped("readme.txt"), r"archive that holds no model \(readme.txt\); unpack it"),
        ("m.xml", b'<?xml version="1.0"?><net name="m">', "OpenVINO"),
        ("m.onnx.gz", b"\x1f\x8b\x08", "compressed by gzip; unpack it"),
        ("m.npz", b"PK\3\4", "m.npz"),
        ("m.txt", b"\xff\xfe", "UTF-8"),
    ],
)
def test_other_files_are_refused_by_what_they_are(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GraphRewriteError, match=told):
        load(tmp_path / name)


def test_folders_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match=r"no file .*did you mean 'net.onnx'"):
        load(tmp_path / "nett.onnx")
    with pytest.raises(ModelError, match=r"is a folder; name a file in it: 'net.onnx'"):
        load(tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"\n<html>")
    with pytest.raises(ModelError, match=r"net.onnx' is a web page"):
        from_onnx(tmp_path / "net.onnx")
    (tmp_path / "link.onnx").symlink_to(tmp_path / "gone.onnx")
    with pytest.raises(ModelError, match=r"is a link to .*gone.onnx', which is not there"):
        load(tmp_path / "link.onnx")
    for name, told in (("model.safetensors", "Hugging Face"), ("checkpoint", "checkpoints"), ("assets", "without its")):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_bytes(b"")
        with pytest.raises(ModelError, match=told):
            load(tmp_path / name)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(ModelError, match="no graph"):
        load(tmp_path)


def test_the_one_door_takes_the_options_of_readers(tmp_path):
    told = []
    hooks = [Hook(before=lambda model: told.append(model.framework))]
    graph = load(models.path("digits"), hooks=hooks, batch="rows")
    assert told == ["onnx"]
    assert str(graph.input_types[0]).startswith("f32[rows,")
    with pytest.raises(
        ModelError, match=r"by from_onnx, which has no option 'outputs'; it has shapes, constants, batch"
    ):
        load(models.path("digits"), outputs=["y"])
    save(graph, tmp_path / "digits.json")
    with pytest.raises(ModelError, match=r"has no option 'hooks'; it has none of these"):
        load(tmp_path / "digits.json", hooks=hooks)
