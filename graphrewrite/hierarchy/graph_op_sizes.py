"""Binding of the symbolic sizes of a graph's inputs, where it is used as an op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphrewrite.errors import TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.types import Dimension, Tensor, Type

__all__ = ["bind_sizes", "with_sizes"]


def bind_sizes(body: Graph, types: tuple[Type, ...]) -> dict[str, Dimension]:
    """Return the values of the symbolic sizes of a graph's inputs for operand types, one for each input.

    Examples
    --------
    >>> g = Graph("g")
    >>> _ = g.input("x", Tensor("f32", ("N", 4)))
    >>> bind_sizes(g, (Tensor("f32", (8, 4)),))
    {'N': 8}
    """
    sizes: dict[str, Dimension] = {}
    for name, operand in zip(body.inputs, types, strict=True):
        declared = body.result_type(name)
        where = ""
        agree = len(declared.shape) == len(operand.shape) and _with_shape(declared, operand.shape) == operand
        for size, dimension in zip(declared.shape, operand.shape, strict=True) if agree else ():
            bound = sizes.setdefault(size, dimension) if isinstance(size, str) else size
            if bound != dimension:
                agree, where = False, f" where {size} is {bound}" if isinstance(size, str) else ""
                break
        if not agree:
            raise TypeMismatchError(
                f"its input {name!r} is {declared}{where}, got {operand}; convert the operand, or change the graph"
            )
    return sizes


def with_sizes(type: Type, sizes: Mapping[str, Dimension]) -> Type:
    """Return a type with some symbolic sizes replaced, all at once.

    Examples
    --------
    >>> print(with_sizes(Tensor("f32", ("N", "M", 4)), {"N": "M", "M": 3}))
    f32[M,3,4]
    """
    shape = tuple(sizes.get(size, size) if isinstance(size, str) else size for size in type.shape)
    return type if shape == type.shape else _with_shape(type, shape)


def _with_shape(type: Type, shape: tuple[Dimension, ...]) -> Type:
    return replace(type, shape=shape) if isinstance(type, Tensor) else type
