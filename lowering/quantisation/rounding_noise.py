"""Noise that rounding adds around values whose channels are scaled, estimated layer by layer from samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphrewrite import Graph
from graphrewrite.lowering.quantisation.channel_ties import channel_axes
from graphrewrite.lowering.quantisation.fixed_point_formats import CANDIDATES

__all__ = ["LEAST", "Factors", "Layer", "by_channel", "noise_around"]

_NUMBERS = 8192
"""Of a layer's operand so many numbers are rounded on trial."""
LEAST = 1e-10
"""A channel counts for no more than one of so much of the greatest variance."""


@dataclass(frozen=True)
class Factors:
    """What channels are multiplied by, after a number has been taken from them; by class of channels.

    Attributes
    ----------
    scale, shift : ndarray
        An entry for each class.
    """

    scale: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True)
class Layer:
    """A layer as rounding sees it.

    Attributes
    ----------
    weights : ndarray
        One row for each output channel, [O, columns].
    channels : ndarray
        The channel that each weight is multiplied by, [O, columns].
    columns, rows : ndarray
        The classes of the channels that it reads and gives.
    samples : ndarray
        Of each channel that it reads, [C, numbers].
    moments : ndarray
        Mean, variance, least and greatest number of each channel, [4, C].
    count : int
        Numbers of each channel that it reads.
    variances : ndarray
        Of each channel that it gives.
    worth : ndarray
        What an error of each channel that it gives counts; with these weights its variances add to 1.
    width, operand_width : int
        Of its weights, and of the values that it reads.
    """

    weights: np.ndarray
    channels: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    samples: np.ndarray
    moments: np.ndarray
    count: int
    variances: np.ndarray
    worth: np.ndarray
    width: int
    operand_width: int

    @classmethod
    def of(
        cls,
        graph: Graph,
        node: str,
        classes: tuple[np.ndarray, np.ndarray],
        values: Mapping[str, np.ndarray],
        widths: tuple[int, int],
    ) -> Layer:
        """Return a layer of a graph, with the classes of its columns and rows and the values of all nodes."""
        source, weights = (operand.node for operand in graph.operands(node)[:2])
        w = np.asarray(graph.nodes[weights]["value"], np.float64)
        groups = graph.attributes(node).get("groups", 1)
        inner, taps = w.shape[1], int(np.prod(w.shape[2:]))
        first = np.repeat(np.arange(groups) * inner, len(w) // groups)
        channels = np.repeat(first[:, None] + np.arange(inner), taps, axis=1)
        x, y = map(by_channel, (values[source], values[node]), channel_axes(graph, node))
        moments = np.stack([x.mean(axis=1), x.var(axis=1), x.min(axis=1), x.max(axis=1)])
        step = max(1, x.size // _NUMBERS)
        samples = x if step == 1 else np.hstack([x[:, ::step], moments[2:].T])
        variances = y.var(axis=1)
        worth = 1 / np.maximum(variances, LEAST * variances.max() or 1.0) / len(variances)
        arrays = (w.reshape(len(w), -1), channels, *classes, samples, moments)
        return cls(*arrays, x.shape[1], variances, worth, *widths)

    def scaled(self, factors: Factors) -> np.ndarray:
        """The weights with factors taken up."""
        return np.asarray(self.weights * factors.scale[self.rows, None] / factors.scale[self.columns][self.channels])

    @cached_property
    def gains(self) -> np.ndarray:
        """How much of the noise of each channel that it reads comes out, as it counts."""
        squares = self.weights**2 * self.worth[:, None]
        return np.asarray(np.bincount(self.channels.ravel(), squares.ravel(), len(self.columns)))


def by_channel(values: np.ndarray, axis: int = 1) -> np.ndarray:
    """Return values with an axis of channels as [C, numbers]; of those without channels, all in one.

    Examples
    --------
    >>> by_channel(np.array([[1, 2], [3, 4]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    if values.ndim < 2:
        return np.asarray(values, np.float64).reshape(1, -1)
    return np.asarray(np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1), np.float64)


def noise_around(
    factors: Factors, producers: Sequence[Layer], readers: Sequence[Layer], *, per_channel: bool, smooth: bool = False
) -> float:
    """Return the noise of values between layers, as a share of what their readers give: of values and of all weights.

    Smooth means by the ranges alone, as if every step were possible.
    """
    noise, gains = 0.0, np.zeros(len(factors.scale))
    for reader in readers:
        scale = factors.scale[reader.columns]
        values = (reader.samples - factors.shift[reader.columns, None]) * scale[:, None]
        of_values = _error_of_values(values, reader.operand_width, smooth) / scale**2
        noise += float(of_values @ reader.gains)
        noise += float(_error_of_weights(reader, factors, per_channel, smooth) @ reader.worth)
        np.add.at(gains, reader.columns, reader.gains)
    for producer in producers:
        noise += float(_error_of_weights(producer, factors, per_channel, smooth) @ gains[producer.rows])
    return noise


def _error_of_values(values: np.ndarray, width: int, smooth: bool) -> np.ndarray:
    """The mean square of the rounding errors of each channel."""
    signed = bool(values.min() < 0)
    if smooth:
        step = np.abs(values).max() / 2.0 ** (width - signed)
        return np.full(len(values), step**2 / 12)
    return np.asarray(_squares(values, width, signed=signed).mean(axis=1))


def _error_of_weights(layer: Layer, factors: Factors, per_channel: bool, smooth: bool) -> np.ndarray:
    """The mean square of the errors of each result that the rounding of weights makes, in units of before scaling.

    The mean of a value makes an error that belongs to the bias, so only its variance counts.
    """
    w = layer.scaled(factors)
    variance = (layer.moments[1] * factors.scale[layer.columns] ** 2)[layer.channels]
    if smooth:
        greatest = np.abs(w).max(axis=1, keepdims=True) if per_channel else np.abs(w).max()
        squares = np.broadcast_to((greatest / 2.0 ** (layer.width - 1)) ** 2 / 12, w.shape)
    else:
        squares = _squares(w, layer.width, signed=True, per_row=per_channel)
    return np.asarray((squares * variance).sum(axis=1) / factors.scale[layer.rows] ** 2)


def _squares(values: np.ndarray, width: int, *, signed: bool, per_row: bool = False) -> np.ndarray:
    """The squares of errors in the format that `best_fraction` chooses, of all numbers or each row; in one go."""
    exponents = np.frexp(np.abs(values).max(axis=1 if per_row else None, keepdims=True))[1] - (width - signed)
    steps = np.ldexp(1.0, exponents - np.arange(CANDIDATES)[:, None, None])
    low, high = -(2 ** (width - 1)) if signed else 0, 2 ** (width - signed) - 1
    squares = np.square(np.clip(np.rint(values / steps), low, high) * steps - values)
    best = squares.sum(axis=2 if per_row else (1, 2)).argmin(axis=0)
    return np.asarray(squares[best, np.arange(len(values))] if per_row else squares[best])
