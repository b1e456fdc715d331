"""Activations inside of recurrent layers, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.nn.activation import hard_sigmoid, leaky_relu, relu, sigmoid, threshold
from graphrewrite.op.nn.smooth_activation import elu, softplus, softsign

__all__ = ["Gate", "gates"]

Gate = Callable[[np.ndarray], np.ndarray]
"""Element-wise."""


class _Kind(NamedTuple):
    """A function of an array and as many numbers as there are defaults: alpha, and beta."""

    function: Callable[..., np.ndarray]
    alpha: float | None = None
    beta: float | None = None


def _affine(x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    return x * x.dtype.type(alpha) + x.dtype.type(beta)


def _scaled_tanh(x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    return np.tanh(x * x.dtype.type(beta)) * x.dtype.type(alpha)


_KINDS = {
    "affine": _Kind(_affine, 1.0, 0.0),
    "elu": _Kind(lambda x, alpha: elu.function(x, alpha=alpha), 1.0),
    "hard_sigmoid": _Kind(lambda x, alpha, beta: hard_sigmoid.function(x, alpha=alpha, beta=beta), 0.2, 0.5),
    "leaky_relu": _Kind(lambda x, alpha: leaky_relu.function(x, alpha=alpha), 0.01),
    "relu": _Kind(relu.function),
    "scaled_tanh": _Kind(_scaled_tanh, 1.0, 1.0),
    "sigmoid": _Kind(sigmoid.function),
    "softplus": _Kind(softplus.function),
    "softsign": _Kind(softsign.function),
    "tanh": _Kind(np.tanh),
    "thresholded_relu": _Kind(lambda x, alpha: threshold.function(x, alpha=alpha), 1.0),
}
_WRITTEN = {name.replace("_", ""): name for name in _KINDS}


def _kind(name: Any) -> _Kind:
    found = _WRITTEN.get(str(name).lower().replace("_", ""))
    if found is None:
        raise TypeMismatchError(
            f"unknown activation of a recurrent layer {name!r}{did_you_mean(str(name).lower(), _KINDS)}; "
            f"known are {', '.join(_KINDS)}"
        )
    return _KINDS[found]


def _bound(kind: _Kind, alphas: list[float], betas: list[float]) -> Gate:
    """Take the next numbers, where the activation has any, or else its defaults."""
    numbers = [
        given.pop(0) if given else default
        for default, given in ((kind.alpha, alphas), (kind.beta, betas))
        if default is not None
    ]
    return lambda x: kind.function(x, *numbers)


def gates(
    names: Sequence[str], alpha: Sequence[float], beta: Sequence[float], *, count: int, directions: int
) -> list[list[Gate]]:
    """Return the activations of a recurrent layer, for each direction.

    Parameters
    ----------
    names : sequence of str
        As in the ONNX specification of RNN, in any case and with underscores or without; of one direction for both, or
        of the first and then of the second.

    Examples
    --------
    >>> ((rectify, affine),) = gates(("Relu", "affine"), (2.0,), (0.5,), count=2, directions=1)
    >>> rectify(np.array([-1.0])).tolist(), affine(np.array([1.0])).tolist()
    ([0.0], [2.5])
    """
    if len(names) not in (count, count * directions):
        raise TypeMismatchError(
            f"takes {count} activations per direction, got {len(names)}: {', '.join(map(str, names))}"
        )
    alphas, betas = list(alpha), list(beta)
    found = [_bound(_kind(name), alphas, betas) for name in names]
    if alphas or betas:
        raise TypeMismatchError(
            f"{len(alphas) + len(betas)} numbers in activation_alpha and activation_beta that no activation takes"
        )
    if len(found) == count:
        return [found] * directions
    return [found[:count], found[count:]]
