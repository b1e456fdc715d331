"""Choose fixed-point formats: binary points for values and weights, widths for exact accumulators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphrewrite import FixedPoint
from graphrewrite.op.integer.fixed_point import mantissas

__all__ = [
    "CANDIDATES",
    "accumulator",
    "best_fraction",
    "combined",
    "constant_on_grid",
    "fractions_of",
    "on_grid",
    "widest",
]

CANDIDATES = 4  # binary points to try, from the one at which nothing saturates upwards


def widest(greatest: float, width: int, *, signed: bool) -> FixedPoint:
    """Return the finest format in which numbers up to a magnitude do not saturate, wherever they lie.

    Examples
    --------
    >>> print(widest(0.75, 8, signed=True), widest(4.0, 8, signed=False))
    s8f7 u8f5
    """
    # greatest < 2**exponent (frexp), and a width has width-signed digits.
    exponent = int(np.frexp(greatest)[1]) if greatest else 0
    return FixedPoint(signed, width, width - signed - exponent)


def best_fraction(
    values: np.ndarray,
    width: int,
    *,
    signed: bool,
    through: Callable[[np.ndarray], np.ndarray] | None = None,
    weights: np.ndarray | None = None,
) -> FixedPoint:
    """Return the format of so many bits whose rounding and saturation have the least squared error on samples.

    With `through`, the error is that of a function of the samples, with an entry for each on its last axis: where it
    hardly rises, they may saturate. With `weights`, each sample counts so often.

    Examples
    --------
    >>> print(best_fraction(np.array([0.5, -0.75]), 8, signed=True))
    s8f7
    """
    coarsest = widest(float(np.abs(values).max(initial=0.0)), width, signed=signed)
    if not values.any():
        return coarsest
    # Some ten thousand numbers choose as well as all of them.
    sample = values.ravel() if weights is not None else values.ravel()[:: max(1, values.size // 65536)]
    wanted = sample if through is None else through(sample)
    errors = []
    for finer in range(CANDIDATES):
        element = FixedPoint(signed, width, coarsest.fraction + finer)
        rounded = mantissas(sample, element=element) * element.step
        found = rounded if through is None else through(rounded)
        squares = np.square(found - wanted, dtype=np.float64)
        errors.append(float(squares.sum() if weights is None else (squares * weights).sum()))
    return FixedPoint(signed, width, coarsest.fraction + int(np.argmin(errors)))


def fractions_of(w: np.ndarray, width: int, *, per_channel: bool) -> np.ndarray:
    """Return the binary points of weights [O, …] as an array [O]; all are equal unless `per_channel`.

    Examples
    --------
    >>> fractions_of(np.array([[0.5], [4.0]]), 8, per_channel=True).tolist()
    [7, 4]
    """
    if per_channel:
        return np.array([best_fraction(channel, width, signed=True).fraction for channel in w])
    return np.full(len(w), best_fraction(w, width, signed=True).fraction)


def on_grid(w: np.ndarray, fractions: np.ndarray, width: int | None) -> np.ndarray:
    """Return weights or biases rounded half to even to the grid of each output channel; saturated to a width if given.

    Examples
    --------
    >>> on_grid(np.array([[0.3]]), np.array([2]), 8).tolist()
    [[0.25]]
    """
    step = np.ldexp(1.0, -fractions).reshape(-1, *[1] * (w.ndim - 1))
    whole = np.rint(w / step)
    if width is not None:
        whole = np.clip(whole, -(2 ** (width - 1)), 2 ** (width - 1) - 1)
    return np.asarray((whole + 0.0) * step)


def accumulator(w: np.ndarray, b: np.ndarray, operand_format: FixedPoint, fractions: np.ndarray) -> FixedPoint:
    """Return the narrowest format that holds every sum of a layer exactly, whatever its input is.

    Examples
    --------
    >>> print(accumulator(np.array([[1.0, -1.0]]), np.array([0.0]), FixedPoint(False, 8), np.array([0])))
    s9f0
    """
    fraction = int(fractions.max())
    rows = w.reshape(len(w), -1)
    least, most = operand_format.minimum * operand_format.step, operand_format.maximum * operand_format.step
    # Zero lies in every term's range, so these bounds hold for partial sums too, whether the bias comes first or last.
    high = (np.where(rows > 0, rows * most, rows * least).sum(axis=1) + np.maximum(b, 0)).max()
    low = (np.where(rows > 0, rows * least, rows * most).sum(axis=1) + np.minimum(b, 0)).min()
    scale = 2.0**fraction
    return FixedPoint.holding(min(int(np.floor(low * scale)), 0), max(int(np.ceil(high * scale)), 0), fraction)


def combined(kind: str, a: FixedPoint, b: FixedPoint) -> FixedPoint:
    """Return the narrowest format that holds every result of an op of two numbers exactly.

    Examples
    --------
    >>> fine, coarse = FixedPoint(False, 8, 8), FixedPoint(True, 8, 4)
    >>> [str(combined(kind, fine, coarse)) for kind in ("add", "sub", "mul", "concat")]
    ['s13f8', 's13f8', 's16f12', 's12f8']
    """
    if kind == "mul":
        ends = [x * y for x in (a.minimum, a.maximum) for y in (b.minimum, b.maximum)]
        return FixedPoint.holding(min(ends), max(ends), a.fraction + b.fraction)
    fraction = max(a.fraction, b.fraction)
    (low, high), (least, most) = ([end << (fraction - f.fraction) for end in (f.minimum, f.maximum)] for f in (a, b))
    if kind == "concat":
        return FixedPoint.holding(min(low, least), max(high, most), fraction)
    if kind == "add":
        return FixedPoint.holding(low + least, high + most, fraction)
    return FixedPoint.holding(low - most, high - least, fraction)


def constant_on_grid(values: np.ndarray, width: int, finest: int | None = None) -> tuple[FixedPoint, np.ndarray]:
    """Return a constant rounded to a width, after its narrowest format; `finest` limits its fraction.

    No entry saturates, and the greatest one uses all bits.

    Examples
    --------
    >>> element, rounded = constant_on_grid(np.array([1 / 4, 1 / 6, 1 / 9]), 8)
    >>> str(element), (rounded * 512).tolist()
    ('u8f9', [128.0, 85.0, 57.0])
    """
    signed = bool(values.min() < 0)
    # Below 2**exponent (frexp); what rounds up to that has one fraction bit fewer.
    exponent = int(np.frexp(np.abs(values).max())[1])
    fraction = width - int(signed) - exponent
    if np.rint(np.ldexp(np.abs(values).max(), fraction)) >= 2.0 ** (width - signed):
        fraction -= 1
    fraction = fraction if finest is None else min(fraction, finest)
    whole = np.rint(np.ldexp(np.asarray(values, np.float64), fraction))
    element = FixedPoint.holding(min(int(whole.min()), 0), int(whole.max()), fraction)
    return element, np.asarray(whole * element.step, values.dtype)
