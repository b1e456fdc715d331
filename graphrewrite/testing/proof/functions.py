"""numpy's array functions on symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from graphrewrite.testing.proof.array import SymbolicArray, cast_to, entries_of, known
from graphrewrite.testing.proof.choice import choice
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.ufuncs import applied, contracted, sample

__all__ = ["METHODS", "called", "leaves"]

_MOVING = (
    *(np.reshape, np.transpose, np.ravel, np.squeeze, np.expand_dims, np.moveaxis, np.swapaxes, np.rollaxis),
    *(np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.repeat, np.tile, np.broadcast_to, np.resize),
    *(np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.delete, np.diagonal, np.tril, np.triu),
    *(np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.take_along_axis),
    np.lib.stride_tricks.sliding_window_view,
)
"""Functions that move the entries of their first operand."""
_CONCATENATING = (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.append)
"""Functions that concatenate arrays."""
_METHODS = (
    *("ravel", "squeeze", "swapaxes", "repeat", "copy", "diagonal", "clip", "take", "argmax", "argmin"),
    *("sum", "prod", "max", "min", "any", "all", "dot", "mean", "round"),
)
"""Methods of arrays that are functions of numpy as well."""
_CONTRACTING = (np.dot, np.inner, np.outer, np.vdot, np.tensordot, np.kron)


def called(function: Any, args: Any, keywords: Any) -> Any:
    """Return the result of one of numpy's functions for symbolic arrays.

    Raises
    ------
    Untranslatable
        If it is not translated, and numpy's own code for it needs known numbers.
    """
    translated = _FUNCTIONS.get(function)
    if translated is not None:
        return translated(*args, **keywords)
    own = getattr(function, "_implementation", None)  # without the dispatch that has led here
    if own is None:
        raise Untranslatable(f"np.{function.__name__} is not translated")
    try:
        return own(*args, **keywords)  # numpy's Python code, which calls other functions
    except (Untranslatable, AttributeError, TypeError) as error:
        raise Untranslatable(f"np.{function.__name__} is not translated: {error}") from error


def _wrapped(result: Any, dtype: Any) -> Any:
    if isinstance(result, list | tuple):
        return type(result)(_wrapped(part, dtype) for part in result)
    return SymbolicArray(result, dtype)


def _moving(function: Any) -> Callable[..., Any]:
    def move(array: Any, *args: Any, **keywords: Any) -> Any:
        if not isinstance(array, SymbolicArray):  # then a count or an index is symbolic
            raise Untranslatable(f"an argument of np.{function.__name__} depends on the input")
        return _wrapped(function(array.entries, *args, **keywords), array.dtype)

    return move


def _unwrapped(nested: Any, dtype: Any) -> Any:
    if isinstance(nested, list | tuple):
        return [_unwrapped(part, dtype) for part in nested]
    return cast_to(nested, dtype).entries


def leaves(nested: Any) -> list[Any]:
    """Return the entries of nested lists."""
    return [leaf for part in nested for leaf in leaves(part)] if isinstance(nested, list | tuple) else [nested]


def _concatenating(function: Any) -> Callable[..., Any]:
    def concatenate(*args: Any, **keywords: Any) -> SymbolicArray:
        count = 2 if function is np.append else 1
        data = list(args[:count])
        dtype = np.result_type(*map(sample, leaves(data)))
        return SymbolicArray(function(*(_unwrapped(d, dtype) for d in data), *args[count:], **keywords), dtype)

    return concatenate


def _contracting(function: Any) -> Callable[..., Any]:
    def contract(a: Any, b: Any, *args: Any, **keywords: Any) -> SymbolicArray:
        return contracted(lambda x, y: function(x, y, *args, **keywords), [a, b])

    return contract


def _einsum(subscripts: Any, *arrays: Any, **keywords: Any) -> SymbolicArray:
    if not isinstance(subscripts, str):
        raise Untranslatable("np.einsum is translated for subscripts in a string")
    return contracted(lambda *operands: np.einsum(subscripts, *operands), arrays)


def _pad(array: SymbolicArray, pad_width: Any, mode: Any = "constant", **keywords: Any) -> SymbolicArray:
    if mode == "constant":
        fill = np.asarray(keywords.get("constant_values", 0))
        keywords["constant_values"] = cast_to(fill.astype(array.dtype), array.dtype).entries
    elif mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise Untranslatable(f"np.pad with mode={mode!r} is not translated")
    return SymbolicArray(np.pad(array.entries, pad_width, mode, **keywords), array.dtype)


def _where(condition: Any, *values: Any) -> SymbolicArray:
    if len(values) != 2:
        raise Untranslatable("np.where with a condition alone returns indices that depend on the input")
    dtype = np.where(np.ones((1,) * np.ndim(condition), bool), *map(sample, values)).dtype
    operands = [cast_to(v, dtype).entries for v in values]
    pick = np.frompyfunc(lambda c, yes, no: choice(c.truth, yes, no), 3, 1)
    return SymbolicArray(pick(entries_of(condition), *operands), dtype)


def _clip(array: Any, a_min: Any = None, a_max: Any = None, **keywords: Any) -> Any:
    low, high = keywords.pop("min", a_min), keywords.pop("max", a_max)
    out = keywords.pop("out", None)
    if low is not None:
        array = np.maximum(array, low)
    if high is not None:
        array = np.minimum(array, high)
    return array if out is None else applied(np.positive, "__call__", [array], {"out": (out,)})


def _arg(ahead: Callable[[Number, Number], Any]) -> Callable[..., Any]:
    """Return arg-max or arg-min: the index of the first entry that no other is ahead of."""

    def index_of(array: SymbolicArray, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> SymbolicArray:
        rows = np.moveaxis(array.entries.reshape(-1) if axis is None else array.entries, 0 if axis is None else axis, 0)

        def better(best: Any, new: Any) -> Any:
            condition = ahead(new[0], best[0])
            return (choice(condition, new[0], best[0]), choice(condition, new[1], best[1]))

        def of_column(*column: Number) -> Number:
            best: Number = reduce(better, [(number, Number(i, i)) for i, number in enumerate(column)])[1]
            return best

        entries = np.empty(rows.shape[1:], object)
        for index in np.ndindex(entries.shape):
            entries[index] = of_column(*rows[(slice(None), *index)])
        indices = SymbolicArray(entries, np.intp)
        if not keepdims:
            return indices
        reduced = range(array.ndim) if axis is None else (axis % array.ndim,)
        return _reshaped(indices, [1 if i in reduced else n for i, n in enumerate(array.shape)])

    return index_of


def _reducing(ufunc: Any) -> Callable[..., Any]:
    def fold(
        array: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        **rest: Any,
    ) -> Any:
        if out is not None or rest:
            raise Untranslatable(f"np.{ufunc.__name__}.reduce is not translated with {', '.join(rest) or 'out'}")
        keywords = {"initial": initial} if dtype is None else {"dtype": dtype, "initial": initial}
        return applied(ufunc, "reduce", [array], {"axis": axis, "keepdims": keepdims is True, **keywords})

    return fold


def _extreme(ufunc: Any) -> Callable[..., Any]:
    """Return a reduction without `dtype`, which numpy's extremes do not have."""
    fold = _reducing(ufunc)
    return lambda array, axis=None, out=None, keepdims=False, **rest: fold(array, axis, None, out, keepdims, **rest)


def _mean(array: SymbolicArray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    kind = np.dtype(dtype) if dtype is not None else np.mean(np.ones(1, array.dtype)).dtype
    total = applied(np.add, "reduce", [array], {"axis": axis, "dtype": kind, "keepdims": keepdims is True})
    return np.true_divide(total, array.size // total.size).astype(kind)


def _rounded(array: SymbolicArray, decimals: int = 0, out: Any = None) -> Any:
    if decimals or out is not None:
        raise Untranslatable("rounding to decimals is no exact arithmetic")
    return array if array.dtype.kind in "iub" else np.rint(array)


def _taken(array: Any, indices: Any, axis: Any = None, **keywords: Any) -> SymbolicArray:
    """Read a table; at an index that depends on the input, by one choice for each entry."""
    plain = known(indices) if isinstance(indices, SymbolicArray) else indices
    if plain is not None:
        return SymbolicArray(np.take(entries_of(array), plain, axis, **keywords), array.dtype)
    table = SymbolicArray.of(array)
    if table.ndim != 1 or keywords.get("mode", "raise") != "raise":
        raise Untranslatable("only a table of one axis is read at indices that depend on the input")
    size = len(table)
    if any(n.low < -size or n.high >= size for n in indices.entries.reshape(-1)):
        raise Untranslatable("an index of a table may be out of range")

    def read(index: Number) -> Number:
        entry: Number = table.entries[0]
        for i in [*range(1, size), *range(-size, 0)]:
            if index.low <= i <= index.high:
                entry = choice(index.equals(Number(i, i)), table.entries[i], entry)
        return entry

    return SymbolicArray(np.frompyfunc(read, 1, 1)(indices.entries), table.dtype)


def _equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    return np.shape(a) == np.shape(b) and np.all(np.equal(a, b))


def _like(fill: Any) -> Callable[..., Any]:
    def make(array: Any, *args: Any, **keywords: Any) -> SymbolicArray:
        kind = keywords.pop("dtype", None) or array.dtype
        value = args[0] if fill is None else fill
        return SymbolicArray.of(np.full(keywords.pop("shape", None) or array.shape, value, kind))

    return make


def _reshaped(array: SymbolicArray, *shape: Any, order: Any = "C") -> SymbolicArray:
    return SymbolicArray(array.entries.reshape(*shape, order=order), array.dtype)


def _transposed(array: SymbolicArray, *axes: Any) -> SymbolicArray:
    return SymbolicArray(array.entries.transpose(*axes), array.dtype)


def _apart(array: SymbolicArray, other: SymbolicArray) -> SymbolicArray:
    """Return an array that does not share its entries with another one."""
    return SymbolicArray(array.entries.copy(), array.dtype) if array is other else array


_FUNCTIONS: Mapping[Any, Callable[..., Any]] = {
    **{function: _moving(function) for function in _MOVING},
    **{function: _concatenating(function) for function in _CONCATENATING},
    **{function: _contracting(function) for function in _CONTRACTING},
    np.einsum: _einsum,
    np.pad: _pad,
    np.where: _where,
    np.clip: _clip,
    np.take: _taken,
    np.argmax: _arg(lambda new, best: best.less(new)),
    np.argmin: _arg(lambda new, best: new.less(best)),
    np.sum: _reducing(np.add),
    np.prod: _reducing(np.multiply),
    np.max: _extreme(np.maximum),
    np.min: _extreme(np.minimum),
    np.any: _extreme(np.logical_or),
    np.all: _extreme(np.logical_and),
    np.mean: _mean,
    np.round: _rounded,
    np.array_equal: _equal,
    np.zeros_like: _like(0),
    np.empty_like: _like(0),
    np.ones_like: _like(1),
    np.full_like: _like(None),
    np.shape: lambda array: array.shape,
    np.size: lambda array, axis=None: array.size if axis is None else array.shape[axis],
    np.ndim: lambda array: array.ndim,
    np.result_type: lambda *arrays: np.result_type(*(g.dtype if isinstance(g, SymbolicArray) else g for g in arrays)),
}

METHODS: Mapping[str, Callable[..., Any]] = {
    **{name: _FUNCTIONS[getattr(np, name)] for name in _METHODS},
    "astype": lambda array, dtype, *_, **__: _apart(cast_to(array, dtype), array),
    "reshape": _reshaped,
    "transpose": _transposed,
    "flatten": lambda array, order="C": SymbolicArray(array.entries.flatten(order), array.dtype),
}
"""Methods of arrays."""
