"""Operands and results of an operator of TensorFlow Lite, as entries of the table get them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.types import Quantised, element_dtype

__all__ = [
    "MOST_NUMBERS",
    "Operand",
    "Result",
    "are_hybrid",
    "are_plain",
    "are_stored",
    "half_away",
    "multipliers",
    "rescaled",
    "shown",
]

_STORED = "i8"
MOST_NUMBERS = 4096
"""Most entries of an operand that becomes an attribute."""


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
    keep : callable
        Returns a constant that is made of them, the same for all that ask for it by one name.
    fix : callable
        Called with its value and axes whose sizes became numbers in the graph.
    """

    kind: Tensor
    get: Callable[[], Value]
    array: np.ndarray | None = None
    keep: Callable[[str, Callable[[], np.ndarray]], Value] | None = None
    fix: Callable[[Value, Sequence[int]], None] | None = None

    @property
    def value(self) -> Value:
        """Its value in the graph."""
        return self.get()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        if self.array is not None:
            return self.array.shape
        sizes = tuple(map(int, self.value.type.shape))
        if self.fix is not None:  # what depends on them does so for these numbers; the batch may be freed later
            self.fix(self.value, range(1, len(sizes)))
        return sizes

    @property
    def scales(self) -> np.ndarray:
        """Its scales, one or one a channel."""
        return np.atleast_1d(np.asarray(_format(self.kind).scale))

    @property
    def zero_points(self) -> np.ndarray:
        """Its zero points, one or one a channel."""
        return np.atleast_1d(np.asarray(_format(self.kind).zero_point))

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
            raise Unfit(f"an operand of it, {shown(self.kind)}, is computed from inputs, and must be constant")
        return self.array

    def numbers(self) -> tuple[int, ...]:
        """Return its values as sizes, axes or positions, of which there are few."""
        if self.known().size > MOST_NUMBERS:
            raise Unfit(f"it has an operand of {self.known().size} sizes; at most {MOST_NUMBERS} are supported")
        return tuple(map(int, self.known().ravel()))

    def moved(self, *perm: int, element: str | None = None) -> Value:
        """Return its value with the axes in another order; a constant is moved now, and kept."""
        if self.array is None or self.keep is None:
            moved: Value = op.transpose(self.value, perm=perm)
            return moved
        array = self.array
        if array.ndim != len(perm):
            raise Unfit(f"weights of {len(perm)} axes are expected, and these are {shown(self.kind)}")
        dtype = array.dtype if element is None else element_dtype(element)
        return self.keep(f"{perm} {dtype}", lambda: np.ascontiguousarray(np.transpose(array, perm), dtype))


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
    inner : tuple of Tensor
        Types of what the operator computes inside.
    """

    kind: Tensor
    activation: str
    fix: Callable[[Value, Sequence[int]], None]
    inner: tuple[Tensor, ...] = ()

    @property
    def scale(self) -> float:
        """Its only scale."""
        return _one(self.kind)[0]

    @property
    def zero_point(self) -> int:
        """Its only zero point."""
        return _one(self.kind)[1]

    @property
    def limits(self) -> dict[str, Any]:
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
        low, high = (
            (least if ends[0] is None else max(ends[0], least)),
            (most if ends[1] is None else min(ends[1], most)),
        )
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
        raise Unfit(f"an operand or result is {shown(kind)}, which has no scale")
    return kind.element


def _one(kind: Tensor) -> tuple[float, int]:
    (scale, zero_point), *others = _format(kind).channels
    if others:
        raise Unfit("an operand or result has a scale for each channel, where one for all is defined")
    return scale, zero_point


def shown(kind: Tensor) -> str:
    """Return a type as text, without its scales."""
    element = kind.element
    if not isinstance(element, Quantised):
        return str(kind)
    return f"{element.storage}{'' if element.axis is None else f' by axis {element.axis}'} {list(kind.shape)}"


def are_plain(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why operands are no plain numbers: their stored ones stand for others."""
    every = [*kinds, *attributes["to"]]
    return "it is not supported for quantised numbers" if any(isinstance(k.element, Quantised) for k in every) else None


def are_hybrid(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why an operand is not real, or its weights are not stored in 8 bits."""
    element = kinds[1].element if len(kinds) > 1 else None
    is_stored = isinstance(element, Quantised) and element.storage == _STORED
    fits = is_stored and all(kind.element == "f32" for kind in (kinds[0], *kinds[2:], *attributes["to"]))
    return None if fits else "weights of real operands are supported as i8"


def are_stored(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why the first operand and the results are no quantised numbers of 8 bits with a sign."""
    if str(kinds[0].element).startswith("f") and any(isinstance(kind.element, Quantised) for kind in kinds[1:]):
        return (
            "its weights are stored and its operand is real, which is supported of convolutions and products with "
            "weights of i8; quantise both"
        )
    for kind in (*kinds[:1], *attributes["to"]):
        if kind.element != "bool" and not (isinstance(kind.element, Quantised) and kind.element.storage == _STORED):
            return f"quantised numbers are supported as i8, and an operand or result is {shown(kind)}"
    return None


def multipliers(factors: Any, trailing: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return real factors as multipliers and exponents; several are followed by so many axes."""
    real = np.ravel(np.asarray(factors, np.float64))
    real = real[:1] if real.size and (real == real[0]).all() else real
    fractions, exponents = np.frexp(real)
    numbers = np.floor(np.abs(fractions) * 2.0**31 + 0.5)
    exponents = exponents + (numbers == 2.0**31)
    numbers = np.where(numbers == 2.0**31, 2.0**30, numbers)
    is_nothing = exponents < -31
    shape = () if len(real) == 1 else (-1, *[1] * trailing)
    parts = np.where(is_nothing, 0, np.copysign(numbers, real)), np.where(is_nothing, 0, exponents)
    return parts[0].astype(np.int32).reshape(shape), parts[1].astype(np.int32).reshape(shape)


def rescaled(sums: Any, factors: Any, to: Result, *, trailing: int = 0, **attributes: Any) -> Any:
    """Return integers in the format of a result."""
    multiplier, exponent = multipliers(factors, trailing)
    given = {"zero_point": to.zero_point, "element": _format(to.kind).storage, **to.limits, **attributes}
    return op.multiply_fixed_point(sums, multiplier, exponent, **given)
