"""Models that keep their weights in files beside them: read in place, and nothing else is read."""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from graphrewrite import evaluate
from graphrewrite.errors import SerialError
from graphrewrite.lowering import ModelError, from_onnx, to_onnx
from graphrewrite.lowering.exchange.onnx import external_data, model_output
from graphrewrite.types import owned
from tests.support.lowering_networks import mlp, model
from tests.support.sessions import session_of

WHOLE = mlp(inputs=50, hidden=100)
X = np.linspace(-1, 1, 100, dtype=np.float32).reshape(2, 50)


def saved(folder: Path, *, several: bool = False) -> Path:
    """A model whose four constants, two of them small, lie in one file or in one each."""
    file, proto = folder / "net.onnx", onnx.ModelProto()
    proto.CopyFrom(WHOLE)
    place = {"all_tensors_to_one_file": False} if several else {"location": "weights.bin"}
    onnx.save(proto, file, save_as_external_data=True, size_threshold=0, **place)
    return file


def changed(file: Path, key: str, value: str, tensor: int = 0) -> Path:
    """The model file with another place of a constant."""
    proto = onnx.load(file, load_external_data=False)
    entries = {entry.key: entry.value for entry in proto.graph.initializer[tensor].external_data} | {key: value}
    del proto.graph.initializer[tensor].external_data[:]
    for key_, value_ in entries.items():
        proto.graph.initializer[tensor].external_data.add(key=key_, value=value_)
    file.write_bytes(proto.SerializeToString())
    return file


def is_mapped(array: np.ndarray) -> bool:
    return isinstance(array, np.memmap) or (isinstance(array.base, np.ndarray) and is_mapped(array.base))


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_it_is_read(tmp_path: Path, several: bool) -> None:
    assert from_onnx(saved(tmp_path, several=several)) == from_onnx(WHOLE)


def test_large_constants_are_mapped_and_read_only(tmp_path: Path) -> None:
    graph = from_onnx(saved(tmp_path))
    w1 = graph.nodes["w1"]["value"]
    assert is_mapped(w1)
    assert not w1.flags.writeable
    assert np.shares_memory(graph.copy().nodes["w1"]["value"], w1)


def test_it_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    saved(tmp_path / "a")
    monkeypatch.chdir(tmp_path / "b")
    assert from_onnx("../a/net.onnx") == from_onnx(WHOLE)


@pytest.mark.parametrize("offset", [0, 1, 2, 4096])
def test_any_offset_is_read(tmp_path: Path, offset: int) -> None:
    file = saved(tmp_path)
    first = next(i for i, t in enumerate(WHOLE.graph.initializer) if t.name == "w1")
    w1 = onnx.numpy_helper.to_array(WHOLE.graph.initializer[first])
    (tmp_path / "moved.bin").write_bytes(b"?" * offset + w1.tobytes() + b"!")
    changed(file, "location", "moved.bin", first)
    changed(file, "offset", str(offset), first)
    graph = from_onnx(file)
    assert graph == from_onnx(WHOLE)
    assert graph.nodes["w1"]["value"].flags.aligned
    assert is_mapped(graph.nodes["w1"]["value"]) == (offset % 4 == 0)


@pytest.mark.parametrize("kind", ["BFLOAT16", "INT4", "FLOAT8E4M3FN", "FLOAT16", "INT64", "BOOL", "UINT2"])
def test_any_type_is_read(tmp_path: Path, kind: str) -> None:
    number = getattr(TensorProto, kind)
    values = np.random.default_rng(0).integers(0, 2, size=(5, 1001))
    tensor = helper.make_tensor("c", number, values.shape, values.ravel().tolist())
    nodes = [helper.make_node("Cast", ["c"], ["f"], to=1), helper.make_node("Add", ["x", "f"], ["y"])]
    proto = model(nodes, {}, input_shape=(5, 1001), opset=25)
    proto.ir_version = 13
    proto.graph.initializer.append(tensor)
    onnx.save(proto, tmp_path / "net.onnx", save_as_external_data=True, location="w", size_threshold=0)
    graph = from_onnx(tmp_path / "net.onnx", batch=None)
    (found,) = evaluate(graph, {"x": np.zeros(values.shape, np.float32)}).values()
    np.testing.assert_array_equal(found, values)


def within_nodes(folder: Path, value: np.ndarray, times: int) -> Path:
    """A model that adds an array so many times, a constant of a node each time, whose data lies in a file."""
    nodes = []
    for n in range(times):
        nodes += [
            helper.make_node("Constant", [], [f"c{n}"], value=onnx.numpy_helper.from_array(value)),
            helper.make_node("Add", [f"y{n}" if n else "x", f"c{n}"], [f"y{n + 1}" if n + 1 < times else "y"]),
        ]
    file = folder / "net.onnx"
    proto = model(nodes, {}, input_shape=(2, 50))
    options = {"size_threshold": 0, "convert_attribute": True}
    onnx.save(proto, file, save_as_external_data=True, location="w", **options)
    return file


def test_constants_within_nodes_are_read(tmp_path: Path) -> None:
    value = np.arange(100, dtype=np.float32).reshape(2, 50)
    (found,) = evaluate(from_onnx(within_nodes(tmp_path, value, times=1)), {"x": X}).values()
    np.testing.assert_array_equal(found, X + value)


def test_only_so_much_is_copied_into_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = within_nodes(tmp_path, np.ones((2, 50), np.float32), times=3)
    monkeypatch.setattr(external_data, "_MOST_COPIED", 3 * 400)
    from_onnx(file)
    monkeypatch.setattr(external_data, "_MOST_COPIED", 3 * 400 - 1)
    with pytest.raises(ModelError, match=r"net\.onnx.*is one of several that hold more than"):
        from_onnx(file)


def test_the_folder_of_a_linked_model_is_its_own(tmp_path: Path) -> None:
    """Stores of models keep files by their hash, and link to each of them."""
    store, shown = tmp_path / "store", tmp_path / "shown"
    store.mkdir()
    shown.mkdir()
    saved(store).rename(store / "a1b2")
    (shown / "net.onnx").symlink_to(store / "a1b2")
    (shown / "weights.bin").symlink_to(store / "weights.bin")
    assert from_onnx(shown / "net.onnx") == from_onnx(WHOLE)


class TestNothingElseIsRead:
    @pytest.mark.parametrize(
        "location",
        [
            *("../secret.bin", "/etc/hostname", "a/../../secret.bin", "", ".", "link", "pipe", "folder", "a\0b"),
            *("x" * 5000, "loop", "weights.bin/x", "/dev/zero", "zero"),
        ],
    )
    def test_a_place_outside(self, tmp_path: Path, location: str) -> None:
        folder = tmp_path / "inside"
        (folder / "folder").mkdir(parents=True)
        (tmp_path / "secret.bin").write_bytes(b"\0" * 100_000)
        (folder / "link").symlink_to("../secret.bin")
        (folder / "loop").symlink_to("loop")
        (folder / "zero").symlink_to("/dev/zero")
        os.mkfifo(folder / "pipe")
        file = changed(saved(folder), "location", location)
        with pytest.raises(ModelError, match=r"net\.onnx.*constant 'w1'"):
            from_onnx(file)

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("offset", "-4", "no number of bytes"),
            ("offset", "1e9", "no number of bytes"),
            ("offset", "9" * 500, "no number of bytes"),
            ("offset", "٣", "no number of bytes"),
            ("offset", "13000", "which has 21612"),
            ("offset", "9999999999999999999", "which has 21612"),
            ("length", "20004", r"\[100, 50\], which is 20000 bytes, and says 20004"),
            ("length", "-1", "no number of bytes"),
        ],
    )
    def test_a_place_beyond_the_file(self, tmp_path: Path, key: str, value: str, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            from_onnx(changed(saved(tmp_path), key, value))

    @pytest.mark.parametrize(
        "change",
        [
            lambda tensor: tensor.dims.__setitem__(0, 1 << 40),
            lambda tensor: tensor.dims.__setitem__(0, -100),
            lambda tensor: tensor.dims.extend([1 << 62] * 50),
            lambda tensor: setattr(tensor, "data_type", TensorProto.STRING),
            lambda tensor: setattr(tensor, "data_type", 99),
            lambda tensor: setattr(tensor, "data_type", 0),
        ],
        ids=["huge", "negative", "rank", "text", "strange", "undefined"],
    )
    def test_a_header_that_lies(self, tmp_path: Path, change: Callable[[TensorProto], None]) -> None:
        file = saved(tmp_path)
        proto = onnx.load(file, load_external_data=False)
        change(proto.graph.initializer[0])
        file.write_bytes(proto.SerializeToString())
        with pytest.raises(ModelError, match="constant 'w1'"):
            from_onnx(file)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        file = saved(tmp_path)
        (tmp_path / "weights.bin").rename(tmp_path / "weights.bim")
        with pytest.raises(
            ModelError, match=r"net\.onnx.*'weights\.bin', which is missing; did you mean 'weights\.bim'"
        ):
            from_onnx(file)

    @pytest.mark.parametrize("content", [b"", b"short"])
    def test_a_file_that_is_too_short_is_named(self, tmp_path: Path, content: bytes) -> None:
        file = saved(tmp_path)
        (tmp_path / "weights.bin").write_bytes(content)
        with pytest.raises(
            ModelError, match=rf"'b1' ends at byte 20400 of the file 'weights\.bin', which has {len(content)}"
        ):
            from_onnx(file)

    def test_bytes_have_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="another file; give the path"):
            from_onnx(saved(tmp_path).read_bytes())

    @pytest.mark.parametrize("name", ["pipe.onnx", "zero.onnx"])
    def test_the_model_itself_is_a_file(self, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / "pipe.onnx")
        (tmp_path / "zero.onnx").symlink_to("/dev/zero")
        with pytest.raises(ModelError, match=rf"{name}' is no regular file"):
            from_onnx(tmp_path / name)


class TestWriting:
    def files(self, folder: Path) -> list[str]:
        return sorted(file.name for file in folder.iterdir())

    def test_large_constants_go_to_a_file_beside(self, tmp_path: Path) -> None:
        graph = from_onnx(WHOLE)
        model = to_onnx(graph, tmp_path / "net.onnx", external_data=True)
        name, data = self.files(tmp_path)
        assert name == "net.onnx"
        assert re.fullmatch(r"net\.onnx\.[0-9a-f]{16}\.data", data)
        assert (tmp_path / data).read_bytes() == graph.nodes["w1"]["value"].tobytes()
        assert (tmp_path / name).stat().st_size < 2500
        assert model == onnx.load(tmp_path / name, load_external_data=False)
        onnx.checker.check_model(tmp_path / name, full_check=True)
        assert from_onnx(tmp_path / name) == graph
        (found,) = session_of(tmp_path / name).run(None, {"x": X})
        np.testing.assert_allclose(found, *evaluate(graph, {"x": X}).values(), rtol=1e-5)

    def test_a_model_is_one_file_as_long_as_it_can_be(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        graph = from_onnx(WHOLE)
        model = to_onnx(graph, tmp_path / "net.onnx")
        assert self.files(tmp_path) == ["net.onnx"]
        assert model == onnx.load(tmp_path / "net.onnx") == to_onnx(graph)
        monkeypatch.setattr(model_output, "_MOST", 10_000)
        to_onnx(graph, tmp_path / "net.onnx")
        assert len(self.files(tmp_path)) == 2
        assert from_onnx(tmp_path / "net.onnx") == graph
        to_onnx(graph, tmp_path / "net.onnx", external_data=False)
        assert self.files(tmp_path) == ["net.onnx"]

    def test_it_is_written_where_it_came_from(self, tmp_path: Path) -> None:
        """Its weights are mapped from the file that goes."""
        to_onnx(from_onnx(WHOLE), tmp_path / "net.onnx", external_data=True)
        graph = from_onnx(tmp_path / "net.onnx")
        (before,) = evaluate(graph, {"x": X}).values()
        other = graph.copy()
        other.nodes["w1"]["value"] = -graph.nodes["w1"]["value"]
        to_onnx(other, tmp_path / "net.onnx", external_data=True)
        assert len(self.files(tmp_path)) == 2
        np.testing.assert_array_equal(before, *evaluate(graph, {"x": X}).values())
        assert from_onnx(tmp_path / "net.onnx") == other != graph

    def test_files_of_others_stay(self, tmp_path: Path) -> None:
        file = saved(tmp_path)
        graph = from_onnx(file)
        to_onnx(graph, file, external_data=True)
        assert "weights.bin" in self.files(tmp_path)
        assert from_onnx(file) == graph

    def test_other_formats_of_onnx(self, tmp_path: Path) -> None:
        graph = from_onnx(WHOLE)
        for name in ("net.json", "net.textproto"):
            to_onnx(graph, tmp_path / name)
            assert from_onnx(tmp_path / name) == graph

    def test_a_folder_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SerialError, match=r"net\.onnx"):
            to_onnx(from_onnx(WHOLE), tmp_path / "none" / "net.onnx")


def test_constants_in_the_model_are_not_copied_again() -> None:
    numbers = np.ones((1 << 10, 1 << 10), np.float32)
    nodes = [helper.make_node("MatMul", ["x", "v"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["y"])]
    proto = model(nodes, {"v": numbers, "w": numbers}, input_shape=(1, 1 << 10))
    tracemalloc.start()
    graph = from_onnx(proto)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    constants = [data["value"] for _, data in graph.nodes(data=True) if data["type"] == "constant"]
    assert [owned(array) is array for array in constants] == [True, True]
    assert peak < 2.5 * numbers.nbytes
