"""Operands and results of an operator of TensorFlow Lite, as entries of the table get them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.op.quantised.softmax import quantised_multiplier
from graphrewrite.types import Quantised

__all__ = ["Operand", "Result", "are_plain", "are_stored", "half_away", "multipliers", "rescaled"]

_STORED = "i8"


@dataclass(frozen=True)
class Operand:
    """What an operator reads.

    Attributes
    ----------
    kind : Tensor
        Its declared type; the element says the format of stored numbers.
    get : callable
        Returns its value in the graph.
    array : ndarray or None
        Its values, if no input is needed to know them.
    """

    kind: Tensor
    get: Callable[[], Value]
    array: np.ndarray | None

    @property
    def value(self) -> Value:
        """Its value in the graph."""
        return self.get()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        shape = self.value.type.shape if self.array is None else self.array.shape
        return tuple(map(int, shape))  # the batch is freed later

    @property
    def scales(self) -> np.ndarray:
        """Its scales, one or one a channel."""
        return np.array([scale for scale, _ in _format(self.kind).channels])

    @property
    def scale(self) -> float:
        """Its only scale."""
        return _one(self.kind)[0]

    @property
    def zero_point(self) -> int:
        """Its only zero point."""
        return _one(self.kind)[1]

    def known(self) -> np.ndarray:
        """Return its values, which must be known."""
        if self.array is None:
            raise Unfit("its weights and biases are computed from inputs; they must be constants")
        return self.array


@dataclass(frozen=True)
class Result:
    """What an operator gives.

    Attributes
    ----------
    kind : Tensor
        Its declared type; the element says the format of stored numbers.
    activation : str
        The activation that is fused into the operator.
    fix : callable
        Called with a value and axes whose sizes became numbers in the graph.
    """

    kind: Tensor
    activation: str
    fix: Callable[[Value, Sequence[int]], None]

    @property
    def scale(self) -> float:
        """Its only scale."""
        return _one(self.kind)[0]

    @property
    def zero_point(self) -> int:
        """Its only zero point."""
        return _one(self.kind)[1]

    @property
    def limits(self) -> dict[str, int]:
        """Limits of the stored numbers that the activation sets, by the names ``low`` and ``high``."""
        bounds: Mapping[str, tuple[float | None, float | None]] = {
            "none": (None, None),
            "relu": (0, None),
            "relu_n1_to_1": (-1, 1),
            "relu6": (0, 6),
            "relu_0_to_1": (0, 1),
        }
        if self.activation not in bounds:
            raise Unfit(f"the fused activation {self.activation} is not supported")
        least, most = _format(self.kind).minimum, _format(self.kind).maximum
        ends = [None if end is None else self.stored(end) for end in bounds[self.activation]]
        low, high = (least if ends[0] is None else max(ends[0], least)), (most if ends[1] is None else min(ends[1], most))
        if low > high:
            raise Unfit(f"no stored number lies within the fused activation {self.activation}")
        return {**({"low": low} if low > least else {}), **({"high": high} if high < most else {})}

    def stored(self, number: float) -> int:
        """Return the stored number of a real one, not limited."""
        return self.zero_point + int(half_away(np.float32(number) / np.float32(self.scale)))


def half_away(x: Any) -> Any:
    """Round half away from zero, as C does."""
    size = np.abs(x)
    whole = np.floor(size)
    return np.copysign(whole + (size - whole >= 0.5), x)


def _format(kind: Tensor) -> Quantised:
    if not isinstance(kind.element, Quantised):
        raise Unfit(f"an operand or result is {kind}, which has no scale")
    return kind.element


def _one(kind: Tensor) -> tuple[float, int]:
    channels = set(_format(kind).channels)
    if len(channels) > 1:
        raise Unfit("an operand or result has a scale for each channel, where one for all is defined")
    return next(iter(channels))


def are_plain(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why operands are no plain numbers: their stored ones stand for others."""
    every = [*kinds, *attributes["to"]]
    return "it is not supported for quantised numbers" if any(isinstance(k.element, Quantised) for k in every) else None


def are_stored(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why the first operand and the results are no quantised numbers of 8 bits with a sign."""
    for kind in (*kinds[:1], *attributes["to"]):
        if kind.element != "bool" and not (isinstance(kind.element, Quantised) and kind.element.storage == _STORED):
            return f"quantised numbers are supported as i8, and an operand or result is {kind}"
    return None


def multipliers(factors: Any, trailing: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return real factors as multipliers and exponents; several are followed by so many axes."""
    pairs = np.array([quantised_multiplier(float(factor)) for factor in np.ravel(factors)], np.int32)
    shape = () if len(set(map(tuple, pairs.tolist()))) == 1 else (-1, *[1] * trailing)
    pairs = pairs[:1] if shape == () else pairs
    return pairs[:, 0].reshape(shape), pairs[:, 1].reshape(shape)


def rescaled(sums: Any, factors: Any, to: Result, *, trailing: int = 0, **attributes: Any) -> Any:
    """Return integers in the format of a result."""
    multiplier, exponent = multipliers(factors, trailing)
    given = {"zero_point": to.zero_point, **to.limits, **attributes}
    return op.multiply_fixed_point(sums, multiplier, exponent, **given)
