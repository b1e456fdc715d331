"""Nodes of ONNX with each of their attributes, and with operands of other forms than its own test suite has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

__all__ = ["CASES", "NodeCase"]

RANDOM = np.random.default_rng(5)
ML = "ai.onnx.ml"


class NodeCase(NamedTuple):
    """A model of one node, and what it reads."""

    model: Any
    inputs: dict[str, np.ndarray]


CASES: dict[str, list[NodeCase]] = {}


def case(
    kind: str,
    operands: Sequence[Any],
    *,
    outputs: str = "y",
    opset: int = 23,
    domain: str = "",
    known: str = "",
    dims: dict[str, Sequence[Any]] | None = None,
    given: dict[str, Any] | None = None,
    **attributes: Any,
) -> None:
    """Note a node; operands are called a, b, c, …; ``known`` are constants, ``dims`` are open sizes of others."""
    names = ["" if each is None else "abcdefghij"[at] for at, each in enumerate(operands)]
    arrays = {name: np.asarray(each) for name, each in zip(names, operands, strict=True) if name}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items() if name in known]
    inputs = {name: array for name, array in arrays.items() if name not in known}
    typed = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), (dims or {}).get(name, array.shape)
        )
        for name, array in inputs.items()
    ]
    results = [
        helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs.split() if name != "-"
    ]
    node = helper.make_node(
        kind, names, [name.replace("-", "") for name in outputs.split()], domain=domain, **attributes, **(given or {})
    )
    sets = [
        helper.make_opsetid("", opset),
        *([helper.make_opsetid(domain, 5 if kind == "TreeEnsemble" else 3)] if domain else []),
    ]
    graph = helper.make_graph([node], "g", typed, results, constants)
    CASES.setdefault(kind, []).append(NodeCase(helper.make_model(graph, opset_imports=sets, ir_version=10), inputs))


def real(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


# ---------------------------------------------------------------------- attention
Q, K, V = real(2, 4, 3, 6), real(2, 2, 5, 6), real(2, 2, 5, 5)
SAME = real(2, 4, 3, 6), real(2, 4, 5, 6), real(2, 4, 5, 5)
for q, k, v in ((Q, K, V), SAME):
    for attributes in ({}, {"is_causal": 1}, {"scale": 0.25}, {"softcap": 0.5}, {"softmax_precision": 11}):
        case("Attention", [q, k, v], **attributes)
    for outputs in ("y p q s", "y - - s"):
        for shown in range(4):
            capped = {"softcap": 0.75} if shown else {}  # of raw scores onnx's reference has capped ones
            case("Attention", [q, k, v, real(3, 5)], outputs=outputs, qk_matmul_output_mode=shown, **capped)
for mask in (
    real(3, 5),
    real(1, 1, 3, 5),
    real(2, 4, 3, 5),
    real(1, 5),
    real(3, 5) > 0,
    real(2, 1, 1, 5) > 0,
    real(3, 4),
):
    case("Attention", [*SAME, mask])
    case("Attention", [*SAME, mask], softcap=0.5)
PAST = real(2, 2, 2, 6), real(2, 2, 2, 5)
for attributes in ({}, {"is_causal": 1}, {"is_causal": 1, "softcap": 0.5}):
    case("Attention", [Q, K, V, None, *PAST], outputs="y p q", **attributes)
    case("Attention", [Q, K, V, real(3, 7), *PAST], outputs="y p q s", **attributes)
    case("Attention", [Q, K, V, None, None, None, ints(5, 2)], opset=24, **attributes)
    sizes = {"a": ("N", 4, "T", 6), "b": ("N", 2, "S", 6), "c": ("N", 2, "S", 5)}
    case("Attention", [Q, K, V], dims=sizes, **attributes)
    past = {"e": ("N", 2, "P", 6), "f": ("N", 2, "P", 5)}
    case("Attention", [Q, K, V, None, *PAST], outputs="y p q", dims=sizes | past, **attributes)
    case("Attention", [Q, K, V, None, None, None, ints(5, 2)], opset=24, dims=sizes | {"g": ("N",)}, **attributes)
ROWS = real(2, 3, 24), real(2, 5, 12), real(2, 5, 10)
for attributes in ({}, {"is_causal": 1}, {"softcap": 0.5}, {"scale": 0.5}):
    case("Attention", ROWS, q_num_heads=4, kv_num_heads=2, **attributes)
case("Attention", ROWS, outputs="y p q s", q_num_heads=4, kv_num_heads=2)
half = [each.astype(np.float16) for each in SAME]
for precision in (1, 10, 11):
    case("Attention", half, softmax_precision=precision)
for interleaved in (0, 1):
    case("RotaryEmbedding", [real(2, 3, 4, 8), real(2, 4, 4), real(2, 4, 4)], interleaved=interleaved)
    case(
        "RotaryEmbedding",
        [real(2, 3, 4, 8), real(2, 4, 2), real(2, 4, 2)],
        interleaved=interleaved,
        rotary_embedding_dim=4,
    )
    case(
        "RotaryEmbedding",
        [real(2, 3, 4, 8), real(9, 4), real(9, 4), ints([0, 3, 1, 8], [2, 2, 5, 6])],
        interleaved=interleaved,
    )
    case("RotaryEmbedding", [real(2, 4, 24), real(2, 4, 4), real(2, 4, 4)], interleaved=interleaved, num_heads=3)
    case(
        "RotaryEmbedding",
        [real(2, 4, 24), real(9, 2), real(9, 2), ints([0, 3, 1, 8], [2, 2, 5, 6])],
        num_heads=3,
        rotary_embedding_dim=4,
        interleaved=interleaved,
    )

# ---------------------------------------------------------------------- classical models
X = real(4, 3)
for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    for rows, classes in ((3, 3), (1, 2)):
        more = {"coefficients": real(rows, 3).ravel().tolist(), "post_transform": transform}
        for labels in (
            {"classlabels_ints": [*range(5, 5 + classes)]},
            {"classlabels_strings": [*"abc"[:classes]]},
        ):
            weights = more | {"intercepts": real(rows).tolist()} | labels
            case("LinearClassifier", [X], outputs="y z", domain=ML, **weights)
        if rows > 1:  # one score onnxruntime leaves as it is
            case("LinearRegressor", [X], domain=ML, **more, targets=rows, intercepts=real(rows).tolist())
    case(
        "LinearClassifier",
        [X],
        outputs="y z",
        domain=ML,
        coefficients=real(9).tolist(),
        intercepts=real(3).tolist(),
        post_transform=transform,
    )
    case(
        "LinearClassifier",
        [X],
        outputs="y z",
        domain=ML,
        coefficients=real(3).tolist(),
        intercepts=[0.5],
        classlabels_ints=[7],
        post_transform=transform,
    )
case("LinearRegressor", [X], domain=ML, coefficients=real(6).tolist(), targets=2, intercepts=[0.0, 0.0])
case("LinearRegressor", [X], domain=ML, coefficients=real(3).tolist())
case("LinearRegressor", [np.arange(12).reshape(4, 3)], domain=ML, coefficients=real(3).tolist(), intercepts=[0.25])
for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
    svm = {"kernel_type": kernel, "kernel_params": [0.5, 0.25, 2.0], "support_vectors": real(6).tolist()}
    case("SVMRegressor", [X], domain=ML, n_supports=2, coefficients=real(2).tolist(), rho=[0.25], **svm)
    case("SVMRegressor", [X], domain=ML, n_supports=2, coefficients=real(2).tolist(), rho=[0.25], one_class=1, **svm)
    svm["support_vectors"] = real(12).tolist()
    case(
        "SVMClassifier",
        [X],
        outputs="y z",
        domain=ML,
        coefficients=real(8).tolist(),
        rho=real(3).tolist(),
        vectors_per_class=[1, 2, 1],
        classlabels_ints=[4, 5, 6],
        **svm,
    )
    case(
        "SVMClassifier",
        [X],
        outputs="y z",
        domain=ML,
        coefficients=real(4).tolist(),
        rho=[0.25],
        vectors_per_class=[1, 3],
        classlabels_strings=["no", "yes"],
        **svm,
    )
case("SVMRegressor", [X], domain=ML, coefficients=real(3).tolist(), rho=[0.25])
case(
    "SVMClassifier",
    [X],
    outputs="y z",
    domain=ML,
    coefficients=real(9).tolist(),
    rho=[0.25],
    classlabels_ints=[4, 5, 6],
)
for of in ("target", "class"):
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        trees = {
            "nodes_treeids": [0] * 5 + [1] * 3,
            "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
            "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
            "nodes_values": [0.5, -0.25, 0, 0, 0, 0.125, 0, 0],
            "nodes_modes": [mode, "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", mode, "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
            "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
            "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 1, 0, 0],
            f"{of}_treeids": [0, 0, 0, 1, 1],
            f"{of}_nodeids": [2, 3, 4, 1, 2],
            f"{of}_ids": [0, 1, 1, 0, 1],
            f"{of}_weights": [1.0, 2.0, -0.5, 0.25, 3.0],
        }
        rows = np.concatenate([X, np.float32([[0.5, -0.25, 0.125], [np.nan, 0, np.nan]])])
        if of == "target":
            for aggregate in ("SUM", "AVERAGE", "MIN", "MAX") if mode == "BRANCH_LEQ" else ("SUM",):
                case("TreeEnsembleRegressor", [rows], domain=ML, n_targets=2, aggregate_function=aggregate, given=trees)
            one = trees | {"target_ids": [0] * 5, "base_values": [0.5]}
            case("TreeEnsembleRegressor", [rows], domain=ML, n_targets=1, given=one)
        else:
            for transform in ("NONE", "SOFTMAX", "LOGISTIC") if mode == "BRANCH_LEQ" else ("NONE",):
                for labels in ({"classlabels_int64s": [3, 4, 9]}, {"classlabels_strings": ["a", "b", "c"]}):
                    case(
                        "TreeEnsembleClassifier",
                        [rows],
                        outputs="y z",
                        domain=ML,
                        post_transform=transform,
                        given=trees | labels,
                    )
            one = trees | {"class_ids": [0] * 5, "classlabels_int64s": [3, 4]}
            case("TreeEnsembleClassifier", [rows], outputs="y z", domain=ML, given=one)
            one |= {"class_weights": [1.0, 2.0, 0.5, 0.25, 3.0], "base_values": [0.25]}
            case("TreeEnsembleClassifier", [rows], outputs="y z", domain=ML, given=one)
            case("TreeEnsembleClassifier", [rows], outputs="y z", domain=ML, post_transform="LOGISTIC", given=one)

# ---------------------------------------------------------------------- features and texts
case("ArrayFeatureExtractor", [X, ints(2, 0)], domain=ML, known="b")
case("ArrayFeatureExtractor", [real(5), ints([2, 0, 4])], domain=ML)
case("FeatureVectorizer", [X, real(4, 2)], domain=ML, inputdimensions=[3, 2])
case("FeatureVectorizer", [real(3), np.arange(2)], domain=ML, inputdimensions=[3, 2])
case("Binarizer", [X], domain=ML, threshold=0.25)
case("Binarizer", [X], domain=ML)
case(
    "Imputer",
    [np.float32([[1, np.nan, 3]])],
    domain=ML,
    imputed_value_floats=[7.0, 8.0, 9.0],
    replaced_value_float=float("nan"),
)
case("Imputer", [np.float32([[1, 2, 3]])], domain=ML, imputed_value_floats=[7.0], replaced_value_float=2.0)
case("Imputer", [ints([1, 2, 3])], domain=ML, imputed_value_int64s=[7], replaced_value_int64=2)
for norm in ("MAX", "L1", "L2"):
    case("Normalizer", [X.clip(0)], domain=ML, norm=norm)
case("OneHotEncoder", [ints(3, 9, 4)], domain=ML, cats_int64s=[3, 4, 5], zeros=1)
case("OneHotEncoder", [np.float32([3, 9, 4])], domain=ML, cats_int64s=[3, 4, 5], zeros=1)
case("OneHotEncoder", [np.array(["b", "x"])], domain=ML, cats_strings=["a", "b"], zeros=1)
case("Scaler", [X], domain=ML, offset=[0.5, 0.25, 1.0], scale=[2.0, 1.0, 0.5])
case("Scaler", [X], domain=ML, offset=[0.5], scale=[2.0])
for default in ({}, {"default_string": "none", "default_int64": 7}):
    labels = {"cats_strings": ["a", "b"], "cats_int64s": [3, 4]}
    case("CategoryMapper", [np.array(["b", "x"])], domain=ML, given=labels | default)
    case("CategoryMapper", [ints(4, 9)], domain=ML, given=labels | default)
case(
    "TfIdfVectorizer",
    [ints(1, 2, 3, 1, 2)],
    mode="TF",
    min_gram_length=1,
    max_gram_length=2,
    max_skip_count=1,
    ngram_counts=[0, 2],
    ngram_indexes=[0, 1, 2],
    pool_int64s=[1, 3, 1, 2],
)
case(
    "TfIdfVectorizer",
    [np.array(["a", "b", "a"])],
    mode="TFIDF",
    min_gram_length=1,
    max_gram_length=1,
    max_skip_count=0,
    ngram_counts=[0],
    ngram_indexes=[0, 1],
    pool_strings=["a", "b"],
    weights=[0.5, 2.0],
)

# ---------------------------------------------------------------------- layers and windows
for axis in (-1, 1):
    for shift in ([], [real(3, 4)[0] if axis == -1 else real(3, 4)]):
        gain = real(4) if axis == -1 else real(3, 4)
        case("LayerNormalization", [real(2, 3, 4), gain, *shift], axis=axis, epsilon=0.25)
        case("LayerNormalization", [real(2, 3, 4), gain, *shift], outputs="y m d", axis=axis, epsilon=0.25)
case("GroupNormalization", [real(2, 6, 3), real(6), real(6)], opset=21, num_groups=2, epsilon=0.25)
case("GroupNormalization", [real(2, 6, 3), real(6), real(6)], opset=21, num_groups=3)
IMAGE, LINE = real(1, 2, 7, 6), real(1, 2, 8)
for mode in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
    case("Conv", [IMAGE, real(3, 2, 2, 3)], known="b", auto_pad=mode, strides=[2, 3])
    case("Conv", [LINE, real(4, 1, 3)], known="b", auto_pad=mode, group=2, dilations=[2])
    case("AveragePool", [IMAGE], opset=22, auto_pad=mode, kernel_shape=[2, 3], strides=[1, 2])
    case("AveragePool", [LINE], opset=22, auto_pad=mode, kernel_shape=[3], count_include_pad=1)
    case("MaxPool", [IMAGE], opset=22, auto_pad=mode, kernel_shape=[2, 3], strides=[2, 1])
    case("ConvTranspose", [IMAGE, real(2, 3, 2, 3)], known="b", auto_pad=mode, strides=[2, 3])
    case("ConvTranspose", [LINE, real(2, 3, 4)], known="b", auto_pad=mode)
case("ConvTranspose", [IMAGE, real(2, 3, 3, 3)], known="b", strides=[2, 2], output_shape=[14, 13])
case(
    "ConvTranspose",
    [IMAGE, real(2, 3, 3, 3)],
    known="b",
    strides=[2, 2],
    output_padding=[1, 0],
    pads=[1, 0, 1, 1],
    dilations=[1, 2],
)
case("Conv", [IMAGE, real(3, 2, 2, 3), real(3)], known="bc", pads=[1, 0, 0, 2])
case("AveragePool", [IMAGE], opset=22, kernel_shape=[2, 2], dilations=[2, 1], ceil_mode=1, strides=[2, 2])
case(
    "MaxPool", [IMAGE], opset=22, kernel_shape=[2, 2], dilations=[1, 2], ceil_mode=1, strides=[2, 2], pads=[0, 1, 1, 0]
)
case("Col2Im", [real(1, 12, 2), ints(4, 5), ints(2, 3)], known="bc", opset=18, dilations=[2, 2])
case("Col2Im", [real(1, 12, 15), ints(4, 5), ints(2, 3)], known="bc", opset=18, pads=[1, 1, 1, 1], strides=[2, 1])
case("Col2Im", [real(1, 6, 3), ints(5), ints(3)], known="bc", opset=18)
case("MaxUnpool", [real(1, 1, 2, 2), ints(5, 7, 13, 15).reshape(1, 1, 2, 2)], kernel_shape=[2, 2], strides=[2, 2])

# ---------------------------------------------------------------------- movement
for axes in ([0, 1], [1], [-1], [-1, 0], None):
    pads = ints(*range(1, 5)) if axes is None or len(axes) == 2 else ints(1, 2)
    case("Pad", [real(2, 3), pads, np.float32(0.5), None if axes is None else ints(*axes)], known="bcd", opset=18)
for count in (1, 2, 3, 4):
    case("Split", [real(2, 5)], outputs=" ".join("yzvw"[:count]), opset=18, axis=1, num_outputs=count)
case("Split", [real(2, 5), ints(1, 4)], known="b", outputs="y z", axis=-1)
case("Squeeze", [real(1, 3, 1)])
case("Squeeze", [real(1, 3, 1), ints(-1)], known="b")
for start, limit, step in ((1, 7, 2), (5, -1, -2)):
    case("Range", [np.int64(start), np.int64(limit), np.int64(step)], known="abc")
    case("Range", [np.float32(start), np.float32(limit), np.float32(step)], known="abc")
case("ConstantOfShape", [ints(2, 3)], known="a")
case("ConstantOfShape", [ints(2)], known="a", value=numpy_helper.from_array(np.array([7], np.int32)))
for mode in ("nearest", "linear", "cubic"):
    for how in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        more = {"mode": mode, "coordinate_transformation_mode": how}
        case("Resize", [real(1, 1, 4, 5), None, np.float32([1, 1, 1.5, 2])], known="c", opset=19, **more)
        case("Resize", [real(1, 1, 4, 5), None, None, ints(7, 3)], known="d", opset=19, axes=[2, 3], **more)
for near in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    case("Resize", [real(1, 1, 4, 5), None, np.float32([1, 1, 1.5, 2])], known="c", opset=19, nearest_mode=near)
case("Resize", [real(1, 1, 6, 5), None, None, ints(3, 4)], known="d", opset=19, axes=[2, 3], mode="linear", antialias=1)
case(
    "Resize",
    [real(1, 1, 6, 5), None, None, ints(3, 4)],
    known="d",
    opset=19,
    axes=[3, 2],
    mode="cubic",
    cubic_coeff_a=-0.5,
    exclude_outside=1,
)
