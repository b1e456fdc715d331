"""Literal operands: the array and the type of a number or an array that an op meets among values of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import (
    HELD_WIDER,
    OBJECT,
    SHORT_INTEGERS,
    SMALL_FLOATS,
    ElementType,
    FixedPoint,
    Tensor,
    Type,
    contradiction,
    element_dtype,
    element_of,
    hold,
)

__all__ = ["as_constant", "constant_type"]


def as_constant(value: Any, like: Type | None = None) -> np.ndarray:
    """Return the array of a literal operand: a bare number takes the element type of the values that it meets.

    So does an array of numpy's that holds an element type which numpy has not: float32 that meets bfloat16 is rounded.
    Floats of 8 and 4 bits meet scales that they are not: there an array is what its dtype says.

    Parameters
    ----------
    value : array-like
        An array or a number.
    like : Tensor or Stream, optional
        The type of another operand.
    """
    if not isinstance(value, int | float | bool) or like is None or like.element == OBJECT:
        array = np.asarray(value)
        return (
            hold("bf16", array) if like is not None and like.element == "bf16" and array.dtype == np.float32 else array
        )
    try:
        array = np.asarray(value, element_dtype(like.element))
    except (OverflowError, ValueError) as error:
        raise TypeMismatchError(f"{value} is not a number of {like.element}: {error}") from error
    return hold(like.element, array) if like.element in HELD_WIDER and array.dtype == np.float32 else array


def constant_type(array: np.ndarray, value: Any, like: Type | None = None) -> Tensor:
    """Return the type of a literal operand, whose array comes from `as_constant`.

    Parameters
    ----------
    array : ndarray
        The array.
    value : array-like
        The literal: a bare number has the element type of the values that it meets, as a mantissa of those of
        fixed point, and so has an array in the dtype in which bf16, i4, u4, i2 and u2 are held.
    like : Tensor or Stream, optional
        The type of another operand.

    Raises
    ------
    TypeMismatchError
        If the element type has no such number.

    Examples
    --------
    >>> x = Tensor("i4", ("N",))
    >>> print(constant_type(as_constant(7, x), 7, x))
    i4[]
    """
    if array.dtype == object:
        raise TypeMismatchError(
            f"the operand {value!r:.60} is no array of numbers or texts, and no constant can hold it; give an input, "
            "or the result of an op without operands"
        )
    element = None if like is None or like.element == OBJECT else like.element
    is_number = isinstance(value, int | float | bool)
    is_mantissa = is_number and (isinstance(element, FixedPoint | ElementType) or element in SMALL_FLOATS)
    # Element types that numpy lacks are recognised by the dtype that holds them.
    is_held = element in SHORT_INTEGERS | {"bf16"} and array.dtype == element_dtype(str(element))
    if element is None or not (is_mantissa or is_held):
        return Tensor(element_of(array.dtype), array.shape)
    kind = Tensor(element, array.shape)
    wrong = contradiction(kind, array)
    if wrong is not None:
        raise TypeMismatchError(f"the operand {value} {wrong}" if not array.ndim else f"an operand {wrong}")
    return kind
