"""Ops of PyTorch with open sizes, and what is refused, with its reason; PyTorch is not needed for that."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor
from graphrewrite.formats import to_text
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.static_values import StaticValues
from graphrewrite.lowering.exchange.torch.call import Call, each_axis, fixed_size
from graphrewrite.lowering.exchange.torch_import import TORCH
from graphrewrite.types import as_size

N, M = as_size("N"), as_size("M")


def f32(*shape: Any) -> Tensor:
    return Tensor("f32", shape)


def i64(*shape: Any) -> Tensor:
    return Tensor("i64", shape)


def true(*shape: Any) -> Tensor:
    return Tensor("bool", shape)


def graph_of(kind: str, arguments: dict[str, Any], results: Any) -> Graph:
    """The graph of a call: types become inputs, arrays constants."""
    graph, count = Graph("call"), iter(range(99))

    def told(value: Any) -> Any:
        if isinstance(value, Tensor):
            return graph.input(f"x{next(count)}", value)
        if isinstance(value, np.ndarray):
            return graph.constant(value)
        return tuple(map(told, value)) if isinstance(value, tuple | list) else value

    given = {name: told(value) for name, value in arguments.items()}
    types = tuple(results) if isinstance(results, list) else (results,)
    made = TORCH[f"aten.{kind}"](Call(graph, given, types, "f32", StaticValues(graph).array))
    for i, each in enumerate(made if isinstance(made, tuple) else (made,)):
        if each is not None:
            graph.output(f"y{i}", each)
    return graph


POOL = {"kernel_size": (2, 2), "stride": (), "padding": (0, 0), "ceil_mode": False}
BATCH = {"weight": None, "bias": None, "running_mean": None, "running_var": None, "momentum": 0.1, "eps": 0.5}
BAGS = {
    "weight": f32(5, 3),
    "indices": i64(6),
    "offsets": np.array([0, 3]),
    "mode": 0,
    "per_sample_weights": None,
    "include_last_offset": False,
    "padding_idx": -1,
}
HEADS = {"query": f32(1, 2, 3, 4), "key": f32(1, 2, 3, 4), "value": f32(1, 2, 3, 4), "attn_mask": None}
HEADS |= {"dropout_p": 0.0, "is_causal": False, "scale": None}
RNN = {
    "input": f32(5, 2, 4),
    "hx": f32(1, 2, 3),
    "params": (),
    "has_biases": True,
    "num_layers": 1,
    "dropout": 0.0,
    "train": False,
    "bidirectional": False,
    "batch_first": False,
}
X = f32(2, 3, 4)
IMAGE = f32(1, 2, 6, 6)
REFUSED: list[tuple[str, dict[str, Any], Any, str]] = [
    ("elu", {"self": X, "alpha": 1.0, "scale": 1, "input_scale": 2}, X, "input_scale=2 is not supported"),
    (
        "rrelu_with_noise_functional",
        {"self": X, "noise": X, "lower": 0.1, "upper": 0.3, "training": True},
        [X, X],
        "training=True",
    ),
    *(
        (name, {"input": X, "p": 0.5, "train": True}, X, "it drops entries at random")
        for name in ("dropout", "alpha_dropout")
    ),
    (
        "avg_pool2d",
        {"self": IMAGE, **POOL, "ceil_mode": True, "count_include_pad": True, "divisor_override": 3},
        IMAGE,
        "divisor_override with ceil_mode",
    ),
    (
        "adaptive_avg_pool2d",
        {"self": IMAGE, "output_size": (0, 2)},
        f32(1, 2, 0, 2),
        r"pools an image of sizes [6, 6] to [0, 2], which must be",
    ),
    ("adaptive_avg_pool2d", {"self": f32(1, 2, N, 6), "output_size": (2, 2)}, f32(1, 2, 2, 2), r"6] to [2, 2]"),
    (
        "max_pool2d_with_indices",
        {"self": f32(1, 2, N, 6), **POOL, "dilation": 1},
        [f32(1, 2, N // 2, 3)] * 2,
        "places of maxima need fixed sizes",
    ),
    (
        "_upsample_bilinear2d_aa",
        {"input": IMAGE, "output_size": (3, 3), "align_corners": True},
        f32(1, 2, 3, 3),
        "align_corners=True with antialias=True",
    ),
    (
        "pad",
        {"self": X, "pad": (1, 1), "mode": "mirror"},
        X,
        "mode='mirror' is not supported; there are constant, reflect, replicate, circular",
    ),
    (
        "grid_sampler",
        {"input": IMAGE, "grid": f32(1, 2, 2, 2), "interpolation_mode": 2, "padding_mode": 1, "align_corners": False},
        f32(1, 2, 2, 2),
        "bicubic samples",
    ),
    *(
        ("_embedding_bag", BAGS | change, [f32(2, 3)], reason)
        for change, reason in [
            ({"offsets": np.array([0, 2])}, "of several sizes, or empty"),
            ({"offsets": np.array([1, 3])}, "of several sizes"),
            ({"offsets": np.array([], int)}, "or empty"),
            ({"offsets": np.array([0, 3]), "indices": i64(7)}, "of several sizes"),
            ({"indices": i64(N)}, "or empty"),
            ({"offsets": i64(2)}, "its offsets depends on inputs"),
            ({"padding_idx": 1}, "padding_idx=1"),
            ({"include_last_offset": True}, "include_last_offset=True"),
            ({"per_sample_weights": 2}, "per_sample_weights=2"),
            ({"offsets": np.array([0, 1, 2]), "indices": i64(2)}, "or empty"),
        ]
    ),
    ("index", {"self": X, "indices": (true(2, 3),)}, X, "use torch.where"),
    ("index", {"self": X, "indices": (None, true(3), i64(2))}, X, "use torch.where"),
    *(
        ("index_put", {"self": X, "indices": indices, "values": values, "accumulate": add}, X, "it writes where a mask")
        for indices, values, add in [
            ((None, i64(2)), f32(), False),
            ((true(2, 3, 4),), f32(4), False),
            ((true(2, 3, 4),), f32(), True),
            ((true(2), true(3)), f32(), False),
            ((None,), f32(), False),
            ((i64(2), None), f32(), False),
            ((i64(2), true(3)), f32(), False),
        ]
    ),
    (
        "scatter_reduce",
        {"self": X, "dim": 1, "index": i64(2, 3, 4), "src": X, "reduce": "sum", "include_self": False},
        X,
        "reduce='sum', include_self=False is not",
    ),
    (
        "scatter_reduce",
        {"self": X, "dim": 1, "index": i64(2, 3, 4), "src": X, "reduce": "mean", "include_self": True},
        X,
        "reduce='mean', include_self=True is not",
    ),
    ("repeat_interleave", {"self": X, "repeats": i64(3), "dim": 1}, X, "must be one number"),
    ("repeat_interleave", {"self": X, "repeats": 3, "dim": None}, f32(72), "along an axis"),
    ("view", {"self": X, "dtype": "f64"}, Tensor("f64", (2, 3, 2)), "is read as f64, of another width"),
    ("linalg_vector_norm", {"self": X, "ord": 0, "dim": (1,)}, f32(2, 4), "the norm of order 0 is"),
    ("median", {"self": X}, f32(), "name an axis"),
    ("median", {"self": f32(), "dim": 0, "keepdim": False}, [f32(), i64()], "name an axis"),
    ("median", {"self": f32(2, N), "dim": 1, "keepdim": False}, [f32(2), i64(2)], "open size N"),
    ("var", {"self": f32(N, 3), "dim": (0,)}, f32(3), "the number of entries is open, N"),
    ("batch_norm", {"input": X, **BATCH, "training": False}, X, "takes none of the batch"),
    (
        "instance_norm",
        {"input": f32(2, N, 4), **BATCH, "use_input_stats": True},
        X,
        "the number of channels is open: N",
    ),
    (
        "_native_batch_norm_legit_functional",
        {"input": f32(N, 3), **BATCH, "training": True},
        [f32(N, 3), *[f32(3)] * 4],
        "its running variance is of N entries",
    ),
    ("scaled_dot_product_attention", HEADS | {"dropout_p": 0.5}, X, "it drops scores at random"),
    ("scaled_dot_product_attention", HEADS | {"key": f32(2, 2, 3, 4)}, X, "have different batches"),
    ("scaled_dot_product_attention", HEADS | {"value": f32(2, 2, 3, 4)}, X, "have different batches"),
    ("scaled_dot_product_attention", HEADS | {"query": f32(2, 2, 3, 4)}, X, "have different batches"),
    (
        "scaled_dot_product_attention",
        {**HEADS, **dict.fromkeys(("query", "key"), f32(2, 3, 4)), "value": f32(1, 3, 4)},
        X,
        "have different batches",
    ),
    (
        "scaled_dot_product_attention",
        {**HEADS, **dict.fromkeys(("query", "value"), f32(2, 3, 4)), "key": f32(1, 3, 4)},
        X,
        "have different batches",
    ),
    ("gru", RNN | {"batch_sizes": i64(3)}, [X, X], "packed sequences"),
    ("gru", RNN | {"dropout": 0.5, "train": True}, [X, X], "it drops entries at random"),
    ("gru", RNN | {"params": (f32(9, 4),) * 5}, [X, X], "projected states"),
    ("gru", RNN | {"params": (f32(9, 4),) * 4, "has_biases": False}, [X, X], "projected states"),
    ("_cdist_forward", {"x1": X, "x2": X, "p": 3.0}, X, "distances of order 3.0 are not supported; there are 1 and 2"),
    ("where", {"condition": true(3)}, i64(3), "the positions of a mask"),
    ("add", {"self": X, "other": None, "alpha": 1}, X, "a tensor or a number is expected, and it has None"),
    (
        "one_hot",
        {"self": i64(2), "num_classes": 3},
        i64(2, N),
        "its axis has the open size N, and must have a fixed one",
    ),
]


@pytest.mark.parametrize(
    ("kind", "arguments", "results", "reason"), REFUSED, ids=lambda given: given if isinstance(given, str) else ""
)
def test_what_no_graph_says_is_refused(kind: str, arguments: dict[str, Any], results: Any, reason: str) -> None:
    with pytest.raises(Unfit, match=re.escape(reason)):
        graph_of(kind, arguments, results)


OPEN: list[tuple[str, dict[str, Any], Any, list[str]]] = [
    (
        "add",
        {"self": f32(2), "other": N + 1, "alpha": 1},
        f32(2),
        [
            "range_1 = range(start='N + 1', limit='N + 2') : i64[1]",
            "reshape_1 = reshape(range_1, shape=[]) : i64[]",
            "cast_1 = cast(reshape_1, element='f32') : f32[]",
            "add_1 = add(x0, cast_1) : f32[2]",
        ],
    ),
    (
        "select",
        {"self": f32(N, 3), "dim": 0, "index": -1},
        f32(3),
        [
            "constant_1 = constant(value=-1) : i64[]",
            "gather_1 = gather(x0, constant_1) : f32[3]",
        ],
    ),
    (
        "select",
        {"self": f32(3, N), "dim": -1, "index": 2},
        f32(3),
        [
            "constant_1 = constant(value=2) : i64[]",
            "gather_1 = gather(x0, constant_1, axis=1) : f32[3]",
        ],
    ),
    (
        "select",
        {"self": f32(N, 3), "dim": -2, "index": N - 1},
        f32(3),
        [
            "slice_1 = slice(x0, starts=['N - 1'], ends=['N'], axes=[0]) : f32[1,3]",
            "squeeze_1 = squeeze(slice_1, axes=[0]) : f32[3]",
        ],
    ),
    ("slice", {"self": f32(N, 3), "dim": 0, "start": 0, "end": N, "step": 1}, f32(N, 3), []),
    (
        "slice",
        {"self": f32(N, 3), "dim": 0, "start": 1, "end": N, "step": 1},
        f32(N - 1, 3),
        [
            "slice_1 = slice(x0, starts=[1], ends=[2147483647], axes=[0], steps=[1]) : f32[max(1, N) - 1,3]",
        ],
    ),
    (
        "slice",
        {"self": f32(2 * N, 3), "dim": 0, "start": 0, "end": N, "step": 1},
        f32(N, 3),
        [
            "slice_1 = slice(x0, starts=[0], ends=['N'], axes=[0], steps=[1]) : f32[N,3]",
        ],
    ),
    ("arange", {"end": N}, i64(N), ["range_1 = range(limit='N') : i64[N]"]),
    (
        "arange",
        {"start": 2, "end": N, "step": 3},
        f32((N - 2 + 2) // 3),
        [
            "range_1 = range(start=2, limit='N', delta=3) : i64[N//3]",
            "cast_1 = cast(range_1, element='f32') : f32[N//3]",
        ],
    ),
    (
        "full",
        {"size": (2,), "fill_value": N},
        i64(2),
        [
            "range_1 = range(start='N', limit='N + 1') : i64[1]",
            "reshape_1 = reshape(range_1, shape=[]) : i64[]",
            "expand_1 = expand(reshape_1, shape=[2]) : i64[2]",
        ],
    ),
    (
        "full",
        {"size": (), "fill_value": N},
        i64(),
        [
            "range_1 = range(start='N', limit='N + 1') : i64[1]",
            "reshape_1 = reshape(range_1, shape=[]) : i64[]",
        ],
    ),
    ("empty", {"size": (2,)}, f32(2), ["constant_of_shape_1 = constant_of_shape(shape=[2]) : f32[2]"]),
    (
        "upsample_nearest2d",
        {"self": f32(1, 2, N, 4), "output_size": (2 * N, 8), "scales_h": 2.0, "scales_w": 2.0},
        f32(1, 2, 2 * N, 8),
        [
            "resize_1 = resize(x0, sizes=['2*N', 8], coordinate_transformation_mode='asymmetric', "
            "nearest_mode='floor', axes=[2, 3]) : f32[1,2,2*N,8]",
        ],
    ),
    (
        "upsample_nearest1d",
        {"self": f32(1, 2, 4), "output_size": (0,), "scales": None},
        f32(1, 2, 0),
        [
            "resize_1 = resize(x0, sizes=[0], coordinate_transformation_mode='asymmetric', "
            "nearest_mode='floor', axes=[2]) : f32[1,2,0]",
        ],
    ),
    (
        "scaled_dot_product_attention",
        HEADS | dict.fromkeys(("query", "key", "value"), f32(N, 3, 4)),
        f32(N, 3, 4),
        [
            "reshape_1 = reshape(x0, shape=[1, 'N', 3, 4]) : f32[1,N,3,4]",
            "reshape_2 = reshape(x1, shape=[1, 'N', 3, 4]) : f32[1,N,3,4]",
            "reshape_3 = reshape(x2, shape=[1, 'N', 3, 4]) : f32[1,N,3,4]",
            "attention_1 = attention(reshape_1, reshape_2, reshape_3) : f32[1,N,3,4]",
            "reshape_4 = reshape(attention_1, shape=['N', 3, 4]) : f32[N,3,4]",
        ],
    ),
    (
        "scaled_dot_product_attention",
        HEADS | dict.fromkeys(("query", "key", "value"), f32(N, 3, 2, 5, 4)),
        f32(N, 3, 2, 5, 4),
        [
            "reshape_1 = reshape(x0, shape=['3*N', 2, 5, 4]) : f32[3*N,2,5,4]",
            "reshape_2 = reshape(x1, shape=['3*N', 2, 5, 4]) : f32[3*N,2,5,4]",
            "reshape_3 = reshape(x2, shape=['3*N', 2, 5, 4]) : f32[3*N,2,5,4]",
            "attention_1 = attention(reshape_1, reshape_2, reshape_3) : f32[3*N,2,5,4]",
            "reshape_4 = reshape(attention_1, shape=['N', 3, 2, 5, 4]) : f32[N,3,2,5,4]",
        ],
    ),
    *(
        (
            f"adaptive_avg_pool{axes}d",
            {"self": f32(1, 2, *[6] * axes), "output_size": (3,) * axes},
            f32(1, 2, *[3] * axes),
            [
                f"average_pool_1 = average_pool(x0, kernel={[2] * axes}, strides={[2] * axes}) "
                f": f32[1,2,{','.join('3' * axes)}]"
            ],
        )
        for axes in (1, 3)
    ),
]


@pytest.mark.parametrize(
    ("kind", "arguments", "results", "lines"), OPEN, ids=lambda given: given if isinstance(given, str) else ""
)
def test_open_sizes(kind: str, arguments: dict[str, Any], results: Any, lines: list[str]) -> None:
    told = to_text(graph_of(kind, arguments, results)).splitlines()[1:]
    assert [each for each in told if " = input(" not in each and " = output(" not in each] == lines


def test_arguments_of_a_call() -> None:
    assert [each_axis(given, 2) for given in (3, (3,), (3, 4))] == [(3, 3), (3, 3), (3, 4)]
    assert fixed_size(3) == 3
    graph = Graph("g")
    call = Call(
        graph, {"self": graph.input("x", f32(2, 3)), "how": 1, "flag": True}, (f32(2, 3),), "f32", lambda value: None
    )
    assert (call[1], call["how"], call.get("how"), call.get("other", 7)) == (1, 1, 1, 7)
    call.need("how", 2, 1)
    for name, allowed, told in (
        ("how", (True,), "there is (True,)"),
        ("flag", (1, 2), "there are (1, 2)"),
        ("how", (1.0,), "there is"),
    ):
        with pytest.raises(Unfit, match=re.escape(told)):
            call.need(name, *allowed)
    alone = Call(graph, {"self": graph.input("y", f32()), "dim": -1}, (f32(),), "f32", lambda value: None)
    assert (alone.axis("dim"), alone.axes("dim"), call.axes("dim"), alone.keeps_axes) == (0, (0,), (0, 1), False)
    half = graph.constant(np.ones((2, 3), np.float32), type=Tensor("bf16", (2, 3)), origin=("w",))
    turned = call.view_of(half, np.ones((3, 2), np.float32))
    assert (turned.type, graph.origin(turned.node)) == (Tensor("bf16", (3, 2)), ("w",))
    with pytest.raises(Unfit, match="its table depends on inputs"):
        call.array(call["self"], "table")
    with pytest.raises(Unfit, match="its table depends on inputs"):
        call.array(3, "table")
