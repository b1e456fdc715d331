"""What names of sizes stand for: found where types meet, and put in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.edge import Type
from graphrewrite.types.polynomial import Polynomial
from graphrewrite.types.rounding import divided, names_in
from graphrewrite.types.size import Size, as_polynomial, as_size, of_polynomial, substitute, symbols
from graphrewrite.types.tensor import Dimension, Tensor

__all__ = ["is_local", "pairs_of", "sizes_in", "solved", "with_sizes", "with_sizes_in"]

Pair = tuple[Dimension, Dimension]
"""A size, and what it is elsewhere."""


def is_local(name: str) -> bool:
    """Tell whether a name is that of an unknown size which has no number yet.

    Examples
    --------
    >>> is_local("?a"), is_local("?1"), is_local("a")
    (True, False, False)
    """
    return name[:1] == "?" and name[1:2].isalpha()


def pairs_of(declared: Sequence[Type], actual: Sequence[Type]) -> Iterator[Pair]:
    """Yield the sizes of types beside those of others, where both have as many axes.

    Examples
    --------
    >>> list(pairs_of([Tensor("f32", ("N", 2))], [Tensor("f16", (3, 2))]))
    [('N', 3), (2, 2)]
    """
    for one, other in zip(declared, actual, strict=False):
        if len(one.shape) == len(other.shape):
            yield from zip(one.shape, other.shape, strict=True)


def solved(pairs: Iterable[Pair], names: Collection[str] | None = None) -> dict[str, Dimension]:
    """Return what the names in sizes stand for, from what the sizes are.

    A size that is a name says it at once, the first of several; then the names are found that are alone unknown in a
    sum of multiples. That all pairs agree is not checked.

    Parameters
    ----------
    pairs : iterable of (size, size)
        Sizes, and what they are elsewhere; a name on the right is another one than that on the left.
    names : collection of str, optional
        Names to find; all others stand for themselves. All names if not given.

    Examples
    --------
    >>> solved([("2*seq + N", 11), ("N", 3), ("heads", "K")])
    {'N': 3, 'heads': 'K', 'seq': 4}
    """
    found: dict[str, Dimension] = {}
    pending: list[tuple[Size, Dimension]] = []
    for size, value in pairs:
        if not isinstance(size, str):
            continue
        size = as_size(size)
        if not isinstance(size, Size):
            continue
        wanted = [name for name in symbols(size) if names is None or name in names]
        if wanted == [size]:
            found.setdefault(str(size), value)
        elif wanted:
            pending.append((size, value))
    while pending:
        left = []
        for size, value in pending:
            missing = [n for n in symbols(size) if (names is None or n in names) and n not in found]
            solution = _solution(size, value, missing[0], found) if len(missing) == 1 else None
            if solution is not None:
                found[missing[0]] = solution
            elif missing:
                left.append((size, value))
        if len(left) == len(pending):
            break
        pending = left
    return found


_SOUGHT = "?"
"""A name that no size has: that of what is looked for, in values that may have names of the same text."""


def _solution(size: Size, value: Dimension, name: str, known: Mapping[str, Dimension]) -> Dimension | None:
    """Return what a name stands for in a size that is linear in it, if that is a whole number or an expression."""
    whole = as_polynomial(size, {**known, name: Polynomial.symbol(_SOUGHT)})
    parts = [(monomial, count) for monomial, count in whole.terms.items() if _SOUGHT in map(_text, monomial)]
    factor, rest = Polynomial({}), whole
    for monomial, count in parts:
        left = tuple(atom for atom in monomial if atom.text != _SOUGHT)
        factor += Polynomial({left: count})
        rest -= Polynomial({monomial: count})
    if not factor.terms or _SOUGHT in names_in(factor) | names_in(rest):
        return None
    difference = as_polynomial(value) - rest
    quotient = divided(difference, factor)
    return of_polynomial(quotient) if quotient * factor == difference else None


def _text(atom: Any) -> str:
    return str(atom.text)


def with_sizes(type: Type, sizes: Mapping[str, Dimension]) -> Type:
    """Return a type with other sizes in place of names, all at once.

    Parameters
    ----------
    type : Tensor or Stream
        Any type.
    sizes : mapping of str to int or str
        What stands for a name; names that are not in it stay.

    Examples
    --------
    >>> print(with_sizes(Tensor("f32", ("N", "2*M", 4)), {"N": "M", "M": 3}))
    f32[M,6,4]
    """
    if not isinstance(type, Tensor) or not sizes:
        return type
    shape = with_sizes_in(type.shape, sizes)
    return type if shape == type.shape else replace(type, shape=shape)


def with_sizes_in(value: Any, sizes: Mapping[str, Dimension]) -> Any:
    """Return the value of an attribute that may hold sizes, with others in place of names, in tuples as well.

    Parameters
    ----------
    value : object
        A size, a tuple of such values, or anything else, which stays.
    sizes : mapping of str to int or str
        What stands for a name.

    Examples
    --------
    >>> with_sizes_in((-1, "2*N + 1", None), {"N": 3})
    (-1, 7, None)
    """
    if isinstance(value, str):
        with suppress(TypeMismatchError):  # a word that is no size
            return substitute(value, sizes)
    return tuple([with_sizes_in(each, sizes) for each in value]) if type(value) is tuple else value


def sizes_in(value: Any) -> Iterator[Size]:
    """Yield the symbolic sizes in the value of an attribute that may hold some.

    Parameters
    ----------
    value : object
        A size, a tuple of such values, or anything else, which has none.

    Examples
    --------
    >>> list(sizes_in((3, ("2*N", None))))
    ['2*N']
    """
    if isinstance(value, str):
        with suppress(TypeMismatchError):
            size = as_size(value)
            yield from (size,) if isinstance(size, Size) else ()
    elif type(value) is tuple:
        for each in value:
            yield from sizes_in(each)
