"""Parts of the reader and the writer of ONNX at the limits of what they take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from graphrewrite import Graph, Tensor, op
from graphrewrite.lowering import ModelError, from_onnx, to_onnx
from graphrewrite.lowering.exchange.foreign_files import foreign_file
from graphrewrite.lowering.exchange.onnx.external_data import ExternalData, _plain_dtype
from graphrewrite.lowering.exchange.onnx.functions import all_nodes
from graphrewrite.lowering.exchange.onnx.tables.attention import (
    _all_turned,
    _fits_attention,
    _fits_rotary,
    _shown_rotary,
)
from graphrewrite.lowering.exchange.onnx.tables.classical import _weights
from graphrewrite.lowering.exchange.onnx.tables.layers import _by_channel
from graphrewrite.lowering.exchange.onnx.tables.movement import _scale
from graphrewrite.lowering.exchange.onnx.tables.pytorch import _aligned
from graphrewrite.lowering.exchange.onnx.tables.recurrent import _activations, _said_once
from graphrewrite.lowering.exchange.onnx.window_attributes import shown_pool
from graphrewrite.lowering.exchange.size_agreement import _solved, agreements, linear


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (TensorProto.FLOAT, "<f4"),
        (TensorProto.INT64, "<i8"),
        (TensorProto.UINT8, "u1"),
        (TensorProto.BOOL, "?"),
        (TensorProto.FLOAT16, "<f2"),
        (TensorProto.UNDEFINED, None),
        (99, None),
        (TensorProto.INT4, None),
        (TensorProto.STRING, None),
        (TensorProto.BFLOAT16, None),
        (TensorProto.UINT2, None),
    ],
)
def test_which_numbers_numpy_reads_from_their_bytes(number: int, dtype: str | None) -> None:
    assert _plain_dtype(number) == (None if dtype is None else np.dtype(dtype))


def external(location: str, kind: int = TensorProto.FLOAT, dims: tuple[int, ...] = (2,), **entries: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in ({"location": location} | entries).items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def test_which_files_beside_a_model_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    data = np.arange(4, dtype="f4")
    (folder / "w.bin").write_bytes(data.tobytes())
    (tmp_path / "other.bin").write_bytes(data.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "other.bin")
    os.mkfifo(folder / "pipe")
    (folder / "empty").touch()
    files = ExternalData(folder / "m.onnx")
    assert files.array(external("w.bin")).tolist() == [0, 1]
    assert files.array(external("./w.bin", offset="4", length="8")).tolist() == [1, 2]
    assert files.array(external("empty", dims=(0,))).shape == (0,)
    half = files.array(external("w.bin", TensorProto.INT4, (3,)))
    assert half.tolist() == [0, 0, 0]
    tensor = external("w.bin", offset="8")
    files.fill(tensor)
    assert (tensor.raw_data, len(tensor.external_data), tensor.HasField("data_location")) == (
        data[2:].tobytes(),
        0,
        False,
    )
    for given, reason in (
        (external(str(folder / "w.bin")), "which is not in the folder of the model"),
        (external("../m/w.bin"), "which is not in the folder of the model"),
        (external(""), "which is not in the folder of the model"),
        (external("w\0.bin"), "which is not in the folder of the model"),
        (external("link.bin"), "a link that leads out"),
        (external("pipe"), "which is no regular file"),
        (external("v.bin"), r"which is missing.*w\.bin"),
        (external("w.bin", offset="9"), "ends at byte 17 of the file 'w.bin', which has 16"),
        (external("w.bin", offset="-1"), "has the offset '-1' in its file, which is no number"),
        (external("w.bin", offset="1" * 20), "which is no number of bytes"),
        (external("w.bin", length="7"), "which is 8 bytes, and says 7"),
        (external("w.bin", dims=(-1,)), r"has the shape \[-1\]"),
        (external("w.bin", TensorProto.STRING), "of ONNX's type 8, which"),
        (external("w.bin", 0), "of ONNX's type 0, which"),
        (external("w.bin", 99), "of ONNX's type 99, which"),
    ):
        with pytest.raises(ModelError, match=reason):
            files.array(given)
    assert files.array(external("w.bin", offset="8")).tolist() == [2, 3]
    with pytest.raises(ModelError, match="give the path of the model instead"):
        ExternalData(None).array(external("w.bin"))


def test_nodes_come_before_those_of_their_graphs() -> None:
    def named(name: str, *graphs: list[Any]) -> Any:
        bodies = [helper.make_graph(nodes, "g", [], []) for nodes in graphs]
        return helper.make_node("If", [], [], name=name, **{f"body{i}": body for i, body in enumerate(bodies)})

    nodes = [named("a", [named("b", [named("c")]), named("d")], [named("e")]), named("f")]
    assert "".join(node.name for node in all_nodes(nodes)) == "aebcdf"


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("2*N + 1", 7, {"N": 3}), (7, "2*N + 1", {"N": 3}), ("2*N + 1", 1, {"N": 0}), ("2*N + 1", 6, {}),
        ("2*N - 1", 7, {"N": 4}),
        ("N + 3", 2, {}), ("N", 5, {"N": 5}), ("N", 0, {"N": 0}), ("N", -1, {}), ("N", "N", {}), (3, 3, {}), (3, 4, {}),
        ("N", "M", {"M": "N"}), ("?1", "M", {"?1": "M"}), ("M", "?1", {"?1": "M"}),
        ("N", "2*N", {}), ("N", "2*M", {"N": "2*M"}),
        ("N*M", 6, {}), ("N//2", 3, {}), ("N*N", 4, {}),
    ],
)  # fmt: skip
def test_what_a_symbol_must_be(one: Any, other: Any, found: dict[str, Any]) -> None:
    assert {name: str(size) for name, size in _solved(one, other).items()} == {n: str(s) for n, s in found.items()}


def test_sizes_that_agree_come_in_their_order() -> None:
    assert linear("3*N - 2") == ("N", 3, -2)
    assert [linear(size) for size in ("N*N", "N//2", "max(N, 2)", "N*M", "5")] == [None] * 5
    assert list(agreements([("N", 4), (3, "M")], everywhere=False)) == [{"M": 4}, {"N": 3}]
    assert list(agreements([("N", 4), (1, 4)])) == [{"N": 4}, {"N": 1}]
    assert list(agreements([("A", "B"), (5,)], everywhere=False)) == [{"B": 5}, {"A": 5}]


SAFETENSORS = b'{"'


@pytest.mark.parametrize(
    ("name", "head", "members", "told"),
    [
        ("m", (8).to_bytes(8, "little") + SAFETENSORS, [], "safetensors"),
        ("m", ((1 << 32) - 1).to_bytes(8, "little") + SAFETENSORS, [], "safetensors"),
        ("m", (1 << 32).to_bytes(8, "little") + SAFETENSORS, [], None),
        ("m", bytes(8) + SAFETENSORS, [], None),
        ("m", (8).to_bytes(8, "little") + b"{ ", [], None),
        ("m", b"x" * 257 + b"ustar", [], "tar archive"),
        ("m", b"x" * 256 + b"ustar", [], None),
        ("m", b" \n<HTML>", [], "web page"),
        ("m", b"<net name", [], "OpenVINO"),
        ("m", b"<?xml ?><net>", [], "OpenVINO"),
        ("m", b"<?xml ?><a>", [], "is XML, and no network"),
        ("m", b'x"layers-model"', [], "TensorFlow.js"),
        ("m", b'x"graph-model"', [], "TensorFlow.js"),
        *(("m", b"\x80" + bytes([number]), [], "pickle" if 2 <= number <= 5 else None) for number in range(1, 7)),
        ("m.PT", b"\x80\x02", [], None),
        ("m.DLC", b"x", [], "SNPE"),
        ("m", b"PK", ["a.txt"], "holds no model (a.txt)"),
        ("m", b"PK", ["d", "b", "c", "a"], "holds no model (a, b, c)"),
        *(("m", b"PK", ["a.txt", each], None) for each in ("x/data.pkl", "archive/x", "a.npy", "config.json")),
        ("m", b"", [], "is empty"),
    ],
)  # fmt: skip
def test_files_of_other_kinds(name: str, head: bytes, members: list[str], told: str | None) -> None:
    found = foreign_file(Path(name), head, members)
    assert found is None if told is None else told in str(found)


def tensors(*shapes: tuple[int, ...], element: str = "f32") -> list[Tensor]:
    return [Tensor(element, shape) for shape in shapes]


def test_what_onnx_says_of_attention_and_turns() -> None:
    q, k, v = (2, 4, 3, 6), (2, 4, 5, 6), (2, 4, 5, 5)
    assert _fits_attention({}, tensors(q, k, v)) is None
    assert _fits_attention({"scale": 0.5}, tensors(q, k, v, (3, 5))) is None
    for attributes, kinds, reason in (
        ({}, tensors(q, k), "or there are more"),
        ({}, tensors(q, k, v, (3, 5), q), "or there are more"),
        ({}, tensors((4, 3, 6), k, v), "not of four axes"),
        ({}, tensors(q, k, v[1:]), "not of four axes"),
        ({}, tensors(q, k, v, (1, 5)), "each query and key"),
        ({"scale": 0.0}, tensors(q, k, v), "its scale is 0.0"),
        ({"scale": -1.0}, tensors(q, k, v), "its scale is -1.0"),
    ):
        assert reason in str(_fits_attention(attributes, kinds))
    x, c = (2, 3, 4, 8), (2, 4, 4)
    assert _fits_rotary({}, tensors(x, c, c)) is None
    for kinds, reason in (
        (tensors(x, c, c, (2, 4)), "or it has positions"),
        (tensors(x, c), "or it has positions"),
        (tensors(x[1:], c, c), "not of four axes"),
        (tensors(x, c, c, element="f64"), "no turn of doubles"),
    ):
        assert reason in str(_fits_rotary({}, kinds))
    assert _shown_rotary({"interleaved": True}, tensors(x, c, c)) == {"interleaved": True}
    assert _shown_rotary({}, tensors(x, (2, 4, 2), (2, 4, 2))) == {"turned": 4}
    assert _all_turned({"turned": 8, "interleaved": 1}, tensors(x, c, c)) == _all_turned(
        {"interleaved": 1}, tensors(x, c, c)
    )
    assert _all_turned({"turned": 0}, tensors(x, c, c)) == {}
    with pytest.raises(Exception, match="another number of entries"):
        _all_turned({"turned": 4}, tensors(x, c, c))


def test_attributes_of_tables() -> None:
    assert _weights([1, 2, 3, 4], 2).tolist() == [[1, 2], [3, 4]]
    for coefficients, rows in (([1, 2, 3], 2), ([1, 2], 0), ([], -1)):
        with pytest.raises(ValueError, match=f"{len(coefficients)} coefficients are no {rows} rows"):
            _weights(coefficients, rows)
    image = tensors((1, 1, 4, 5))
    aligned = {"coordinate_transformation_mode": "align_corners", "axes": (2, 3)}
    for given in ({}, {"scales": (1.3, 1.3), "axes": (2, 3)}, aligned, {**aligned, "scales": (2.0, 2.0)}):
        assert _aligned(given, image) == given
    assert _aligned({**aligned, "scales": (2.0, 1.3)}, image) == {**aligned, "scales": None, "sizes": (8, 6)}
    whole = {"coordinate_transformation_mode": "align_corners", "scales": (1.0, 1.0, 1.3, 2.0)}
    assert _aligned(whole, image) == {**whole, "scales": None, "sizes": (1, 1, 5, 10)}
    assert shown_pool({"kernel": (2, 2), "dilations": (1, 1)}, image) == {"kernel": (2, 2)}
    assert shown_pool({"dilations": (1, 2), "pads": (0,) * 4}, image) == {"dilations": (1, 2), "pads": (0,) * 4}


def test_a_constant_that_several_nodes_leave_out_is_one_again() -> None:
    """ONNX has no input in place of zeros that `from_onnx` adds; those that several nodes read are one constant."""
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", (5, 2, 3)))
    w, r, b, state = (graph.constant(np.full(shape, at < 2, np.float32)) for at, shape in enumerate(LSTM))
    first, *_ = op.lstm(x, w, r, b, state, state)
    graph.output("y", op.lstm(op.squeeze(first, axes=(1,)), w, r, b, state, state)[0])
    written = to_onnx(graph)
    layers = [node for node in written.graph.node if node.op_type == "LSTM"]
    assert [[*node.input].count("") for node in layers] == [3, 3]
    again = from_onnx(written, batch=None)
    assert again == graph

    def states(name: str) -> set[str]:
        for node in layers:
            for entry in node.metadata_props:
                if state.node in entry.value:
                    entry.value = entry.value.replace(state.node, name)
        found = from_onnx(written, batch=None)
        return {o.node for n in found if found.nodes[n]["type"] == "lstm" for o in list(found.operands(n))[4:6]}

    assert len(states("other")) == 1
    for node in layers:  # another constant, which is no such zeros, and a value that is no constant
        for entry in node.metadata_props:
            entry.value = entry.value.replace("other", state.node)
    assert len(states(b.node)) == 4


LSTM = ((1, 12, 3), (1, 12, 3), (1, 24), (1, 1, 3))


def test_scales_that_floats_hold() -> None:
    for own, wanted, found in (
        (4, 6, 1.5),
        (4, 4, 1.0),
        ("N", "N", 1.0),
        ("N", 4, None),
        (4, "N", None),
        (0, 4, None),
        (0, 0, 1.0),
        (3, 1, None),
        (8, 1, 0.125),
    ):
        assert _scale(own, wanted) == found


def test_activations_are_said_for_each_direction() -> None:
    for kind, names, gates in (
        ("LSTM", ("sigmoid", "tanh", "relu"), 4),
        ("GRU", ("hard_sigmoid", "tanh"), 3),
        ("RNN", ("tanh",), 1),
    ):
        for directions in (1, 2):
            types = tensors((5, 2, 7), (directions, gates * 3, 7), (directions, gates * 3, 3))
            told = [name.title().replace("_", "") for name in names]
            assert _activations({"activations": names, "clip": 1}, types) == {
                "activations": (*told * directions,),
                "clip": 1,
                "hidden_size": 3,
            }, kind
    types = tensors((5, 2, 7), (2, 3, 7), (2, 3, 3))
    assert _activations({"activations": ("tanh", "relu")}, types)["activations"] == ("Tanh", "Relu")
    assert _said_once({"activations": ("a", "b") * 2, "direction": "bidirectional"}, []) == {
        "activations": ("a", "b"),
        "direction": "bidirectional",
    }
    for given in (
        {"activations": ("a", "b") * 2, "direction": "forward"},
        {"activations": ("a", "b", "b", "a"), "direction": "bidirectional"},
        {"activations": ("a",), "direction": "bidirectional"},
        {"direction": "bidirectional"},
        {"activations": ("a", "a"), "direction": "bidirectional", "activation_alpha": (0.5,)},
    ):
        assert _said_once(given, []) == given


def test_scales_of_channels() -> None:
    assert _by_channel({}, tensors((2, 3, 4), (3,))) is None
    for shapes in (((2, 3, 4), (2,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (4,)), ((3,), (3,))):
        assert _by_channel({}, tensors(*shapes)) == "its scales are not one a channel"
