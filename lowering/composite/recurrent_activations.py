"""Activations inside recurrent layers, as ops on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphrewrite import op

__all__ = ["activations_of"]

_Function = Callable[..., Any]

_ALPHA = {"elu": 1.0, "leakyrelu": 0.01, "thresholdedrelu": 1.0}
"""Activations with one parameter, and its default."""
_BOTH = {"affine": (1.0, 0.0), "hardsigmoid": (0.2, 0.5), "scaledtanh": (1.0, 1.0)}
"""Activations with two parameters, and their defaults."""


def _function(name: str, numbers: tuple[float, ...]) -> _Function:
    match name, numbers:
        case "affine", (alpha, beta):
            return lambda x: x * alpha + beta
        case "scaledtanh", (alpha, beta):
            return lambda x: op.tanh(x * beta) * alpha
        case "hardsigmoid", (alpha, beta):
            return lambda x: op.hard_sigmoid(x, alpha=alpha, beta=beta)
        case "elu", (alpha,):
            return lambda x: op.elu(x, alpha=alpha)
        case "leakyrelu", (alpha,):
            return lambda x: op.leaky_relu(x, alpha=alpha)
        case "thresholdedrelu", (alpha,):
            return lambda x: op.threshold(x, alpha=alpha)
    return {"relu": op.relu, "sigmoid": op.sigmoid, "softplus": op.softplus, "softsign": op.softsign, "tanh": op.tanh}[
        name
    ]


def activations_of(layer: Any, count: int) -> list[list[_Function]]:
    """Return so many activations for each direction of an rnn, gru or lstm."""
    alphas, betas = list(layer.activation_alpha), list(layer.activation_beta)

    def next_of(numbers: list[float], default: float) -> float:
        return numbers.pop(0) if numbers else default

    functions = []
    for written in layer.activations:
        name = str(written).lower().replace("_", "")
        numbers: tuple[float, ...] = ()
        if name in _ALPHA:
            numbers = (next_of(alphas, _ALPHA[name]),)
        elif name in _BOTH:
            numbers = (next_of(alphas, _BOTH[name][0]), next_of(betas, _BOTH[name][1]))
        functions.append(_function(name, numbers))
    return [functions[:count], functions[-count:]]
