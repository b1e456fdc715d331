"""Classical machine learning: trees, linear models, support vectors (``ai.onnx.ml``).

A ZipMap, which gives each sample a map from classes to probabilities, is read as its probabilities: what flows through
a graph are tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, numbers, truth, whole, word, words
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.tables.features import constant_like, in_single
from graphrewrite.lowering.exchange.onnx.tables.tree_attributes import as_listed, of_ensemble, of_list

__all__ = ["CLASSICAL"]

_DOMAIN = "ai.onnx.ml"
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _as_it_is(value: Any) -> Any:
    return value


def _in_floats(x: Any) -> Any:
    return x if x.type.element in ("f32", "f64") else op.cast(x, element="f32")


# ---------------------------------------------------------------------- scores and labels


def _transformed(scores: Any, transform: str) -> Any:
    """Scores as a model reports them (ONNX specification, ``post_transform``)."""
    if transform == "SOFTMAX":
        return op.softmax(scores, axis=-1)
    if transform == "LOGISTIC":
        return op.sigmoid(scores)
    if transform == "SOFTMAX_ZERO":  # a score of zero stays one
        greatest = op.reduce_max(scores, axes=(-1,))
        zeros = op.mul(scores, op.exp(op.neg(greatest)))
        weights = op.where(op.less(op.abs(scores), 1e-7), zeros, op.exp(op.sub(scores, greatest)))
        return op.div(weights, op.reduce_sum(weights, axes=(-1,)))
    if transform == "PROBIT":
        return _probit(scores)
    if transform == "NONE":
        return scores
    raise ValueError(f"post_transform {transform!r} is not one of {', '.join(_TRANSFORMS)}")


def _probit(x: Any) -> Any:
    """The quantile of the normal distribution (Winitzki 2008, as onnxruntime computes it)."""
    around = op.sub(op.mul(x, 2.0), 1.0)
    logarithm = op.log(op.mul(op.sub(1.0, around), op.add(around, 1.0)))
    half = op.add(op.mul(logarithm, 0.5), 2 / (math.pi * 0.147))
    root = op.sqrt(op.sub(op.mul(half, half), op.mul(logarithm, 1 / 0.147)))
    return op.mul(op.mul(op.sign(around), op.sqrt(op.sub(root, half))), math.sqrt(2))


def _chosen(scores: Any, labels: Sequence[Any]) -> Any:
    """The label of the greatest score of each row."""
    return op.gather(_labels(scores, labels), op.arg_max(scores, axis=1, keep_dims=False))


def _labels(like: Any, labels: Sequence[Any]) -> Any:
    return like.graph.constant(np.array(labels))


def _either(condition: Any, labels: Sequence[Any], like: Any) -> Any:
    """The second of two labels where a column holds, else the first one."""
    return op.gather(_labels(like, labels), op.squeeze(op.cast(condition, element="i64"), axes=(1,)))


def _of_one_score(
    score: Any, labels: Sequence[Any], transform: str, *, trees: bool = False, positive: bool = False
) -> tuple[Any, Any]:
    """Label and both scores of a model of two classes that gives one score, as onnxruntime computes them.

    The score of trees is a probability where all their weights are positive, else it is around zero.
    """
    pair = labels if len(labels) == 2 else (type(labels[0])(), labels[0])
    label = _either(op.greater(score, 0.5 if positive else 0.0), pair, score)
    if transform == "LOGISTIC":
        return label, op.concat(op.sigmoid(op.neg(score)), op.sigmoid(score), axis=1)
    return label, op.concat(op.sub(1.0, score) if positive or not trees else op.neg(score), score, axis=1)


# ---------------------------------------------------------------------- trees


def _ensemble(x: Any, *, transform: str = "NONE", base: Sequence[float] = (), **trees: Any) -> Any:
    scores = op.tree_ensemble(_in_floats(x), **trees)
    shifted = op.add(scores, constant_like(scores, base)) if len(base) else scores
    return _transformed(shifted, transform)


def _tree_regressor(x: Any, *, transform: str = "NONE", base: Sequence[float] = (), **listed: Any) -> Any:
    trees = of_list(listed, "target", int(listed.get("n_targets", 1)))
    return in_single(_ensemble(x, transform=transform, base=base, **trees))


def _tree_classifier(
    x: Any, *, labels: Sequence[Any], transform: str = "NONE", base: Sequence[float] = (), **listed: Any
) -> tuple[Any, Any]:
    votes = set(listed.get("class_ids", ()))
    trees = of_list(listed, "class", max(len(labels), 2))
    if len(labels) > 2 or len(votes) > 1:
        scores = _ensemble(x, base=base, **trees)
        return _chosen(scores, labels), in_single(_transformed(scores, transform))
    column = min(votes, default=0)
    one = {**trees, "leaves": trees["leaves"][:, column : column + 1]}
    score = _ensemble(x, base=base[-1:], **one)
    positive = bool((one["leaves"] >= 0).all())
    label, scores = _of_one_score(score, labels, transform, trees=True, positive=positive)
    return label, in_single(scores)


def _new_ensemble(x: Any, *, transform: int = 0, **listed: Any) -> Any:
    return _transformed(op.tree_ensemble(x, **of_ensemble(listed)), _TRANSFORMS[transform])


_NODES = tuple(
    f"nodes_{name}"
    for name in (
        *("falsenodeids", "featureids", "missing_value_tracks_true", "modes", "nodeids", "treeids", "truenodeids"),
        *("values", "values_as_tensor"),
    )
)
_HITS = ("nodes_hitrates", "nodes_hitrates_as_tensor")


def _votes(prefix: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in ("ids", "nodeids", "treeids", "weights", "weights_as_tensor"))


_REGRESSOR: dict[str, Any] = same_names(_as_it_is, *_NODES, *_votes("target"), "n_targets", "aggregate_function")


def _tensor_numbers(value: Any) -> tuple[float, ...]:
    from onnx import numpy_helper

    return tuple(map(float, np.ravel(numpy_helper.to_array(value))))


_SCORES: dict[str, Any] = {
    "post_transform": ("transform", word),
    "base_values": ("base", numbers),
    "base_values_as_tensor": ("base", _tensor_numbers),
}
_LABELS: dict[str, Any] = {
    "classlabels_ints": ("labels", integers),
    "classlabels_int64s": ("labels", integers),
    "classlabels_strings": ("labels", words),
}


def _single(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if types[0].element == "f32" else "a TreeEnsembleRegressor gives single precision"


# ---------------------------------------------------------------------- linear models and support vectors


def _weights(coefficients: Sequence[float], rows: int) -> np.ndarray:
    if rows < 1 or len(coefficients) % rows:
        raise ValueError(f"{len(coefficients)} coefficients are no {rows} rows")
    return np.array(coefficients, np.float32).reshape(rows, -1)


def _linear(x: Any, coefficients: Sequence[float], intercepts: Sequence[float], rows: int) -> Any:
    x = in_single(x)
    bias = np.array(intercepts or [0.0] * rows, np.float32)
    return op.linear(x, _weights(coefficients, rows), bias)


def _linear_regressor(
    x: Any,
    *,
    coefficients: Sequence[float] = (),
    intercepts: Sequence[float] = (),
    targets: int = 1,
    transform: str = "NONE",
) -> Any:
    return _transformed(_linear(x, coefficients, intercepts, targets), transform)


def _linear_classifier(
    x: Any,
    *,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    labels: Sequence[Any] = (),
    transform: str = "NONE",
) -> tuple[Any, Any]:
    rows = len(intercepts) or len(coefficients) // int(x.type.shape[-1])
    scores = _linear(x, coefficients, intercepts, rows)
    if rows > 1:
        found = _transformed(scores, transform)
        return _chosen(found, labels or range(rows)), found
    return _of_one_score(scores, labels or (0, 1), transform)


def _kernels(x: Any, vectors: np.ndarray, kernel: str, parameters: Sequence[float]) -> Any:
    """The kernel of each sample and each support vector (ONNX specification, SVMRegressor)."""
    gamma, offset, degree = parameters if len(parameters) == 3 else (0.0, 0.0, 0.0)
    if kernel == "RBF":
        apart = op.sub(op.unsqueeze(x, axes=(1,)), vectors)
        return op.exp(op.mul(op.reduce_sum_square(apart, axes=(2,), keep_dims=False), -gamma))
    products = op.linear(x, vectors)
    if kernel == "LINEAR":
        return products
    moved = op.add(op.mul(products, gamma), offset)
    if kernel == "POLY":
        return op.pow(moved, float(int(degree)))
    if kernel == "SIGMOID":
        return op.tanh(moved)
    raise ValueError(f"kernel_type {kernel!r} is not one of 'LINEAR', 'POLY', 'RBF', 'SIGMOID'")


def _svm_regressor(
    x: Any,
    *,
    coefficients: Sequence[float],
    rho: Sequence[float],
    supports: int = 0,
    vectors: Sequence[float] = (),
    kernel: str = "LINEAR",
    parameters: Sequence[float] = (),
    one_class: bool = False,
    transform: str = "NONE",
) -> Any:
    x = in_single(x)
    kernels = _kernels(x, _weights(vectors, supports), kernel, parameters) if supports else x
    y = op.linear(kernels, _weights(coefficients, 1), np.array(rho[:1], np.float32))
    if one_class:
        return op.where(op.greater(y, 0.0), constant_like(y, 1.0), constant_like(y, -1.0))
    return _transformed(y, transform)


def _svm_classifier(
    x: Any,
    *,
    coefficients: Sequence[float],
    rho: Sequence[float],
    labels: Sequence[Any] = (),
    counts: Sequence[int] = (),
    vectors: Sequence[float] = (),
    kernel: str = "LINEAR",
    parameters: Sequence[float] = (),
    transform: str = "NONE",
) -> tuple[Any, Any]:
    """Each pair of classes votes (libsvm); without support vectors, each class has a score."""
    x, classes = in_single(x), max(len(labels), 1)
    labels = labels or range(classes)
    if not counts:
        bias = np.full(classes, rho[0], np.float32)
        scores = _transformed(op.linear(x, _weights(coefficients, classes), bias), transform)
        return _chosen(scores, labels), scores
    total, starts = sum(counts), np.cumsum([0, *counts])
    rows = _weights(coefficients, classes - 1)
    kernels = _kernels(x, _weights(vectors, total), kernel, parameters)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    weights = np.zeros((len(pairs), total), np.float32)
    first, second = (np.zeros((classes, len(pairs)), np.float32) for _ in range(2))
    for row, (i, j) in enumerate(pairs):
        of_i, of_j = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        weights[row, of_i], weights[row, of_j] = rows[j - 1, of_i], rows[i, of_j]
        first[i, row], second[j, row] = 1, 1
    scores = op.linear(kernels, weights, np.array(rho, np.float32))
    wins = op.cast(op.greater(scores, 0.0), element="f32")
    votes = op.add(op.linear(wins, first), op.linear(op.sub(1.0, wins), second))
    label = _chosen(votes, labels)
    if len(pairs) > 1:
        return label, _transformed(scores, transform)
    return label, _transformed(op.concat(op.neg(scores), scores, axis=1), transform)


_SVM: dict[str, Any] = {
    **same_names(numbers, "coefficients", "rho"),
    "kernel_params": ("parameters", numbers),
    "kernel_type": ("kernel", word),
    "post_transform": ("transform", word),
    "support_vectors": ("vectors", numbers),
}


def _without(step: Callable[..., Any]) -> Callable[..., Any]:
    """A composition that needs no labels."""
    return lambda x, **_: step(x)


CLASSICAL: tuple[Entry, ...] = (
    Entry(
        f"{_DOMAIN}.LinearClassifier",
        _linear_classifier,
        {**_LABELS, **same_names(numbers, "coefficients", "intercepts"), "post_transform": ("transform", word)},
        ignored=("multi_class",),
        outputs=2,
    ),
    Entry(
        f"{_DOMAIN}.LinearRegressor",
        _linear_regressor,
        {
            **same_names(numbers, "coefficients", "intercepts"),
            **same_names(whole, "targets"),
            "post_transform": ("transform", word),
        },
    ),
    Entry(
        f"{_DOMAIN}.SVMClassifier",
        _svm_classifier,
        {**_SVM, **_LABELS, "vectors_per_class": ("counts", integers)},
        outputs=2,
    ),
    Entry(
        f"{_DOMAIN}.SVMRegressor",
        _svm_regressor,
        {**_SVM, "n_supports": ("supports", whole), "one_class": ("one_class", truth)},
        ignored=("n_targets",),
    ),
    Entry(
        f"{_DOMAIN}.TreeEnsemble",
        _new_ensemble,
        {
            "post_transform": ("transform", whole),
            **same_names(
                _as_it_is,
                *("aggregate_function", "leaf_targetids", "leaf_weights", "membership_values", "n_targets"),
                *("nodes_falseleafs", "nodes_falsenodeids", "nodes_featureids", "nodes_missing_value_tracks_true"),
                *("nodes_modes", "nodes_splits", "nodes_trueleafs", "nodes_truenodeids", "tree_roots"),
            ),
        },
        ignored=("nodes_hitrates",),
    ),
    Entry(
        f"{_DOMAIN}.TreeEnsembleClassifier",
        _tree_classifier,
        {**_LABELS, **_SCORES, **same_names(_as_it_is, *_NODES, *_votes("class"))},
        ignored=_HITS,
        outputs=2,
    ),
    Entry(f"{_DOMAIN}.TreeEnsembleRegressor", _tree_regressor, {**_SCORES, **_REGRESSOR}, ignored=_HITS),
    Entry(
        f"{_DOMAIN}.TreeEnsembleRegressor",
        op.tree_ensemble,
        _REGRESSOR,
        fits=_single,
        shown=lambda attributes, _: as_listed(attributes),
    ),
    Entry(f"{_DOMAIN}.ZipMap", op.identity, ignored=("classlabels_int64s", "classlabels_strings")),
)
