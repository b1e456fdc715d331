"""Between real numbers and fixed point."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, MANTISSAS, NUMBERS
from graphrewrite.types import Element, ElementName, FixedPoint, Tensor, check_element, hold

__all__ = ["from_fixed", "limits", "mantissas", "quantise", "to_fixed"]


def _steps(element: FixedPoint, fractions: Sequence[int] | None, axis: int, rank: int) -> np.ndarray:
    if fractions is None:
        return np.asarray(element.step)
    shape = [1] * rank
    shape[axis] = len(fractions)
    return np.ldexp(1.0, -np.asarray(fractions)).reshape(shape)


def limits(element: FixedPoint, low: int | None = None, high: int | None = None) -> tuple[int, int]:
    """Return the limits of a format's mantissas, perhaps tighter ones.

    Returns
    -------
    tuple of two int
        Where they leave nothing, the second one is what everything is limited to, as by `numpy.clip`.

    Examples
    --------
    >>> limits(FixedPoint(False, 4), -1, 9), limits(FixedPoint(False, 4), 99)
    ((0, 9), (15, 15))
    """
    bounds = (element.minimum if low is None else low, element.maximum if high is None else high)
    least, most = (min(max(bound, element.minimum), element.maximum) for bound in bounds)
    return least, most


def mantissas(
    x: np.ndarray,
    *,
    element: FixedPoint,
    fractions: Sequence[int] | None = None,
    axis: int = 0,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Return the mantissas nearest to real numbers: rounded half to even, then limited to the format.

    Parameters
    ----------
    x : ndarray of float
        Real numbers; NaN has no mantissa and stays NaN.
    fractions : sequence of int, optional
        A fraction for each index of ``axis``, instead of the format's own.
    axis : int
        The channel axis.
    low, high : int, optional
        Tighter limits, as mantissas.

    Examples
    --------
    >>> mantissas(np.array([0.5, 1.5, 99.0]), element=FixedPoint(True, 4)).tolist()
    [0.0, 2.0, 7.0]
    """
    least, most = map(float, ends := limits(element, low, high))
    # A limit of more than 53 bits may be no float: the next one inside of it is the limit then.
    least = math.nextafter(least, math.inf) if least < ends[0] else least
    most = math.nextafter(most, -math.inf) if most > ends[1] else most
    with np.errstate(over="ignore"):  # infinity is limited like any number beyond the format
        scaled = np.asarray(x, np.float64) / _steps(element, fractions, axis, np.ndim(x))
    return np.clip(np.rint(scaled) + 0.0, least, most)  # -0.0 + 0.0 is 0.0: a mantissa has one zero


def _infer_quantise(
    x: Tensor, *, element: FixedPoint, fractions: Sequence[int] | None = None, axis: int = 0, **_: object
) -> Tensor:
    if fractions is not None and (not -len(x.shape) <= axis < len(x.shape) or x.shape[axis] != len(fractions)):
        raise TypeMismatchError(f"{len(fractions)} fractions do not fit axis {axis} of {x}")
    if not all(isinstance(fraction, int) for fraction in fractions or ()):
        raise TypeMismatchError(f"fractions are integers, got {list(fractions or ())}")
    for fraction in fractions or ():
        FixedPoint(element.signed, element.width, fraction)  # raises for an invalid fraction
    return x


@define_op(infer=_infer_quantise, elements=FLOATS)
def quantise(
    x: np.ndarray,
    *,
    element: FixedPoint,
    fractions: Sequence[int] | None = None,
    axis: int = 0,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """The nearest numbers of a fixed-point format, still as floats: rounded half to even, saturated.

    Parameters
    ----------
    x
        Any shape.
    element
        The format.
    fractions
        A binary point of its own for each index of the axis.
    axis
        The axis of the fractions.
    low
        Tighter lower limit, as a mantissa.
    high
        Tighter upper limit, as a mantissa.

    Examples
    --------
    >>> quantise(np.array([0.3, 9.0]), element=FixedPoint(True, 4, 2)).tolist()
    [0.25, 1.75]
    """
    whole = mantissas(x, element=element, fractions=fractions, axis=axis, low=low, high=high)
    return (whole * _steps(element, fractions, axis, np.ndim(x))).astype(x.dtype)


def _infer_to_fixed(x: Tensor, *, element: object, **_: object) -> Tensor:
    if not isinstance(element, FixedPoint):
        raise TypeMismatchError(f"the element must be a FixedPoint format, got {element!r}")
    return Tensor(element, x.shape, x.layout)


@define_op(level="bridge", infer=_infer_to_fixed, elements=NUMBERS)
def to_fixed(x: np.ndarray, *, element: FixedPoint, low: int | None = None, high: int | None = None) -> np.ndarray:
    """The mantissas of the nearest numbers of a fixed-point format: rounded half to even, saturated.

    Parameters
    ----------
    x
        Any shape.
    element
        The format.
    low
        Tighter lower limit, as a mantissa.
    high
        Tighter upper limit, as a mantissa.

    Examples
    --------
    >>> to_fixed(np.array([0.3, 9.0]), element=FixedPoint(True, 4, 2)).tolist()
    [1, 7]
    """
    whole = mantissas(x, element=element, low=low, high=high)
    if np.isnan(whole).any():
        raise EvaluationError("NaN has no mantissa; remove such samples, or find where they come from")
    return whole.astype(element.dtype)


def _infer_from_fixed(x: Tensor, *, fraction: int, element: Element = "f32") -> Tensor:
    check_element(element)
    if not isinstance(element, str) or element == "bool":
        raise TypeMismatchError(
            f"mantissas convert to floats or integers, not {element}; op.requantise changes the format"
        )
    return Tensor(element, x.shape, x.layout)


@define_op(level="bridge", infer=_infer_from_fixed, elements=MANTISSAS)
def from_fixed(x: np.ndarray, *, fraction: int, element: ElementName = "f32") -> np.ndarray:
    """The real numbers that mantissas stand for: ``x * 2**-fraction``.

    Parameters
    ----------
    x
        Mantissas, of any shape.
    fraction
        Number of bits after the binary point.
    element
        Element type of the result.

    Examples
    --------
    >>> from_fixed(np.array([1, 7]), fraction=2).tolist()
    [0.25, 1.75]
    """
    return hold(element, np.ldexp(x.astype(np.float64), -fraction))
