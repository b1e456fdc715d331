"""Features for classical machine learning: scaled, normalised, filled in, chosen (``ai.onnx.ml``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, number, numbers, truth, whole, word, words
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.types import product

__all__ = ["FEATURES", "constant_like", "in_single"]

_DOMAIN = "ai.onnx.ml"


def constant_like(like: Any, value: Any) -> Any:
    """A constant of the element type of a value."""
    return like.graph.constant(np.asarray(value, np.float64), type=Tensor(like.type.element, np.shape(value)))


def in_single(x: Any) -> Any:
    """The value in float32."""
    return x if x.type.element == "f32" else op.cast(x, element="f32")


def _scaler(x: Any, *, offset: Sequence[float] = (0.0,), scale: Sequence[float] = (1.0,)) -> Any:
    x = in_single(x)
    return op.mul(op.sub(x, constant_like(x, offset)), constant_like(x, scale))


def _normalizer(x: Any, *, norm: str = "MAX") -> Any:
    x = in_single(x)
    axes: dict[str, Any] = {"axes": (-1,)}
    if norm == "MAX":
        size = op.reduce_max(x, **axes)
    elif norm in ("L1", "L2"):
        size = op.reduce_l1(x, **axes) if norm == "L1" else op.reduce_l2(x, **axes)
    else:
        raise ValueError(f"norm {norm!r} is not one of 'MAX', 'L1', 'L2'")
    return op.div(x, op.where(op.equal(size, 0.0), constant_like(x, 1.0), size))


def _binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return op.cast(op.greater(x, threshold), element=x.type.element)


def _imputer(x: Any, *, values: Sequence[float], replaced: float = math.nan) -> Any:
    missing = op.is_nan(x) if math.isnan(replaced) else op.equal(x, replaced)
    return op.where(missing, constant_like(x, values), x)


def _features(*parts: Any, **_: Any) -> Any:
    rows = [part if len(part.type.shape) > 1 else op.unsqueeze(part, axes=(0,)) for part in parts]
    return op.concat(*map(in_single, rows), axis=1)


def _extracted(x: Any, indices: Any) -> Any:
    flat = op.reshape(indices, shape=(product(indices.type.shape),))
    return op.gather(x if len(x.type.shape) > 1 else op.unsqueeze(x, axes=(0,)), flat, axis=-1)


def _one_hot(x: Any, *, categories: Sequence[int] | Sequence[str], zeros: bool = True) -> Any:
    known = x.graph.constant(np.array(categories))
    same = x if x.type.element == known.type.element else op.cast(x, element=known.type.element)
    return op.cast(op.equal(op.unsqueeze(same, axes=(-1,)), known), element="f32")


FEATURES: tuple[Entry, ...] = (
    Entry(f"{_DOMAIN}.ArrayFeatureExtractor", _extracted),
    Entry(f"{_DOMAIN}.Binarizer", _binarizer, same_names(number, "threshold")),
    Entry(f"{_DOMAIN}.FeatureVectorizer", _features, ignored=("inputdimensions",)),
    Entry(
        f"{_DOMAIN}.Imputer",
        _imputer,
        {
            "imputed_value_floats": ("values", numbers),
            "imputed_value_int64s": ("values", integers),
            "replaced_value_float": ("replaced", number),
            "replaced_value_int64": ("replaced", whole),
        },
    ),
    Entry(f"{_DOMAIN}.Normalizer", _normalizer, same_names(word, "norm")),
    Entry(
        f"{_DOMAIN}.OneHotEncoder",
        _one_hot,
        {"cats_int64s": ("categories", integers), "cats_strings": ("categories", words), "zeros": ("zeros", truth)},
        required={"zeros": (1,)},
    ),
    Entry(f"{_DOMAIN}.Scaler", _scaler, same_names(numbers, "offset", "scale")),
)
