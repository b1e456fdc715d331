"""Losses: how far a network's scores are from what they should be."""

from __future__ import annotations

from typing import Literal

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, check_elements, one_element
from graphrewrite.op.nn.sampling import check_word
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.tensor.cutting import check_indices
from graphrewrite.types import Tensor

__all__ = ["nll_loss"]

_REDUCTIONS = ("mean", "sum", "none")


def _infer(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str, ignore_index: int | None
) -> Tensor:
    check_elements(FLOATS, [x])
    check_indices(target, "targets")
    one_element(x, weight)
    check_word("reduction", reduction, _REDUCTIONS)
    if len(x.shape) < 2 or target.shape != (x.shape[0], *x.shape[2:]):
        raise TypeMismatchError(f"scores [N,C,…] need one target [N,…] each, got {x} and {target}")
    if weight is not None and weight.shape != (x.shape[1],):
        raise TypeMismatchError(f"weights are one for each of the {x.shape[1]} classes, got {weight}")
    return Tensor(x.element, target.shape if reduction == "none" else ())


@define_op(infer=_infer)
def nll_loss(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    reduction: Literal["mean", "sum", "none"] = "mean",
    ignore_index: int | None = None,
) -> np.ndarray:
    """Negative logarithm of the probability that each target class got (ONNX specification, NegativeLogLikelihoodLoss).

    Parameters
    ----------
    x
        Logarithms [N, C, …], as `log_softmax` gives them.
    target
        Classes [N, …].
    weight
        Weight of each class [C]; 1 if not given.
    reduction
        The "mean" by weights, the "sum", or "none".
    ignore_index
        The class of targets that cost nothing.

    Examples
    --------
    >>> scores = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
    >>> np.exp(-nll_loss(scores, np.array([0, 1]), reduction="none")).round(2).tolist()
    [0.5, 0.75]
    """
    logarithms, classes = widened(x), x.shape[1]
    counted = np.ones(target.shape, np.bool_) if ignore_index is None else target != ignore_index
    wrong = counted & ((target < 0) | (target >= classes))
    if wrong.any():
        raise EvaluationError(
            f"the target {target[wrong].ravel()[0]} is outside of axis 1 of size {classes}; give a class from 0 to "
            f"{classes - 1}, or say by ignore_index which target does not count"
        )
    chosen = np.where(counted, target, 0).astype(np.int64)
    each = np.ones((), logarithms.dtype) if weight is None else widened(weight)[chosen]
    factor = np.where(counted, each, np.zeros((), logarithms.dtype))
    picked = np.take_along_axis(logarithms, np.expand_dims(chosen, 1), 1)[:, 0]
    loss = np.where(counted, -picked * factor, np.zeros((), logarithms.dtype))  # even one of infinity costs nothing
    if reduction == "none":
        return narrowed(loss, x)
    total = loss.sum()
    return narrowed(np.asarray(total / factor.sum() if reduction == "mean" else total), x)
