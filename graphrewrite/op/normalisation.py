"""Normalisations in inference."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import NORM
from graphrewrite.op.domain import FLOATS, one_element
from graphrewrite.types import Tensor

__all__ = ["batch_norm"]


def _infer(x: Tensor, *parameters: Tensor, epsilon: float = 1e-5) -> Tensor:
    one_element(x, *parameters)
    for parameter in parameters:
        if len(x.shape) < 2 or parameter.shape != (x.shape[1],):
            raise TypeMismatchError(f"each parameter needs one entry a channel of {x}, got {parameter}")
    return x


@define_op(infer=_infer, elements=FLOATS, axes="NC*, C, C, C, C -> NC*", derived=NORM)
def batch_norm(
    x: np.ndarray, gain: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray, *, epsilon: float = 1e-5
) -> np.ndarray:
    """Batch normalisation with fixed statistics (Ioffe and Szegedy 2015).

    ``(x - mean) / sqrt(var + epsilon) * gain + shift``, with one entry of each parameter a channel.

    Examples
    --------
    >>> one = np.ones(1)
    >>> batch_norm(np.full((1, 1, 1, 1), 3.0), 2 * one, one, one, one, epsilon=0.0).tolist()
    [[[[5.0]]]]
    """
    per_channel = (-1, *[1] * (x.ndim - 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = gain / np.sqrt(var + var.dtype.type(epsilon))
    return (x - mean.reshape(per_channel)) * scale.reshape(per_channel) + shift.reshape(per_channel)
