"""Round a layer's weights so that its results stay near, rather than each weight: nothing of it costs hardware.

Each weight goes up or down to a neighbour on its grid, so that the errors of a sum cancel on the calibration samples:
the least squares by coordinate descent (as GPTQ and AdaRound do; Frantar 2022, Nagel 2020). What is left of the mean
error goes into the bias (Banner 2019, Nagel 2019). Both know the operand as the hardware has it, with its own rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.lowering.quantisation.fixed_point_formats import on_grid
from graphrewrite.op.nn.convolution import convolve

__all__ = ["ENOUGH", "Moments", "fitted", "mean_shift", "moments", "rounded"]

ENOUGH = 16
"""Samples from which means and what earlier layers lost are believed; with fewer, only weights are fitted."""

_ROWS = 1 << 14
"""Rows (a sample, or a position of one) that a layer is fitted to, taken at random from all of them."""
_ENTRIES = 1 << 22
"""Numbers that a part of a convolution's columns has at most."""
_COSTLY = 1 << 29
"""Products of a pass over a layer's weights beyond which it is not fitted."""
_PASSES = 3
_DAMPING = 1e-2
"""Share of the mean square of all columns that is added to each: what was never seen stays as it is."""


class Moments(NamedTuple):
    """What the samples say about a group of a layer's output channels.

    Attributes
    ----------
    mean, target : ndarray
        Means of the columns [K] and of the wanted sums [O].
    squares : ndarray
        Mean products of the columns [K, K], shrunk to their diagonal where samples are few.
    cross : ndarray
        Mean products of the columns with what earlier layers lost [O, K].
    """

    mean: np.ndarray
    target: np.ndarray
    squares: np.ndarray
    cross: np.ndarray


def moments(x: np.ndarray, w: np.ndarray, wanted: np.ndarray, attributes: Mapping[str, Any]) -> list[Moments]:
    """Return the moments of each group of a linear layer or convolution.

    Parameters
    ----------
    x : ndarray
        The operand as it is after quantising, batch first.
    w : ndarray
        Weights [O, …] before rounding.
    wanted : ndarray
        The layer's results in the float network, [N, O, …].
    attributes : mapping
        Of the convolution.
    """
    groups = attributes.get("groups", 1)
    columns, results = _rows(x, w, wanted, attributes)
    parts = zip(columns, np.split(w.reshape(len(w), -1), groups), np.split(results, groups, axis=1), strict=True)
    return [_of_group(*part, samples=len(x)) for part in parts]


def _rows(
    x: np.ndarray, w: np.ndarray, wanted: np.ndarray, attributes: Mapping[str, Any]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Some rows of the columns that each group's weights meet, and of the wanted results."""
    results = np.moveaxis(np.asarray(wanted, np.float64), 1, -1).reshape(-1, len(w))
    random = np.random.default_rng(0)
    if w.ndim == 2:
        taken = np.sort(random.choice(len(x), min(len(x), _ROWS), replace=False))
        return [np.asarray(x[taken], np.float64)], results[taken]
    positions = len(results) // len(x)
    kept: list[list[np.ndarray]] = []
    chosen: list[np.ndarray] = []

    def keep(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        kept[-1].append(np.asarray(columns[chosen[-1] - start * positions], np.float64))
        return np.zeros((len(columns), weights.shape[1]))

    step = max(1, _ENTRIES // (positions * w[0].size))
    for start in range(0, len(x), step):
        part = np.asarray(x[start : start + step], np.float64)
        rows = len(part) * positions
        share = min(rows, -(-rows * _ROWS // len(results)))
        chosen.append(start * positions + np.sort(random.choice(rows, share, replace=False)))
        kept.append([])
        convolve(part, w, **attributes, product=keep)
    return [np.concatenate(parts) for parts in zip(*kept, strict=True)], results[np.concatenate(chosen)]


def _of_group(columns: np.ndarray, w: np.ndarray, wanted: np.ndarray, *, samples: int) -> Moments:
    mean, target = columns.mean(axis=0), wanted.mean(axis=0)
    lost = wanted - columns @ w.T
    if samples < ENOUGH:
        squares, cross = columns.T @ columns / len(columns), np.zeros_like(w)
    else:
        # The bias takes the means, and they drop out of what was lost.
        columns = columns - mean
        squares, cross = columns.T @ columns / len(columns), lost.T @ columns / len(columns)
    trust = 1 - _shrinkage(squares, samples)
    diagonal = np.diag(squares)
    squares = trust * squares + np.diag((1 - trust) * diagonal + _DAMPING * diagonal.mean())
    return Moments(mean, target, squares, trust * cross)


def _shrinkage(squares: np.ndarray, samples: int) -> float:
    """The share of a covariance that is chance, as OAS estimates it (Chen et al. 2010)."""
    size, trace, square = len(squares), float(np.trace(squares)), float(np.square(squares).sum())
    spread = (samples + 1 - 2 / size) * (square - trace**2 / size)
    return 1.0 if spread <= 0 else min(1.0, ((1 - 2 / size) * square + trace**2) / spread)


def rounded(
    w: np.ndarray, groups: Sequence[Moments], fractions: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights [O, …] on the grid of each output channel, and the mean squared error of each channel's results.

    The error is relative to that of the weights before rounding: it may be negative where rounding makes up for what
    earlier layers lost.

    Examples
    --------
    >>> squares = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> seen = Moments(np.zeros(2), np.zeros(1), squares, np.zeros((1, 2)))
    >>> rounded(np.array([[0.4, 0.4]]), [seen], np.array([0]), 8)[0].tolist()
    [[1.0, 0.0]]
    """
    rows, step = w.reshape(len(w), -1), np.ldexp(1.0, -fractions)[:, None]
    nearest = on_grid(rows, fractions, width) / step
    least, most = -(2.0 ** (width - 1)), 2.0 ** (width - 1) - 1
    # Each weight stays beside its place: what lies on the grid stays where it is.
    low, high = (np.clip(end(rows / step), least, most) for end in (np.floor, np.ceil))
    parts, errors = [], []
    for seen, part in zip(groups, np.split(np.arange(len(w)), len(groups)), strict=True):
        whole, scale, given = nearest[part], step[part], rows[part]
        squares, diagonal = seen.squares, np.diag(seen.squares)
        slope = (whole * scale - given) @ squares - seen.cross
        is_affordable = len(part) * squares.size <= _COSTLY
        for _ in range(_PASSES if is_affordable else 0):
            before = whole.copy()
            # First what matters most, which the others make up for.
            for i in np.argsort(-diagonal, kind="stable"):
                if diagonal[i] > 0:
                    best = np.rint(whole[:, i] - slope[:, i] / (diagonal[i] * scale[:, 0]))
                    best = np.clip(best, low[part, i], high[part, i])
                    slope += ((best - whole[:, i]) * scale[:, 0])[:, None] * squares[i]
                    whole[:, i] = best
            if np.array_equal(whole, before):
                break
        wrong = whole * scale - given
        parts.append((whole + 0.0) * scale)
        errors.append(np.sum(wrong * (wrong @ squares - 2 * seen.cross), axis=1))
    return np.concatenate(parts).reshape(w.shape), np.concatenate(errors)


def fitted(
    w: np.ndarray, groups: Sequence[Moments], width: int, candidates: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights [O, …] rounded to the best of some binary points or the next finer ones, and these.

    Output channels whose candidates differ choose one by one.
    """
    choices = [fractions + finer for fractions in candidates for finer in (0, 1)]
    made = [rounded(w, groups, fractions, width) for fractions in choices]
    errors = np.stack([error for _, error in made])
    is_common = all(np.ptp(fractions, axis=0) == 0 for fractions in choices)
    best = np.full(len(w), errors.sum(axis=1).argmin()) if is_common else errors.argmin(axis=0)
    channels = np.arange(len(w))
    return np.stack([whole for whole, _ in made])[best, channels], np.stack(choices)[best, channels]


def mean_shift(w: np.ndarray, groups: Sequence[Moments]) -> np.ndarray:
    """Return the bias with which a layer of rounded weights has the wanted mean on each output channel.

    Examples
    --------
    >>> seen = Moments(np.array([2.0]), np.array([3.0]), np.eye(1), np.zeros((1, 1)))
    >>> mean_shift(np.array([[1.0]]), [seen]).tolist()
    [1.0]
    """
    parts = np.split(w.reshape(len(w), -1), len(groups))
    return np.concatenate([seen.target - part @ seen.mean for seen, part in zip(groups, parts, strict=True)])
