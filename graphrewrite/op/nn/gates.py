"""Activations inside of recurrent layers, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.nn.activation import hard_sigmoid, leaky_relu, relu, sigmoid, tanh, threshold
from graphrewrite.op.nn.smooth_activation import elu, softplus, softsign

__all__ = ["Gate", "gates"]

Gate = Callable[[np.ndarray], np.ndarray]
"""Element-wise."""


def _affine(x: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return x * x.dtype.type(alpha) + x.dtype.type(beta)


def _scaled_tanh(x: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return np.tanh(x * x.dtype.type(beta)) * x.dtype.type(alpha)


_OPS = (elu, hard_sigmoid, leaky_relu, relu, sigmoid, softplus, softsign, tanh)
_KINDS: Mapping[str, tuple[Callable[..., np.ndarray], Mapping[str, float]]] = {
    "affine": (_affine, {"alpha": 1.0, "beta": 0.0}),
    "scaled_tanh": (_scaled_tanh, {"alpha": 1.0, "beta": 1.0}),
    "thresholded_relu": (threshold.function, threshold.attributes),
    **{op.name: (op.function, op.attributes) for op in _OPS},
}
"""Functions by name, each with the defaults of its parameters."""


def _gate(name: Any, numbers: Mapping[str, list[float]]) -> Gate:
    """Return an activation, which takes the next of the numbers for its parameters, or else its defaults."""
    by_name = {known.replace("_", ""): kind for known, kind in _KINDS.items()}
    kind = by_name.get(str(name).lower().replace("_", ""))
    if kind is None:
        raise TypeMismatchError(
            f"unknown activation of a recurrent layer {name!r}{did_you_mean(str(name).lower(), _KINDS)}; "
            f"known are {', '.join(sorted(_KINDS))}"
        )
    function, defaults = kind
    parameters = {key: numbers[key].pop(0) if numbers[key] else default for key, default in defaults.items()}
    return lambda x: function(x, **parameters)


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
    numbers = {"alpha": list(alpha), "beta": list(beta)}
    functions = [_gate(name, numbers) for name in names]
    if surplus := sum(map(len, numbers.values())):
        raise TypeMismatchError(f"{surplus} numbers in activation_alpha and activation_beta that no activation takes")
    return [functions] * directions if len(functions) == count else [functions[:count], functions[count:]]
