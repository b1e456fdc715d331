"""The type of an edge: a tensor or a stream."""

from __future__ import annotations

from functools import lru_cache

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Tensor

__all__ = ["Type", "one_object"]

Type = Tensor | Stream
"""Type of an edge: a tensor, or at the stream level a stream."""


@lru_cache(maxsize=4096)
def one_object(kind: Type) -> Type:
    """Return one object for equal types, so that comparing them is comparing identities.

    Parameters
    ----------
    kind : Tensor or Stream
        Any type.

    Raises
    ------
    TypeMismatchError
        If it is no type.

    Examples
    --------
    >>> one_object(Tensor("f32", ("N",))) is one_object(Tensor("f32", ("N",)))
    True
    """
    if not isinstance(kind, Tensor | Stream):
        raise TypeMismatchError(f"{kind!r} is not a type; pass a Tensor or a Stream, such as Tensor('f32', ('N', 3))")
    return kind
