"""Checks of ops that cut, repeat or pick entries along axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Dimension, Quantised, Tensor, element_kind

__all__ = ["check_indices", "check_whole_channels", "without_axes"]


def check_whole_channels(x: Tensor, axes: Iterable[int]) -> None:
    """Raise if entries along some axes have different scales, which entries that move would lose.

    Examples
    --------
    >>> check_whole_channels(Tensor(Quantised("i8", (0.5, 0.25), axis=1), ("N", 2)), [0])
    """
    if isinstance(x.element, Quantised) and x.element.axis in set(axes):
        raise TypeMismatchError(
            f"the entries of {x} along axis {x.element.axis} have different scales; "
            "op.from_quantised(x, source=…) dequantises first"
        )


def check_indices(indices: Tensor, what: str = "indices") -> None:
    """Raise unless an operand holds integers.

    Examples
    --------
    >>> check_indices(Tensor("i32", ("N",)))
    """
    if element_kind(indices.element) != "integer":
        raise TypeMismatchError(
            f"{what} are integers, got {indices.element}; op.cast(x, element='i64') gives integers first"
        )


def without_axes(x: Tensor, shape: Sequence[Dimension]) -> Tensor:
    """Return a tensor type with neither layout nor channel axis.

    Examples
    --------
    >>> print(without_axes(Tensor("f32", ("N", 3), "NC"), (3, "N")))
    f32[3,N]
    """
    check_whole_channels(x, range(len(x.shape)))
    return Tensor(x.element, tuple(shape))
