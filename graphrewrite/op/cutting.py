"""What the ops that cut, repeat and pick along axes have in common: axes counted from the back, channels left whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Dimension, Quantised, Tensor, element_kind

__all__ = ["axis_of", "check_indices", "check_whole_channels", "distinct_axes", "without_axes"]


def axis_of(axis: int, rank: int, x: Tensor) -> int:
    """Return an axis counted from the front.

    Parameters
    ----------
    axis : int
        Negative ones count from the back.
    rank : int
        Number of axes.
    x : Tensor
        For the message.

    Returns
    -------
    int

    Raises
    ------
    TypeMismatchError
        If there is no such axis.

    Examples
    --------
    >>> axis_of(-1, 2, Tensor("f32", ("N", 3)))
    1
    """
    if not -rank <= axis < rank:
        raise TypeMismatchError(f"axis {axis} is outside of {x}")
    return axis % rank


def distinct_axes(axes: Sequence[int], x: Tensor) -> list[int]:
    """Return axes counted from the front.

    Parameters
    ----------
    axes : sequence of int
        Negative ones count from the back.
    x : Tensor
        Whose axes they are.

    Returns
    -------
    list of int

    Raises
    ------
    TypeMismatchError
        If one is outside, or there twice.

    Examples
    --------
    >>> distinct_axes((-1, 0), Tensor("f32", ("N", 3)))
    [1, 0]
    """
    found = [axis_of(axis, len(x.shape), x) for axis in axes]
    if len(set(found)) != len(found):
        raise TypeMismatchError(f"axes {list(axes)} of {x} name an axis twice")
    return found


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
