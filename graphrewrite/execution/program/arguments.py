"""Arguments of an evaluation: arrays by the names of inputs, converted to the types of these, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np

from graphrewrite.errors import EvaluationError, did_you_mean
from graphrewrite.op.symbolic import Symbolic
from graphrewrite.types import (
    TEXT,
    EdgeType,
    ElementType,
    FixedPoint,
    Stream,
    Tensor,
    Type,
    boxed,
    element_dtype,
    hold,
    out_of_range,
    unboxed,
)

__all__ = ["PlainInputs", "by_name", "checked", "plain_inputs", "taken"]

PlainInputs = tuple[tuple[str, np.dtype, tuple[int | None, ...]], ...]
"""Names, dtypes and sizes of inputs, None for those that may be any."""

_AS_STORED = frozenset({"f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"})
"""Element types of which every array of their dtype is one."""
_SHOWN = 8
"""Number of inputs that a message lists."""


def by_name(names: Iterable[str], given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by the names of inputs: one mapping, or some in the order of the inputs, and others by name.

    Examples
    --------
    >>> by_name(["x", "y"], (1,), {"y": 2}), by_name(["x", "y"], ({"x": 1, "y": 2},), {})
    ({'x': 1, 'y': 2}, {'x': 1, 'y': 2})
    """
    names = tuple(names)
    if len(given) == 1 and isinstance(given[0], Mapping):
        first = dict(given[0])
    elif len(given) > len(names):
        raise EvaluationError(f"{_takes(names)}, got {len(given)} arrays")
    else:
        first = dict(zip(names, given, strict=False))
    twice = next((name for name in named if name in first), None)
    if twice is not None:
        raise EvaluationError(f"the input {twice!r} is given twice, by position and by name; give it once")
    return {**first, **named}


def checked(inputs: Mapping[str, Any], types: Mapping[str, Type], needed: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays of inputs in the dtypes of their types, in the order of the inputs.

    Parameters
    ----------
    inputs : mapping of str to array-like
        What is given.
    types : mapping of str to Type
        All inputs.
    needed : iterable of str
        Those that may not be missing.

    Raises
    ------
    EvaluationError
        If inputs are missing or unknown, all of which are named, or an array is not of its type.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> checked({"x": [[1, 2]]}, {"x": Tensor("f32", ("N", 2))}, ["x"])
    {'x': array([[1., 2.]], dtype=float32)}
    """
    needed = frozenset(needed)
    missing = [name for name in types if name in needed and name not in inputs]
    unknown = [name for name in inputs if name not in types]
    if unknown:
        # What is near in spelling, or the only one that could be meant.
        hint = did_you_mean(str(unknown[0]), types)
        if not hint and len(missing) == len(unknown) == 1:
            hint = f"; did you mean {missing[0]!r}?"
        words = " and no ".join(map(repr, unknown[:_SHOWN]))
        raise EvaluationError(f"there is no input {words}; {_takes(types)}{hint}")
    if len(missing) == 1:
        raise EvaluationError(f"the input {missing[0]!r} is missing: {types[missing[0]]}")
    if missing:
        raise EvaluationError(f"{len(missing)} inputs are missing: {_listed({name: types[name] for name in missing})}")
    return {name: _array(name, kind, inputs[name]) for name, kind in types.items() if name in inputs}


def plain_inputs(types: Mapping[str, Type]) -> PlainInputs | None:
    """Return what arrays of inputs need no conversion, and no look at their numbers; None if that is not so simple.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> plain_inputs({"x": Tensor("f32", ("N", 2))})
    (('x', dtype('float32'), (None, 2)),)
    """
    names = [size for kind in types.values() for size in kind.shape if not isinstance(size, int)]
    is_free = all(map(str.isidentifier, names)) and len(set(names)) == len(names)
    if not is_free or any(type(kind) is not Tensor or kind.element not in _AS_STORED for kind in types.values()):
        return None
    return tuple(
        (name, element_dtype(kind.element), tuple(size if isinstance(size, int) else None for size in kind.shape))
        for name, kind in types.items()
    )


def taken(inputs: Mapping[str, Any], plain: PlainInputs) -> dict[str, np.ndarray] | None:
    """Return the arrays that are given for all inputs, if they are what these need; None if `checked` has to look.

    Examples
    --------
    >>> plain = (("x", np.dtype("f4"), (None, 2)),)
    >>> taken({"x": np.zeros((1, 2), "f4")}, plain), taken({"x": np.zeros((1, 3), "f4")}, plain)
    ({'x': array([[0., 0.]], dtype=float32)}, None)
    """
    arrays = {}
    for name, dtype, sizes in plain:
        array = inputs.get(name)
        if type(array) is not np.ndarray or array.dtype is not dtype or array.ndim != len(sizes):
            return None
        for size, got in zip(sizes, array.shape, strict=True):
            if size != got and size is not None:
                return None
        arrays[name] = array
    return arrays if len(arrays) == len(inputs) else None


def _takes(names: Iterable[str]) -> str:
    names = names if isinstance(names, Mapping) else tuple(names)
    count = f"{len(names) or 'no'} input{'' if len(names) == 1 else 's'}"
    return f"the graph takes {count}{f': {_listed(names)}' if names else ''}"


def _listed(names: Mapping[str, Type] | tuple[str, ...]) -> str:
    """Return names, with their types if they are given."""
    each = [f"{name}: {kind}" for name, kind in names.items()] if isinstance(names, Mapping) else names
    return ", ".join([*each[:_SHOWN], *(["…"] if len(each) > _SHOWN else [])])


def _array(name: str, kind: Type, value: Any) -> np.ndarray:
    what, dtype = f"the input {name!r} is {kind}", element_dtype(kind.element)
    if isinstance(kind, EdgeType):
        try:
            return boxed(kind.as_value(unboxed(value)))
        except Exception as error:  # it is somebody else's code
            raise EvaluationError(f"{what}, and got another value: {error}") from error
    given = value if kind.element == TEXT or isinstance(kind.element, ElementType) else _as_array(what, value)
    if dtype.kind in "iu" and not isinstance(kind.element, FixedPoint):
        message = out_of_range(kind.element, given)
        if message is not None:
            raise EvaluationError(f"{what}, and {message}")
    try:
        array = hold(kind.element, given)
    except (TypeError, ValueError, OverflowError) as error:
        raise EvaluationError(f"{what}, and its values cannot be converted: {error}") from error
    _check_shape(what, ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape, array.shape)
    return array


def _as_array(what: str, value: Any) -> np.ndarray:
    """Return an array of numbers; what has its own arrays, such as a tensor of PyTorch, is asked for them."""
    if value is None or isinstance(value, str | bytes | set | frozenset | Mapping | Symbolic):
        shown = "None" if value is None else repr(value) if isinstance(value, Symbolic) else type(value).__name__
        raise EvaluationError(f"{what}, got {shown}; pass an array, or numbers in lists")
    try:
        array = np.asarray(value)
        if array.dtype.hasobject and all(isinstance(each, Number) for each in array.flat):
            array = array.astype(np.float64)  # fractions, decimals, integers of any length
    except Exception as error:  # of any kind: it is somebody else's code
        reason = "its lists have different lengths" if "inhomogeneous" in str(error) else error
        raise EvaluationError(f"{what}, and cannot be an array: {reason}") from error
    is_small = array.dtype.kind == "V" and array.dtype.type is not np.void  # a number of ml_dtypes
    if array.dtype.kind not in "biuf" and not is_small:
        kinds = sorted({type(each).__name__ for each in array.flat}) if array.dtype.hasobject else [str(array.dtype)]
        shown = "text" if array.dtype.kind in "US" else f"values of {' and '.join(kinds)}"
        raise EvaluationError(f"{what}, got {shown}; pass an array, or numbers in lists")
    return array


def _check_shape(what: str, declared: tuple[Any, ...], given: tuple[int, ...]) -> None:
    got = f"{what}, got an array of shape {list(given)}"
    if len(declared) != len(given):
        is_frame = len(given) == len(declared) - 1 and not isinstance(declared[0], int)
        hint = "; one frame is a batch as array[np.newaxis]" if is_frame and _fits(declared[1:], given) else ""
        count = f"{len(given)} {'axis' if len(given) == 1 else 'axes'}"
        raise EvaluationError(f"{got}: it has {count} instead of {len(declared)}{hint}")
    if not _fits(declared, given):
        axis = next(i for i, d in enumerate(given) if not _fits(declared[i : i + 1], (d,)))
        raise EvaluationError(f"{got}: axis {axis} has size {given[axis]} instead of {declared[axis]}")


def _fits(declared: tuple[Any, ...], given: tuple[int, ...]) -> bool:
    return all(not isinstance(size, int) or size == d for size, d in zip(declared, given, strict=True))
