"""Files of graphs: whole or not at all, and nothing in them is believed."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor
from graphrewrite.errors import GraphError, ParseError, SerialError
from graphrewrite.formats.archive import write_archive
from graphrewrite.formats.json.encode_graph import to_dict
from graphrewrite.formats.json_file import load, save
from graphrewrite.formats.text_file import read_text, write_text
from graphrewrite.hierarchy.module import Module
from graphrewrite.testing import digraphs, graphs

IS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links and sparse files of POSIX")


def weights() -> Graph:
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 10)))
    w = graph.constant(np.arange(100, dtype=np.float32).reshape(10, 10), name="w")
    graph.output("y", x @ w)
    return graph


def archive_of(arrays: dict[str, np.ndarray]) -> bytes:
    stream = io.BytesIO()
    write_archive(stream, arrays)
    return stream.getvalue()


def arrays_of(path: Path) -> Path:
    """The file of arrays beside a file."""
    (found,) = path.parent.glob(f"{path.name}.*npz")
    return found


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.json"
    weights().save(path, arrays="npz")
    return path


@given(digraphs(max_size=5).map(Graph) | graphs())
def test_graphs_survive_in_files(graph):
    with tempfile.TemporaryDirectory() as folder:
        for arrays in ("inline", "npz"):
            path = Path(folder) / f"{arrays}.json"
            save(graph, path, arrays=arrays)
            again = load(path)
            assert again == graph
            assert list(again) == list(graph)
        write_text(graph, Path(folder) / "g.txt")
        assert read_text(Path(folder) / "g.txt") == graph


def test_modules_survive_in_files_and_share_their_arrays(tmp_path):
    module = Module("net")
    w = module.constant("w", np.arange(64, dtype=np.float32))
    for name in "ab":
        graph = module.add_graph(name)
        graph.output("y", -w.on(graph))
    save(module, tmp_path / "m.json", arrays="npz")
    write_text(module, tmp_path / "m.txt")
    for again in (load(tmp_path / "m.json"), read_text(tmp_path / "m.txt")):
        assert again == module
        found = [data["value"] for g in again.values() for _, data in g.nodes(data=True) if "value" in data]
        assert all(each is again.constants["w"] for each in found)
    with zipfile.ZipFile(arrays_of(tmp_path / "m.json")) as archive:
        assert archive.namelist() == ["array_1.npy"]


def test_equal_graphs_give_equal_files(tmp_path):
    for name in "ab":
        save(weights(), tmp_path / f"{name}.json", arrays="npz")
        write_text(weights(), tmp_path / f"{name}.txt")
    a, b = ({p.name[1:]: p.read_bytes() for p in tmp_path.glob(f"{name}.*")} for name in "ab")
    assert a == b
    assert len(a) == 4


def test_small_arrays_stand_in_the_text(tmp_path):
    graph = Graph("g")
    graph.output("y", graph.constant(np.arange(3)))
    write_text(graph, tmp_path / "g.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["g.txt"]


def test_numpy_reads_the_file_of_arrays(net):
    with np.load(arrays_of(net), allow_pickle=False) as found:
        assert found["array_1"].tolist() == weights().nodes["w"]["value"].tolist()


@pytest.mark.parametrize("arrays", ["inline", "npz"])
def test_what_cannot_be_stored_leaves_the_old_file(tmp_path, arrays):
    path = tmp_path / "net.json"
    save(weights(), path, arrays=arrays)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    graph = weights()
    graph.add_node("n", type="Foo", value=object())
    with pytest.raises(SerialError, match=r"^nodes.n.value: "):
        save(graph, path, arrays=arrays)
    with pytest.raises(GraphError, match="node 'n'"):
        write_text(graph, path)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


@pytest.mark.parametrize("write", [save, write_text])
def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch, write):
    path = tmp_path / "net"
    path.write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SerialError, match=r"^net.*: cannot be written: No space left on device"):
        write(weights(), path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("net", "old")]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SerialError, match=r"^net.json: cannot be written: No such file"):
        save(weights(), tmp_path / "nowhere" / "net.json")


@IS_POSIX
def test_a_link_is_replaced_and_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (tmp_path / "net.json").symlink_to(secret)
    save(weights(), tmp_path / "net.json", arrays="npz")
    arrays = arrays_of(tmp_path / "net.json")
    arrays.unlink()
    arrays.symlink_to(secret)
    save(weights(), tmp_path / "net.json", arrays="npz")
    assert secret.read_text() == "mine"
    assert not (tmp_path / "net.json").is_symlink()
    assert not arrays.is_symlink()


@IS_POSIX
@pytest.mark.parametrize("read", [load, read_text])
def test_a_link_beside_is_not_read(tmp_path, read):
    path = tmp_path / "net"
    if read is load:
        save(weights(), path, arrays="npz")
    else:
        write_text(weights(), path)
    arrays = arrays_of(path).rename(tmp_path / "elsewhere")
    (tmp_path / "net.npz").symlink_to(arrays)
    with pytest.raises(SerialError, match=r"^net.npz: expected a regular file, not a folder, link or device"):
        read(path)


def test_no_document_names_another_file(net):
    data = json.loads(net.read_text())
    data["arrays"]["path"] = "../../etc/passwd"
    net.write_text(json.dumps(data))
    with pytest.raises(SerialError, match=r"^arrays: unknown key 'path'"):
        load(net)


@pytest.mark.parametrize("name", ["../array_1", "/etc/passwd", "array_1.npy", ""])
def test_names_of_arrays_are_only_names(net, name):
    data = json.loads(net.read_text())
    data["nodes"]["w"]["value"] = {"$array": name}
    net.write_text(json.dumps(data))
    with pytest.raises(SerialError, match=r"^nodes.w.value: the file of arrays has no array"):
        load(net)


def with_archive(path: Path, archive: bytes) -> Path:
    """The file, with other arrays beside and their digest in it."""
    arrays_of(path).unlink()
    data = json.loads(path.read_text())
    digest = data["arrays"]["sha256"] = hashlib.sha256(archive).hexdigest()
    Path(f"{path}.{digest[:16]}.npz").write_bytes(archive)
    path.write_text(json.dumps(data))
    return path


def zipped(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return stream.getvalue()


def npy(array: np.ndarray, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


class Bomb:
    """What would make a file, if anybody unpickled it."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("exploded"),)


def test_another_file_of_arrays_is_refused(net):
    arrays_of(net).write_bytes(archive_of({"array_1": np.zeros((10, 10), np.float32)}))
    with pytest.raises(SerialError, match=r"^arrays: net.json.\w+.npz is not the file that was written with net.json"):
        load(net)


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"", "arrays: expected an .npz file"),
        (b"PK" * 50, "arrays: expected an .npz file"),
        (zipped({"array_1.npy": b""}), "nodes.w.value: the array has no valid .npy header"),
        (zipped({"array_1.npy": b"\x93NUMPY\x01\x00\xff\xff{"}), "nodes.w.value: the array has no valid .npy header"),
        (zipped({"array_1.npy": b"\x93NUMPY\x03\x00"}), "nodes.w.value: version .* of .npy is not supported"),
        (zipped({"array_1.npy": npy(np.zeros(9))[:-1]}), "nodes.w.value: expected 72 bytes, got 71"),
        (zipped({"array_1.npy": npy(np.zeros(2**20))}, zipfile.ZIP_DEFLATED), "arrays: .* exceed the file size"),
        (
            zipped({"array_1.npy": npy(np.zeros(3)), "b": b"a" * 999}, zipfile.ZIP_DEFLATED),
            "arrays: .* exceed the file size",
        ),
        (zipped({"b.npy": npy(np.zeros(9))}), "nodes.w.value: the file of arrays has no array 'array_1'"),
        (
            zipped({"array_1.npy": npy(np.array([Bomb()], object), allow_pickle=True)}),
            r"nodes.w.value: the dtype '\|O' is not supported",
        ),
        (zipped({"array_1.npy": npy(np.zeros(2, "i4,f4"))}), "nodes.w.value: "),
    ],
    ids=range(11),
)
def test_hostile_arrays_are_refused(net, archive, message, monkeypatch):
    monkeypatch.chdir(net.parent)
    with pytest.raises(SerialError, match=f"^{message}"):
        load(with_archive(net, archive))
    assert not Path("exploded").exists()


def test_arrays_in_columns_are_read(net):
    array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    found = load(with_archive(net, zipped({"array_1.npy": npy(array)})))
    assert found.nodes["w"]["value"].tolist() == array.tolist()


@given(st.randoms(use_true_random=False))
def test_mutated_arrays_are_refused_or_read(random):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.json"
        save(weights(), path, arrays="npz")
        archive = bytearray(arrays_of(path).read_bytes())
        for _ in range(random.choice([1, 3])):
            # The header, and the directory at the end: what lies between them is only numbers.
            place = random.choice([random.randrange(200), random.randrange(len(archive) - 200, len(archive))])
            archive[place] = random.randrange(256)
        try:
            load(with_archive(path, bytes(archive[: random.choice([len(archive), random.randrange(len(archive))])])))
        except SerialError as error:
            assert error.path  # noqa: PT017  # either is right


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"", "line 1, column 1: expected JSON"),
        (b"\xff\xfe", "expected UTF-8 text"),
        (b"[" * 10**6, "nests too deep"),
        (b'{"a":' * 10**6, "nests too deep"),
        (b"[]", "expected an object"),
        (b"NaN", "NaN is not valid JSON"),
        (b'{"format": "graphrewrite", "format": "graphrewrite"}', "format: "),
    ],
    ids=range(7),
)
def test_hostile_json_is_refused(tmp_path, document, message):
    path = tmp_path / "net.json"
    path.write_bytes(document)
    with pytest.raises(SerialError, match=f"^(net.json: )?{message}"):
        load(path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("NaN", "NaN is not valid JSON"),
        ("-Infinity", "-Infinity is not valid JSON"),
        ("1e999", "expected a finite number"),
        ("9" * 5000, "the integer is too long"),
        ('{"a": 1, "a": 2}', "this key is duplicated in its object"),
    ],
)
def test_what_json_has_not_is_refused_with_its_path(tmp_path, value, message):
    path = tmp_path / "net.json"
    save(Graph("g", weight=12345), path)
    path.write_text(path.read_text().replace("12345", value))
    with pytest.raises(SerialError, match=rf"^attributes.weight(\.a)?: {message}"):
        load(path)


def test_a_node_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "net.json"
    save(weights(), path)
    path.write_text(path.read_text().replace('"w": {', '"x": {', 1))
    with pytest.raises(SerialError, match=r"^nodes.x: this key is duplicated in its object"):
        load(path)


def test_truncated_files_are_refused(tmp_path):
    path = tmp_path / "net.json"
    save(weights(), path)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(SerialError, match=r"^net.json: line \d+, column \d+: expected JSON"):
            load(path)


@given(st.randoms(use_true_random=False))
def test_mutated_files_are_refused_or_read(random):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.json"
        save(weights(), path)
        document = bytearray(path.read_bytes())
        for _ in range(random.choice([1, 3])):
            document[random.randrange(len(document))] = random.choice(b'{}[]",:0179$ae\xff')
        path.write_bytes(document)
        try:
            found = load(path)
        except SerialError as error:
            assert error.path or "expected" in str(error) or "key" in str(error)  # noqa: PT017  # either is right
        else:
            str(found)


@IS_POSIX
@pytest.mark.parametrize("read", [load, read_text])
def test_absurd_sizes_are_refused_before_they_are_read(tmp_path, read):
    path = tmp_path / "net"
    with path.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(SerialError, match=r"^net: has 1099511627776 bytes, the limit is 4294967296"):
        read(path)


@pytest.mark.parametrize("read", [load, read_text])
def test_what_is_no_file_is_refused(tmp_path, read):
    with pytest.raises(SerialError, match=r"^nowhere: cannot be read: No such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(SerialError, match="expected a regular file, not a folder, link or device"):
        read(tmp_path)
    with pytest.raises(SerialError, match="cannot be read"):
        read(tmp_path / "a\0b")


def test_a_text_without_its_arrays_is_refused(tmp_path):
    path = tmp_path / "g.txt"
    write_text(weights(), path)
    arrays_of(path).unlink()
    with pytest.raises(SerialError, match=r"^g.txt.\w+.npz: cannot be read"):
        read_text(path)
    path.write_text(path.read_text().partition("\n")[2])
    with pytest.raises(ParseError, match="line 3, column 20: the array 'array_1' is in a separate file"):
        read_text(path)


def test_a_text_with_other_arrays_is_refused(tmp_path):
    write_text(weights(), tmp_path / "g.txt")
    arrays_of(tmp_path / "g.txt").write_bytes(archive_of({"array_1": np.zeros((10, 10), np.float32)}))
    with pytest.raises(SerialError, match=r"is not the file that was written with g\.txt"):
        read_text(tmp_path / "g.txt")


def test_errors_of_the_arrays_of_a_text_name_their_file(tmp_path):
    path = tmp_path / "g.txt"
    write_text(weights(), path)
    lines = path.read_text().partition("\n")
    old, new = (hashlib.sha256(each).hexdigest() for each in (arrays_of(path).read_bytes(), b"nothing"))
    arrays_of(path).unlink()
    Path(f"{path}.{new[:16]}.npz").write_bytes(b"nothing")
    path.write_text("\n".join([lines[0].replace(old, new), lines[2]]))
    with pytest.raises(SerialError, match=r"^'?g\.txt\.\w+\.npz'?: expected an \.npz file"):
        read_text(path)


def test_arrays_inline_are_bytes_in_base_64():
    found = to_dict(weights())["nodes"]["w"]["value"]["$array"]
    assert base64.b64decode(found["data"]) == weights().nodes["w"]["value"].tobytes()


def test_another_way_to_store_arrays_is_refused(tmp_path):
    with pytest.raises(SerialError, match="'inline' or 'npz', got 'pickle'"):
        save(weights(), tmp_path / "g.json", arrays="pickle")


@pytest.mark.parametrize("key", ["version", "nodes", "edges"])
def test_a_main_key_that_stands_twice_is_refused_as_such(tmp_path, key):
    file = tmp_path / "g.json"
    save(weights(), file)
    file.write_text(file.read_text().replace(f'"{key}": ', f'"{key}": {{}}, "{key}": ', 1))
    with pytest.raises(SerialError, match=rf"^{key}: this key is duplicated in its object"):
        load(file)


def test_a_text_that_declares_another_shape_than_its_array_is_refused(tmp_path):
    path = tmp_path / "net.txt"
    write_text(weights(), path)
    path.write_text(path.read_text("utf-8").replace("f32[10,10]", "f32[10,11]"), "utf-8")
    with pytest.raises(ParseError, match=r"the value has the shape \[10,10\], and the type is f32\[10,11\]"):
        read_text(path)


def large(count: int = 20_000) -> Graph:
    """With arrays whose bytes are not parsed with the document."""
    graph = Graph("g", text='{"$array": "array_1"} {"$array": {"dtype": "|i1", "shape": [1], "data": "')
    array = np.arange(count, dtype=np.float32).reshape(-1, 100)
    for each in (array, array.T, array[::2, 1:], array.astype(">f4"), array.astype("U4"), array[:0]):
        graph.add_node(graph.fresh("n"), type="Foo", value=each, again={"$array": "array_1", "a": [each]})
    return graph


def test_large_arrays_inline_are_stored_like_small_ones(tmp_path):
    path, graph = tmp_path / "net.json", large()
    save(graph, path)
    assert load(path) == graph
    assert json.loads(path.read_text()) == json.loads(json.dumps(to_dict(graph)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("AAAAAA", "AA=AAA", r"nodes.n_\d.value: expected bytes in base 64"),
        ("AACA", "AA==", r"nodes.n_\d.value: expected bytes in base 64"),
        ("AACA", "AA\\u0043A", r"nodes.n_\d.value: expected bytes in base 64"),
        ("AACA", "AA A", r"nodes.n_\d.value: expected bytes in base 64"),
        ("AACA", "AACAAACA", r"nodes.n_\d.value: expected 80000 bytes, got 80003"),
        ('"shape": [200, 100]', '"shape": [200, 101]', r"nodes.n_\d.value: expected 80800 bytes, got 80000"),
        ('"n_1": {"type": "Foo",', '"n_1": {"type": "Foo" ', r"net.json: line \d+, column 26: expected JSON"),
        ('"again": ', '"again" ', r"net.json: line \d+, column 106\d\d\d: expected JSON"),
        (
            '"text": ',
            '"first": {"$array": {"dtype": "<f4", "shape": [200, 100], "data": 0}}, "text": ',
            "nodes.n_1.value: ",
        ),
        (
            '"text": ',
            '"first": {"$array": {"dtype": "<f4", "shape": [200, 100], "data": 99}}, "text": ',
            "attributes.first: ",
        ),
        ("AACA", "AA\udc80A", r"nodes.n_\d.value: expected bytes in base 64"),
    ],
    ids=range(11),
)
def test_large_arrays_inline_are_not_believed(tmp_path, old, new, message):
    path = tmp_path / "net.json"
    save(large(), path)
    text = path.read_text()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    with pytest.raises(SerialError, match=f"^{message}"):
        load(path)


def test_a_document_of_megabytes_is_mapped(tmp_path):
    path = tmp_path / "net.json"
    graph = large(400_000)
    save(graph, path)
    assert load(path) == graph
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SerialError, match=r"^net.json: line \d+, column \d+: expected JSON"):
        load(path)
