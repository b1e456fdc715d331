"""Matrix products, fully-connected layers and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.cost import of_matrices, of_weights
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.derived import FULLY_CONNECTED, GENERAL_PRODUCT
from graphrewrite.op.domain import FLOATS, NUMBERS, one_element
from graphrewrite.op.precision import matrix_product, narrowed, times_weights, widened
from graphrewrite.op.sizes import advice, shown
from graphrewrite.types import Dimension, Tensor

__all__ = ["check_bias", "det", "gemm", "infer_linear", "linear", "matmul", "scaled"]


def _infer_matmul(x: Tensor, y: Tensor) -> Tensor:
    one_element(x, y)
    if not x.shape or not y.shape:
        raise TypeMismatchError(f"expected vectors or matrices, got {x} and {y}; use op.mul for scalars")
    if x.shape[-1] != y.shape[-2:][0]:
        which = "last but one" if len(y.shape) > 1 else "size"
        raise TypeMismatchError(
            f"the last size of {x} must be the {which} of {y}{advice(x.shape[-1], y.shape[-2:][0])}"
        )
    rows, columns = x.shape[:-1][-1:], y.shape[-1:] if len(y.shape) > 1 else ()
    return Tensor(x.element, (*broadcast_shape(x.shape[:-2], y.shape[:-2]), *rows, *columns))


@define_op(infer=_infer_matmul, elements=NUMBERS, cost=of_matrices)
def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Matrix product over the last two axes, broadcast over the others (numpy.matmul).

    A vector on the left is a row, and one on the right a column, of which the axis of size 1 is left out of the result.

    Parameters
    ----------
    x
        Matrices [..., M, K], or a vector [K].
    y
        Matrices [..., K, N], or a vector [K].

    Examples
    --------
    >>> matmul(np.eye(2), np.array([[1.0], [2.0]])).tolist()
    [[1.0], [2.0]]
    """
    return matrix_product(x, y)


def check_bias(b: Tensor | None, size: Dimension) -> None:
    """Raise unless a layer has no bias, or one entry of it per output."""
    if b is not None and b.shape != (size,):
        raise TypeMismatchError(f"the bias has shape {shown(b.shape)}, not [{size}]")


def infer_linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """Infer the type of a fully-connected layer."""
    if len(x.shape) != 2 or len(w.shape) != 2 or x.shape[1] != w.shape[1]:
        raise TypeMismatchError(f"input [N,I] needs weights [O,I], got {x} and {w}; flatten the input first")
    check_bias(b, w.shape[0])
    return Tensor(x.element, (x.shape[0], w.shape[0]))


def _infer_linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    one_element(x, w, b)
    return infer_linear(x, w, b)


@define_op(infer=_infer_linear, elements=NUMBERS, axes="NC, OI, O -> NC", derived=FULLY_CONNECTED, cost=of_weights)
def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Fully-connected layer ``x @ w.T + b``; weights [O, I], bias [O].

    Parameters
    ----------
    x
        Input [..., I].
    w
        Weights [O, I].
    b
        Bias [O].

    Examples
    --------
    >>> linear(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([0.5])).tolist()
    [[11.5]]
    """
    y = times_weights(x, w.T)
    if b is not None:
        y += b  # in place: the product is an array of its own
    return y


def _infer_gemm(x: Tensor, w: Tensor, b: Tensor | None = None, *, trans_a: bool, trans_b: bool, **_: Any) -> Tensor:
    if len(x.shape) != 2 or len(w.shape) != 2:
        raise TypeMismatchError(f"gemm multiplies two matrices, got {x} and {w}; op.matmul takes more axes")
    one_element(x, w, b)
    rows, inner = x.shape[::-1] if trans_a else x.shape
    same, columns = w.shape[::-1] if trans_b else w.shape
    if inner != same:
        raise TypeMismatchError(f"the inner sizes of the matrices differ, got {x} and {w}{advice(inner, same)}")
    result = Tensor(x.element, (rows, columns))
    if b is not None and broadcast_shape(result.shape, b.shape) != result.shape:
        raise TypeMismatchError(f"the addend {b} does not broadcast to {result}")
    return result


@define_op(infer=_infer_gemm, elements=NUMBERS, derived=GENERAL_PRODUCT, cost=of_matrices)
def gemm(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
) -> np.ndarray:
    """General matrix product ``alpha * A @ B + beta * C`` (ONNX specification, Gemm).

    Parameters
    ----------
    x
        Matrix [M, K], or [K, M] where it is transposed.
    w
        Matrix [K, N], or [N, K] where it is transposed.
    b
        What is added; broadcast to [M, N].
    alpha
        Factor of the product.
    beta
        Factor of what is added.
    trans_a
        Whether the first matrix is transposed.
    trans_b
        Whether the second matrix is transposed.

    Examples
    --------
    >>> gemm(np.eye(2), np.array([[1.0, 2.0]]), trans_b=True, alpha=2.0).tolist()
    [[2.0], [4.0]]
    """
    y = scaled(times_weights(x.T if trans_a else x, w.T if trans_b else w), alpha)
    if b is not None:
        y += scaled(b, beta)
    return y


def scaled(y: np.ndarray, factor: float) -> np.ndarray:
    """Return an array times a number, in the element type of the array.

    Examples
    --------
    >>> scaled(np.array([1, 2], np.int8), 2.5).tolist()
    [2, 4]
    """
    if factor == 1:
        return y
    # Of integers the whole part, modulo their range: a sum is subtracted of unsigned ones, too.
    return y * np.asarray(factor if y.dtype.kind == "f" else int(factor)).astype(y.dtype)


def _infer_det(x: Tensor) -> Tensor:
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise TypeMismatchError(f"square matrices […,M,M] have a determinant, got {x}")
    return Tensor(x.element, x.shape[:-2])


@define_op(infer=_infer_det, elements=FLOATS)
def det(x: np.ndarray) -> np.ndarray:
    """Determinant of each square matrix of the last two axes (ONNX specification, Det).

    Parameters
    ----------
    x
        Matrices [..., M, M].

    Examples
    --------
    >>> det(np.array([[2.0, 1.0], [0.0, 3.0]])).round(6).tolist()
    6.0
    """
    return narrowed(np.asarray(np.linalg.det(widened(x))), x)
