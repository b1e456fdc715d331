"""numpy's ufuncs on symbolic arrays: in which dtype they compute is asked of numpy itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from graphrewrite.testing.proof.arithmetic import ELEMENTWISE
from graphrewrite.testing.proof.array import SymbolicArray, cast_to, entries_of, known
from graphrewrite.testing.proof.floating import FLOATING
from graphrewrite.testing.proof.holding import check_sums, held
from graphrewrite.testing.proof.integer import SymbolicInt
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import Untranslatable

__all__ = ["applied", "contracted", "sample"]

_GREATEST = np.frompyfunc(lambda number: number.greatest, 1, 1)


def _sum_of(number: Number) -> Number:
    """Return a term of a sum: numpy may start with 0.0 or not, so the sign of a sum of terms -0.0 is open."""
    return number if number.negative_zero is False else replace(number, negative_zero=None)


def _factor(number: Number) -> Number:
    """Return a factor in a sum of products: if it may be negative, a product may be -0.0."""
    return _sum_of(number) if number.low >= 0 else replace(number, negative_zero=None)


_FACTORS = np.frompyfunc(_factor, 1, 1)


def applied(ufunc: Any, method: str, inputs: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Return the result of a ufunc for arrays some of which are symbolic."""
    out = keywords.pop("out", None)
    if keywords.get("where", True) is not True:
        raise Untranslatable(f"{ufunc.__name__} with where= is not translated")
    keywords.pop("where", None)
    whole = [known(x) if isinstance(x, SymbolicArray) else None if isinstance(x, SymbolicInt) else x for x in inputs]
    if all(x is not None for x in whole):
        result: Any = getattr(ufunc, method)(*whole, **keywords)
    elif method == "reduce":
        result = _reduced(ufunc, SymbolicArray.of(inputs[0]), **keywords)
    elif method != "__call__":
        raise Untranslatable(f"np.{ufunc.__name__}.{method} is not translated")
    elif ufunc is np.matmul:
        result = contracted(ufunc, inputs)
    else:
        result = _elementwise(ufunc, inputs, keywords)
    return result if out is None else _written(out[0], result)


def _written(target: Any, result: Any) -> Any:
    if not isinstance(target, SymbolicArray):
        raise Untranslatable("numbers that depend on the input are written into an array of known ones")
    target[...] = cast_to(result, target.dtype)
    return target


def sample(array: Any) -> Any:
    """Return ones from which numpy infers the same dtype as from an array; a number without a dtype stays itself."""
    if isinstance(array, SymbolicArray):
        return np.ones((1,) * array.ndim, array.dtype)
    if isinstance(array, np.ndarray) and array.ndim:
        return np.ones((1,) * array.ndim, array.dtype)
    return 1 if isinstance(array, SymbolicInt) else array


def _elementwise(ufunc: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> SymbolicArray:
    meaning = ELEMENTWISE.get(ufunc, _unknown_meaning if ufunc in FLOATING else None)
    if meaning is None:
        raise Untranslatable(f"np.{ufunc.__name__} is no exact arithmetic")
    samples = [sample(x) for x in inputs]
    with np.errstate(all="ignore"):
        dtype = ufunc(*samples, **keywords).dtype
    for number in inputs:
        if isinstance(number, SymbolicInt):
            _check_literal(number, np.result_type(*samples))
    compute = _computed(meaning, _common(samples, dtype), dtype, FLOATING.get(ufunc))
    return SymbolicArray(compute(*map(entries_of, inputs)), dtype)


def _unknown_meaning(*_: Any) -> Number:
    raise Untranslatable("it computes with numbers of a bounded format, which it rounds")


def _check_literal(number: SymbolicInt, dtype: np.dtype[Any]) -> None:
    """Raise, as numpy does, for a number of Python that the dtype of the arrays that it meets does not hold."""
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise OverflowError(f"Python integer out of bounds for {dtype}")


def _common(samples: Sequence[Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which numpy computes; integers of any types are compared exactly."""
    if dtype.kind != "b":
        return dtype
    common = np.result_type(*samples)  # int64 and uint64 have float64 in common, in which numpy does not compare them
    return common if common.kind == "b" or any(np.result_type(x).kind == "f" for x in samples) else np.dtype(np.int64)


def _computed(
    meaning: Callable[..., Number], common: np.dtype[Any], dtype: np.dtype[Any], of_floats: Callable[..., Number] | None
) -> Any:
    """Return a function on entries: operands in the common dtype, the result as it is stored."""
    floats = common.kind == "f"

    def compute(*numbers: Number) -> Number:
        if floats and of_floats is not None and any(number.opaque for number in numbers):
            return of_floats(*(n if n.opaque else held(n, common) for n in numbers), common)
        for number in numbers:
            number.check()
        operands = [held(n, common) for n in numbers] if floats else numbers
        return held(meaning(*operands, common), dtype)

    return lambda *arrays: np.frompyfunc(compute, len(arrays), 1)(*arrays)


def _reduced(ufunc: Any, array: SymbolicArray, axis: Any = 0, *, keepdims: bool = False, **keywords: Any) -> Any:
    initial = keywords.get("initial", np._NoValue)
    if ufunc not in ELEMENTWISE or not (initial is np._NoValue or type(initial) is int):
        raise Untranslatable(f"np.{ufunc.__name__}.reduce is not translated in this form")
    dtype = ufunc.reduce(np.ones(array.shape, array.dtype), axis=axis, dtype=keywords.get("dtype")).dtype
    source = cast_to(array, dtype) if ufunc in (np.add, np.multiply) else array
    axes = tuple(range(array.ndim)) if axis is None else tuple(np.atleast_1d(axis) % array.ndim)
    kept = [i for i in range(array.ndim) if i not in axes]
    rows = source.entries.transpose(*axes, *kept).reshape(-1, *(array.shape[i] for i in kept))
    if initial is not np._NoValue:
        first = SymbolicArray.of(np.full((1, *rows.shape[1:]), initial, source.dtype)).entries
        rows = np.concatenate([first, rows])
    if not len(rows):
        raise Untranslatable(f"np.{ufunc.__name__}.reduce of no entries")
    for number in rows.reshape(-1):
        number.check()
    if ufunc is np.add and dtype.kind == "f":
        sizes = _GREATEST(rows)
        check_sums(np.max(np.add.reduce(sizes, axis=0)), max(n.point for n in rows.reshape(-1)), dtype)
    meaning = ELEMENTWISE[ufunc]
    step = np.frompyfunc(lambda a, b: meaning(a, b, source.dtype), 2, 1)
    reduced = SymbolicArray(reduce(step, rows), source.dtype)
    shape = tuple(1 if i in axes else n for i, n in enumerate(array.shape)) if keepdims else reduced.shape
    hold = np.frompyfunc(lambda number: held(_sum_of(number) if ufunc is np.add else number, dtype), 1, 1)
    return SymbolicArray(hold(reduced.entries), dtype).reshape(shape)


def contracted(function: Callable[..., Any], arrays: Sequence[Any], **keywords: Any) -> SymbolicArray:
    """Return sums of products, such as matrix products, computed exactly and then held."""
    ones = [np.ones(x.shape, x.dtype) if isinstance(x, SymbolicArray) else np.ones_like(x) for x in arrays]
    shaped = np.asarray(function(*ones, **keywords))
    dtype = shaped.dtype
    numbers = [entries_of(x) for x in arrays]
    if not shaped.size or any(not n.size for n in numbers):
        return SymbolicArray.of(shaped)
    if dtype.kind == "f":
        point = sum(max(n.point for n in entries.reshape(-1)) for entries in numbers)
        sizes = np.asarray(function(*map(_GREATEST, numbers), **keywords))
        check_sums(max(map(Fraction, sizes.reshape(-1))), point, dtype)
    hold = np.frompyfunc(lambda number: held(_sum_of(Number.of(number)), dtype), 1, 1)
    return SymbolicArray(hold(function(*map(_FACTORS, numbers), **keywords)), dtype)
