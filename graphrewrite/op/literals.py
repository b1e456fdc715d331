"""Literal operands: the array and the type of a number or an array that an op meets among values of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from graphrewrite.op.op import Op

__all__ = ["as_constant", "constant_type", "met_by"]


def met_by(op: Op, operands: Sequence[Any], types: Sequence[Type | None], attributes: dict[str, Any]) -> Type | None:
    """Return the type whose elements bare numbers among some operands have: the first one with which the op takes them.

    Parameters
    ----------
    op : Op
        What reads the operands.
    operands : sequence
        Numbers, arrays, and whatever stands for a value.
    types : sequence of Tensor, Stream or None
        Of the values; None for numbers and arrays.
    attributes : dict
        Attributes of the op.

    Examples
    --------
    >>> from graphrewrite import op
    >>> mask, x = Tensor("bool", ("N",)), Tensor("f32", ("N",))
    >>> print(met_by(op.where, [mask, x, 0.0], [mask, x, None], {}))
    f32[N]
    """
    known = {kind.element: kind for kind in reversed([t for t in types if t is not None])}
    first = next((kind for kind in types if kind is not None), None)
    if len(known) < 2 or not any(isinstance(x, int | float | bool) for x in operands):
        return first
    for kind in dict.fromkeys(known[t.element] for t in types if t is not None):
        with suppress(TypeMismatchError):
            tried = [
                constant_type(as_constant(x, kind), x, kind) if t is None else t
                for x, t in zip(operands, types, strict=True)
            ]
            op.result_types(tuple(tried), op.settled(attributes, tried))
            return kind
    return first


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
