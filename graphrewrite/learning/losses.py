"""Losses as ops of two results: the prediction, and how far it is from what it should be.

`TRAINING_FORMS` write them as plain ops. `INFERENCE_FORMS` leave the prediction alone, where nothing reads the loss.

Examples
--------
>>> from graphrewrite import Graph, rewrite
>>> g = Graph.parse('''graph g
... x = input() : f32[N,3]
... labels = input() : i64[N]
... p = loss.cross_entropy(x, labels)
... y = output(p)''', ops=[loss])
>>> print(rewrite(g, INFERENCE_FORMS))
graph g
x = input() : f32[N,3]
labels = input() : i64[N]
softmax_1 = softmax(x, axis=1) : f32[N,3]
y = output(softmax_1)
"""

from __future__ import annotations

import numpy as np

from graphrewrite import Dialect, Tensor, define_op, op, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.domain import FLOATS, check_elements

__all__ = [
    "INFERENCE_FORMS",
    "TRAINING_FORMS",
    "cross_entropy",
    "hinge",
    "loss",
    "soft_cross_entropy",
    "squared_error",
]

loss = Dialect("loss")
"""Losses, each a mean over all samples and positions."""


def _infer_alike(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    check_elements(FLOATS, [x])
    if target.element != x.element or target.shape != x.shape:
        raise TypeMismatchError(f"a prediction and its target have one type, got {x} and {target}")
    return x, Tensor(x.element, ())


@define_op(dialect=loss, infer=_infer_alike, results=2)
def squared_error(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prediction of a regression, and the mean of the squares of its errors.

    Parameters
    ----------
    x
        Numbers.
    target
        What they should be.

    Examples
    --------
    >>> squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))[1].tolist()
    2.0
    """
    return x, np.mean(np.square(x - target), dtype=x.dtype)


def _infer_labelled(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    return x, op.nll_loss.infer(x, labels)[0]  # type: ignore[return-value]  # losses are of tensors


@define_op(dialect=loss, infer=_infer_labelled, results=2)
def cross_entropy(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of classes from their scores, and the mean negative logarithm of those that the labels got.

    Parameters
    ----------
    x
        Scores [N, C, …], before a softmax.
    labels
        Classes [N, …], whole numbers from 0.

    Examples
    --------
    >>> cross_entropy(np.zeros((2, 4)), np.array([0, 3]))[1].round(6).tolist()
    1.386294
    """
    return op.softmax(x, axis=1), op.nll_loss(op.log_softmax(x, axis=1), labels)


@define_op(dialect=loss, infer=_infer_alike, results=2)
def soft_cross_entropy(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of classes from their scores, and their mean cross entropy with those of another network's scores.

    What a network learns from a teacher (Hinton, Vinyals and Dean 2015).

    Parameters
    ----------
    x
        Scores [N, C, …], before a softmax.
    target
        Scores of the teacher.

    Examples
    --------
    >>> soft_cross_entropy(np.zeros((1, 2)), np.array([[0.0, 9.0]]))[1].round(6).tolist()
    0.693147
    """
    expected = np.sum(op.softmax(target, axis=1) * op.log_softmax(x, axis=1), axis=1)
    return op.softmax(x, axis=1), -np.mean(expected, dtype=x.dtype)


@define_op(dialect=loss, infer=_infer_labelled, results=2)
def hinge(x: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of classes, and the mean over samples of `max(0, 1 + x[c] - x[label])`, summed over wrong classes c.

    The loss of support vector machines with several classes (Weston and Watkins 1999).

    Parameters
    ----------
    x
        Scores [N, C, …].
    labels
        Classes [N, …], whole numbers from 0.

    Examples
    --------
    >>> hinge(np.array([[3.0, 2.5, 0.0]]), np.array([0]))[1].tolist()
    0.5
    """
    own = -op.nll_loss(x, labels, reduction="none")  # the scores of the labels, which are checked
    margins = np.maximum(x - np.expand_dims(own, 1) + x.dtype.type(1), x.dtype.type(0))
    return x, (margins.sum(1).mean(dtype=x.dtype) - x.dtype.type(1)).astype(x.dtype)


@rule(keeps="rounding")
def write_squared_error(x, target):
    """The mean of the squares of the errors."""
    node = squared_error(x, target)
    prediction, error = node
    yield prediction, error
    apart = x - target
    return x, op.reduce_mean(apart * apart, keep_dims=False)


@rule(keeps="rounding")
def write_cross_entropy(x, labels):
    """The negative logarithm of the probability of each label, which log_softmax gives without overflow."""
    node = cross_entropy(x, labels)
    probabilities, error = node
    yield probabilities, error
    return op.softmax(x, axis=1), op.nll_loss(op.log_softmax(x, axis=1), labels)


@rule(keeps="rounding")
def write_soft_cross_entropy(x, target):
    """The logarithms of the probabilities, weighted by those of the teacher."""
    node = soft_cross_entropy(x, target)
    probabilities, error = node
    yield probabilities, error
    weighted = op.softmax(target, axis=1) * op.log_softmax(x, axis=1)
    return op.softmax(x, axis=1), -op.reduce_mean(op.reduce_sum(weighted, axes=(1,), keep_dims=False), keep_dims=False)


@rule(keeps="rounding")
def write_hinge(x, labels):
    """The margins of all classes, of which that of the label itself is 1."""
    node = hinge(x, labels)
    scores, error = node
    yield scores, error
    own = op.unsqueeze(-op.nll_loss(x, labels, reduction="none"), axes=(1,))
    margins = op.reduce_sum(op.maximum(x - own + 1.0, 0.0), axes=(1,), keep_dims=False)
    return x, op.reduce_mean(margins, keep_dims=False) - 1.0


TRAINING_FORMS = (write_squared_error, write_cross_entropy, write_soft_cross_entropy, write_hinge)
"""Losses by plain ops, which have gradients."""


@rule
def infer_prediction(x, target):
    """Where nobody reads the loss, a regression or a machine of margins is its own prediction."""
    prediction, _ = (squared_error | hinge)(x, target)
    yield prediction
    return x


@rule
def infer_probabilities(x, labels):
    """Where nobody reads the loss, what is left of the cross entropy is a softmax."""
    probabilities, _ = (cross_entropy | soft_cross_entropy)(x, labels)
    yield probabilities
    return op.softmax(x, axis=1)


INFERENCE_FORMS = (infer_prediction, infer_probabilities)
"""Losses that nobody reads, by their predictions."""
