"""Values of symbolic sizes in an evaluation: from the shapes of inputs, then from those of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from graphrewrite.errors import EvaluationError
from graphrewrite.types import Dimension, Stream, Type, solved, substitute, symbols

__all__ = ["found_in_results", "shape_of", "sizes_of_inputs"]

_FAR = 1 << 16


def shape_of(kind: Type) -> tuple[Dimension, ...]:
    """Return the shape of the arrays of a type; streams carry a batch of frames.

    Examples
    --------
    >>> from graphrewrite.types import parse_type
    >>> shape_of(parse_type("stream u8f0[3,4]"))
    ('N', 3, 4)
    """
    return ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape


def sizes_of_inputs(kinds: Mapping[str, Type], arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return what the names in the types of inputs stand for; arrays have as many axes as their types.

    Raises
    ------
    EvaluationError
        If two sizes contradict each other.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> kinds = {"x": Tensor("f32", ("N", "2*seq")), "mask": Tensor("bool", ("N", "seq"))}
    >>> sizes_of_inputs(kinds, {"x": np.zeros((3, 8)), "mask": np.ones((3, 4), bool)})
    {'N': 3, 'seq': 4}
    >>> sizes_of_inputs(kinds, {"x": np.zeros((3, 8)), "mask": np.ones((3, 5), bool)})
    Traceback (most recent call last):
    ...
    graphrewrite.errors.EvaluationError: the input 'x' is f32[N,2*seq], got ...: 2*seq would be 10, as seq is 5 in ...
    """
    shapes = {name: shape_of(kinds[name]) for name in arrays}
    plain: dict[str, int] = {}
    for name, array in arrays.items():
        for size, number in zip(shapes[name], array.shape, strict=True):
            if isinstance(size, str) and (not size.isidentifier() or plain.setdefault(size, number) != number):
                return _checked(kinds, arrays, shapes)
    return plain


def _checked(
    kinds: Mapping[str, Type], arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[Dimension, ...]]
) -> dict[str, int]:
    sizes = _solved((s, n) for name in arrays for s, n in zip(shapes[name], arrays[name].shape, strict=True))
    for name, array in arrays.items():
        for size, number in zip(shapes[name], array.shape, strict=True):
            if size != number and (reason := _contradiction(name, size, number, sizes, shapes)):
                raise EvaluationError(
                    f"the input {name!r} is {kinds[name]}, got an array of shape {list(array.shape)}: {reason}"
                )
    return sizes


def _contradiction(
    name: str, size: Dimension, number: int, sizes: Mapping[str, int], shapes: Mapping[str, Sequence[Dimension]]
) -> str | None:
    """Return why a size cannot be a number, if that is so."""
    names = symbols(size)
    known = [n for n in names if n in sizes]
    if len(known) < len(names):  # it cannot be solved: perhaps as there is no whole number
        return None if _has_solution(size, number, sizes) else f"no whole numbers make {size} be {number}"
    if negative := [n for n in known if sizes[n] < 0]:
        return f"{negative[0]} would be {sizes[negative[0]]}"
    wanted = substitute(size, sizes)
    if wanted == number:
        return None
    sources = []
    for n in known:
        where = min((other for other in shapes if n in shapes[other]), key=lambda other: other == name, default=name)
        sources.append(f"{n} is {sizes[n]} in the input {where!r}")
    if names == (size,):
        return sources[0]
    return f"{size} would be {wanted}, as {' and '.join(sources)}"


def _has_solution(size: Dimension, number: int, sizes: Mapping[str, int]) -> bool:
    """Tell whether a number is possible; only of sums of multiples of one name is it denied."""
    left = substitute(size, sizes)
    names = symbols(left)
    if len(names) != 1:
        return True
    (name,) = names
    values = [substitute(left, {name: n}) for n in (0, 1, _FAR, _FAR + 1)]
    step = int(values[1]) - int(values[0])
    is_linear = int(values[2]) == int(values[0]) + _FAR * step and int(values[3]) == int(values[2]) + step
    return not is_linear


def found_in_results(
    kinds: Sequence[Type], arrays: Sequence[np.ndarray], names: Iterable[str], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return what unknown sizes stand for, from results whose types have them.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> found_in_results([Tensor("i64", (2, "?1"))], [np.zeros((2, 5))], ["?1"], {})
    {'?1': 5}
    """
    pairs = [
        (substitute(size, sizes), number)
        for kind, array in zip(kinds, arrays, strict=False)
        if len(kind.shape) == array.ndim
        for size, number in zip(kind.shape, array.shape, strict=True)
        if isinstance(size, str)
    ]
    found = _solved(pairs)
    return {name: found[name] for name in names if name in found}


def _solved(pairs: Iterable[tuple[Dimension, int]]) -> dict[str, int]:
    return {name: size for name, size in solved(pairs).items() if isinstance(size, int)}
