"""Samples to learn from: checked before the first step, so that no wrong one is found in the middle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.learning.errors import TrainingError
from graphrewrite.types import element_dtype

__all__ = ["Samples", "samples"]


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of a graph, and what its output should be, one row a sample.

    Attributes
    ----------
    inputs : mapping of str to ndarray
        By the names of the graph's inputs.
    targets : ndarray
        Labels, or numbers.
    """

    inputs: Mapping[str, np.ndarray]
    targets: np.ndarray

    def __len__(self) -> int:
        return len(self.targets)

    def rows(self, at: np.ndarray) -> Samples:
        """Return some samples."""
        return Samples({name: array[at] for name, array in self.inputs.items()}, self.targets[at])

    def batches(self, size: int) -> Iterator[Samples]:
        """Yield all samples in their order, in batches."""
        for start in range(0, len(self), size):
            yield self.rows(np.arange(start, min(start + size, len(self))))

    def parted(self, share: float, seed: int) -> tuple[Samples, Samples | None]:
        """Return the samples without a share that a seed draws, and that share, rounded down; None if that is none."""
        count = int(share * len(self))
        drawn = np.random.default_rng((seed, len(self))).permutation(len(self))
        return (self.rows(np.sort(drawn[count:])), self.rows(np.sort(drawn[:count]))) if count else (self, None)


def samples(graph: Graph, data: Any, scores: Tensor, *, labelled: bool | None, what: str = "the data") -> Samples:
    """Return samples for a graph.

    Parameters
    ----------
    data : (inputs, targets)
        The inputs are an array, if the graph has one input, or arrays by name.
    scores : Tensor
        The type of what the targets are compared with.
    labelled : bool, optional
        Whether targets are classes; where not given, whether they are whole numbers.
    what : str
        What the data are, in messages.

    Raises
    ------
    TrainingError
        If they are empty, of another shape, no numbers, or labels that are no classes.
    """
    try:
        given, wanted = data
    except (TypeError, ValueError):
        raise TrainingError(f"{what} are a pair of inputs and targets, got {type(data).__name__}") from None
    if not isinstance(given, Mapping):
        if len(graph.inputs) != 1:
            names = ", ".join(graph.inputs)
            raise TrainingError(f"{what} need an array for each of the inputs {names}; give a dictionary by name")
        given = {graph.inputs[0]: given}
    for name in given:
        if name not in graph.inputs:
            near = did_you_mean(str(name), graph.inputs)
            raise TrainingError(f"{what} have {name!r}, which is no input of the graph {graph.name!r}{near}")
    targets = _array_of(wanted, f"targets of {what}")
    inputs = {name: _array(graph, name, given, len(targets) if targets.ndim else 0, what) for name in graph.inputs}
    if not targets.ndim or not len(targets):
        raise TrainingError(f"{what} are empty: there are no targets")
    if labelled is None:
        labelled = targets.dtype.kind in "iub"
    return Samples(inputs, _labels(targets, scores, what) if labelled else _numbers(targets, scores, what))


def _array(graph: Graph, name: str, given: Mapping[str, Any], count: int, what: str) -> np.ndarray:
    if name not in given:
        raise TrainingError(f"{what} lack the input {name!r} of the graph {graph.name!r}")
    kind, array = graph.result_type(name), _array_of(given[name], f"the input {name!r} of {what}")
    if not array.ndim or not len(array):
        raise TrainingError(f"{what} are empty: the input {name!r} has no samples")
    if len(array) != count:
        raise TrainingError(f"{what} have {len(array)} samples of the input {name!r}, and {count} targets")
    own = kind.shape[1:]
    fits = array.ndim == len(kind.shape) and all(
        isinstance(a, str) or a == b for a, b in zip(own, array.shape[1:], strict=True)
    )
    if not fits or not isinstance(kind.shape[0], str):
        raise TrainingError(
            f"the input {name!r} is {kind}, one row a sample, and {what} have the shape {list(array.shape)}"
        )
    with np.errstate(over="ignore"):
        own_array = np.asarray(array, element_dtype(kind.element))
    if own_array.dtype.kind == "f" and not np.isfinite(own_array).all():
        row = int(np.argwhere(~np.isfinite(own_array))[0][0])
        raise TrainingError(f"{what} hold no numbers: the sample {row} of the input {name!r} has NaN or an infinity")
    return own_array


def _array_of(given: Any, what: str) -> np.ndarray:
    """Return what was given as an array of numbers or truth values."""
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise TrainingError(f"{what} are no array: {error}") from None
    if array.dtype.kind not in "iubf":
        raise TrainingError(f"{what} are {array.dtype}, and should be real numbers")
    return array


def _labels(targets: np.ndarray, scores: Tensor, what: str) -> np.ndarray:
    if targets.dtype.kind not in "iub":
        raise TrainingError(f"labels are whole numbers, the classes from 0, and {what} have {targets.dtype}")
    if len(scores.shape) < 2 or targets.ndim != len(scores.shape) - 1:
        raise TrainingError(
            f"scores {scores} need a label for each sample, of {len(scores.shape) - 1} axes, and {what} have the shape "
            f"{list(targets.shape)}"
        )
    classes = scores.shape[1]
    wrong = targets < 0 if isinstance(classes, str) else (targets < 0) | (targets >= classes)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        most = "" if isinstance(classes, str) else f" to {int(classes) - 1}"
        raise TrainingError(
            f"labels are classes from 0{most}, and that of the sample {at[0]} of {what} is {targets[at]}"
        )
    return targets.astype(np.int64)


def _numbers(targets: np.ndarray, scores: Tensor, what: str) -> np.ndarray:
    if targets.ndim != len(scores.shape) or any(
        isinstance(size, int) and size != own for size, own in zip(scores.shape[1:], targets.shape[1:], strict=True)
    ):
        is_classes = (
            targets.ndim < len(scores.shape) and targets.dtype.kind in "iuf" and (np.rint(targets) == targets).all()
        )
        remedy = "; if they are classes, give them as integers, for cross_entropy" if is_classes else ""
        raise TrainingError(
            f"targets are compared with {scores}, and {what} have the shape {list(targets.shape)}{remedy}"
        )
    if targets.dtype.kind not in "iubf" or not np.isfinite(targets).all():
        raise TrainingError(f"targets are finite numbers, and those of {what} are not all; leave such samples out")
    return np.asarray(targets, element_dtype(scores.element))
