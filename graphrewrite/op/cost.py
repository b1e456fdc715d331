"""Costs of ops: multiply-accumulates for one sample, from types alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["entries", "of_matrices", "of_weights", "one_each"]


def entries(shape: Iterable[int | str]) -> int:
    """Return the number of entries of a shape; symbolic sizes, such as the batch, count once.

    Examples
    --------
    >>> entries(("N", 3, 4))
    12
    """
    return math.prod(size for size in shape if isinstance(size, int))


def of_weights(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """Return the products of an op with weights [O, …]: each result takes one a weight of its output.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> of_weights([Tensor("f32", ("N", 4)), Tensor("f32", (3, 4))], Tensor("f32", ("N", 3)), {})
    12
    """
    return entries(result.shape) * entries(types[1].shape[1:])


def of_matrices(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """Return the products of a matrix product, the first operand of which may be transposed (``trans_a``).

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> of_matrices([Tensor("f32", ("N", 4)), Tensor("f32", (4, 3))], Tensor("f32", ("N", 3)), {})
    12
    """
    return entries(result.shape) * entries((types[0].shape[0 if attributes.get("trans_a") else -1],))


def one_each(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """Return one product an entry of the result.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> one_each([], Tensor("f32", ("N", 3)), {})
    3
    """
    return entries(result.shape)
