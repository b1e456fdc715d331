"""Values of attributes that are sequences of numbers: as long as an operand has axes, or channels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from graphrewrite.testing.generation.demand import sizes_without_symbol
from graphrewrite.types import Stream, Type

__all__ = ["EQUATION", "VARIED", "Recipe", "channels_of", "sequences", "shape_of", "values_made"]


class Recipe(NamedTuple):
    """How values of one form are made.

    Attributes
    ----------
    name : str
        What tells it from the others of an attribute.
    make : callable
        Takes the type of the first operand, or None, and a random generator; returns a value. It may raise where the
        type has no such value.
    style : str
        Of a sequence, which numbers it has, whatever its length is.
    size : callable, optional
        Of such a sequence, its length for a type of the first operand.
    """

    name: str
    make: Callable[[Type | None, random.Random], Any]
    style: str = ""
    size: Callable[[Type | None], int] | None = None


def values_made(recipes: Mapping[str, Recipe], kind: Type | None, rng: random.Random) -> dict[str, Any] | None:
    """Return what recipes make for a type, or None where it has no such values."""
    try:
        return {name: recipe.make(kind, rng) for name, recipe in recipes.items()}
    except Exception:  # a recipe raises whatever comes of a type that it does not fit
        return None


def shape_of(kind: Type | None) -> tuple[Any, ...]:
    """Return the shape of a type, or of none."""
    return () if kind is None else kind.shape


def channels_of(kind: Type | None) -> int:
    """Return the number of channels of a type: the size of its second axis, or of its first one.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> channels_of(Tensor("f32", ("N", 3)))
    3
    """
    shape = shape_of(kind)
    second = len(shape) > 1 and isinstance(shape[1], int) and not isinstance(kind, Stream)
    return int(shape[1 if second else 0])


_LENGTHS: dict[str, Callable[[Type | None], int]] = {
    "axis": lambda kind: len(shape_of(kind)),
    "position": lambda kind: len(shape_of(kind)) - 2,
    "side": lambda kind: 2 * len(shape_of(kind)),
    "side of a position": lambda kind: 2 * (len(shape_of(kind)) - 2),
    "axis but one": lambda kind: len(shape_of(kind)) - 1,
    "channel": channels_of,
    "last index": lambda kind: int(shape_of(kind)[-1]),
    "first index": lambda kind: int(shape_of(kind)[0]),
}
_SMALL = (-1, 0, 1, 2, 3)


def _small(count: int, rng: random.Random) -> tuple[int, ...]:
    """Small numbers, half of the time of two kinds only: where entries are equal, their order may go unnoticed."""
    numbers = rng.sample(_SMALL, 2) if rng.random() < 0.5 else _SMALL
    return tuple(rng.choice(numbers) for _ in range(count))


_NUMBERS: dict[str, Callable[[int, random.Random], tuple[Any, ...]]] = {
    "1": lambda n, rng: (1,) * n,
    "order": lambda n, rng: tuple(range(n)),
    "0": lambda n, rng: (0,) * n,
    "2": lambda n, rng: (2,) * n,
    "permutation": lambda n, rng: tuple(rng.sample(range(n), n)),
    "3": lambda n, rng: (3,) * n,
    "1 or 2": lambda n, rng: tuple(rng.choice((1, 2)) for _ in range(n)),
    "0 or 1": lambda n, rng: tuple(rng.choice((0, 1)) for _ in range(n)),
    "one 1": lambda n, rng: _one_other(n, 0, 1, rng),
    "one -1": lambda n, rng: _one_other(n, 0, -1, rng),
    "one 2": lambda n, rng: _one_other(n, 1, 2, rng),
    "small": _small,
}

EQUATION = "equation"
"""The style of equations of sums of products."""
VARIED = frozenset({"permutation", "1 or 2", "0 or 1", "one 1", "one -1", "one 2", "small", EQUATION})
"""Styles of sequences of many values."""


def _one_other(count: int, most: int, other: int, rng: random.Random) -> tuple[int, ...]:
    at = rng.randrange(count)
    return tuple(other if i == at else most for i in range(count))


def sequences(inner: Any, own: Any, several: int) -> Iterator[Recipe]:
    """Yield recipes for a sequence of numbers, the simplest first.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> recipe = next(sequences(int, (1, 1), 0))
    >>> recipe.name, recipe.make(Tensor("f32", ("N", 3)), random.Random(0))
    ('1 each of 2', (1, 1))
    """
    lengths = dict(_LENGTHS)
    fixed = [len(own)] if isinstance(own, tuple | list) else []
    fixed += [several] if several else []
    lengths = {**{f"of {n}": partial(_constant, n) for n in fixed}, **lengths}
    lengths.update({f"of {n}": partial(_constant, n) for n in (1, 2) if n not in fixed})
    for style, numbers in _NUMBERS.items():
        for name, length in lengths.items():
            yield Recipe(f"{style} each {name}", partial(_tuple, inner, length, numbers), style, length)
    yield Recipe("an axis", lambda kind, rng: (rng.randrange(-len(shape_of(kind)) - 1, len(shape_of(kind)) + 1),))
    yield Recipe(
        "an axis of size 1", lambda kind, rng: (rng.choice([i for i, d in enumerate(shape_of(kind)) if d == 1]),)
    )
    yield Recipe("two axes", lambda kind, rng: tuple(sorted(rng.sample(range(len(shape_of(kind)) + 2), 2))))
    yield Recipe("axes of size 1", lambda kind, rng: tuple(i for i, d in enumerate(shape_of(kind)) if d == 1))
    known = partial(_known, inner)
    yield Recipe("the shape", known(lambda kind, rng: tuple(shape_of(kind))))
    for rank in range(5):
        yield Recipe(f"as many in {rank} axes", known(partial(_factors, rank, "")))
        yield Recipe(f"as many in {rank} axes and the rest", known(partial(_factors, rank, "-1")))
        yield Recipe(f"as many in {rank} axes but the first", known(partial(_factors, rank, "0")))
    yield Recipe("a larger shape", known(lambda kind, rng: (rng.choice((2, 3)), *shape_of(kind))))
    yield Recipe("no numbers", lambda kind, rng: ())


_Make = Callable[[Type | None, random.Random], tuple[Any, ...]]


def _known(inner: Any, make: _Make) -> _Make:
    """Return what makes a shape; it raises for a symbolic one where the attribute holds numbers only."""

    def made(kind: Type | None, rng: random.Random) -> tuple[Any, ...]:
        shape = make(kind, rng)
        if sum(isinstance(size, str) for size in shape) > (inner is not int):
            raise TypeError("a symbolic size")
        return shape

    return made


def _constant(number: int, kind: Type | None) -> int:
    return number


def _tuple(
    inner: Any,
    length: Callable[[Type | None], int],
    numbers: Callable[[int, random.Random], tuple[Any, ...]],
    kind: Type | None,
    rng: random.Random,
) -> tuple[Any, ...]:
    count = length(kind)
    if not 0 < count <= 12:
        raise ValueError("no such length")
    made = numbers(count, rng)
    return tuple(map(float, made)) if inner is float else made


def _factors(rank: int, written: str, kind: Type | None, rng: random.Random) -> tuple[Any, ...]:
    """A shape of as many entries: the symbolic size in front, or what stands for it."""
    shape = shape_of(kind)
    lead = shape[: len(shape) - len(sizes_without_symbol(shape))]
    rest = math.prod(sizes_without_symbol(shape))
    count = rank - len(lead)
    sizes = []
    for _ in range(count - 1):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        sizes.append(rng.choice(divisors))
        rest //= sizes[-1]
    if count > 0:
        sizes.append(rest)
    elif rest != 1 or count < 0:
        raise ValueError("too few axes")
    if not written:
        return (*lead, *sizes)
    if written == "0":
        kept = (*lead, *sizes)[:1] == shape[:1]
        return (0, *lead[1:], *(sizes if lead else sizes[1:])) if kept else (*lead, *sizes)
    if lead:
        return (-1, *sizes)
    at = rng.randrange(len(sizes))
    return tuple(-1 if i == at else size for i, size in enumerate(sizes))
