"""Files of the smaller formats with something wrong; run as a program, it tries many in a process of their own.

    python -m tests.support.mutated_files keras 0 1000

loads the files of these numbers, and prints those that end otherwise than by a result or an error of the library, take
longer than a few seconds, or a gigabyte of memory.
"""

from __future__ import annotations

import io
import random
import re
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from graphrewrite import GraphRewriteError, load, models, save, verify
from graphrewrite.lowering.exchange.rulesets import FrameworkOp, entries_of, onnx_ops, read_ruleset, skeleton
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message, written
from tests.support.mutant_runs import main
from tests.support.mutated_messages import change_field, sites

__all__ = ["KINDS", "NEEDED", "outcome"]

_EXCHANGE = Path(__file__).parents[1] / "lowering" / "exchange"
_RECORDED = _EXCHANGE / "recorded_keras.zip"
_PROGRAM = _EXCHANGE / "recorded_torch.pt2"
_WORDS = (b"", b"-1", b"0", b"99999999999", b"1e309", b"nan", b'"', b"{", b"}", b"[", b"\0", b"\xff", b"../x", b"\n")
_VALUES = (
    *("0", "1", "-1", "2", "3", "8", "17", "2147483648", "9223372036854775807", "99999999999999999999", "1e309", "nan"),
    *("true", "null", "[0]", "{}", '""', "x"),
)
_TEXTS = ("", "x", "N", "-1", "[0]", "../../x", "/dev/zero", "__class__", "é", "\0")
_WORD = re.compile(r'(?<=")[^"\n]*(?=")|-?\b\d[\w.+-]*|\w+')
_FROZEN = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 5 } dim { size: 6 } dim { size: 3 } } } } }
node { name: "w" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT
  tensor_shape { dim { size: 2 } dim { size: 2 } dim { size: 3 } dim { size: 4 } } float_val: 0.5 } } } }
node { name: "c" op: "Conv2D" input: "x" input: "w" attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 } } }
  attr { key: "padding" value { s: "SAME" } } }
node { name: "s" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32
  tensor_shape { dim { size: 2 } } int_val: -1 int_val: 120 } } } }
node { name: "r" op: "Reshape" input: "c" input: "s" }
node { name: "f" op: "double" input: "r" }
library { function { signature { name: "double" input_arg { name: "a" } output_arg { name: "b" } }
  node_def { name: "t" op: "AddV2" input: "a" input: "a" } ret { key: "b" value: "t:z:0" } } }
"""
_TEXT = """graph digits
x = input() : f32[N,1,8,8]
w = constant(value=[[[[0.5, -1.0], [2.0, 0.25]]]]) : f32[1,1,2,2]
conv_1 = conv(x, w, strides=[2, 2]) : f32[N,1,4,4]
relu_1 = relu(conv_1) {note="kept"} : f32[N,1,4,4]
flatten_1 = reshape(relu_1, shape=["N", 16]) : f32[N,16]
y = output(flatten_1)
"""


def _mutated(data: bytes, draw: random.Random) -> bytes:
    """Return bytes with a few changes, or fewer of them."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 10))):
        at = draw.randrange(max(len(changed), 1))
        how = draw.random()
        if how < 0.4:
            changed[at : at + 1] = bytes([draw.randrange(256)])
        elif how < 0.55 and changed:
            changed[at] ^= 1 << draw.randrange(8)
        elif how < 0.7:
            changed[at : at + draw.randint(0, 9)] = draw.choice(_WORDS)
        elif how < 0.85:
            source = draw.randrange(max(len(changed), 1))
            changed[at:at] = changed[source : source + draw.randint(1, 40)]
        else:
            del changed[at : at + draw.randint(1, 40)]
    return bytes(changed[: draw.randrange(max(len(changed), 1))] if draw.random() < 0.1 else changed)


def _reworded(data: bytes, draw: random.Random) -> bytes:
    """Return a text with a few words or lines changed, most of which can still be read."""
    text = data.decode()
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if draw.random() < 0.2:
            lines = text.splitlines(keepends=True) or [""]
            at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[at : at + draw.randrange(2)] = draw.choice((lines[to : to + 1], lines[to : to + 4], []))
            text = "".join(lines)
            continue
        word, *others = (_WORD.search(text, draw.randrange(len(text) + 1)) for _ in range(9))
        if word is not None:
            is_quoted = text[: word.start()].endswith('"')
            alike = [each[0] for each in others if each and text[: each.start()].endswith('"') == is_quoted]
            new = draw.choice(alike if alike and draw.random() < 0.5 else _TEXTS if is_quoted else _VALUES)
            text = f"{text[: word.start()]}{new}{text[word.end() :]}"
    return text.encode()


def _text(data: bytes, draw: random.Random) -> bytes:
    return (_reworded if draw.random() < 0.7 else _mutated)(data, draw)


def _message(name: str, *, is_text: bool = False) -> Callable[[bytes, random.Random], bytes]:
    """What changes a few fields of a message of protobuf, or the bytes of its file."""

    def change(data: bytes, draw: random.Random) -> bytes:
        if draw.random() < 0.3:
            return (_text if is_text else _mutated)(data, draw)
        message = new_message(name)
        if is_text:
            read_message(data.decode(), message, "seed")
        else:
            message.ParseFromString(data)
        names = [
            text for each, field in sites(message) if field.type == field.TYPE_STRING for text in _texts(each, field)
        ]
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            change_field(message, draw, names)
        return written(message).encode() if is_text else bytes(message.SerializePartialToString())

    return change


def _texts(message: Any, field: Any) -> list[str]:
    value = getattr(message, field.name)
    return list(value) if field.is_repeated else [value]


def _rezipped(data: bytes, draw: random.Random) -> bytes:
    """Return a zip file with one member mutated, so that its sums are right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        chosen = draw.choice([*old.namelist(), *(name for name in old.namelist() if name.endswith(".json"))])
        for name in old.namelist():
            content = old.read(name)
            change = _text if name.endswith(".json") else _mutated
            new.writestr(name, change(content, draw) if name == chosen else content)
    return buffer.getvalue()


def _zip(data: bytes, draw: random.Random) -> bytes:
    return (_rezipped if draw.random() < 0.8 else _mutated)(data, draw)


@cache
def _recorded(name: str) -> bytes:
    with zipfile.ZipFile(_RECORDED) as archive:
        return archive.read(name)


@cache
def _saved(ending: str) -> bytes:
    """A small network as a document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"net{ending}"
        save(load(models.path("digits")), path)
        return path.read_bytes()


def _h5(data: bytes, draw: random.Random) -> bytes:
    """Return a file of Keras with another network than its weights are for, or other bytes."""
    import h5py

    if draw.random() < 0.5:
        return _mutated(data, draw)
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        config = _reworded(str(file.attrs["model_config"]).encode(), draw)
        file.attrs["model_config"] = config.decode().replace("\0", " ")
    return buffer.getvalue()


def _file(name: str, data: Callable[[], bytes], change: Callable[..., bytes] = _mutated) -> Callable[..., Path]:
    def write(folder: Path, draw: random.Random) -> Path:
        (folder / name).write_bytes(change(data(), draw))
        return folder / name

    return write


def _saved_model(folder: Path, draw: random.Random) -> Path:
    model = draw.choice(("saved_model", "further_saved"))
    with zipfile.ZipFile(_RECORDED) as archive:
        names = [each for each in archive.namelist() if each.startswith(f"{model}/") and not each.endswith("/")]
        tried = [each for each in names if not each.endswith("fingerprint.pb")]
        chosen = draw.choice(tried)
        for name in names:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            data = archive.read(name)
            change = _message("SavedModel") if name.endswith("saved_model.pb") else _mutated
            target.write_bytes(change(data, draw) if name == chosen else data)
    return folder / model


def _frozen() -> bytes:
    return bytes(read_message(_FROZEN, new_message("GraphDef"), "seed").SerializeToString())


def _frozen_text() -> bytes:
    return written(read_message(_FROZEN, new_message("GraphDef"), "seed")).encode()


@cache
def _ops() -> dict[str, FrameworkOp]:
    return onnx_ops(13)


@cache
def _ruleset() -> bytes:
    return skeleton([_ops()[name] for name in ("Add", "Elu", "Softmax", "Transpose")], "onnx").encode()


KINDS: dict[str, Callable[[Path, random.Random], Path]] = {
    "pb": _file("m.pb", _frozen, _message("GraphDef")),
    "frames": _file("m.pb", lambda: _recorded("further.pb"), _message("GraphDef")),
    "pbtxt": _file("m.pbtxt", _frozen_text, _message("GraphDef", is_text=True)),
    "saved model": _saved_model,
    "keras": _file("m.keras", lambda: _recorded("keras_3.keras"), _zip),
    "keras 2": _file("m.keras", lambda: _recorded("keras_2.keras"), _zip),
    "h5": _file("m.h5", lambda: _recorded("keras_3.h5"), _h5),
    "pt2": _file("m.pt2", _PROGRAM.read_bytes, _zip),
    "json": _file("m.json", lambda: _saved(".json"), _text),
    "npz": _file("m.npz", lambda: _saved(".npz"), _zip),
    "graph": _file("m.graph", _TEXT.encode, _text),
    "ruleset": _file("rules.pbtxt", _ruleset, _message("MappingDefinitionSet", is_text=True)),
}
"""What writes a mutant of each format."""
NEEDED = {"keras": "h5py", "keras 2": "h5py", "h5": "h5py", "pt2": "torch"}
"""Packages that read formats."""


def outcome(kind: str, number: int, folder: Path) -> str:
    """Load a mutant; return how far it came. Any error but the library's is raised."""
    path = KINDS[kind](folder, random.Random(f"{kind} {number}"))
    try:
        if kind == "ruleset":
            rules = read_ruleset(path, ops=_ops(), descriptors={})
            rules.problems()
            entries_of(rules)
            return "read"
        graph = load(path)
        str(graph)
        verify(graph)
    except GraphRewriteError:
        return "refused"
    return "read"


if __name__ == "__main__":
    main("mutated_files", outcome)
