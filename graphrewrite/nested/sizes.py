"""What the symbolic sizes of a graph's inputs are, where it is used as an op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.types import Dimension, Tensor, Type

__all__ = ["bind_sizes", "with_sizes"]


def bind_sizes(body: Graph, types: tuple[Type, ...]) -> dict[str, Dimension]:
    """Return what the symbolic sizes of a graph's inputs are for some operand types.

    Parameters
    ----------
    body : Graph
        Any graph.
    types : tuple of Tensor or Stream
        One an input.

    Returns
    -------
    dict of str to int or str

    Raises
    ------
    TypeMismatchError
        Naming the input and what differs.

    Examples
    --------
    >>> g = Graph("g")
    >>> _ = g.input("x", Tensor("f32", ("N", 4)))
    >>> bind_sizes(g, (Tensor("f32", (8, 4)),))
    {'N': 8}
    """
    sizes: dict[str, Dimension] = {}
    for name, given in zip(body.inputs, types, strict=True):
        wanted = body.result_type(name)
        known = ""
        agree = len(wanted.shape) == len(given.shape) and _with_shape(wanted, given.shape) == given
        for size, found in zip(wanted.shape, given.shape, strict=True) if agree else ():
            bound = sizes.setdefault(size, found) if isinstance(size, str) else size
            if bound != found:
                agree, known = False, f" where {size} is {bound}" if isinstance(size, str) else ""
                break
        if not agree:
            raise TypeMismatchError(
                f"its input {name!r} is {wanted}{known}, not {given}; give it that type, or change the graph"
            )
    return sizes


def with_sizes(type: Type, sizes: Mapping[str, Dimension]) -> Type:
    """Return a type with some symbolic sizes replaced, all at once.

    Parameters
    ----------
    type : Tensor or Stream
        Any type; a stream has no symbolic sizes.
    sizes : mapping of str to int or str
        What the symbols are.

    Returns
    -------
    Tensor or Stream

    Examples
    --------
    >>> print(with_sizes(Tensor("f32", ("N", "M", 4)), {"N": "M", "M": 3}))
    f32[M,3,4]
    """
    shape = tuple(sizes.get(size, size) if isinstance(size, str) else size for size in type.shape)
    return type if shape == type.shape else _with_shape(type, shape)


def _with_shape(type: Type, shape: tuple[Dimension, ...]) -> Type:
    return replace(type, shape=shape) if isinstance(type, Tensor) else type
