"""Frozen graphs of TensorFlow compute what TensorFlow computes; damaged and foreign ones are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Graph, evaluate, load, verify
from graphrewrite.formats import to_text
from graphrewrite.lowering import ModelError, OpenSizesError, UnsupportedOpsError, from_tensorflow
from graphrewrite.lowering.exchange.rulesets.messages import new_message, read_message

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)
ROWS = RNG.normal(size=(3, 4)).astype(np.float32)
TYPES = {"f4": "DT_FLOAT", "i4": "DT_INT32", "i8": "DT_INT64", "b1": "DT_BOOL"}


def attribute(value):
    """An attribute in the text form."""
    if isinstance(value, bool):
        return f"b: {str(value).lower()}"
    if isinstance(value, int):
        return f"i: {value}"
    if isinstance(value, float):
        return f"f: {value}"
    if isinstance(value, str):
        return f"type: {value}" if value.startswith("DT_") else f's: "{value}"'
    return f"list {{ {' '.join(attribute(each) for each in value)} }}"


def written(name, kind, inputs=(), **attributes):
    reads = " ".join(f'input: "{each}"' for each in inputs)
    settings = " ".join(f'attr {{ key: "{k}" value {{ {attribute(v)} }} }}' for k, v in attributes.items())
    return f'node {{ name: "{name}" op: "{kind}" {reads} {settings} }}'


def constant(name, array):
    array = np.asarray(array)
    content = "".join(f"\\{byte:03o}" for byte in array.tobytes())
    dims = " ".join(f"dim {{ size: {size} }}" for size in array.shape)
    kind = TYPES[array.dtype.str[1:]]
    tensor = f'tensor {{ dtype: {kind} tensor_shape {{ {dims} }} tensor_content: "{content}" }}'
    return f'node {{ name: "{name}" op: "Const" attr {{ key: "value" value {{ {tensor} }} }} }}'


def placeholder(name, shape, kind="DT_FLOAT"):
    dims = " ".join(f"dim {{ size: {size} }}" for size in shape)
    return (
        f'node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {kind} }} }} '
        f'attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}'
    )


def frozen(*nodes):
    return read_message("\n".join(nodes), new_message("GraphDef"), "test").SerializeToString()


def computed(kind, x, *constants, results=1, **attributes):
    """What an op gives for an input and constants."""
    names = [f"c{i}" for i in range(len(constants))]
    kind_of_x = attributes.pop("input", "DT_FLOAT")
    batch = -1 if attributes.pop("is_open", True) else len(x)
    nodes = [placeholder("x", (batch, *x.shape[1:]), kind_of_x), *map(constant, names, constants)]
    before = [name for i, name in enumerate(names) if attributes.get("x_at", 0) > i]
    attributes.pop("x_at", None)
    reads = [*before, "x", *names[len(before) :]]
    graph = from_tensorflow(frozen(*nodes, written("y", kind, reads, **attributes)), outputs=[f"y:{results - 1}"])
    verify(graph)
    TEXTS.append(to_text(graph, whole=True))
    return evaluate(graph, x)[graph.outputs[0]]


TEXTS: list[str] = []
"""Of the graphs that were made."""


def i32(*numbers):
    return np.array(numbers, np.int32)


def patches(x, size, stride):
    """Windows of an image without borders: [N, H, W, size, size, C]."""
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))[:, ::stride, ::stride].transpose(
        0, 1, 2, 4, 5, 3
    )


WEIGHTS = RNG.normal(size=(2, 2, 3, 4)).astype(np.float32)
CASES = {
    "Conv2D": (
        lambda: computed("Conv2D", X, WEIGHTS, strides=(1, 2, 2, 1), padding="VALID"),
        np.einsum("nhwabc,abco->nhwo", patches(X, 2, 2), WEIGHTS),
    ),
    "Conv2D SAME": (
        lambda: computed("Conv2D", X, WEIGHTS, strides=(1, 1, 1, 1), padding="SAME"),
        np.einsum("nhwabc,abco->nhwo", patches(np.pad(X, ((0, 0), (0, 1), (0, 1), (0, 0))), 2, 1), WEIGHTS),
    ),
    "DepthwiseConv2dNative": (
        lambda: computed("DepthwiseConv2dNative", X, WEIGHTS, strides=(1, 1, 1, 1), padding="VALID"),
        np.einsum("nhwabc,abcm->nhwcm", patches(X, 2, 1), WEIGHTS).reshape(2, 4, 5, 12),
    ),
    "MaxPool": (
        lambda: computed("MaxPool", X, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        patches(X, 2, 2).max((3, 4)),
    ),
    "AvgPool": (
        lambda: computed("AvgPool", X, ksize=(1, 2, 2, 1), strides=(1, 1, 1, 1), padding="VALID"),
        patches(X, 2, 1).mean((3, 4)),
    ),
    "FusedBatchNormV3": (
        lambda: computed(
            "FusedBatchNormV3", X, *(np.float32([1, 2, 3]) for _ in range(4)), epsilon=0.5, is_training=False
        ),
        (X - [1, 2, 3]) / np.sqrt(np.array([1.5, 2.5, 3.5])) * [1, 2, 3] + [1, 2, 3],
    ),
    "BiasAdd": (lambda: computed("BiasAdd", X, np.float32([1, 2, 3])), X + np.float32([1, 2, 3])),
    "MatMul": (lambda: computed("MatMul", ROWS, np.ones((5, 4), np.float32), transpose_b=True), ROWS @ np.ones((4, 5))),
    "Mean": (lambda: computed("Mean", X, i32(1, 2), keep_dims=False), X.mean((1, 2))),
    "Max": (lambda: computed("Max", X, i32(-1), keep_dims=True), X.max(-1, keepdims=True)),
    "ArgMax": (lambda: computed("ArgMax", ROWS, i32(1)[0]), ROWS.argmax(1)),
    "FloorDiv": (lambda: computed("FloorDiv", ROWS, np.float32(0.5)), np.floor(ROWS / 0.5)),
    "Reshape": (lambda: computed("Reshape", X, i32(-1, 90)), X.reshape(2, 90)),
    "Transpose": (lambda: computed("Transpose", X, i32(0, 2, 1, 3)), X.transpose(0, 2, 1, 3)),
    "Pad": (lambda: computed("Pad", ROWS, i32(0, 0, 1, 2).reshape(2, 2)), np.pad(ROWS, ((0, 0), (1, 2)))),
    "StridedSlice": (
        lambda: computed(
            "StridedSlice", X, i32(0, -1, 4), i32(0, 0, 0), i32(1, 1, -2), begin_mask=1, end_mask=5, shrink_axis_mask=2
        ),
        X[:, -1, 4::-2],
    ),
    "StridedSlice with new axes": (
        lambda: computed("StridedSlice", X, i32(0, 0, 1), i32(0, 0, 2), i32(1, 1, 1), ellipsis_mask=1, new_axis_mask=2),
        X[..., None, 1:2],
    ),
    "Slice": (lambda: computed("Slice", X, i32(0, 1, 0, 1), i32(-1, 2, -1, 2)), X[:, 1:3, :, 1:3]),
    "Split": (lambda: computed("Split", X, i32(2)[0], x_at=1, results=2, num_split=3), np.split(X, 3, 2)[1]),
    "SplitV": (lambda: computed("SplitV", X, i32(1, -1), i32(1)[0], results=2), X[:, 1:]),
    "Unpack": (lambda: computed("Unpack", X, results=3, axis=1), X[:, 2]),
    "ConcatV2": (lambda: computed("ConcatV2", ROWS, ROWS, i32(0)[0]), np.concatenate([ROWS, ROWS])),
    "ExpandDims": (lambda: computed("ExpandDims", ROWS, i32(1)[0]), ROWS[:, None]),
    "Tile": (lambda: computed("Tile", ROWS, i32(1, 2)), np.tile(ROWS, (1, 2))),
    "SpaceToBatchND": (
        lambda: computed("SpaceToBatchND", X[:, :4], i32(2, 3), i32(0, 0, 0, 0).reshape(2, 2)),
        X[:, :4].reshape(2, 2, 2, 2, 3, 3).transpose(2, 4, 0, 1, 3, 5).reshape(12, 2, 2, 3),
    ),
    "LeakyRelu": (lambda: computed("LeakyRelu", ROWS, alpha=0.25), np.where(ROWS > 0, ROWS, ROWS / 4)),
    "Rsqrt": (lambda: computed("Rsqrt", np.abs(ROWS)), 1 / np.sqrt(np.abs(ROWS))),
    "Cast": (lambda: computed("Cast", ROWS, DstT="DT_INT32"), ROWS.astype(np.int32)),
    "Shape": (lambda: computed("Shape", X), np.array(X.shape)),
    "ResizeNearestNeighbor": (
        lambda: computed("ResizeNearestNeighbor", X, i32(10, 12), half_pixel_centers=True),
        X.repeat(2, 1).repeat(2, 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_op_computes_what_it_says(name, same_text):
    compute, wanted = CASES[name]
    TEXTS.clear()
    np.testing.assert_allclose(compute(), wanted, rtol=1e-5, atol=1e-6)
    same_text("\n".join(TEXTS))


SIGNED = np.array([[-7, 5, 3], [7, -5, -4]], np.int32)
DIVISORS = np.array([[2, -2, 3]], np.int32)
IMAGE = RNG.normal(size=(2, 3, 5, 6)).astype(np.float32)
SQUARES = np.stack([(X[..., max(0, c - 1) : c + 2] ** 2).sum(-1) for c in range(3)], -1)
BORDERED = np.pad(X, ((0, 0), (1, 0), (0, 2), (0, 0)))
CORNERS = np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (0, 2)))


def scattered(x, weights, stride, shape):
    """What a transposed convolution adds up, without borders."""
    found = np.zeros((len(x), *shape, weights.shape[2]))
    for i, j in np.ndindex(x.shape[1:3]):
        part = found[:, stride * i :, stride * j :][:, : len(weights), : weights.shape[1]]
        part += np.einsum("nc,abdc->nabd", x[:, i, j], weights)[:, : part.shape[1], : part.shape[2]]
    return found


MORE = {
    "Identity": (X, (), {}, X),
    "IdentityN": (ROWS, (2 * ROWS,), {"results": 2}, 2 * ROWS),
    "Squeeze": (X[:, :1, :, :1], (), {"squeeze_dims": (1, -1)}, X[:, 0, :, 0]),
    "Squeeze all": (X[:, :1], (), {}, X[:, 0]),
    "Concat": (ROWS, (i32(1)[0], ROWS), {"x_at": 1}, np.concatenate([ROWS, ROWS], 1)),
    "Pack": (ROWS, (2 * ROWS,), {"axis": 1}, np.stack([ROWS, 2 * ROWS], 1)),
    "Pack first": (ROWS, (2 * ROWS,), {}, np.stack([ROWS, 2 * ROWS])),
    "Unpack last": (ROWS, (), {"results": 4, "axis": -1}, ROWS[:, 3]),
    "Split one": (X, (i32(1)[0],), {"x_at": 1, "num_split": 1}, X),
    "SplitV of all": (X, (i32(1, 2, 2), i32(1)[0]), {"results": 3}, X[:, 3:]),
    "Slice of all": (ROWS, (i32(0, 0), i32(-1, -1)), {}, ROWS),
    "Slice of the rest": (X, (i32(0, 2, 1, 0), i32(-1, -1, 3, -1)), {}, X[:, 2:, 1:4]),
    "Gather": (ROWS, (i32(2, 0),), {}, ROWS[[2, 0]]),
    "Cumprod": (ROWS, (i32(0)[0],), {"reverse": True}, np.cumprod(ROWS[::-1], 0)[::-1]),
    "Cumsum": (ROWS, (i32(1)[0],), {"exclusive": True}, np.cumsum(ROWS, 1) - ROWS),
    "GatherV2": (X, (i32(3, 1, 1), i32(1)[0]), {}, X[:, [3, 1, 1]]),
    "GatherNd": (ROWS, (i32(1, 2, 0, 3).reshape(2, 2),), {}, ROWS[[1, 0], [2, 3]]),
    "OneHot": (
        np.array([2, -1, 0, 5], np.int32), (i32(3)[0], np.float32(5), np.float32(2)), {"input": "DT_INT32"},
        np.where(np.array([2, -1, 0, 5])[:, None] == np.arange(3), 5, 2),
    ),
    "OneHot first": (
        np.array([[1], [0]], np.int32), (i32(2)[0], np.float32(1), np.float32(0)), {"input": "DT_INT32", "axis": 0},
        np.float32([[[0], [1]], [[1], [0]]]),
    ),
    "Shape wide": (X, (), {"out_type": "DT_INT64"}, np.array(X.shape)),
    "Size": (ROWS, (), {}, np.int32(12)),
    "Rank": (X, (), {}, np.int32(4)),
    "BroadcastTo": (ROWS, (i32(2, 3, 4),), {}, np.broadcast_to(ROWS, (2, 3, 4))),
    "ZerosLike": (ROWS, (), {}, 0 * ROWS),
    "OnesLike": (ROWS, (), {}, np.ones_like(ROWS)),
    "ReverseV2": (X, (i32(1, 3),), {}, X[:, ::-1, :, ::-1]),
    "FloorMod": (SIGNED, (DIVISORS,), {"input": "DT_INT32"}, SIGNED % DIVISORS),
    "Mod": (SIGNED, (DIVISORS,), {"input": "DT_INT32"}, np.fmod(SIGNED, DIVISORS)),
    "FloorDiv whole": (SIGNED, (DIVISORS,), {"input": "DT_INT32"}, SIGNED // DIVISORS),
    "NotEqual": (SIGNED, (DIVISORS + 3,), {"input": "DT_INT32"}, SIGNED != DIVISORS + 3),
    "SquaredDifference": (ROWS, (np.float32([1, 2, 3, 4]),), {}, (ROWS - [1, 2, 3, 4]) ** 2),
    "Square": (ROWS, (), {}, ROWS**2),
    "Relu6": (9 * ROWS, (), {}, np.clip(9 * ROWS, 0, 6)),
    "AddN": (ROWS, (2 * ROWS, 3 * ROWS), {}, 6 * ROWS),
    "ClipByValue crossed": (ROWS, (np.float32(0.5), np.float32(0.25)), {}, np.full_like(ROWS, 0.5)),
    "ClipByValue": (ROWS, (np.float32(-0.5), np.float32(0.25)), {}, np.clip(ROWS, -0.5, 0.25)),
    "MatMul turned": (ROWS, (np.ones((3, 5), np.float32),), {"transpose_a": True}, ROWS.T @ np.ones((3, 5))),
    "BatchMatMulV2": (X, (X[0],), {"adj_y": True}, X @ X[0].swapaxes(1, 2)),
    "Sum": (X, (i32(-1, 1),), {"keep_dims": True}, X.sum((1, 3), keepdims=True)),
    "Sum of none": (X, (np.zeros(0, np.int32),), {}, X),
    "Prod": (ROWS, (i32(1),), {}, ROWS.prod(1)),
    "Min": (X, (i32(2),), {}, X.min(2)),
    "All": (ROWS > 0, (i32(1),), {"input": "DT_BOOL"}, (ROWS > 0).all(1)),
    "Any": (ROWS > 0.5, (i32(0),), {"input": "DT_BOOL"}, (ROWS > 0.5).any(0)),
    "ArgMin": (X, (i32(-2)[0],), {"output_type": "DT_INT32"}, X.argmin(2)),
    "Bucketize": (ROWS, (), {"boundaries": (-0.5, 0.5)}, np.digitize(ROWS, [-0.5, 0.5])),
    "DenseBincount": (i32(3, 1, 1, 0, 5, 3).reshape(2, 3), (i32(4)[0], np.zeros(0, np.float32)), {"input": "DT_INT32"},
                      [[0, 2, 0, 1], [1, 0, 0, 1]]),
    "DenseBincount of what occurs": (
        i32(3, 1, 1, 0, 5, 3).reshape(2, 3), (i32(4)[0], np.zeros(0, np.float32)),
        {"input": "DT_INT32", "binary_output": True}, [[0, 1, 0, 1], [1, 0, 0, 1]],
    ),
    "Expm1": (ROWS, (), {}, np.expm1(ROWS)),
    "IsFinite": (np.float32([[np.inf, np.nan, -1]]), (), {}, [[False, False, True]]),
    "Log1p": (np.abs(ROWS), (), {}, np.log1p(np.abs(ROWS))),
    "MatrixBandPart": (X, (i32(1)[0], i32(0)[0]), {}, np.triu(np.tril(X), -1)),
    "MatrixBandPart of all below": (X, (i32(-1)[0], i32(2)[0]), {}, np.tril(X, 2)),
    "Roll": (X, (i32(1, -2), i32(1, 3)), {}, np.roll(X, (1, -2), (1, 3))),
    "LeakyRelu by default": (ROWS, (), {}, np.where(ROWS > 0, ROWS, 0.2 * ROWS)),
    "Erfc": (np.zeros((1, 2), np.float32), (), {}, np.ones((1, 2))),
    "Einsum": (ROWS, (np.arange(8.0, dtype=np.float32).reshape(2, 4),), {"equation": "ab,cb->ca"},
               np.arange(8.0).reshape(2, 4) @ ROWS.T),
    "Select": (ROWS[:, 0] > 0, (ROWS, -ROWS), {"input": "DT_BOOL"}, np.where(ROWS[:, :1] > 0, ROWS, -ROWS)),
    "SelectV2": (ROWS > 0, (ROWS, np.float32(7)), {"input": "DT_BOOL"}, np.where(ROWS > 0, ROWS, 7)),
    "LRN": (X, (), {"depth_radius": 1, "alpha": 0.5, "beta": 0.75, "bias": 2.0}, X / (2 + 0.5 * SQUARES) ** 0.75),
    "LRN by default": (X, (), {}, X / np.sqrt(1 + (X**2).sum(-1, keepdims=True))),
    "TopKV2": (ROWS, (i32(2)[0],), {}, -np.sort(-ROWS, 1)[:, :2]),
    "TopKV2 places": (ROWS, (i32(2)[0],), {"results": 2}, np.argsort(-ROWS, 1)[:, :2]),
    "Conv2D NCHW": (
        IMAGE, (WEIGHTS,), {"strides": (1, 1, 1, 2), "padding": "VALID", "data_format": "NCHW"},
        np.einsum("nhwabc,abco->nohw", patches(IMAGE.transpose(0, 2, 3, 1), 2, 1)[:, :, ::2], WEIGHTS),
    ),
    "Conv2D EXPLICIT": (
        IMAGE, (WEIGHTS,),
        {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 0, 0, 1, 0, 0, 2), "data_format": "NCHW"},
        np.einsum("nhwabc,abco->nohw", patches(CORNERS.transpose(0, 2, 3, 1), 2, 1), WEIGHTS),
    ),
    "Conv2D EXPLICIT and dilated": (
        X, (WEIGHTS,), {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 0, 0, 2, 0, 0),
                        "dilations": (1, 2, 3, 1)},
        sum(
            BORDERED[:, 2 * a : 4 + 2 * a, 3 * b : 5 + 3 * b] @ WEIGHTS[a, b] for a in range(2) for b in range(2)
        ),
    ),
    "Conv2D of groups": (
        np.concatenate([X, -X], 3), (WEIGHTS,), {"padding": "VALID"},
        np.concatenate([np.einsum("nhwabc,abco->nhwo", patches(s * X, 2, 1), WEIGHTS[..., half])
                        for s, half in ((1, slice(2)), (-1, slice(2, 4)))], 3),
    ),
    "Conv2DBackpropInput VALID": (
        X, (i32(2, 11, 13, 3), WEIGHTS[..., :3]),
        {"x_at": 2, "strides": (1, 2, 2, 1), "padding": "VALID"},
        scattered(X, WEIGHTS[..., :3], 2, (11, 13)),
    ),
    "Conv2DBackpropInput SAME": (
        X, (i32(2, 5, 6, 3), WEIGHTS[..., :3]), {"x_at": 2, "strides": (1, 1, 1, 1), "padding": "SAME"},
        scattered(X, WEIGHTS[..., :3], 1, (6, 7))[:, :5, :6],
    ),
    "BiasAdd NCHW": (IMAGE, (np.float32([1, 2, 3]),), {"data_format": "NCHW"},
                     IMAGE + np.float32([1, 2, 3])[:, None, None]),
    "MirrorPad": (
        ROWS, (i32(0, 0, 1, 2).reshape(2, 2),), {"mode": "REFLECT"}, np.pad(ROWS, ((0, 0), (1, 2)), mode="reflect"),
    ),
    "PadV2": (
        ROWS, (i32(0, 0, 1, 2).reshape(2, 2), np.float32(3)), {}, np.pad(ROWS, ((0, 0), (1, 2)), constant_values=3),
    ),
    "SpaceToDepth": (
        X[:, :4], (), {"block_size": 2},
        X[:, :4].reshape(2, 2, 2, 3, 2, 3).swapaxes(2, 3).reshape(2, 2, 3, 12),
    ),
    "DepthToSpace": (
        X[..., :1].repeat(8, 3) * np.arange(8, dtype=np.float32), (), {"block_size": 2},
        (X[..., :1].repeat(8, 3) * np.arange(8)).reshape(2, 5, 6, 2, 2, 2).swapaxes(2, 3).reshape(2, 10, 12, 2),
    ),
    "ResizeNearestNeighbor of old": (X, (i32(7, 4),), {}, X[:, np.arange(7) * 5 // 7][:, :, np.arange(4) * 6 // 4]),
    "ResizeBilinear": (
        X[:, :2], (i32(3, 6),), {"align_corners": True},
        np.stack([X[:, 0], (X[:, 0] + X[:, 1]) / 2, X[:, 1]], 1),
    ),
    "ResizeBilinear of middles": (
        X[:, :2], (i32(4, 6),), {"half_pixel_centers": True},
        np.stack([X[:, 0] * (1 - t) + X[:, 1] * t for t in (0, 0.25, 0.75, 1)], 1),
    ),
}  # fmt: skip
"""The input, constants, attributes, and what comes out."""


@pytest.mark.parametrize("name", MORE)
def test_further_ops(name, same_text):
    x, constants, attributes, wanted = MORE[name]
    got = computed(name.split(" ")[0], x, *constants, is_open=False, **attributes)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    assert np.shape(got) == np.shape(wanted)
    same_text(TEXTS[-1])


@pytest.mark.parametrize(
    ("kind", "x", "constants", "attributes"),
    [
        ("Conv2D", X, (WEIGHTS,), {"padding": "FULL"}),
        ("Conv2D", X, (WEIGHTS,), {"padding": "VALID", "strides": (2, 1, 1, 1)}),
        ("Conv2D", X, (WEIGHTS,), {"padding": "EXPLICIT", "explicit_paddings": (1, 1)}),
        ("Conv2D", X[..., :2], (WEIGHTS,), {"padding": "VALID"}),
        ("Conv2D", X, (WEIGHTS[0],), {"padding": "VALID"}),
        ("MaxPool", X[0], (), {"padding": "VALID", "ksize": (1, 2, 2, 1)}),
        ("DepthToSpace", X, (), {"block_size": 2, "data_format": "NCHW_VECT_C"}),
        ("Conv2DBackpropInput", X, (i32(2, 5, 6, 3), WEIGHTS[..., :3]), {"x_at": 2, "padding": "EXPLICIT"}),
        ("FusedBatchNorm", X, (np.float32([1, 2, 3]),) * 4, {}),
        ("MirrorPad", ROWS, (i32(0, 0, 1, 2).reshape(2, 2),), {"mode": "SYMMETRIC"}),
        ("Pad", ROWS, (i32(1, 2).reshape(1, 2),), {}),
        ("Pad", ROWS, (i32(0, 0, -1, 2).reshape(2, 2),), {}),
        ("Split", X, (i32(2)[0],), {"x_at": 1, "num_split": 4}),
        ("Split", X, (i32(2)[0],), {"x_at": 1, "num_split": 0}),
        ("GatherV2", X, (i32(1), i32(1)[0]), {"batch_dims": 1}),
        ("SpaceToBatchND", X, (i32(2, 2), i32(0, 0, 0, 0).reshape(2, 2)), {}),
        ("RandomUniform", X, (), {}),
    ],
)
def test_what_an_op_does_not_take(kind, x, constants, attributes):
    with pytest.raises(ModelError, match=f"node 'y' .{kind}."):
        computed(kind, x, *constants, **attributes)


def test_values_that_are_known_on_import():
    nodes = [
        placeholder("x", (2, 3)), constant("a", i32(1)[0]), constant("b", i32(10)[0]), constant("c", i32(4)[0]),
        constant("two", i32(2)[0]), constant("dims", i32(2, 3)),
        written("r", "Range", ["a", "b", "c"]), written("f", "Fill", ["dims", "two"]),
        written("s", "Mul", ["r", "f"]), written("m", "Cast", ["s"], DstT="DT_FLOAT"), written("y", "Mul", ["x", "m"]),
    ]  # fmt: skip
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(from_tensorflow(frozen(*nodes))(x), x * [2, 10, 18])


@pytest.mark.parametrize("index", [0, -2])
def test_an_index_along_an_open_axis(index):
    masks = {"begin_mask": 5, "end_mask": 5, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 2}
    constants = [constant(n, i32(*v)) for n, v in (("b", (1, index, 1)), ("e", (9, 1, 9)), ("s", (1, 1, 2)))]
    node = written("y", "StridedSlice", ["x", "b", "e", "s"], **masks)
    graph = from_tensorflow(frozen(placeholder("x", (-1, -1, 6, 3)), *constants, node), shapes={"x": ("N", "T", 6, 3)})
    for x in (X, X[:, :3]):
        np.testing.assert_array_equal(graph(x), x[:, index, ::2])


def test_ranges_and_entries_at_places_that_are_not_known():
    """The range of an open size, and the row and the entry at a number that follows from data."""
    nodes = [
        placeholder("x", (-1, 4)),
        constant("zero", i32(0)[0]),
        constant("one", i32(1)[0]),
        constant("axes", i32(0)),
    ]
    nodes += [constant("ones", i32(1, 1)), written("shape", "Shape", ["x"]), constant("first", i32(0))]
    nodes += [written("n", "StridedSlice", ["shape", "first", "axes_end", "unit"], shrink_axis_mask=1)]
    nodes += [constant("axes_end", i32(1)), constant("unit", i32(1)), written("r", "Range", ["zero", "n", "one"])]
    nodes += [written("last", "Max", ["r", "axes"]), written("begin", "Pack", ["last", "one"])]
    nodes += [written("entry", "StridedSlice", ["x", "begin", "begin", "ones"], shrink_axis_mask=3)]
    nodes += [
        written("column", "StridedSlice", ["x", "begin", "begin", "ones"], shrink_axis_mask=1, begin_mask=2, end_mask=2)
    ]
    nodes += [written("y", "Mul", ["entry", "column"])]
    np.testing.assert_array_equal(from_tensorflow(frozen(*nodes))(ROWS), ROWS[-1, 1] * ROWS[-1])


def test_images_of_open_sizes():
    """Borders of 'same' do not depend on the size where the stride is 1; elsewhere shapes= is the remedy."""
    kernel = np.ones((3, 3, 2, 1), np.float32)
    nodes = [placeholder("x", (-1, -1, -1, 2)), constant("w", kernel)]
    graph = from_tensorflow(frozen(*nodes, written("y", "Conv2D", ["x", "w"], strides=(1, 1, 1, 1), padding="SAME")))
    assert [str(kind) for kind in graph.input_types] == ["f32[N,?1,?2,2]"]
    ones = np.ones((1, 2, 3, 2), np.float32)
    np.testing.assert_array_equal(graph(ones)[0, ..., 0], [[8, 12, 8], [8, 12, 8]])
    with pytest.raises(ModelError, match=r"height and width must be numbers.*shapes="):
        from_tensorflow(frozen(*nodes, written("y", "Conv2D", ["x", "w"], strides=(1, 2, 2, 1), padding="SAME")))


def test_open_sizes_become_one_where_a_node_needs_it():
    nodes = [placeholder("x", (-1, -1)), placeholder("z", (-1, -1)), written("y", "AddV2", ["x", "z"])]
    assert [str(kind) for kind in from_tensorflow(frozen(*nodes)).input_types] == ["f32[N,?1]", "f32[N,?1]"]


@pytest.mark.parametrize(("axis", "batch"), [(1, 1), (2, 1), (3, 2), (-1, -1)])
def test_gather_has_indices_for_each_sample(axis, batch):
    lead = X.shape[: batch % 3]
    index = RNG.integers(0, X.shape[axis], (*lead, 2)).astype(np.int32)
    found = computed("GatherV2", X, index, i32(axis)[0], batch_dims=batch, is_open=False)
    wanted = np.empty((*X.shape[: axis % 4], 2, *X.shape[axis % 4 + 1 :]), np.float32)
    for place in np.ndindex(lead):
        wanted[place] = np.take(X[place], index[place], axis % 4 - len(lead))
    np.testing.assert_array_equal(found, wanted)


def test_batch_to_space_undoes_space_to_batch():
    crops = i32(0, 1, 0, 0).reshape(2, 2)
    nodes = [placeholder("x", (-1, 5, 6, 3)), constant("b", i32(2, 3)), constant("p", crops)]
    nodes += [written("s", "SpaceToBatchND", ["x", "b", "p"]), written("y", "BatchToSpaceND", ["s", "b", "p"])]
    graph = from_tensorflow(frozen(*nodes))
    np.testing.assert_array_equal(graph(X), X)


def test_functions_are_written_out_and_nodes_may_come_in_any_order():
    function = """library { function {
      signature { name: "twice" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
      node_def { name: "s" op: "AddV2" input: "a" input: "a" } ret { key: "r" value: "s:z:0" } } }"""
    call = 'node { name: "y" op: "PartitionedCall" input: "t" attr { key: "f" value { func { name: "twice" } } } }'
    inner = written("t", "twice", ["x"])
    graph = from_tensorflow(frozen(call, inner, placeholder("x", (-1, 4)), function))
    np.testing.assert_allclose(graph(ROWS), 4 * ROWS)
    assert [graph.nodes[n]["type"] for n in graph.in_order()] == ["input", "add", "add", "output"]


def test_numbers_that_stand_for_all_that_follow():
    tensor = "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 float_val: 2 }"
    nodes = (
        placeholder("x", (-1, 4)),
        f'node {{ name: "c" op: "Const" attr {{ key: "value" value {{ {tensor} }} }} }}',
    )
    graph = from_tensorflow(frozen(*nodes, written("y", "Mul", ["x", "c"])))
    np.testing.assert_allclose(graph(ROWS), ROWS * [1, 2, 2, 2])


def test_bfloat16_is_stored_as_bits():
    tensor = r'tensor { dtype: DT_BFLOAT16 tensor_shape { dim { size: 2 } } tensor_content: "\300\077\000\300" }'
    nodes = (
        placeholder("x", (-1, 2)),
        f'node {{ name: "c" op: "Const" attr {{ key: "value" value {{ {tensor} }} }} }}',
        written("f", "Cast", ["c"], DstT="DT_FLOAT"),
    )
    graph = from_tensorflow(frozen(*nodes, written("y", "Mul", ["x", "f"])))
    np.testing.assert_array_equal(graph(ROWS[:, :2]), ROWS[:, :2] * np.float32([1.5, -2.0]))


FLOW = """library {
  function { signature { name: "less" input_arg { name: "i" type: DT_INT32 } input_arg { name: "l" type: DT_VARIANT }
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "n" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 int_val: 3 } } } }
    node_def { name: "c" op: "Less" input: "i" input: "n:output:0" } ret { key: "r" value: "c:z:0" } }
  function { signature { name: "step" input_arg { name: "i" type: DT_INT32 } input_arg { name: "l" type: DT_VARIANT }
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "a" type: DT_INT32 }
      output_arg { name: "b" type: DT_VARIANT } output_arg { name: "c" type: DT_FLOAT } }
    node_def { name: "one" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" }
    node_def { name: "f" op: "Cast" input: "i" attr { key: "DstT" value { type: DT_FLOAT } } }
    node_def { name: "y" op: "Mul" input: "x" input: "f:y:0" }
    node_def { name: "w" op: "TensorListSetItem" input: "l" input: "i" input: "y:z:0" }
    ret { key: "a" value: "next:z:0" } ret { key: "b" value: "w:output_handle:0" } ret { key: "c" value: "x" } }
  function { signature { name: "double" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "s" op: "AddV2" input: "x" input: "x" } ret { key: "r" value: "s:z:0" } }
  function { signature { name: "negative" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "s" op: "Neg" input: "x" } ret { key: "r" value: "s:y:0" } } }"""


def called(name, kind, inputs, **functions):
    reads = " ".join(f'input: "{each}"' for each in inputs)
    settings = [f'attr {{ key: "{k}" value {{ func {{ name: "{v}" }} }} }}' for k, v in functions.items()]
    return f'node {{ name: "{name}" op: "{kind}" {reads} {" ".join(settings)} }}'


def test_a_loop_that_fills_a_list():
    nodes = [placeholder("x", (-1, 4)), constant("zero", i32(0)[0]), constant("open", i32(-1)[0])]
    nodes += [
        constant("length", i32(3)[0]),
        written("l", "TensorListReserve", ["open", "length"], element_dtype="DT_FLOAT"),
    ]
    nodes += [called("w", "While", ["zero", "l", "x"], cond="less", body="step")]
    graph = from_tensorflow(frozen(*nodes, written("y", "TensorListStack", ["w:1", "open"]), FLOW))
    verify(graph)
    np.testing.assert_allclose(graph(ROWS), np.stack([ROWS * i for i in range(3)]))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch(sign):
    nodes = [placeholder("x", (-1, 4)), constant("axes", i32(0, 1)), constant("zero", np.float32(0))]
    nodes += [written("s", "Sum", ["x", "axes"]), written("c", "Greater", ["s", "zero"])]
    nodes += [called("y", "If", ["c", "x"], then_branch="double", else_branch="negative"), FLOW]
    x = sign * np.abs(ROWS)
    np.testing.assert_allclose(from_tensorflow(frozen(*nodes))(x), 2 * x if sign > 0 else -x)


def test_what_is_missing_in_a_body_is_named():
    flow = FLOW.replace('op: "Neg"', 'op: "Swirl"')
    nodes = [placeholder("x", (-1, 4)), placeholder("c", (), "DT_BOOL")]
    nodes += [called("y", "If", ["c", "x"], then_branch="double", else_branch="negative"), flow]
    with pytest.raises(UnsupportedOpsError, match=r"Swirl \('s'\)"):
        from_tensorflow(frozen(*nodes))


def test_a_constant_that_is_no_tensor():
    node = 'node { name: "c" op: "Const" attr { key: "value" value { f: 1.5 } } }'
    with pytest.raises(ModelError, match=r"node 'c' .Const.: it holds 1.5 where a tensor is expected"):
        from_tensorflow(frozen(node), outputs=["c"])


def test_a_short_file_makes_no_huge_array():
    tensor = "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000000 } } float_val: 1 }"
    node = f'node {{ name: "c" op: "Const" attr {{ key: "value" value {{ {tensor} }} }} }}'
    with pytest.raises(ModelError, match=r"node 'c'.*has 1 numbers"):
        from_tensorflow(frozen(node, placeholder("x", (1,)), written("y", "Mul", ["x", "c"])))


def test_the_file_is_recognised(tmp_path):
    nodes = frozen(placeholder("x", (-1, 4)), written("y", "Relu", ["x", "^x"]))
    (tmp_path / "g.pb").write_bytes(nodes)
    graph = load(tmp_path / "g.pb")
    assert isinstance(graph, Graph)
    assert [str(kind) for kind in graph.input_types] == ["f32[N,4]"]
    assert graph.nodes[graph.operands("y")[0].node]["origin"] == ("y",)


@pytest.mark.parametrize(
    ("nodes", "error", "told"),
    [
        ([placeholder("x", (1,)), written("y", "Swirl", ["x"])], UnsupportedOpsError, "Swirl"),
        ([written("x", "Placeholder", dtype="DT_FLOAT"), written("y", "Relu", ["x"])], OpenSizesError, "shapes="),
        ([placeholder("x", (-1,)), written("y", "Relu", ["z"])], ModelError, "reads 'z'"),
        ([placeholder("x", (1,)), placeholder("x", (1,))], ModelError, "two nodes"),
        ([written("a", "Relu", ["b"]), written("b", "Relu", ["a"])], ModelError, "circle"),
        ([placeholder("x", (2,)), placeholder("s", (1,)), written("y", "Tile", ["x", "s"])], ModelError, "known"),
        ([placeholder("x", (-1,), "DT_STRING"), written("y", "Identity", ["x"])], ModelError, "DT_STRING"),
        ([placeholder("x", (2,))], ModelError, "outputs"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(nodes, error, told):
    with pytest.raises(error, match=told):
        from_tensorflow(frozen(*nodes))


def test_a_function_that_calls_itself():
    function = """library { function { signature { name: "f" input_arg { name: "a" } output_arg { name: "r" } }
      node_def { name: "s" op: "f" input: "a" } ret { key: "r" value: "s:r:0" } } }"""
    with pytest.raises(ModelError, match="calls itself"):
        from_tensorflow(frozen(placeholder("x", (1,)), written("y", "f", ["x"]), function))


def test_outputs_and_shapes_by_name():
    model = frozen(placeholder("x", (-1, -1)), written("a", "Relu", ["x"]), written("b", "Neg", ["a"]))
    graph = from_tensorflow(model, outputs=["a"], shapes={"x": ("rows", 3)})
    assert (graph.outputs, str(graph.input_types[0])) == (("a",), "f32[rows,3]")
    with pytest.raises(ModelError, match="no node 'aa'"):
        from_tensorflow(model, outputs=["aa"])
    with pytest.raises(ModelError, match="no input"):
        from_tensorflow(model, shapes={"z": (1,), "x": (1, 1)})


def test_files_that_are_not_there(tmp_path: Path):
    with pytest.raises(ModelError, match="no file"):
        from_tensorflow(tmp_path / "g.pb")
    (tmp_path / "g.pbtxt").write_text("node {")
    with pytest.raises(ModelError, match=r"g.pbtxt, line"):
        from_tensorflow(tmp_path / "g.pbtxt")


@pytest.mark.parametrize(
    ("how", "size", "wanted", "entries"),
    [
        ({"half_pixel_centers": True}, 14, 9, [0, 2, 3, 5, 7, 8, 10, 11, 13]),
        ({}, 14, 18, [0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 12, 13]),
        ({}, 3, 6, [0, 0, 1, 1, 2, 2]),
        ({"align_corners": True}, 5, 1, [0]),
        ({"align_corners": True}, 5, 2, [0, 4]),
        ({"align_corners": True}, 5, 3, [0, 2, 4]),
    ],
)
def test_nearest_entries_at_positions_in_float32(how, size, wanted, entries):
    """As TensorFlow gave them: where a position is whole but for rounding, that decides."""
    sizes = constant("sizes", np.array([wanted, 2], np.int32))
    node = written("y", "ResizeNearestNeighbor", ["x", "sizes"], **how)
    graph = from_tensorflow(frozen(placeholder("x", (-1, size, 1, 1)), sizes, node))
    x = np.arange(size, dtype=np.float32).reshape(1, size, 1, 1)
    np.testing.assert_array_equal(graph(x)[0, :, :, 0], np.transpose([entries, entries]))
