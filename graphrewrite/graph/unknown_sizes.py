"""Numbers of unknown sizes: ``?1`` is one size in all of a graph, that the data decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite.types import Dimension, Type, is_local, pairs_of, solved, with_sizes

__all__ = ["first_free_number", "local_names", "numbered", "settled"]


def local_names(types: Sequence[Type]) -> list[str]:
    """Return the names of unknown sizes in types that have no number yet.

    Examples
    --------
    >>> from graphrewrite.types import Size, Tensor
    >>> local_names([Tensor("f32", ("?1", Size.unknown()))])
    ['?a']
    """
    return list(dict.fromkeys(name for kind in types for name in kind.unknowns if is_local(name)))


def settled(types: tuple[Type, ...], declared: Sequence[Type] | None) -> tuple[Type, ...]:
    """Return inferred types in which unknown sizes without a number are what the declared types have in their place.

    Examples
    --------
    >>> from graphrewrite.types import Size, Tensor
    >>> print(*settled((Tensor("f32", (Size.unknown(), 3)),), (Tensor("f32", ("?2", 4)),)))
    f32[?2,3]
    """
    names = local_names(types)
    if not names or declared is None:
        return types
    sizes = solved(pairs_of(types, declared), names)
    return tuple(with_sizes(kind, sizes) for kind in types)


def numbered(types: tuple[Type, ...], first: int) -> tuple[Type, ...]:
    """Return types in which unknown sizes have numbers, from a first one on.

    Examples
    --------
    >>> from graphrewrite.types import Size, Tensor
    >>> print(*numbered((Tensor("i64", (2, Size.unknown())),), 4))
    i64[2,?4]
    """
    sizes: dict[str, Dimension] = {name: f"?{i}" for i, name in enumerate(local_names(types), start=first)}
    return tuple(with_sizes(kind, sizes) for kind in types) if sizes else types


def first_free_number(graph: Any) -> int:
    r"""Return the number after the greatest that an unknown size of a graph has.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> first_free_number(Graph.parse("graph g\nx = input() : f32[?3]\ny = output(x)"))
    4
    """
    numbers = [0]
    for data in graph._node.values():
        result = data.get("result")
        for kind in result if isinstance(result, tuple) else (result,):
            numbers += [int(name[1:]) for name in getattr(kind, "unknowns", ()) if not is_local(name)]
    return max(numbers) + 1
