"""What an edge carries, of any level."""

from __future__ import annotations

from functools import lru_cache

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.stream import Stream
from graphrewrite.types.tensor import Tensor

__all__ = ["Type", "one_object"]

Type = Tensor | Stream
"""What an edge carries."""


@lru_cache(maxsize=4096)
def one_object(kind: Type) -> Type:
    """Return one object for equal types, so that comparing them is a look at their identity.

    Parameters
    ----------
    kind : Tensor or Stream
        Any type.

    Returns
    -------
    Tensor or Stream

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
        raise TypeMismatchError(f"{kind!r} is no type; give a Tensor or a Stream, such as Tensor('f32', ('N', 3))")
    return kind
