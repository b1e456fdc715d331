"""Products of quantised numbers: exact sums of integers, and their scales (ONNX specification)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.attribute_forms import CONVOLUTION_FORMS, Borders
from graphrewrite.op.cost import entries, of_matrices, of_weights
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import CONVOLUTION
from graphrewrite.op.domain import NUMBERS
from graphrewrite.op.nn.convolution import convolve, infer_conv
from graphrewrite.op.quantised.quantise_linear import stored, stored_element
from graphrewrite.op.tensor.linear_algebra import matmul
from graphrewrite.types import SMALL_FLOATS, Element, ElementName, Tensor, element_dtype, element_kind, element_of

__all__ = ["conv_integer", "matmul_integer", "qlinear_conv", "qlinear_matmul"]

_INTEGERS = frozenset({"integer"})

_ROWS, _COLUMNS = (-1, 1), (-1,)
"""Shapes in which one number per row, or per column, is broadcast against a matrix."""


def _spread(values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return one number as a scalar, and a vector in a shape for broadcasting."""
    values = np.asarray(values)
    return values.reshape(()) if values.size == 1 else values.reshape(shape) if values.ndim == 1 else values


def _shifted(x: np.ndarray, zero_point: np.ndarray | None, shape: Sequence[int]) -> np.ndarray:
    """Return stored numbers less their zero points: float32 holds those of 8 bits, and stored floats."""
    kind = np.float32 if x.dtype.kind not in "iu" or x.dtype.itemsize == 1 else np.int64
    return x.astype(kind) if zero_point is None else x.astype(kind) - _spread(zero_point, shape).astype(kind)


def _carrier(a: np.ndarray, b: np.ndarray, count: int, *, whole: bool) -> Any:
    """Return the fastest dtype in which every partial sum of so many products is exact, in any order (IEEE 754)."""
    if not whole:
        return np.float32
    bound = math.prod(max(float(v.max(initial=0)), -float(v.min(initial=0))) for v in (a, b)) * count
    return np.float32 if bound <= 1 << 24 else np.float64 if bound <= 1 << 53 else np.int64


def _products(a: np.ndarray, b: np.ndarray, *, whole: bool = True) -> np.ndarray:
    """Return the matrix product of shifted numbers, of integers in 32 bits."""
    kind = _carrier(a, b, a.shape[-1], whole=whole)
    y = np.asarray(np.matmul(a.astype(kind, copy=False), b.astype(kind, copy=False)))
    return _wrapped(y) if whole else y


def _convolved(x: np.ndarray, w: np.ndarray, **attributes: Any) -> np.ndarray:
    """Return the convolution of shifted integers; zero padding then stands for the zero point."""
    kind = _carrier(x, w, int(np.prod(w.shape[1:])), whole=True)
    return convolve(x.astype(kind, copy=False), w.astype(kind, copy=False), **attributes)


def _wrapped(y: np.ndarray) -> np.ndarray:
    """Return the lower 32 bits."""
    return y.astype(np.int64).astype(np.int32)  # integers wrap around; of floats beyond int32 numpy leaves it open


def _no_zero_point(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
    """Return a zero point of zero, in the type of the operand that it belongs to."""
    return np.zeros((), element_dtype(types[0].element))


def _infer_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the type of a matrix product of operands that need not have one element type."""
    (product,) = matmul.infer(Tensor("f32", a.shape), Tensor("f32", b.shape))
    return product  # type: ignore[return-value]  # a tensor


_ONE: tuple[tuple[int, ...], ...] = ((), (1,))
"""Shapes of a single number."""


def _check_single(role: str, *kinds: Tensor | None) -> None:
    for kind in kinds:
        if kind is not None and kind.shape not in _ONE:
            raise TypeMismatchError(f"{role} is one number, got {kind}")


def _check_side(role: str, kind: Tensor | None, matrix: Tensor, *, row: bool) -> None:
    """Raise unless there is one number, one per row of the first matrix, or one per column of the second."""
    if kind is None or kind.shape in _ONE:
        return
    rank = len(matrix.shape)
    size = matrix.shape[-2 if row else -1] if rank > 1 else None
    whole = (*matrix.shape[:-2], size, 1) if row else (*matrix.shape[:-2], 1, size)
    if rank < 2 or kind.shape not in ((size,), whole) or (rank > 2 and kind.shape != whole):
        raise TypeMismatchError(
            f"{role} is one number, or one per {'row' if row else 'column'} of {matrix}, got {kind}"
        )


def _check_outputs(role: str, kind: Tensor | None, w: Tensor) -> None:
    if kind is not None and kind.shape not in (*_ONE, w.shape[:1]):
        raise TypeMismatchError(f"{role} is one number, or one per output of {w}, got {kind}")


def _check_stored(role: str, zero_point: Tensor | None, kind: Tensor) -> None:
    if zero_point is not None and zero_point.element != kind.element:
        raise TypeMismatchError(f"the zero point of {role} is {zero_point.element}, but {role} is {kind}")


def _infer_matmul_integer(
    a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None
) -> Tensor:
    _check_stored("a", a_zero_point, a)
    _check_stored("b", b_zero_point, b)
    _check_side("the zero point of a", a_zero_point, a, row=True)
    _check_side("the zero point of b", b_zero_point, b, row=False)
    return Tensor("i32", _infer_product(a, b).shape)


@define_op(infer=_infer_matmul_integer, elements=_INTEGERS, cost=of_matrices, neutral={"a_zero_point": _no_zero_point})
def matmul_integer(
    a: np.ndarray, b: np.ndarray, a_zero_point: np.ndarray | None = None, b_zero_point: np.ndarray | None = None
) -> np.ndarray:
    """Matrix product of integers less their zero points, in 32 bits (ONNX specification, MatMulInteger).

    Parameters
    ----------
    a
        Matrices [..., M, K] of 8-bit integers.
    b
        Matrices [..., K, N] of 8-bit integers.
    a_zero_point
        One number, or one a row; 0 if not given.
    b_zero_point
        One number, or one a column; 0 if not given.

    Examples
    --------
    >>> matmul_integer(np.array([[11, 7]], np.uint8), np.array([[1], [4]], np.uint8), np.array(12, np.uint8)).tolist()
    [[-21]]
    """
    return _products(_shifted(a, a_zero_point, _ROWS), _shifted(b, b_zero_point, _COLUMNS))


def _infer_conv_integer(
    x: Tensor, w: Tensor, x_zero_point: Tensor | None = None, w_zero_point: Tensor | None = None, **attributes: Any
) -> Tensor:
    _check_stored("x", x_zero_point, x)
    _check_stored("w", w_zero_point, w)
    _check_single("the zero point of x", x_zero_point)
    _check_outputs("the zero point of w", w_zero_point, w)
    return Tensor("i32", infer_conv(x, w, **attributes).shape)


@define_op(
    infer=_infer_conv_integer,
    elements=_INTEGERS,
    axes="NC*, OI*, O, O -> NC*",
    derived={word: meaning for word, meaning in CONVOLUTION.items() if word != "bias"},
    cost=of_weights,
    neutral={"x_zero_point": _no_zero_point},
    forms=CONVOLUTION_FORMS,
)
def conv_integer(
    x: np.ndarray,
    w: np.ndarray,
    x_zero_point: np.ndarray | None = None,
    w_zero_point: np.ndarray | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """Convolution of integers less their zero points, in 32 bits; the border holds zeros (ONNX, ConvInteger).

    Parameters
    ----------
    x
        Input [N, C, …] of 8-bit integers.
    w
        Weights [O, C/groups, …] of 8-bit integers.
    x_zero_point
        One number; 0 if not given.
    w_zero_point
        One number, or one an output; 0 if not given.
    strides
        Step of the windows along each axis.
    pads
        Border around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.

    Examples
    --------
    >>> conv_integer(np.array([[[2, 3, 4]]], np.uint8), np.array([[[1, 1]]], np.uint8), np.array(1, np.uint8)).tolist()
    [[[3, 5]]]
    """
    inputs, weights = _shifted(x, x_zero_point, ()), _shifted(w, w_zero_point, (-1, *[1] * (w.ndim - 1)))
    return _wrapped(_convolved(inputs, weights, strides=strides, pads=pads, dilations=dilations, groups=groups))


def _scaled(sums: np.ndarray, factor: np.ndarray, zero_point: np.ndarray, element: str | None) -> np.ndarray:
    """Return sums in the scale of the result: rounded half to even, shifted and saturated."""
    target = stored_element(element_of(zero_point.dtype), None) if element is None else element
    kind = np.float32 if target in SMALL_FLOATS else np.float64
    with np.errstate(all="ignore"):
        return stored(sums.astype(kind) * factor.astype(kind), zero_point, target)


def _infer_stored(shape: Any, y_zero_point: Tensor, element: Element | None, *scales: Tensor) -> Tensor:
    for scale in scales:
        if element_kind(scale.element) != "float":
            raise TypeMismatchError(f"scales are floats, got {scale}")
    return Tensor(stored_element(y_zero_point.element, element), shape)


def _infer_qlinear_matmul(
    a: Tensor,
    a_scale: Tensor,
    a_zero_point: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    *,
    element: Element | None = None,
) -> Tensor:
    _check_stored("a", a_zero_point, a)
    _check_stored("b", b_zero_point, b)
    result = _infer_product(a, b)
    for role, kinds, matrix, row in (
        ("a", (a_scale, a_zero_point), a, True),
        ("b", (b_scale, b_zero_point), b, False),
        ("y", (y_scale, y_zero_point), result, True),
    ):
        for what, kind in zip(("scale", "zero point"), kinds, strict=True):
            _check_side(f"the {what} of {role}", kind, matrix, row=row)
    return _infer_stored(result.shape, y_zero_point, element, a_scale, b_scale, y_scale)


@define_op(infer=_infer_qlinear_matmul, elements=NUMBERS, cost=of_matrices)
def qlinear_matmul(
    a: np.ndarray,
    a_scale: np.ndarray,
    a_zero_point: np.ndarray,
    b: np.ndarray,
    b_scale: np.ndarray,
    b_zero_point: np.ndarray,
    y_scale: np.ndarray,
    y_zero_point: np.ndarray,
    *,
    element: ElementName | None = None,
) -> np.ndarray:
    """Matrix product of quantised numbers: ``round((a - za) @ (b - zb) * (sa*sb/sy)) + zy``, saturated.

    ONNX specification, QLinearMatMul.

    Parameters
    ----------
    a
        Stored matrices [..., M, K].
    a_scale
        Its scale: one number, or one a row.
    a_zero_point
        Its zero point, in the shape of the scale.
    b
        Stored matrices [..., K, N].
    b_scale
        Its scale: one number, or one a column.
    b_zero_point
        Its zero point, in the shape of the scale.
    y_scale
        Scale of the result: one number, or one a row.
    y_zero_point
        Zero point of the result, in the shape of its scale.
    element
        Element type of the result, as of `quantize_linear`.

    Examples
    --------
    >>> a, one = np.array([[4, 6]], np.uint8), np.array(1, np.uint8)
    >>> qlinear_matmul(a, np.array(0.5), one, a.T, np.array(0.5), one, np.array(1.0), one).tolist()
    [[9]]
    """
    rows, columns = _spread(a_scale, _ROWS), _spread(b_scale, _COLUMNS)
    rows = rows.squeeze(-1) if b.ndim == 1 and rows.ndim > 1 else rows  # sums lack an axis beside a vector
    columns = columns.squeeze(-2) if a.ndim == 1 and columns.ndim > 1 else columns
    whole = {a.dtype.kind, b.dtype.kind} <= {"i", "u"}
    sums = _products(_shifted(a, a_zero_point, _ROWS), _shifted(b, b_zero_point, _COLUMNS), whole=whole)
    return _scaled(sums, rows * columns / _spread(y_scale, _ROWS), _spread(y_zero_point, _ROWS), element)


def _infer_qlinear_conv(
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Tensor,
    b: Tensor | None = None,
    *,
    element: Element | None = None,
    **attributes: Any,
) -> Tensor:
    for kind in (x, w, b):
        if kind is not None and element_kind(kind.element) != "integer":
            raise TypeMismatchError(f"convolves integers, not {kind.element}; op.conv convolves floats")
    _check_stored("x", x_zero_point, x)
    _check_stored("w", w_zero_point, w)
    _check_single("a scale or zero point of x or y", x_scale, x_zero_point, y_scale, y_zero_point)
    _check_outputs("the scale of w", w_scale, w)
    _check_outputs("the zero point of w", w_zero_point, w)
    shape = infer_conv(x, w, b, **attributes).shape
    return _infer_stored(shape, y_zero_point, element, x_scale, w_scale, y_scale)


def _qlinear_conv_cost(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    return entries(result.shape) * entries(types[3].shape[1:])


@define_op(
    infer=_infer_qlinear_conv,
    elements=NUMBERS,
    axes="NC*, O, O, OI*, O, O, O, O, O -> NC*",
    forms=CONVOLUTION_FORMS | {"pads": Borders(weights=3)},
    cost=_qlinear_conv_cost,
)
def qlinear_conv(
    x: np.ndarray,
    x_scale: np.ndarray,
    x_zero_point: np.ndarray,
    w: np.ndarray,
    w_scale: np.ndarray,
    w_zero_point: np.ndarray,
    y_scale: np.ndarray,
    y_zero_point: np.ndarray,
    b: np.ndarray | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1),
    groups: int = 1,
    element: ElementName | None = None,
) -> np.ndarray:
    """Convolution of quantised numbers: ``round((conv(x - zx, w - zw) + b) * (sx*sw/sy)) + zy``, saturated.

    ONNX specification, QLinearConv.

    Parameters
    ----------
    x
        Stored input [N, C, …].
    x_scale
        Its scale: one number.
    x_zero_point
        Its zero point, in the shape of the scale.
    w
        Stored weights [O, C/groups, …].
    w_scale
        Its scale: one number, or one an output.
    w_zero_point
        Its zero point, in the shape of the scale.
    y_scale
        Scale of the result: one number.
    y_zero_point
        Zero point of the result, in the shape of its scale.
    b
        Bias [O], in 32 bits and the scale ``sx*sw``.
    strides
        Step of the windows along each axis.
    pads
        Border around the positions: all begins, then all ends.
    dilations
        Distance of a window's entries along each axis.
    groups
        Number of groups of channels, each convolved by itself.
    element
        Element type of the result, as of `quantize_linear`.

    Examples
    --------
    >>> x, w, zero = np.array([[[4, 6]]], np.uint8), np.array([[[2]]], np.uint8), np.array(0, np.uint8)
    >>> qlinear_conv(x, np.array(0.5), zero, w, np.array(1.0), zero, np.array(2.0), zero).tolist()
    [[[2, 3]]]
    """
    outputs = (-1, *[1] * (w.ndim - 2))  # of the result, whose batch stands in front; weights have one axis more
    inputs, weights = _shifted(x, x_zero_point, ()), _shifted(w, w_zero_point, (*outputs, 1))
    sums = _wrapped(_convolved(inputs, weights, strides=strides, pads=pads, dilations=dilations, groups=groups))
    if b is not None:
        sums = sums + _spread(b, outputs).astype(np.int32)
    factor = _spread(x_scale, ()) * _spread(w_scale, outputs) / _spread(y_scale, ())
    return _scaled(sums, factor, _spread(y_zero_point, ()), element)
