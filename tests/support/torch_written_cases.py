"""Graphs of one op, each in a form that `to_torch` writes in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphrewrite import Graph, op
from graphrewrite.types import element_dtype, parse_type

__all__ = ["inputs_of", "written_cases"]

IMAGE, WIDE, VOLUME = "f32[2,4,6,6]", "f32[2,4,7,9]", "f32[1,2,4,5,6]"
_POINTS = np.array([[[[-0.9, 0.2], [0.4, 1.2]]], [[[0.1, -0.3], [0.8, 0.6]]]], np.float32)
_STATE = ["f32[1,2,3]"]
_BOTH = ["f32[2,2,3]"]
ELEMENTWISE = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log",
    "neg", "reciprocal", "relu", "round", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "hard_swish",
    "mish", "softplus", "softsign", "identity", "is_nan", "hardmax", "celu", "elu", "gelu", "hard_sigmoid",
    "hard_tanh", "leaky_relu", "log_softmax", "selu", "silu", "softmax", "softmin", "threshold", "dropout", "clip",
    "lp_norm",
)  # fmt: skip
PAIRS = (
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "mod", "equal", "greater", "greater_or_equal", "less",
    "less_or_equal",
)  # fmt: skip
REDUCTIONS = (
    "sum", "mean", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "prod", "sum_square",
)  # fmt: skip


def _recurrent(gates: int, both: bool = False) -> list[str]:
    ways = 1 + both
    weights = [f"f32[{ways},{gates * 3},4]", f"f32[{ways},{gates * 3},3]", f"f32[{ways},{gates * 6}]"]
    return ["f32[5,2,4]", *weights, *(_BOTH if both else _STATE)]


CASES: list[tuple[Any, ...]] = [
    *[(name, ["f32[2,3]"], {}) for name in ELEMENTWISE],
    *[(name, ["f32[2,3]", "f32[3]"], {}) for name in PAIRS],
    *[(name, ["i32[2,3]", "i32[3]"], {}) for name in ("div", "pow", "bitwise_and", "bitwise_or", "bitwise_xor")],
    *[(name, ["bool[2,3]", "bool[3]"], {}) for name in ("logical_and", "logical_or", "logical_xor")],
    ("logical_not", ["bool[2,3]"], {}), ("bitwise_not", ["i32[2]"], {}), ("det", ["f32[2,3,3]"], {}),
    ("where", ["bool[2,3]", "f32[2,3]", "f32[3]"], {}), ("matmul", ["f32[2,3]", "f32[3,4]"], {}),
    ("mod", ["f32[2,3]", "f32[3]"], {"fmod": True}), ("fma", ["f32[2]", "f32[2]", "f32[2]"], {}),
    ("celu", ["f32[2]"], {"alpha": 0.5}), ("elu", ["f32[2]"], {"alpha": 0.5}),
    ("gelu", ["f32[2]"], {"approximate": "tanh"}), ("hard_sigmoid", ["f32[2]"], {"alpha": 0.25, "beta": 0.125}),
    ("hard_tanh", ["f32[2]"], {"low": -2.0, "high": 3.0}), ("leaky_relu", ["f32[2]"], {"alpha": 0.25}),
    ("selu", ["f32[2]"], {"alpha": 1.5, "gamma": 1.25}), ("silu", ["f32[2]"], {"alpha": 2.0}),
    ("threshold", ["f32[2]"], {"alpha": 0.25}), ("clip", ["f32[2]"], {"low": -1.0}),
    ("clip", ["f32[2]"], {"high": 1.0}), ("clip", ["i32[2]"], {"low": 0, "high": 6}),
    ("softmax", ["f32[2,3]"], {"axis": 0}), ("softmin", ["f32[2,3]"], {"axis": 0}),
    ("log_softmax", ["f32[2,3]"], {"axis": 0}), ("hardmax", ["f32[2,3]"], {"axis": 0}),
    ("lp_norm", ["f32[2,3]"], {"axis": 0, "p": 1}), ("is_inf", ["f32[3]"], {}),
    ("is_inf", ["f32[3]"], {"detect_negative": False}), ("is_inf", ["f32[3]"], {"detect_positive": False}),
    *[(f"reduce_{name}", ["f32[2,3,4]"], given) for name in REDUCTIONS for given in (
        {}, {"axes": (0, -1)}, {"axes": (1,), "keep_dims": False}, {"axes": (0, 1), "keep_dims": False},
        {"axes": ()},
    )],
    ("reduce_max", ["f32[2,0]"], {"axes": (1,)}), ("reduce_min", ["f32[2,0]"], {"axes": (1,)}),
    ("reduce_sum", ["f32[]"], {}), ("reduce_prod", ["i32[2,3]"], {"axes": (0, 1)}),
    ("flatten", ["f32[2,3,4]"], {"axis": 2}), ("reshape", ["f32[N,6]"], {"shape": (-1, 2, 3)}),
    ("squeeze", ["f32[2,1,4]"], {"axes": (1,)}), ("unsqueeze", ["f32[2,4]"], {"axes": (0, 2)}),
    ("cast", ["f32[2]"], {"element": "i64"}), ("bit_cast", ["f32[2]"], {"element": "i32"}),
    ("expand", ["f32[1,3]"], {"shape": (2, 3)}), ("tile", ["f32[2,3]"], {"repeats": (2, 1)}),
    ("transpose", ["f32[2,3,4]"], {"perm": (2, 0, 1)}), ("name_axes", ["f32[2,3]"], {"layout": "AB"}),
    ("concat", ["f32[2,3]", "f32[2,1]"], {"axis": 1}), ("split", ["f32[2,5]"], {"axis": 1, "sizes": (2, 3)}),
    ("sum", ["f32[2]", "f32[2]", "f32[2]"], {}), ("mean", ["f32[2]", "f32[2]"], {}),
    ("channel_shuffle", [IMAGE], {"groups": 2}), ("einsum", ["f32[2,3]", "f32[3,4]"], {"equation": "ij,jk->ki"}),
    ("linear", ["f32[2,3]", "f32[4,3]", "f32[4]"], {}), ("gemm", ["f32[2,3]", "f32[3,4]"], {}),
    ("gemm", ["f32[2,3]", "f32[3,4]", "f32[4]"], {}),
    ("gemm", ["f32[3,2]", "f32[4,3]", "f32[4]"], {"alpha": 0.5, "beta": 2.0, "trans_a": True, "trans_b": True}),
    *[(name, ["f32[2,3]"], given) for name in ("arg_max", "arg_min") for given in (
        {}, {"axis": 0, "keep_dims": False}, {"axis": 1, "select_last_index": True},
    )],
    ("arg_max", ["f32[N,3]"], {"axis": 0, "select_last_index": True}),
    ("slice", ["f32[4,5,6]"], {"starts": (1, -3), "ends": (3, 9), "axes": (0, -1), "steps": (1, 2)}),
    ("slice", ["f32[4,5]"], {"starts": (3, 4), "ends": (0, -9), "steps": (-1, -2)}),
    ("slice", ["f32[4,5]"], {"starts": (3, 1), "ends": (-5, 3), "axes": (0, 1), "steps": (-1, 1)}),
    ("slice", ["f32[4,5]"], {"starts": (1,), "ends": (3,)}),
    ("slice", ["f32[N,5]"], {"starts": (3,), "ends": (0,), "steps": (-1,)}),
    ("gather", ["f32[2,3,4]", np.array([[0, -1]])], {"axis": 1}), ("gather", ["f32[2,3]", np.array(1)], {"axis": -1}),
    ("gather", ["f32[2,3]", np.array([1, 0])], {}),
    ("gather_elements", ["f32[2,3]", np.array([[0, -1], [2, 1]])], {"axis": 1}),
    ("gather_elements", ["f32[2,3]", np.array([[0, -1, 1]])], {}),
    ("gather_elements", ["f32[2,3]", np.array([[0, 1]])], {"axis": -1}),
    ("gather_elements", ["f32[2,3]", np.array([[0, 1]])], {}),
    ("gather_nd", ["f32[2,3,4]", np.array([[0, 1], [1, -1]])], {}),
    ("gather_nd", ["f32[2,3,4]", np.array([[[0], [1]], [[2], [0]]])], {"batch_dims": 1}),
    ("gather_nd", ["f32[N,3,4]", "i64[N,2,1]"], {"batch_dims": 1}),
    *[("pad", [IMAGE], {"pads": pads, "mode": mode}) for mode, pads in (
        ("constant", (0, 0, 1, 2, 0, 0, 3, 0)), ("constant", (0, 1, -1, 0, 0, 0, 0, 2)),
        ("reflect", (0, 0, 1, 2, 0, 0, 3, 0)), ("edge", (0, 0, 1, 0, 0, 0, 0, 0)),
        ("edge", (0, 1, 0, 0, 0, 1, 0, 0)), ("edge", (1, 0, 0, 0, 0, 0, 0, 0)), ("wrap", (0, 0, 0, 2, 0, 0, 0, 1)),
    )],
    ("pad", ["f32[2,3]"], {"pads": (0, 1, 0, 2), "fill": 1.5}),
    ("pad", ["f32[2,3]"], {"pads": (0, 1, 0, 2), "mode": "edge"}),
    ("pad", ["f32[3]"], {"pads": (1, 2), "mode": "edge"}),
    ("pad", [VOLUME], {"pads": (0,) * 5 + (0, 1, 0, 0, 1), "mode": "edge"}),
    ("trilu", ["f32[3,4]"], {}), ("trilu", ["f32[3,4]"], {"k": 1, "upper": False}),
    *[(name, ["f32[2,3]"], given) for name in ("cum_sum", "cum_prod") for given in (
        {"axis": 1}, {"axis": 0, "reverse": True}, {"axis": 1, "exclusive": True},
        {"axis": 1, "exclusive": True, "reverse": True},
    )],
    ("top_k", ["f32[2,5]"], {"k": 2}), ("top_k", ["f32[5,2]"], {"k": 3, "axis": 0, "largest": False}),
    ("range", [], {"start": 2, "limit": 9, "delta": 3}), ("range", [], {"limit": 4, "element": "f32"}),
    ("constant_of_shape", [], {"shape": (2, 3)}),
    ("constant_of_shape", [], {"shape": (2,), "value": 7, "element": "i32"}),
    ("shape", ["f32[N,3,4]"], {}), ("shape", ["f32[N,3,4]"], {"start": 1, "end": 2}),
    *[("scatter_elements", ["f32[3,3]", np.array([[0, -1, 1]]), "f32[1,3]"], {"axis": axis, "reduction": how})
      for axis, how in ((0, "none"), (0, "add"), (1, "mul"), (0, "max"), (0, "min"), (1, "none"))],
    *[("scatter_nd", ["f32[3,4]", np.array([[0], [2]]), "f32[2,4]"], {"reduction": how})
      for how in ("none", "add", "mul")],
    ("scatter_nd", ["f32[3,4]", np.array([[0, 1], [2, 3]]), "f32[2]"], {}),
    ("global_average_pool", [IMAGE], {}), ("global_max_pool", [VOLUME], {}),
    ("conv", ["f32[2,4,9]", "f32[6,4,3]"], {"strides": (2,), "pads": (1, 1), "dilations": (1,)}),
    ("conv", [IMAGE, "f32[6,4,3,3]", "f32[6]"], {}),
    ("conv", [IMAGE, "f32[6,2,3,2]", "f32[6]"],
     {"strides": (2, 1), "pads": (1, 0, 2, 1), "dilations": (1, 2), "groups": 2}),
    ("conv", [IMAGE, "f32[6,4,3,3]"], {"pads": (1, 2, 1, 2)}),
    ("conv", [VOLUME, "f32[2,2,2,2,2]"], {"strides": (1, 2, 1), "pads": (1, 0, 1, 1, 0, 1), "dilations": (1, 1, 2)}),
    ("conv_transpose", [IMAGE, "f32[4,3,3,2]", "f32[6]"],
     {"strides": (2, 3), "pads": (1, 0, 1, 0), "dilations": (1, 2), "groups": 2, "output_padding": (1, 0)}),
    ("conv_transpose", ["f32[2,4,5]", "f32[4,2,3]"],
     {"strides": (2,), "pads": (1, 1), "dilations": (1,), "output_padding": (0,)}),
    ("conv_transpose", [IMAGE, "f32[4,3,3,2]"], {"pads": (1, 0, 0, 0)}),
    ("conv_transpose", [IMAGE, "f32[4,3,3,2]"], {"pads": (-1, 0, -1, 0)}),
    *[("max_pool", [WIDE], {"kernel": (3, 2), **given}) for given in (
        {}, {"strides": (2, 2), "pads": (1, 1, 1, 1)}, {"pads": (1, 0, 0, 1), "ceil_mode": True, "strides": (2, 2)},
        {"dilations": (2, 1), "pads": (2, 0, 2, 0)}, {"pads": (2, 0, 2, 0)},
    )],
    ("max_pool", ["f32[2,4,9]"], {"kernel": (3,), "strides": (2,), "pads": (1, 1), "dilations": (1,)}),
    *[("average_pool", [WIDE], {"kernel": (3, 2), **given}) for given in (
        {}, {"strides": (2, 2), "pads": (1, 1, 1, 1)}, {"pads": (1, 0, 0, 1), "ceil_mode": True, "strides": (2, 2)},
        {"pads": (1, 1, 1, 1), "count_include_pad": True}, {"pads": (1, 0, 0, 1), "count_include_pad": True},
        {"pads": (1, 0, 0, 1), "count_include_pad": True, "ceil_mode": True}, {"dilations": (2, 1)},
        {"pads": (1, 0, 0, 1)}, {"ceil_mode": True, "strides": (2, 2)},
    )],
    ("batch_norm", [IMAGE, *["f32[4]"] * 4], {}), ("batch_norm", [IMAGE, *["f32[4]"] * 4], {"epsilon": 0.01}),
    ("layer_norm", ["f32[2,3,4]", "f32[4]", "f32[4]"], {}),
    ("layer_norm", ["f32[2,3,4]", "f32[3,4]"], {"axis": 1, "epsilon": 0.01}),
    ("layer_norm", ["f32[2,3,4]", "f32[1]", "f32[4]"], {"axis": -2}),
    ("layer_norm", ["f32[2,3,4]", "f32[3,4]", "f32[1]"], {"axis": -2}),
    ("rms_norm", ["f32[2,3,4]", "f32[4]"], {}), ("rms_norm", ["f32[2,3,4]", "f32[3,4]"], {"axis": -2, "epsilon": 0.01}),
    ("group_norm", [IMAGE, "f32[4]", "f32[4]"], {"groups": 2}),
    ("group_norm", [IMAGE, "f32[4]", "f32[4]"], {"groups": 4, "epsilon": 0.01}),
    ("instance_norm", [IMAGE, "f32[4]", "f32[4]"], {}),
    ("instance_norm", [IMAGE, "f32[4]", "f32[4]"], {"epsilon": 0.01}),
    ("prelu", ["f32[2,3]", "f32[3]"], {}),
    ("attention", ["f32[2,2,3,4]"] * 3, {}), ("attention", ["f32[2,2,3,4]"] * 3, {"scale": 0.5, "is_causal": True}),
    ("attention", ["f32[2,4,3,4]", *["f32[2,2,3,4]"] * 2, "f32[2,4,3,3]"], {}),
    ("attention", [*["f32[2,2,3,4]"] * 3, "f32[2,2,3,3]"], {"is_causal": True}),
    *[("lstm", [*_recurrent(4), *_STATE, *more], given) for more, given in (
        ([], {}), ([np.zeros((1, 9), np.float32)], {}), ([np.ones((1, 9), np.float32)], {}),
        ([], {"input_forget": True}),
        ([], {"clip": 1.0}), ([], {"direction": "reverse"}), ([], {"activations": ("tanh", "tanh", "tanh")}),
        ([np.zeros((1, 9), np.float32), np.array([5, 4], np.int32)], {}),
    )],
    ("lstm", [*_recurrent(4, True), *_BOTH], {"direction": "bidirectional"}),
    ("gru", _recurrent(3), {"linear_before_reset": True}), ("gru", _recurrent(3), {}),
    ("gru", _recurrent(3, True), {"linear_before_reset": True, "direction": "bidirectional"}),
    ("gru", [*_recurrent(3), np.array([5, 4], np.int32)], {"linear_before_reset": True}),
    ("rnn", _recurrent(1), {}), ("rnn", _recurrent(1), {"activations": ("relu",)}),
    ("rnn", _recurrent(1), {"activations": ("sigmoid",)}),
    ("rnn", _recurrent(1, True), {"direction": "bidirectional", "activations": ("relu", "relu")}),
    *[("resize", [x], given) for x, given in (
        (IMAGE, {"scales": (1, 1, 2, 2), "mode": "nearest", "nearest_mode": "round_prefer_ceil"}),
        (IMAGE, {"scales": (1, 1, 2, 2), "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
        (IMAGE, {"scales": (1, 1, 2, 3), "mode": "linear"}), (IMAGE, {"sizes": (2, 4, 9, 5), "mode": "linear"}),
        (IMAGE, {"sizes": (2, 4, 9, 5), "mode": "linear", "coordinate_transformation_mode": "align_corners"}),
        (IMAGE, {"sizes": (2, 4, 9, 5), "mode": "cubic"}), ("f32[2,3,4]", {"sizes": (2, 3, 7), "mode": "linear"}),
        (VOLUME, {"sizes": (1, 2, 3, 5, 8), "mode": "linear"}),
        ("f32[1,1,2,2,2]", {"sizes": (1, 1, 3, 2, 2), "mode": "cubic"}),
        ("f32[1,1,3,4]", {"scales": (1.5,), "mode": "linear", "axes": (2,)}),
        ("f32[1,1,3,4]", {"scales": (1.0, 1.3), "mode": "linear", "axes": (2, 3)}),
        ("f32[1,1,4,4]", {"sizes": (1, 1, 2, 3), "mode": "linear", "antialias": True}),
        ("f32[1,1,4,4]", {"sizes": (1, 1, 5, 4), "mode": "cubic", "exclude_outside": True}),
        ("f32[1,1,4,4]", {"sizes": (1, 1, 5, 4), "mode": "cubic", "cubic_coeff_a": -0.5}),
        ("f32[1,1,4,4]", {"sizes": (1, 2, 4, 4), "mode": "linear"}), ("f32[1,1,4,3]", {"sizes": (1, 1, 6, 3)}),
        ("f32[1,1,4,4]", {"sizes": (1, 1, 2, 4), "mode": "linear", "coordinate_transformation_mode": "asymmetric"}),
        ("f32[1,1,4,4]", {"sizes": (3, 3), "axes": (2, 3), "mode": "linear", "keep_aspect_ratio_policy": "not_larger"}),
        ("f32[1,1,4,4]",
         {"sizes": (1, 1, 3, 3), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                          "roi": (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5)}),
        ("i32[1,1,4,4]", {"sizes": (1, 1, 5, 4)}),
    )],
    *[(name, ["f32[1,8,4,6]"], {"block_size": 2, "mode": mode}) for name in ("depth_to_space", "space_to_depth")
      for mode in ("DCR", "CRD")],
    *[("grid_sample", [IMAGE, _POINTS], given) for given in (
        {}, {"mode": "nearest", "padding_mode": "border"}, {"mode": "cubic", "align_corners": True},
        {"padding_mode": "reflection", "align_corners": True},
    )],
    ("grid_sample", [VOLUME, np.zeros((1, 1, 1, 2, 3), np.float32)], {}),
    ("grid_sample", [VOLUME, np.zeros((1, 1, 1, 2, 3), np.float32)], {"mode": "cubic"}),
    ("affine_grid", ["f32[2,2,3]"], {"size": (2, 3, 4, 5)}),
    ("affine_grid", ["f32[1,3,4]"], {"size": (1, 2, 3, 4, 5), "align_corners": True}),
    ("fold", ["f32[2,8,20]"], {"size": (5, 6), "kernel": (2, 2)}),
    ("fold", ["f32[2,8,9]"],
     {"size": (5, 6), "kernel": (2, 2), "strides": (2, 1), "pads": (1, 0, 1, 0), "dilations": (1, 3)}),
    ("fold", ["f32[2,8,25]"], {"size": (5, 6), "kernel": (2, 2), "pads": (1, 0, 0, 0)}),
    ("fold", ["f32[2,6,4]"], {"size": (6,), "kernel": (3,), "strides": (1,), "pads": (0, 0), "dilations": (1,)}),
    ("lrn", [IMAGE], {"size": 3}), ("lrn", [IMAGE], {"size": 5, "alpha": 0.01, "beta": 0.5, "bias": 2.0}),
    ("lrn", [IMAGE], {"size": 2}),
]  # fmt: skip


def written_cases() -> Iterator[tuple[str, Graph]]:
    """Yield each case: a name, and a graph of one op with inputs, and constants where an operand is an array."""
    count: Counter[str] = Counter()
    for kind, operands, attributes in CASES:
        graph = Graph(kind)
        values = [
            graph.input(f"x{at}", parse_type(each)) if isinstance(each, str) else graph.constant(each, name=f"c{at}")
            for at, each in enumerate(operands)
        ]
        made = graph.add(getattr(op, kind), values, attributes)
        for at, value in enumerate(made if isinstance(made, tuple) else (made,)):
            graph.output(f"y{at}", value)
        count[kind] += 1
        yield f"{kind} {count[kind]}", graph


def inputs_of(graph: Graph) -> dict[str, np.ndarray]:
    """Numbers, positive and of moderate size; open sizes are 2."""
    random, found = np.random.default_rng(0), {}
    for name in graph.inputs:
        kind = graph.result_type(name)
        shape = [size if isinstance(size, int) else 2 for size in kind.shape]
        dtype = element_dtype(kind.element)
        numbers = random.uniform(0.1, 0.9, shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        found[name] = np.asarray(numbers + (dtype.kind == "i" and name == "x1"), dtype)  # divisors, exponents
    return found
