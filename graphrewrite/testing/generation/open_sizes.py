"""Symbolic sizes of generated graphs, and what they are when these are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from graphrewrite.errors import GraphRewriteError
from graphrewrite.op.op import Op
from graphrewrite.testing.generation.kinds import retyped
from graphrewrite.types import Dimension, Size, Type, evaluate_size, substitute, symbols

__all__ = ["EXPRESSIONS", "NUMBERS", "OPEN", "bound", "extent", "holds_for_all"]

OPEN = "M"
"""A size besides the batch's that only run time tells."""
EXPRESSIONS: tuple[Dimension, ...] = (OPEN, "seq", "M + 1", "2*seq", "M", "M + seq", "4*M")
"""Such sizes of graphs with many of them."""
NUMBERS = (2, 3, 5)
"""What their symbols stand for when a graph is evaluated, in turns."""


def bound(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return a type or an attribute with numbers in place of symbols.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> print(bound(Tensor("f32", ("N", 4)), {"N": 2}), bound((Size("2*N"), -1), {"N": 2}))
    f32[2,4] (4, -1)
    """
    if isinstance(value, Size):
        return substitute(value, sizes)
    if type(value) is tuple:
        return tuple(bound(entry, sizes) for entry in value)
    shape = getattr(value, "shape", ())
    return retyped(value, shape=bound(shape, sizes)) if isinstance(value, Type) and _names(shape) else value


def extent(kind: Type, batch: Dimension) -> int:
    """Return how many entries a type has at most in each row of a batch when a graph is evaluated.

    An axis without entries counts as one: numpy has no array of huge other axes, though it were empty.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> extent(Tensor("f32", ("N", 3, "2*M")), "N"), extent(Tensor("f32", (0, 4)), "N")
    (30, 4)
    """
    sizes = dict.fromkeys(_names(kind.shape), max(NUMBERS))
    numbers = {**sizes, str(batch): 1}
    return prod((size if isinstance(size, int) else evaluate_size(size, numbers)) or 1 for size in kind.shape)


def holds_for_all(op: Op, types: Sequence[Type], attributes: Mapping[str, Any], batch: Dimension) -> bool:
    """Tell whether an op takes operands of some types whatever their open sizes are when a graph is evaluated.

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> image = Tensor("f32", ("N", 4, "M", 6))
    >>> holds_for_all(op.relu, [image], {}, "N"), holds_for_all(op.space_to_depth, [image], {"block_size": 2}, "N")
    (True, False)
    """
    names = {name for kind in types for name in _names(kind.shape)}
    if names <= {batch} and not (op.sized or any(batch in kind.shape for kind in types[1:])):
        return True  # a weight that has the size of the batch is another matter
    numbers = [dict.fromkeys(names, number) for number in NUMBERS]
    unknown = {name for kind in types for name in kind.unknowns}
    if unknown:  # of which the data may leave nothing
        numbers.append({**numbers[0], **dict.fromkeys(unknown, 0)})
    for sizes in numbers:
        try:
            results = op.result_types(
                bound(tuple(types), sizes), {key: bound(value, sizes) for key, value in attributes.items()}
            )
        except (GraphRewriteError, ValueError):
            return False
        if any(0 in kind.shape for kind in results) and 0 not in sizes.values():
            return False
    return True


def _names(shape: Sequence[Dimension]) -> list[str]:
    return [name for size in shape for name in symbols(size)]
