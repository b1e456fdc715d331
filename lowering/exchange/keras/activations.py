"""Activations of Keras, by name and as layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.layer import Layer, Row

__all__ = ["ACTIVATIONS", "FUNCTIONS", "activated", "activation_name", "hard_sigmoid_slope", "of_unit_length"]


def _relu6(x: Value) -> Any:
    return op.clip(x, low=0.0, high=6.0)


def hard_sigmoid_slope(layer: Layer) -> float:
    """Return the slope of hard_sigmoid, which Keras 3 changed."""
    return 0.2 if layer.archive.version < 3 else 1 / 6


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "celu": op.celu,
    "elu": op.elu,
    "exponential": op.exp,
    "gelu": op.gelu,
    "hard_silu": op.hard_swish,
    "hard_swish": op.hard_swish,
    "hard_tanh": op.hard_tanh,
    "leaky_relu": lambda x: op.leaky_relu(x, alpha=0.2),
    "linear": lambda x: x,
    "log_sigmoid": lambda x: op.neg(op.softplus(op.neg(x))),
    "log_softmax": op.log_softmax,
    "mish": op.mish,
    "relu": op.relu,
    "relu6": _relu6,
    "selu": op.selu,
    "sigmoid": op.sigmoid,
    "silu": op.silu,
    "softmax": op.softmax,
    "softplus": op.softplus,
    "softsign": op.softsign,
    "swish": op.silu,
    "tanh": op.tanh,
}


def activation_name(stored: Any) -> str:
    """Return the name of an activation, however it is stored."""
    if stored is None:
        return "linear"
    if isinstance(stored, Mapping):
        stored = stored.get("config", stored.get("class_name"))
    if isinstance(stored, str):
        return stored
    raise Unfit("its activation is a layer or a function of the user; write it as a layer of its own")


def activated(layer: Layer, x: Value, setting: str = "activation") -> Any:
    """Apply the activation that a layer names; a layer stands there in place of a name at times."""
    stored = layer.get(setting)
    if isinstance(stored, Mapping) and isinstance(stored.get("config"), Mapping):
        return layer.build(stored, layer.inner(setting, str(stored["config"].get("name", ""))), (x,))
    name = activation_name(stored)
    if name == "hard_sigmoid":
        return op.hard_sigmoid(x, alpha=hard_sigmoid_slope(layer), beta=0.5)
    if name not in FUNCTIONS:
        raise Unfit(f"the activation {name!r} is not supported{did_you_mean(name, FUNCTIONS)}")
    return FUNCTIONS[name](x)


def _relu(layer: Layer, x: Value) -> Any:
    slope, threshold, most = layer.get("negative_slope", 0.0), layer.get("threshold", 0.0), layer.get("max_value")
    if threshold:
        edge = layer.number(x, threshold)
        y = op.where(op.greater_or_equal(x, edge), x, op.mul(op.sub(x, edge), layer.number(x, slope)))
    elif slope:
        y = op.leaky_relu(x, alpha=float(slope))
    else:
        return op.relu(x) if most is None else op.clip(x, low=0.0, high=float(most))
    return y if most is None else op.clip(y, high=float(most))


def _softmax(layer: Layer, x: Value) -> Any:
    axis = layer.get("axis", -1)
    if not isinstance(axis, int):
        raise Unfit(f"axis={axis} is not supported; there is one axis")
    return op.softmax(x, axis=axis)


def _prelu(layer: Layer, x: Value) -> Any:
    return op.prelu(x, *layer.weights("alpha"))


def _unit(layer: Layer, x: Value) -> Any:
    axis = layer.get("axis", -1)
    return of_unit_length(x, tuple(axis) if isinstance(axis, list | tuple) else (axis,))


def of_unit_length(x: Value, axes: tuple[int, ...]) -> Any:
    """Return a value divided by its norm (keras.utils.normalize: not less than 1e-12 under the root)."""
    square = op.reduce_sum(op.mul(x, x), axes=axes, keep_dims=True)
    return op.div(x, op.sqrt(op.maximum(square, np.float32(1e-12))))


ACTIVATIONS: dict[str, Row] = {
    "Activation": activated,
    "ELU": lambda layer, x: op.elu(x, alpha=float(layer.get("alpha", 1.0))),
    "LeakyReLU": lambda layer, x: op.leaky_relu(x, alpha=float(layer.get("negative_slope", layer.get("alpha", 0.3)))),
    "PReLU": _prelu,
    "ReLU": _relu,
    "Softmax": _softmax,
    "UnitNormalization": _unit,
}
"""What each layer means."""
