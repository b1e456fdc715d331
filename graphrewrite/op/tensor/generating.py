"""Tensors of sizes, of a range of numbers, of one value; and one-hot tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import DIAGONAL
from graphrewrite.op.domain import ANY, NUMBERS, TEXTS, check_elements
from graphrewrite.op.sizes import exceeds
from graphrewrite.op.tensor.cutting import check_whole_channels
from graphrewrite.types import (
    NAMES,
    Dimension,
    ElementName,
    Tensor,
    as_size,
    check_element,
    element_dtype,
    hold,
    integer_limits,
    size_max,
)

__all__ = ["constant_of_shape", "eye_like", "one_hot", "range_", "shape", "size"]


def _infer_shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return Tensor("i64", (len(x.shape[start:end]),))


@define_op(infer=_infer_shape, elements=ANY | TEXTS)
def shape(x: np.ndarray, *, start: int = 0, end: int | None = None) -> np.ndarray:
    """The sizes of the axes from one to before another, which is the last if not given (ONNX specification, Shape).

    Parameters
    ----------
    x
        Any shape.
    start
        First axis.
    end
        The axis before which to end; the rank if not given.

    Examples
    --------
    >>> shape(np.zeros((2, 3, 4)), start=-2).tolist()
    [3, 4]
    """
    return np.array(x.shape[start:end], np.int64)


@define_op(infer=lambda x: Tensor("i64", ()), elements=ANY | TEXTS)
def size(x: np.ndarray) -> np.ndarray:
    """The number of entries (ONNX specification, Size).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> size(np.zeros((2, 3))).item()
    6
    """
    return np.array(x.size, np.int64)


def _check_number(value: float, element: str, what: str) -> None:
    limits = integer_limits(element)
    wrong = value not in (0, 1) if element == "bool" else False
    if limits is not None:
        wrong = not limits[0] <= value <= limits[1] or value != int(value)
    if wrong:
        raise TypeMismatchError(f"{what} {value} does not fit into {element}; give another element type")


def _named(element: str) -> None:
    check_element(element)
    if element not in NAMES:
        raise TypeMismatchError(
            f"{element} has scales; create floats and convert them with op.to_fixed or op.to_quantised"
        )


def _count(start: float, limit: float, delta: float) -> int:
    return max(math.ceil((limit - start) / delta), 0)


def _open_count(start: float | str, limit: float | str, delta: float) -> Dimension:
    """Return how many whole numbers lie between two of which at least one is symbolic."""
    if delta == 0 or any(isinstance(number, float) and not number.is_integer() for number in (start, limit, delta)):
        raise TypeMismatchError(
            f"from {start} to {limit} in steps of {delta} is not a range of whole numbers; "
            "where its start or limit is symbolic, give whole numbers for the others"
        )
    first, last = (as_size(number if isinstance(number, str) else int(number)) for number in (start, limit))
    step = int(delta)
    length = last - first if step > 0 else first - last
    return size_max((length + abs(step) - 1) // abs(step), 0)


def _infer_range(*, start: float | str = 0, limit: float | str, delta: float = 1, element: str = "i64") -> Tensor:
    _named(element)
    if isinstance(start, str) or isinstance(limit, str):
        return Tensor(element, (_open_count(start, limit, delta),))
    if element == "bool" or delta == 0 or not all(map(math.isfinite, (start, limit, delta))):
        raise TypeMismatchError(f"from {start} to {limit} in steps of {delta} is not a range of {element} numbers")
    count = _count(start, limit, delta)
    for number in (start, start + delta * (count - 1)) if count else ():
        _check_number(number, element, "a row that reaches")
    return Tensor(element, (count,))


@define_op(infer=_infer_range)
def range_(
    *, start: float | Dimension = 0, limit: float | Dimension, delta: int | float = 1, element: ElementName = "i64"
) -> np.ndarray:
    """Numbers in a row: ``start + i·delta``, as long as they are before the limit (ONNX specification, Range).

    Parameters
    ----------
    start
        First number; it may be a size of the graph.
    limit
        Where to stop; it may be a size of the graph, as in ``limit="N"``.
    delta
        Distance of the numbers, not zero.
    element
        Element type of the result.

    Examples
    --------
    >>> range_(start=10, limit=4, delta=-2).tolist()
    [10, 8, 6]
    """
    start, limit = (int(number) if isinstance(number, str) else number for number in (start, limit))
    steps = np.arange(_count(start, limit, delta))
    if element_dtype(element).kind in "iu":
        # In 64 bits of the right sign: floats would round numbers beyond 2**53.
        steps = steps.astype(np.int64 if element != "u64" else np.uint64)
        return hold(element, steps * int(delta) + int(start))
    return hold(element, steps * float(delta) + float(start))


def _infer_constant_of_shape(*, shape: Sequence[Dimension], value: bool | float = 0, element: str = "f32") -> Tensor:
    _named(element)
    if any(exceeds(0, as_size(d)) for d in shape):
        raise TypeMismatchError(f"sizes are at least 0, got {list(shape)}")
    _check_number(value, element, "the value")
    return Tensor(element, tuple(shape))


@define_op(infer=_infer_constant_of_shape)
def constant_of_shape(
    *, shape: Sequence[Dimension], value: bool | int | float = 0, element: ElementName = "f32"
) -> np.ndarray:
    """One value everywhere (ONNX specification, ConstantOfShape).

    Parameters
    ----------
    shape
        Shape of the result.
    value
        The value.
    element
        Element type of the result.

    Examples
    --------
    >>> constant_of_shape(shape=(2, 1), value=3, element="i8").tolist()
    [[3], [3]]
    """
    return hold(element, np.full([int(size) for size in shape], value, element_dtype(element)))


def _infer_eye_like(x: Tensor, *, k: int = 0, element: str | None = None) -> Tensor:
    if len(x.shape) != 2:
        raise TypeMismatchError(f"{x} is not a matrix, and so has no diagonal")
    if element is None:
        check_elements(NUMBERS | {"bool"}, [x])
        return x
    _named(element)
    return Tensor(element, x.shape, x.layout)


@define_op(infer=_infer_eye_like, elements=ANY, derived=DIAGONAL)
def eye_like(x: np.ndarray, *, k: int = 0, element: ElementName | None = None) -> np.ndarray:
    """Ones on a diagonal, zeros elsewhere, in the shape of the operand (ONNX specification, EyeLike).

    Parameters
    ----------
    x
        Any matrix.
    k
        How far the diagonal lies to the right of the main one.
    element
        Element type of the result; the operand's if not given.

    Examples
    --------
    >>> eye_like(np.zeros((2, 3)), k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows, columns = x.shape
    return np.eye(rows, columns, k, dtype=x.dtype if element is None else element_dtype(element))


def _infer_one_hot(indices: Tensor, values: Tensor, *, depth: Dimension, axis: int = -1) -> Tensor:
    check_elements(NUMBERS, [indices])
    rank = len(indices.shape) + 1
    if values.shape != (2,):
        raise TypeMismatchError(f"expected two values, off and on, got {values}")
    if not -rank <= axis < rank:
        raise TypeMismatchError(f"axis {axis} is not one of the {rank} axes of the result")
    if exceeds(0, depth := as_size(depth)):
        raise TypeMismatchError(f"the depth is at least 0, got {depth}")
    check_whole_channels(values, [0])
    at = axis % rank
    return Tensor(values.element, (*indices.shape[:at], depth, *indices.shape[at:]))


@define_op(infer=_infer_one_hot)
def one_hot(indices: np.ndarray, values: np.ndarray, *, depth: Dimension, axis: int = -1) -> np.ndarray:
    """The second of two values at each index of a new axis of size ``depth``, and the first one elsewhere.

    Negative indices count from the back; where one is outside, only the first value is there (ONNX specification,
    OneHot).

    Parameters
    ----------
    indices
        Integers of any shape.
    values
        The two values [2]: elsewhere, and at the index.
    depth
        Size of the new axis.
    axis
        Where the new axis is in the result.

    Examples
    --------
    >>> one_hot(np.array([1, -1, 7]), np.array([0.0, 5.0]), depth=3).tolist()
    [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    """
    indices, size = np.asarray(indices), int(depth)
    if indices.dtype == np.uint64:  # int64 would wrap around; the axis is shorter than 2**62 anyway
        indices = np.minimum(indices, np.uint64(2**62))
    whole = np.trunc(indices) if indices.dtype.kind == "f" else indices.astype(np.int64)
    chosen = np.expand_dims(np.where(whole < 0, whole + size, whole), axis)
    rank = indices.ndim + 1
    numbers = np.arange(size).reshape([size if i == axis % rank else 1 for i in range(rank)])
    return np.asarray(np.where(chosen == numbers, values[1], values[0]))
