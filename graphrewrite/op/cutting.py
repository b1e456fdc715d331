"""What the ops that cut, repeat and pick along axes have in common: channels left whole, indices that are whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Dimension, Quantised, Tensor, element_kind

__all__ = ["check_indices", "check_whole_channels", "without_axes"]


def check_whole_channels(x: Tensor, axes: Iterable[int]) -> None:
    """Raise if entries along some axes have a scale each, which entries that move would leave behind.

    Parameters
    ----------
    x : Tensor
        The operand.
    axes : iterable of int
        Along which entries move, counted from the front.

    Raises
    ------
    TypeMismatchError
        With what to do first.

    Examples
    --------
    >>> check_whole_channels(Tensor(Quantised("i8", (0.5, 0.25), axis=1), ("N", 2)), [0])
    """
    if isinstance(x.element, Quantised) and x.element.axis in set(axes):
        raise TypeMismatchError(
            f"the entries of {x} along axis {x.element.axis} have a scale each; "
            "op.from_quantised(x, source=…) dequantises first"
        )


def check_indices(indices: Tensor, what: str = "indices") -> None:
    """Raise unless an operand holds integers.

    Parameters
    ----------
    indices : Tensor
        The operand.
    what : str
        What they are, for the message.

    Raises
    ------
    TypeMismatchError
        With what to do first.

    Examples
    --------
    >>> check_indices(Tensor("i32", ("N",)))
    """
    if element_kind(indices.element) != "integer":
        raise TypeMismatchError(
            f"{what} are integers, not {indices.element}; op.cast(x, element='i64') gives integers first"
        )


def without_axes(x: Tensor, shape: Sequence[Dimension]) -> Tensor:
    """Return the type of entries of a tensor whose axes mean nothing any more, the channels of quantised ones included.

    Parameters
    ----------
    x : Tensor
        The operand.
    shape : sequence of int or str
        Of the result.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeMismatchError
        If its channels have scales of their own.

    Examples
    --------
    >>> print(without_axes(Tensor("f32", ("N", 3), "NC"), (3, "N")))
    f32[3,N]
    """
    check_whole_channels(x, range(len(x.shape)))
    return Tensor(x.element, tuple(shape))
