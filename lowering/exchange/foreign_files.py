"""Files that are no models which can be read: what they are, by their content, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["first_bytes", "foreign_file", "foreign_folder"]

_EXPORT = "export the model that it was made of as ONNX"
_TORCH = "torch.onnx.export(model, example_inputs, 'model.onnx', dynamo=True)"
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "is a pointer of Git LFS in place of the file: fetch it by git lfs pull"),
    (b"\x93NUMPY", "is an array of numpy, and no network"),
    (b"GGUF", f"is a file of llama.cpp (GGUF), which holds weights without a network; {_EXPORT}"),
    (b"ptrt", f"is an engine of TensorRT, which is code for one device; {_EXPORT}"),
    (b"ftrt", f"is an engine of TensorRT, which is code for one device; {_EXPORT}"),
    (b"7767517", f"is a network of ncnn; {_EXPORT}"),
    (b"\x1f\x8b", "is compressed by gzip; unpack it"),
    (b"BZh", "is compressed by bzip2; unpack it"),
    (b"\xfd7zXZ", "is compressed by xz; unpack it"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd; unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "is an archive of 7-Zip; unpack it"),
    (b"\x89PNG", "is a picture; give the file of the model"),
    (b"\xff\xd8\xff", "is a picture; give the file of the model"),
    (b"GIF8", "is a picture; give the file of the model"),
    (b"%PDF", "is a PDF document; give the file of the model"),
    (b"\x7fELF", "is a program; give the file of the model"),
    (b"MZ", "is a program; give the file of the model"),
)
"""How foreign files begin."""
_ENDINGS = {
    ".mlmodel": f"is a model of Core ML; {_EXPORT}",
    ".mlpackage": f"is a model of Core ML; {_EXPORT}",
    ".caffemodel": f"is a model of Caffe; {_EXPORT}",
    ".prototxt": f"is a model of Caffe; {_EXPORT}",
    ".pdmodel": "is a model of PaddlePaddle; write it as ONNX by paddle2onnx",
    ".pdiparams": "is a model of PaddlePaddle; write it as ONNX by paddle2onnx",
    ".dlc": f"is a model of SNPE; {_EXPORT}",
}
"""What files are whose content does not say it."""
_PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pt2")
_TAR = slice(257, 262)
_HEAD = 512
"""Bytes by which a file is recognised."""


def first_bytes(source: Path) -> bytes:
    """Return the first bytes of a file, some hundreds."""
    with source.open("rb") as stream:
        return stream.read(_HEAD)


def foreign_file(source: Path, head: bytes, members: Sequence[str]) -> str | None:
    """Return what a file is, with the remedy, if it is of a kind that is never a model here; None otherwise.

    Parameters
    ----------
    source : path
        Its name.
    head : bytes
        Its first bytes, some hundreds.
    members : sequence of str
        The names of what is in it, if it is a zip archive.

    Examples
    --------
    >>> foreign_file(Path("net.onnx"), b"<!DOCTYPE html><html>", [])
    'is a web page in place of the file: download the file itself, by its raw link'
    """
    if not head:
        return "is empty; write or download it again"
    found = next((what for start, what in _BEGINNINGS if head.startswith(start)), None)
    if found is not None:
        return found
    text = head.lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "is a web page in place of the file: download the file itself, by its raw link"
    if text.startswith((b"<?xml", b"<net")):
        return f"is XML, as OpenVINO writes networks; {_EXPORT}" if b"<net" in text else "is XML, and no network"
    if head[_TAR] == b"ustar":
        return "is a tar archive; unpack it"
    if head[8:10] == b'{"' and 0 < int.from_bytes(head[:8], "little") < 1 << 32:
        return f"holds weights without a network (safetensors); load them into the model, and export it: {_TORCH}"
    if b'"layers-model"' in head or b'"graph-model"' in head:
        return f"is a model of TensorFlow.js; {_EXPORT}, or give the saved model"
    if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5" and source.suffix.lower() not in _PICKLED:
        return f"is a pickle, which is never opened, as that runs its code; export the model: {_TORCH}, or skl2onnx"
    if source.suffix.lower() in _ENDINGS:
        return _ENDINGS[source.suffix.lower()]
    if members and not any(_is_of_model(name) for name in members):
        return f"is an archive that holds no model ({', '.join(sorted(members)[:3])}); unpack it, and name the file"
    return None


def _is_of_model(member: str) -> bool:
    ends = ("data.pkl", "archive_format", "model.json", "graph.json", ".npy", "model.weights.h5", "config.json")
    return member.endswith(ends) or "/archive/" in f"/{member}"


def foreign_folder(source: Path) -> str:
    """Return what a folder is that is no saved model, and what to do."""
    names = sorted(each.name for each in source.iterdir())
    models = [name for name in names if name.endswith((".onnx", ".tflite", ".keras", ".pt2"))]
    if models:
        return f"is a folder; name a file in it: {', '.join(map(repr, models[:3]))}"
    if source.suffix.lower() in _ENDINGS:
        return _ENDINGS[source.suffix.lower()]
    if any(name.endswith((".safetensors", "pytorch_model.bin")) for name in names):
        return "is a folder of Hugging Face; write it as ONNX: optimum-cli export onnx --model FOLDER OUTPUT"
    if any(name.endswith(".index") for name in names) or "checkpoint" in names:
        return (
            "is a folder of checkpoints, which hold weights without a network; save the model: model.export('folder')"
        )
    if "variables" in names or "assets" in names or "keras_metadata.pb" in names:
        return "is a saved model of TensorFlow without its file 'saved_model.pb'; save or copy it again"
    return "is a folder, and no saved model of TensorFlow; name a file"
