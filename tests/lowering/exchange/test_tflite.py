"""Graphs of TensorFlow Lite's files: names, formats, the batch, and what is wrong with a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite import define_op, evaluate, op
from graphrewrite.lowering import Entry, ModelError, UnsupportedOpsError, from_tflite
from graphrewrite.lowering.exchange.tflite.control_flow import CONTROL_FLOW
from graphrewrite.lowering.exchange.tflite.flatbuffer import FlatbufferError, read_flatbuffer
from graphrewrite.lowering.exchange.tflite.sixteen import _sigmoids
from graphrewrite.lowering.exchange.tflite.tables import TFLITE
from graphrewrite.lowering.exchange.tflite.variables import OPERATORS as VARYING
from graphrewrite.types import Quantised
from tests.support.hostile_names import HOSTILE
from tests.support.tflite_files import Node, T, flatbuffer, model
from tests.support.tflite_networks import network
from tests.support.tflite_tensors import ints

X, Y = T("x", (1, 4), "f32"), T("y", (1, 4), "f32")


def relu(*tensors: T, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)) -> bytes:
    return model(tensors or (X, Y), [Node("RELU", ["x"], ["y"])], inputs, outputs)


def test_nodes_have_the_names_of_tensors_and_formats_are_annotations() -> None:
    graph = from_tflite(network())
    assert graph.inputs == ("input:0",)
    assert graph.outputs == ("Identity",)
    assert str(graph.result_type("input:0")) == "i8[N,12,6,2]"
    assert str(graph.result_type("c/add")) == "i8[N,6,3,8]"
    assert graph.annotations("c/add")["quantisation"] == Quantised("i8", float(np.float32(0.07)), -128)
    assert graph.annotations("Identity")["quantisation"] == Quantised("i8", 1 / 256, -128)
    assert {graph.origin(operand.node) for operand in graph.operands("b/depthwise")} == {("b/depthwise",)}
    assert not graph.dead_nodes()


def test_real_numbers_become_stored_ones_by_the_annotation() -> None:
    graph = from_tflite(network())
    x = np.linspace(-4, 6, 144, dtype=np.float32).reshape(1, 12, 6, 2)
    stored = op.to_quantised(x, element=graph.node("input:0").quantisation)
    y = evaluate(graph, {"input:0": stored})["Identity"]
    assert abs(op.from_quantised(y, source=graph.node("Identity").quantisation).sum() - 1) < 0.02


def test_the_batch_stays_as_it_is_if_asked_for_and_where_it_is_a_part_of_the_arithmetic() -> None:
    assert str(from_tflite(network(), batch=None).result_type("flat")) == "i8[1,24]"
    x, y = T("x", (2, 4), scale=0.5), T("y", (4,), scale=0.5)
    data = model([x, T.of("axes", ints(0)), y], [Node("MEAN", ["x", "axes"], ["y"])], ["x"], ["y"])
    graph = from_tflite(data)
    assert str(graph.result_type("x")) == "i8[2,4]"
    assert evaluate(graph, {"x": [[1, 2, 3, 4], [4, 4, 4, 4]]})["y"].tolist() == [3, 3, 4, 4]


@pytest.mark.parametrize(
    ("node", "constants", "shape", "out"),
    [
        (Node("SLICE", ["x", "c0", "c1"], ["y"]), [ints(0, 1), ints(2, 3)], (2, 4), (2, 3)),
        (Node("STRIDED_SLICE", ["x", "c0", "c1", "c2"], ["y"]), [ints(0, 0), ints(2, 3), ints(1, 1)], (2, 4), (2, 3)),
        (Node("MIRROR_PAD", ["x", "c0"], ["y"]), [np.array([[1, 0], [0, 0]], np.int32)], (2, 4), (3, 4)),
        (Node("SPLIT", ["c0", "x"], ["y", "z"], {"num_splits": 2}), [np.int32(0)], (2, 4), (1, 4)),
    ],
)
def test_sizes_of_the_batch_that_are_written_down_stay(
    node: Node, constants: list[np.ndarray], shape: tuple[int, ...], out: tuple[int, ...]
) -> None:
    held = [T.of(f"c{at}", each) for at, each in enumerate(constants)]
    ends = [T(name, out, "f32") for name in node.outputs]
    graph = from_tflite(model([T("x", shape, "f32"), *held, *ends], [node], ["x"], ["y"]))
    assert graph.result_type("x").shape == shape


def test_images_whose_height_would_be_the_batch_keep_their_sizes() -> None:
    turned, y = T("t", (2, 1, 3, 1), "f32"), T("y", (2, 1, 3, 1), "f32")
    tensors = [T("x", (1, 2, 3, 1), "f32"), T.of("perm", ints(1, 0, 2, 3)), turned, y]
    pool = {"stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}
    nodes = [Node("TRANSPOSE", ["x", "perm"], ["t"]), Node("MAX_POOL_2D", ["t"], ["y"], pool)]
    assert from_tflite(model(tensors, nodes, ["x"], ["y"])).result_type("x").shape == (1, 2, 3, 1)


def test_shapes_that_a_model_computes_are_attributes_for_any_batch() -> None:
    x, y = T("x", (1, 4, 2), "f32", signature=(-1, 4, 2)), T("y", (1, 8), "f32", signature=(-1, 8))
    held = [T.of(name, ints(at)) for name, at in (("zero", 0), ("one", 1), ("step", 1))] + [T.of("eight", np.int32(8))]
    made = [T("shape", (3,), "i32"), T("size", (), "i32"), T("wanted", (2,), "i32")]
    nodes = [
        Node("SHAPE", ["x"], ["shape"], {"out_type": 2}),
        Node("STRIDED_SLICE", ["shape", "zero", "one", "step"], ["size"], {"shrink_axis_mask": 1}),
        Node("PACK", ["size", "eight"], ["wanted"], {"values_count": 2}),
        Node("RESHAPE", ["x", "wanted"], ["y"]),
    ]
    graph = from_tflite(model([x, y, *held, *made], nodes, ["x"], ["y"]))
    assert [data["type"] for _, data in graph.nodes(data=True)] == ["input", "reshape", "output"]
    assert evaluate(graph, {"x": np.zeros((5, 4, 2), np.float32)})["y"].shape == (5, 8)


def test_variables_come_in_and_go_out() -> None:
    x, y, handle = T("x", (1, 3), "f32"), T("y", (1, 3), "f32"), T("h", (), "resource")
    nodes = [
        Node("VAR_HANDLE", [], ["h"], {"shared_name": "memory"}),
        Node("READ_VARIABLE", ["h"], ["v"]),
        Node("ADD", ["x", "v"], ["y"]),
        Node("ASSIGN_VARIABLE", ["h", "y"], []),
    ]
    graph = from_tflite(model([x, handle, T("v", (1, 3), "f32"), y], nodes, ["x"], ["y"]))
    assert (graph.inputs, graph.outputs) == (("x", "memory"), ("y", "memory.next"))
    assert graph.annotations("memory") == {"next": "memory.next"}
    found = evaluate(graph, {"x": [[1, 2, 3]], "memory": [[10, 20, 30]]})
    assert found["memory.next"].tolist() == found["y"].tolist() == [[11, 22, 33]]
    with pytest.raises(ModelError, match=r"'v' .READ_VARIABLE.*names no variable"):
        from_tflite(model([x, handle, T("v", (1, 3), "f32"), y], nodes[1:3], ["x"], ["y"]))


@pytest.mark.parametrize("zeros", [(3, 5), (-7, 0)])
def test_weights_may_have_a_zero_point(zeros: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(-128, 128, (2, 4), np.int8), rng.integers(-128, 128, (3, 4), np.int8)
    tensors = [
        T("x", (2, 4), scale=0.5, zero=zeros[0]),
        T.of("w", w, scale=0.25, zero=zeros[1]),
        T("y", (2, 3), scale=64.0, zero=-2),
    ]
    graph = from_tflite(model(tensors, [Node("FULLY_CONNECTED", ["x", "w"], ["y"])], ["x"], ["y"]))
    sums = (x.astype(int) - zeros[0]) @ (w.astype(int) - zeros[1]).T / 512
    wanted = np.clip(np.copysign(np.floor(np.abs(sums) + 0.5), sums) - 2, -128, 127)
    assert np.array_equal(evaluate(graph, {"x": x})["y"], wanted)


def test_half_floats_and_their_kin_are_cast() -> None:
    half = T.of("h", np.array([[0.5, -1.5, 2, 0]]).astype(np.float16), element="f16")
    nodes = [Node("DEQUANTIZE", ["h"], ["w"]), Node("ADD", ["x", "w"], ["y"])]
    graph = from_tflite(model([X, half, T("w", (1, 4), "f32"), Y], nodes, ["x"], ["y"]))
    assert evaluate(graph, {"x": [[1, 1, 1, 1]]})["y"].tolist() == [[1.5, -0.5, 3, 1]]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_untrusted(name: str) -> None:
    data = relu(T(name, (1, 4), "f32"), T("y", (1, 4), "f32"), T("x", (1, 4), "f32"), inputs=(name, "x"))
    graph = from_tflite(data)
    assert len(graph.inputs) == 2
    assert graph == type(graph).parse(str(graph))


def test_equal_names_are_told_apart() -> None:
    nodes = [Node("RELU", ["x"], ["y"]), Node("ABS", ["y"], ["z"])]
    data = bytearray(model([X, Y, T("z", (1, 4), "f32")], nodes, ["x"], ["z"]))
    for name in (b"x", b"z"):
        data = data.replace(b"\1\0\0\0" + name + b"\0", b"\1\0\0\0y\0")
    graph = from_tflite(bytes(data))
    assert graph.inputs == ("y",)
    assert len(graph.outputs) == 1
    assert evaluate(graph, {"y": [[-1, 2, 0, 3]]})[graph.outputs[0]].tolist() == [[0, 2, 0, 3]]


# ---------------------------------------------------------------------- what is not supported


def test_all_operators_that_are_missing_are_named_at_once() -> None:
    tensors = [X, T("a", (1, 4), "f32"), T("b", (1, 4), "f32"), T("c", (1, 4), "f32"), Y]
    nodes = [
        Node("CUSTOM 'Swirl'", ["x"], ["a"]),
        Node("RFFT2D", ["a"], ["b"]),
        Node("RELU", ["b"], ["c"]),
        Node("SIN", ["c"], ["y"], {}),
    ]
    with pytest.raises(UnsupportedOpsError) as caught:
        from_tflite(model(tensors, nodes, ["x"], ["y"]))
    assert "2 operators are not supported" in str(caught.value)
    assert "'a' (CUSTOM 'Swirl')" in str(caught.value)
    assert "'b' (RFFT2D)" in str(caught.value)


def test_an_operator_of_ones_own_gets_a_meaning_by_an_entry() -> None:
    @define_op
    def swirl(x: Any) -> Any:
        """Turn it."""
        return -x

    data = model([X, Y], [Node("CUSTOM 'Swirl'", ["x"], ["y"])], ["x"], ["y"])
    graph = from_tflite(data, entries=[Entry("CUSTOM 'Swirl'", swirl)])
    assert evaluate(graph, {"x": [[1, 2, 3, 4]]})["y"].tolist() == [[-1, -2, -3, -4]]


X16, Y16 = T("z", (1, 4), "i16", scale=0.25), T("y", (1, 2), "i16", scale=0.5)
W16 = T.of("w", np.ones((2, 4), np.int8), scale=0.1)


@pytest.mark.parametrize(
    ("tensors", "node", "reason"),
    [
        (
            [X, T.of("w", np.ones((1, 4), np.int8), scale=0.1), T("y", (1, 4), "f32")],
            Node("ADD", ["x", "w"], ["y"]),
            "'y' .ADD.*its operand is real",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.1), T("y", (1, 4), "i16", scale=0.1, zero=1)],
            Node("EXP", ["x"], ["y"]),
            "as i8, and an operand or result is i16",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.5), X16, T("y", (1, 4), "i16", scale=0.25)],
            Node("ADD", ["x", "z"], ["y"]),
            "'y' .ADD.: scales that are all powers of two have a kernel of their own",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.5), W16, T.of("b", np.zeros(2, np.int32), scale=0.1), Y16],
            Node("FULLY_CONNECTED", ["x", "w", "b"], ["y"]),
            "its bias is i32.*quantized_bias_type",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.5), T.of("w", np.ones((2, 4), np.int8), scale=0.1, zero=1), Y16],
            Node("FULLY_CONNECTED", ["x", "w"], ["y"]),
            "i8 around zero",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.5), T("y", (1, 4), "i16", scale=0.5)],
            Node("LOGISTIC", ["x"], ["y"]),
            "not 1/32768",
        ),
        (
            [T("x", (1, 4), "i16", scale=0.1), T("y", (1, 4), "i16", scale=0.1)],
            Node("HARD_SWISH", ["x"], ["y"]),
            r"as i8, and an operand or result is i16",
        ),
        (
            [T("x", (1, 4), scale=0.1), T("z", (1, 4), scale=0.2), T("y", (2, 4), scale=0.1)],
            Node("CONCATENATION", ["x", "z"], ["y"]),
            "different formats",
        ),
        ([X, Y], Node("ADD", ["x", "x"], ["y"], {"fused_activation_function": 5}), "sign_bit is not supported"),
        ([X, Y], Node("ADD", ["x", "x"], ["y"], {"fused_activation_function": 77}), "77 is not known"),
        ([X, T("s", (2,), "i32"), Y], Node("RESHAPE", ["x", "s"], ["y"]), "must be constant"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tensors: list[T], node: Node, reason: str) -> None:
    inputs = [t.name for t in tensors if t.name in ("x", "z") and t.data is None]
    with pytest.raises(ModelError, match=reason):
        from_tflite(model(tensors, [node], inputs, ["y"]))


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (relu(X, T("y", (1, 5), "f32")), r"'y' is declared as f32\[1,5\], and is f32\[1,4\]"),
        (relu(X, T("y", (1, 4), "f16")), r"declared as f16"),
        (model([X, Y], [Node("RELU", ["y"], ["y"])], ["x"], ["y"]), "reads 'y', which is no input"),
        (model([X, Y], [Node("RELU", ["x"], ["y"])] * 2, ["x"], ["y"]), "writes 'y', which has a value"),
        (relu(X, Y, inputs=("x", "x")), "an input twice"),
        (model([X, Y], [], ["x"], ["y"]), "'y'"),
        (relu(T("x", (1, 4), "f32", data=np.zeros(3, np.float32)), Y), r"tensor 'x': 12 bytes are not the 16"),
        (relu(T("x", (-5,), "f32"), Y), r"the shape \[-5\]"),
        (relu(T("x", (2**31 - 1,) * 3, "f32"), Y), "too large"),
        (relu(T("x", (1, 4), scale=float("nan")), T("y", (1, 4), scale=1)), "finite and positive, got nan"),
        (relu(T("x", (1, 4), scale=1, zero=999), T("y", (1, 4), scale=1)), "999 does not fit into i8"),
        (relu(T("x", (1, 4), scale=[1, 2], axis=1), T("y", (1, 4), scale=1)), r"2 scales along axis 1 of \[1, 4\]"),
        (flatbuffer("Model", {"version": 2}), "version 2"),
        (flatbuffer("Model", {"version": 3}), "no subgraph"),
        (relu()[:200], "corrupt"),
        (b"PK\3\4" + bytes(100), "no TensorFlow Lite model"),
        (b"", "no TensorFlow Lite model"),
    ],
)
def test_a_wrong_file_is_one_error(data: bytes, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        from_tflite(data)


def test_paths_are_files(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(relu())
    assert from_tflite(tmp_path / "net.tflite") == from_tflite(str(tmp_path / "net.tflite")) == from_tflite(relu())
    for path in (tmp_path, tmp_path / "none.tflite", "\0"):
        with pytest.raises(ModelError, match="cannot be read"):
            from_tflite(path)


def shared(name: str, key: str, values: dict[str, Any], count: int) -> bytes:
    """A table with a vector of tables which are all the same one."""
    data = bytearray(flatbuffer(name, {key: [{}] * count}))
    target = len(data)
    part = flatbuffer("SubGraph", values)
    data += part[8:]
    root = target + int.from_bytes(part[:4], "little") - 8
    at = data.index(count.to_bytes(4, "little")) + 4
    for place in range(at, at + 4 * count, 4):
        data[place : place + 4] = (root - place).to_bytes(4, "little")
    return bytes(data)


def test_tables_that_are_shared_without_end_are_refused() -> None:
    many = {"tensors": [{}] * 300, "operators": [{}] * 300}
    assert len(read_flatbuffer(shared("Model", "subgraphs", many, 2), "Model")["subgraphs"]) == 2
    with pytest.raises(FlatbufferError, match="more often"):
        read_flatbuffer(shared("Model", "subgraphs", many, 3000), "Model")


def test_the_page_names_every_operator() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tflite.md").read_text("utf-8")
    operators = page.partition("## Operators")[2].partition("Refused by name")[0]
    assert set(re.findall(r"`([A-Z0-9_]+)`", operators)) == {*TFLITE, *VARYING, *CONTROL_FLOW}


def test_lines_between_sigmoids_are_as_much_above_as_below() -> None:
    table, at = _sigmoids(), np.arange(0, 254, 0.25)
    off = np.interp(at, np.arange(256), table) - 65536 / (1 + np.exp(-at / 24))
    assert np.abs(off).max() < 1.25  # half of it is rounding
    assert abs(off.mean()) < 0.2
    assert table[-1] == 65535
