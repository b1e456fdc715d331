"""Agreement of the levels of a network: what each output is, how far its numbers moved, and one loss for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, evaluate
from graphrewrite.errors import EvaluationError, did_you_mean
from graphrewrite.graph import Operand
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.integer.classifier_heads import SOFT
from graphrewrite.lowering.quantisation.calibration import check_counts

__all__ = ["Agreement", "Reference", "deciding_value", "greatest_loss"]

_MOVES = frozenset(
    {
        *("identity", "cast", "reshape", "flatten", "squeeze", "unsqueeze"),
        *("from_fixed", "dequantize_linear", "quantise"),
    }
)
"""Ops between what decides about an output's kind and the output."""
_BETWEEN_0_AND_1 = frozenset({"sigmoid", "hard_sigmoid"})
"""Functions that give a share, from 0 to 1."""
_BEST = 5
_MANY = 10
"""Of more classes than this, it is also asked whether the right one is among the best five."""


@dataclass(frozen=True)
class Agreement:
    """How far an output of one level agrees with that of the float network, and with what is right.

    Attributes
    ----------
    output : str
        Its name.
    kind : str
        ``"classes"``: scores, or the index of the greatest one; ``"decisions"``: yes or no; ``"numbers"``: all else.
    loss : float
        From 0 to 1. The drop of the accuracy where labels are known, else the share of changed predictions. Of numbers,
        the power of their error over the variance of the float network's.
    accuracy : float or None
        Share of right predictions; None without labels.
    equal : float or None
        Share of predictions equal to the float network's; None for numbers.
    top5 : float or None
        Share of samples whose label, or without labels the float network's class, is among the five greatest scores;
        None for up to ten classes.
    mean_error, largest_error : float or None
        Absolute error of the numbers; None where the output is a class or a truth value.
    snr : float or None
        Ratio of the signal to the noise in dB, infinite where all numbers are equal; None as above.
    r2 : float or None
        Coefficient of determination against the right numbers, of all entries together; None without these.
    """

    output: str
    kind: str
    loss: float
    accuracy: float | None = None
    equal: float | None = None
    top5: float | None = None
    mean_error: float | None = None
    largest_error: float | None = None
    snr: float | None = None
    r2: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return primitive data without what is not known; an infinite ratio is None."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in known.items()}


def greatest_loss(agreements: Iterable[Agreement]) -> float:
    """Return the loss of a level: that of its worst output.

    Examples
    --------
    >>> greatest_loss([Agreement("a", "classes", 0.02), Agreement("b", "numbers", 0.001)])
    0.02
    """
    return max((each.loss for each in agreements), default=0.0)


class Reference:
    r"""What a network gives for some samples, with which its levels are compared.

    Parameters
    ----------
    graph : Graph
        The float network. Its last ops say what an output is: a softmax or an arg_max gives classes, one sigmoid a
        decision with the threshold 0.5. A vector without them is one of scores, unless it is as long as an input
        or its labels are numbers. A single number with the labels 0 and 1, or -1 and 1, decides with the threshold 0.
    inputs : mapping of str to array-like
        As for `graphrewrite.evaluate`.
    labels : array-like or mapping of str to array-like, optional
        What is right, by output; one array where there is one output. Classes [N] or one-hot [N,C], truth values, or
        numbers of the output's shape.

    Attributes
    ----------
    graph : Graph
        The network.
    outputs : dict of str to ndarray
        What it gives.
    kinds : dict of str to str
        The kind of each output, as `Agreement.kind`.

    Raises
    ------
    QuantisationError
        If samples or labels do not fit.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ns = softmax(x)\ny = output(s)")
    >>> reference = Reference(g, {"x": [[1, 2], [3, 0]]}, labels=[1, 0])
    >>> reference.kinds
    {'y': 'classes'}
    >>> (row,) = reference.agreement({"y": np.array([[0.5, 0.4], [0.9, 0.1]])})
    >>> row.accuracy, row.equal, row.loss
    (0.5, 0.5, 0.5)
    >>> reference.loss(reference.outputs)
    0.0
    """

    def __init__(self, graph: Graph, inputs: Mapping[str, Any], labels: Any = None) -> None:
        if all(name in graph.inputs and np.ndim(array) for name, array in inputs.items()):
            check_counts(graph, inputs)
        try:
            self.graph, self.outputs = graph, evaluate(graph, inputs, implementations=None)
        except EvaluationError as error:
            raise QuantisationError(f"the test samples do not fit: {error}") from error
        given = labels if isinstance(labels, Mapping) else dict.fromkeys(self.outputs, labels)
        if labels is not None and given is not labels and len(given) > 1:
            raise QuantisationError(f"there are labels for one output; give a mapping with {', '.join(self.outputs)}")
        for name in given:
            if name not in self.outputs:
                raise QuantisationError(f"labels name {name!r}, not an output{did_you_mean(name, self.outputs)}")
        sizes = {int(np.prod(np.shape(array)[1:])) for array in inputs.values()}
        self._tasks = {name: _Task(graph, name, array, given.get(name), sizes) for name, array in self.outputs.items()}
        self.kinds = {name: task.kind for name, task in self._tasks.items()}

    def agreement(self, outputs: Mapping[str, np.ndarray]) -> tuple[Agreement, ...]:
        """Return how far the outputs of a level agree with those of the network, output by output."""
        return tuple(task.agreement(outputs[name]) for name, task in self._tasks.items())

    def usual(self, output: str) -> float | None:
        """Return the accuracy of always giving the most frequent label, 0 for numbers; None without labels."""
        task = self._tasks[output]
        if task.truth is None or task.kind == "numbers":
            return None if task.truth is None else 0.0
        return float(np.unique(task.truth, return_counts=True)[1].max() / task.truth.size) if task.truth.size else None

    def loss(self, outputs: Mapping[str, np.ndarray]) -> float:
        """Return the loss of the outputs of a level: that of the worst one."""
        return greatest_loss(self.agreement(outputs))


class _Task:
    """What one output is, and what is right."""

    def __init__(self, graph: Graph, name: str, array: np.ndarray, labels: Any, input_sizes: set[int]) -> None:
        self.name, self.values, self.axis = name, _squeezed(array), 1
        truth = None if labels is None else _squeezed(_finite(name, labels))
        node, result = deciding_value(graph, name)
        end, data, kind = graph.nodes[node]["type"], graph.nodes[node], graph.result_type(node, result)
        decided = kind.element == "bool"
        is_share = end in _BETWEEN_0_AND_1 or (end == "clip" and (data.get("low"), data.get("high")) == (0.0, 1.0))
        self.threshold = 0.5 if decided or is_share else 0.0
        self.is_index = decided or end == "arg_max"
        is_soft = end in SOFT
        if is_soft:  # the axis of the classes, among those longer than 1
            axis = data.get("axis", -1) % len(kind.shape)
            self.axis = 1 + sum(size != 1 for size in kind.shape[1:axis])
            is_soft = self.values.shape[self.axis : self.axis + 1] == (kind.shape[axis],)
        if end == "arg_max" or is_soft:
            self.kind = "classes"
        elif decided:
            self.kind = "decisions"
        elif truth is None:
            self.kind = _unlabelled(self.values, input_sizes, is_share=is_share)
        else:
            self.kind = _labelled(self.values, truth)
        if self.is_index:
            kind = graph.result_type(*graph.operands(node)[0])
            shape = [size for size in kind.shape[1:] if size != 1]
            self.classes = shape[0] if end == "arg_max" and len(shape) == 1 and isinstance(shape[0], int) else None
        else:
            self.classes = self.values.shape[self.axis] if self.kind == "classes" else None
        self.truth = None if truth is None else self.fitting(truth)
        self.predicted = self.prediction(self.values)

    def fitting(self, truth: np.ndarray) -> np.ndarray:
        """What is right, in the form of predictions; or an error that says what is wanted."""
        shape = self.values.shape
        if self.kind == "classes":
            if not self.is_index:
                shape = (*shape[: self.axis], *shape[self.axis + 1 :])
            if self.classes is not None and truth.shape == (*shape[: self.axis], self.classes, *shape[self.axis :]):
                truth = truth.argmax(axis=self.axis)  # one-hot, or scores
            least, most = 0, np.inf if self.classes is None else self.classes - 1
            wrong = truth[(truth < least) | (truth > most) | (truth != np.rint(truth))]
            if truth.shape == shape and wrong.size:
                raise QuantisationError(
                    f"the labels of {self.name!r} hold {wrong.flat[0]:g}, and the network has the classes 0 to "
                    f"{most:g}; number them from 0"
                )
        if truth.shape != shape:
            wanted = {"classes": "a class", "decisions": "0 or 1", "numbers": "numbers"}[self.kind]
            entry = f" of the shape {list(shape[1:])}" if len(shape) > 1 else ""
            raise QuantisationError(
                f"the labels of {self.name!r} have the shape {list(truth.shape)}; give {wanted}{entry} for each of "
                f"{shape[0] if shape else 1} samples"
            )
        return np.asarray(truth > 0) if self.kind == "decisions" else truth

    def prediction(self, values: np.ndarray) -> np.ndarray:
        if self.kind == "classes" and not self.is_index:
            return np.asarray(values.argmax(axis=self.axis))
        if self.kind == "decisions":
            return np.asarray(values > self.threshold)
        return values

    def agreement(self, array: np.ndarray) -> Agreement:
        values = _squeezed(array)
        known: dict[str, Any] = {} if self.is_index else _errors(self.values, values)
        noise = known.pop("noise", 0.0)
        if self.kind == "numbers":
            r2 = None if self.truth is None else _determination(values, self.truth)
            return Agreement(self.name, self.kind, noise, r2=r2, **known)
        predicted = self.prediction(values)
        equal, accuracy = _share(predicted == self.predicted), None
        loss = _share(predicted != self.predicted) if predicted.size else 0.0
        if self.truth is not None:
            accuracy = _share(predicted == self.truth)
            # Counts, and not shares: 1 of 20 samples is no more than 5 %.
            fewer = np.count_nonzero(self.predicted == self.truth) - np.count_nonzero(predicted == self.truth)
            loss = max(0, int(fewer)) / max(1, predicted.size)
        top5 = None
        if self.kind == "classes" and not self.is_index and values.shape[self.axis] > _MANY:
            # Of equal scores the first counts, as for the greatest.
            best = np.argsort(-np.moveaxis(values, self.axis, -1), axis=-1, kind="stable")[..., :_BEST]
            right = self.predicted if self.truth is None else self.truth
            top5 = _share((best == right[..., None]).any(axis=-1))
        return Agreement(self.name, self.kind, loss, accuracy, equal, top5, **known)


def deciding_value(graph: Graph, output: str) -> Operand:
    """Return the value that says what an output is."""
    value = graph.operands(output)[0]
    while graph.nodes[value.node]["type"] in _MOVES:
        value = graph.operands(value.node)[0]
    return value


def _unlabelled(values: np.ndarray, input_sizes: set[int], *, is_share: bool) -> str:
    """The kind of an output without labels: a vector has scores, unless it is as long as an input."""
    if values.ndim == 1:
        return "decisions" if is_share else "numbers"
    return "classes" if values.ndim == 2 and not is_share and values.shape[1] not in input_sizes else "numbers"


def _labelled(values: np.ndarray, truth: np.ndarray) -> str:
    """The kind of an output by its labels: truth values decide, and of a vector one for each entry, or a class."""
    are_truths = bool(np.isin(truth, (0.0, 1.0)).all() or np.isin(truth, (-1.0, 1.0)).all())
    if values.ndim == 1:
        return "decisions" if are_truths else "numbers"
    if truth.shape == values.shape:
        if are_truths and not (values.ndim == 2 and _is_one_hot(truth)):
            return "decisions"
        return "classes" if are_truths else "numbers"
    return "classes" if values.ndim == 2 else "numbers"


def _squeezed(array: np.ndarray) -> np.ndarray:
    """Return an array without axes of length 1 behind the batch."""
    return array.reshape((*array.shape[:1], *(size for size in array.shape[1:] if size != 1)))


def _finite(name: str, labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        fault = "hold NaN or infinity" if array.dtype.kind == "f" else f"are {array.dtype}"
        raise QuantisationError(f"the labels of {name!r} {fault}; give finite numbers, of classes from 0")
    return np.asarray(array, np.float64)


def _is_one_hot(array: np.ndarray) -> bool:
    return bool(np.isin(array, (0.0, 1.0)).all() and (array.sum(axis=-1) == 1).all())


def _share(is_so: np.ndarray) -> float:
    return float(is_so.mean()) if is_so.size else 1.0


def _errors(wanted: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """Return mean and largest error, the noise over the signal's variance, and the signal over the noise in dB."""
    wanted = np.asarray(wanted, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(values - wanted)
    off = np.where(np.isnan(off), np.inf, off)
    largest = float(off.max(initial=0.0))
    if not largest:
        return {"mean_error": 0.0, "largest_error": 0.0, "snr": np.inf, "noise": 0.0}
    # A signal is what varies from sample to sample; if nothing does, it is the numbers themselves.
    with np.errstate(invalid="ignore", over="ignore"):
        power = float(np.square(wanted - wanted.mean(axis=0)).mean()) or float(np.square(wanted).mean())
        noise = float(np.square(off).mean()) / power if power else np.inf
    if not np.isfinite(noise):
        return {"mean_error": float(off.mean()), "largest_error": largest, "snr": -np.inf, "noise": 1.0}
    return {
        "mean_error": float(off.mean()),
        "largest_error": largest,
        "snr": float(-10 * np.log10(noise)),
        "noise": min(noise, 1.0),
    }


def _determination(values: np.ndarray, truth: np.ndarray) -> float | None:
    """Return R², weighted by the variance of the entries; None where nothing varies."""
    total = float(np.square(truth - truth.mean(axis=0)).sum())
    return 1 - float(np.square(values - truth).sum()) / total if total else None
