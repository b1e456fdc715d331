"""Exact integer arithmetic on mantissas, by float matrix products where these are provably exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import CONVOLUTION_FORMS
from graphrewrite.op.axes import common_layout
from graphrewrite.op.cost import of_weights
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.derived import CONVOLUTION, FULLY_CONNECTED
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.op.nn.convolution import convolve, infer_conv
from graphrewrite.op.tensor.linear_algebra import infer_linear
from graphrewrite.types import FixedPoint, Tensor

__all__ = [
    "check_shifts",
    "exact_matmul",
    "integer_add",
    "integer_conv",
    "integer_linear",
    "narrowed",
    "requantise",
    "round_shift",
]

_MOST = 2**63 - 1


def exact_matmul(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the exact product of integer matrices.

    Every partial sum is bounded by the greatest ``|x|`` that the type of ``x`` can hold times the greatest column sum
    of ``|w|``. Below 2**24 all of them are float32 numbers, below 2**53 float64 numbers (IEEE 754-2019, 3.6), in
    whatever order they are summed; only above that integer loops are needed.

    Examples
    --------
    >>> exact_matmul(np.array([[3]], np.int8), np.array([[-5]])).tolist()
    [[-15.0]]
    """
    limits = np.iinfo(x.dtype)
    bound = max(limits.max, -limits.min) * (int(np.abs(w.astype(np.int64)).sum(axis=0).max()) if w.size else 0)
    kind = np.float32 if bound <= 1 << 24 else np.float64 if bound <= 1 << 53 else np.int64
    return np.asarray(np.matmul(x.astype(kind), w.astype(kind)))


def round_shift(x: np.ndarray, shift: int | np.ndarray) -> np.ndarray:
    """Return ``x / 2**shift``, rounded half to even; a negative shift multiplies.

    Examples
    --------
    >>> round_shift(np.array([1, 3, 5, -1, -3]), 1).tolist()
    [0, 2, 2, 0, -2]
    >>> round_shift(np.array([-(2**63), 0, 5]), 64).tolist()
    [0, 0, 0]
    """
    down, up = np.maximum(shift, 0), np.maximum(np.negative(shift), 0)
    half = np.where(down > 0, np.left_shift(1, np.maximum(down - 1, 0)), 0)
    whole = np.right_shift(x, down)
    rest = x - np.left_shift(whole, down)  # not negative, and no step exceeds x, which may be the greatest int64
    rounded = whole + np.where(rest > half - (whole & 1), 1, 0)
    shifted = np.left_shift(np.where(down > 0, rounded, whole), up)
    return np.asarray(np.where(down > 63, 0, shifted), np.int64)  # at most half of one is left, which rounds to even


def narrowed(x: np.ndarray, shift: int | np.ndarray, low: int, high: int) -> np.ndarray:
    """Return ``x / 2**shift``, rounded half to even, and then limited.

    Examples
    --------
    >>> narrowed(np.array([6, 2**63 - 1]), -2, -128, 127).tolist()
    [24, 127]
    >>> narrowed(np.array([-1, 0, 1]), -70, -128, 127).tolist()
    [-128, 0, 127]
    """
    numbers = (np.minimum(x, np.uint64(_MOST)) if x.dtype == np.uint64 else x).astype(np.int64)
    up = np.maximum(np.negative(shift), 0)
    if np.any(up):  # numbers beyond the limits stay beyond them: limited first, they are not shifted out of the word
        least = np.where(up > 0, np.right_shift(low, up), -_MOST - 1)
        most = np.where(up > 0, np.right_shift(high, up) + 1, _MOST)
        numbers = np.clip(numbers, least, most)
        # What leaves the word beyond them, too: any number but 0.
        shifted = np.where(up > 62, np.sign(numbers) * _MOST, round_shift(numbers, shift))
        return np.clip(shifted, low, high)
    return np.clip(round_shift(numbers, shift), low, high)


def _infer_linear(x: Tensor, w: Tensor, b: Tensor, *, element: FixedPoint) -> Tensor:
    return Tensor(element, infer_linear(x, w, b).shape)


@define_op(
    level="integer",
    infer=_infer_linear,
    elements=MANTISSAS,
    axes="NC, OI, O -> NC",
    derived=FULLY_CONNECTED,
    cost=of_weights,
)
def integer_linear(x: np.ndarray, w: np.ndarray, b: np.ndarray, *, element: FixedPoint) -> np.ndarray:
    """Fully-connected layer on mantissas with an exact accumulator of the format ``element``.

    Parameters
    ----------
    x
        Mantissas [..., I].
    w
        Weights [O, I], as mantissas.
    b
        Bias [O], as mantissas of the accumulator's scale.
    element
        Format of the result.

    Examples
    --------
    >>> x, w = np.array([[1, 2]], np.int8), np.array([[3, 4]])
    >>> integer_linear(x, w, np.array([5]), element=FixedPoint(True, 8)).tolist()
    [[16]]
    """
    return _accumulate(exact_matmul(x, w.T), b, element)


def _accumulate(products: np.ndarray, b: np.ndarray, element: FixedPoint) -> np.ndarray:
    # The sum with the bias fits the accumulator, up to 24 bits of which are exact in float32, and up to 53 in float64.
    wide = products if products.dtype == np.int64 or element.width <= 24 else products.astype(np.float64)
    return (wide + b.astype(wide.dtype)).astype(element.dtype)


def _infer_conv(x: Tensor, w: Tensor, b: Tensor, *, element: FixedPoint, **attributes: object) -> Tensor:
    return Tensor(element, infer_conv(x, w, b, **attributes).shape)  # type: ignore[arg-type]  # passed on as they came


@define_op(
    level="integer",
    infer=_infer_conv,
    elements=MANTISSAS,
    axes="NC*, OI*, O -> NC*",
    derived=CONVOLUTION,
    forms=CONVOLUTION_FORMS,
    cost=of_weights,
)
def integer_conv(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    *,
    element: FixedPoint,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolution on mantissas with an exact accumulator of the format ``element``.

    Parameters
    ----------
    x
        Mantissas [N, C, …].
    w
        Weights [O, C/groups, …], as mantissas.
    b
        Bias [O], as mantissas of the accumulator's scale.
    element
        Format of the result.
    strides
        Step of the windows along each axis.
    pads
        Zeros around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.

    Examples
    --------
    >>> x, w = np.full((1, 1, 2, 2), 3, np.int8), np.ones((1, 1, 2, 2), np.int8)
    >>> integer_conv(x, w, np.array([1]), element=FixedPoint(True, 8)).tolist()
    [[[[13]]]]
    """
    y = convolve(x, w, strides=strides, pads=pads, dilations=dilations, groups=groups, product=exact_matmul)
    return _accumulate(y, b.reshape(-1, *[1] * (x.ndim - 2)), element)


def check_shifts(shifts: Sequence[int]) -> None:
    """Raise unless there is a shift to the left, or none, for each of two operands: exact results drop no bits.

    Examples
    --------
    >>> check_shifts((2, 0))
    """
    if len(shifts) != 2 or not all(isinstance(shift, int) for shift in shifts) or min(shifts) < 0:
        raise TypeMismatchError(
            f"shifts {list(shifts)} must be one per operand and not negative: an exact sum only shifts left"
        )


def _infer_add(x: Tensor, y: Tensor, *, element: FixedPoint, shifts: Sequence[int] = (0, 0)) -> Tensor:
    check_shifts(shifts)
    shape = broadcast_shape(x.shape, y.shape)
    return Tensor(element, shape, common_layout((x, y), len(shape)))


@define_op(level="integer", infer=_infer_add, elements=MANTISSAS)
def integer_add(x: np.ndarray, y: np.ndarray, *, element: FixedPoint, shifts: Sequence[int] = (0, 0)) -> np.ndarray:
    """Exact sum ``(x << shifts[0]) + (y << shifts[1])`` of mantissas whose binary points differ.

    Parameters
    ----------
    x, y
        Mantissas; shapes broadcast.
    element
        Format of the result.
    shifts
        Number of bits by which each operand is shifted left.

    Examples
    --------
    >>> integer_add(np.array([1]), np.array([3]), element=FixedPoint(True, 8), shifts=(2, 0)).tolist()
    [7]
    """
    return ((x.astype(np.int64) << shifts[0]) + (y.astype(np.int64) << shifts[1])).astype(element.dtype)


def _infer_requantise(x: Tensor, *, shift: int | Sequence[int], element: FixedPoint, **_: object) -> Tensor:
    if not isinstance(shift, int):
        channels = x.shape[1] if len(x.shape) > 1 and (x.layout or "NC")[1] == "C" else "no"
        if len(shift) != channels:
            raise TypeMismatchError(f"{len(shift)} shifts do not fit the {channels} channels of {x}")
        if not all(isinstance(bits, int) for bits in shift):
            raise TypeMismatchError(f"shifts are integers, got {list(shift)}")
    return Tensor(element, x.shape)


@define_op(level="integer", infer=_infer_requantise, elements=MANTISSAS, axes="[NC*] -> [NC*]")
def requantise(
    x: np.ndarray, *, shift: int | Sequence[int], element: FixedPoint, low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Mantissas of a narrower format: ``x / 2**shift``, rounded half to even and saturated.

    This is the one place where the integer level rounds and saturates.

    Parameters
    ----------
    x
        Mantissas [N, C, …].
    shift
        Number of bits; a sequence holds one a channel (axis 1).
    element
        Format of the result.
    low
        Tighter lower limit.
    high
        Tighter upper limit.

    Examples
    --------
    >>> requantise(np.array([[6, 10, 999]]), shift=2, element=FixedPoint(True, 8)).tolist()
    [[2, 2, 127]]
    """
    by = shift if isinstance(shift, int) else np.asarray(shift).reshape(-1, *[1] * (x.ndim - 2))
    return narrowed(x, by, *limits(element, low, high)).astype(element.dtype)
