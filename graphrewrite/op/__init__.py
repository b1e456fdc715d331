"""The op library, and the one notation: ``op.relu(op.conv(x, w))`` computes, builds a node, or is a pattern.

An op is a value (`graphrewrite.op.define.Op`), made of a numpy function by `define_op`. Called with arrays it computes;
with values of a graph it adds a node; with variables of a rule it is a pattern.

Examples
--------
>>> import numpy as np
>>> from graphrewrite import op
>>> op.relu(np.array([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, UnknownOpError, did_you_mean
from graphrewrite.op import (
    activation,
    approximated,
    arithmetic,
    comparison,
    contraction,
    conversion,
    convolution,
    elementary,
    fixed,
    gathering,
    generating,
    integer,
    linear_algebra,
    logic,
    mantissas,
    normalisation,
    pooling,
    qonnx,
    quantise_linear,
    quantised,
    quantised_product,
    rearranging,
    recurrent,
    reduce,
    reduction,
    resizing,
    scattering,
    shapes,
    slicing,
    smooth_activation,
    stateful,
    structure,
    training,
    transposed_convolution,
    window_pooling,
)
from graphrewrite.op.convolution import depthwise_conv
from graphrewrite.op.define import define_op
from graphrewrite.op.generic import generic
from graphrewrite.op.op import Op
from graphrewrite.types import (
    HELD_WIDER,
    SHORT_INTEGERS,
    SMALL_FLOATS,
    FixedPoint,
    Tensor,
    Type,
    contradiction,
    element_dtype,
    element_of,
    hold,
)

__all__ = ["LIBRARY", "Op", "as_constant", "constant_type", "define_op", "depthwise_conv", "find_op", "generic"]

_FAMILIES = (
    activation,
    approximated,
    arithmetic,
    comparison,
    contraction,
    conversion,
    convolution,
    elementary,
    fixed,
    gathering,
    generating,
    integer,
    linear_algebra,
    logic,
    mantissas,
    normalisation,
    pooling,
    qonnx,
    quantise_linear,
    quantised,
    quantised_product,
    rearranging,
    recurrent,
    reduce,
    reduction,
    resizing,
    scattering,
    shapes,
    slicing,
    smooth_activation,
    stateful,
    structure,
    training,
    transposed_convolution,
    window_pooling,
)

LIBRARY: dict[str, Op] = {
    found.name: found for family in _FAMILIES for found in vars(family).values() if isinstance(found, Op)
}
"""Every op of the library by name."""


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

    Returns
    -------
    ndarray
    """
    if not isinstance(value, int | float | bool) or like is None:
        array = np.asarray(value)
        return (
            hold("bf16", array) if like is not None and like.element == "bf16" and array.dtype == np.float32 else array
        )
    try:
        array = np.asarray(value, element_dtype(like.element))
    except (OverflowError, ValueError) as error:
        raise TypeMismatchError(f"{value} is no number of {like.element}: {error}") from error
    return hold(like.element, array) if like.element in HELD_WIDER and array.dtype == np.float32 else array


def constant_type(array: np.ndarray, value: Any, like: Type | None = None) -> Tensor:
    """Return the type of a literal operand that `as_constant` has made an array of.

    Parameters
    ----------
    array : ndarray
        The array.
    value : array-like
        What it was made of: a bare number has the element type of the values that it meets, as a mantissa of those of
        fixed point, and so has an array in the dtype in which bf16, i4, u4, i2 and u2 are held.
    like : Tensor or Stream, optional
        The type of another operand.

    Returns
    -------
    Tensor

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
    if like is None:
        return Tensor(element_of(array.dtype), array.shape)
    is_number = isinstance(value, int | float | bool)
    is_mantissa = is_number and (isinstance(like.element, FixedPoint) or like.element in SMALL_FLOATS)
    if is_mantissa or (like.element in SHORT_INTEGERS | {"bf16"} and array.dtype == element_dtype(like.element)):
        kind = Tensor(like.element, array.shape)
        wrong = contradiction(kind, array)
        if wrong is not None:
            raise TypeMismatchError(f"the operand {value} {wrong}" if not array.ndim else f"an operand {wrong}")
        return kind
    return Tensor(element_of(array.dtype), array.shape)


def find_op(kind: Any, own: Mapping[str, Op] | None = None) -> Op | None:
    """Return the op that a node's type names.

    Parameters
    ----------
    kind : object
        The type.
    own : mapping of str to Op, optional
        Ops that come before those of the library.

    Returns
    -------
    Op or None
        None where nobody knows it.

    Examples
    --------
    >>> find_op("relu"), find_op("rellu"), find_op(None)
    (<op relu>, None, None)
    """
    if not isinstance(kind, str):
        return None
    return (own.get(kind) if own else None) or LIBRARY.get(kind)


def __getattr__(name: str) -> Op:
    try:
        return LIBRARY[name]
    except KeyError:
        # Many a tool asks modules for names of its own that begin like this: none is near to an op.
        near = "" if name.startswith("_") else did_you_mean(name, LIBRARY)
        raise AttributeError(str(UnknownOpError(f"no op is called {name!r}{near}"))) from None


def __dir__() -> list[str]:
    return sorted([*__all__, *LIBRARY])
