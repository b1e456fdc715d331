"""The type of an edge: a tensor, a stream, or one of somebody's own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.element import as_element
from graphrewrite.types.own import EdgeType
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Tensor

__all__ = ["Type", "as_type", "one_object"]

Type = Tensor | Stream | EdgeType
"""Type of an edge: a tensor, at the stream level a stream, or a type of a dialect."""


def as_type(kind: Any, shape: Iterable[Any]) -> Type:
    """Return a type itself, or that of a tensor of an element type and a shape.

    Parameters
    ----------
    kind : Tensor, Stream or element type
        The type, or an element type as `graphrewrite.types.as_element` takes it.
    shape : iterable of int or str
        The shape, where only an element type is given.

    Examples
    --------
    >>> print(as_type("float32", (2, 3)), as_type(Tensor("i8", (4,)), (2, 3)))
    f32[2,3] i8[4]
    """
    return kind if isinstance(kind, Type) else Tensor(as_element(kind), tuple(shape))


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
    if not isinstance(kind, Type):
        raise TypeMismatchError(f"{kind!r} is not a type; pass a Tensor or a Stream, such as Tensor('f32', ('N', 3))")
    return kind
