"""Sizes in inference: what holds of them whatever their symbols stand for, and what to say where it does not."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.types import Dimension, is_at_most

__all__ = ["advice", "exceeds", "is_uneven", "shown"]


def exceeds(size: Dimension, other: Dimension) -> bool:
    """Tell whether a size is greater than another one, whatever their symbols stand for.

    Examples
    --------
    >>> from graphrewrite.types import as_size
    >>> exceeds(3, 2), exceeds(as_size("N + 3"), as_size("N + 2")), exceeds(as_size("N"), 2)
    (True, True, False)
    """
    if isinstance(size, int) and isinstance(other, int):
        return size > other
    return is_at_most(size, other) is False


def is_uneven(size: Dimension, parts: Dimension) -> bool:
    """Tell whether a size does not split into equal parts, whatever its symbols stand for.

    Examples
    --------
    >>> from graphrewrite.types import as_size
    >>> is_uneven(3, 2), is_uneven(as_size("2*N + 1"), 2), is_uneven(as_size("N"), 2)
    (True, True, False)
    """
    left = size % parts  # type: ignore[operator]  # sizes of types are integers or expressions
    return isinstance(left, int) and left != 0


def shown(shape: Iterable[Dimension]) -> str:
    """Return a shape as types show theirs.

    Examples
    --------
    >>> shown(("N", 3))
    '[N,3]'
    """
    return f"[{','.join(map(str, shape))}]"


def advice(*sizes: Dimension) -> str:
    """Return what to do where sizes should be equal and symbols are among them; nothing where all are numbers.

    Examples
    --------
    >>> from graphrewrite.types import as_size
    >>> advice(as_size("N"), as_size("M"))
    "; where 'N' and 'M' are the same size, give both the same name"
    >>> advice(as_size("N"), 3), advice(2, 3)
    ("; where 'N' is always 3, give that number instead", '')
    """
    open_ = [size for size in sizes if isinstance(size, str)]
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(open_) > 1:
        return f"; where {open_[0]!r} and {open_[1]!r} are the same size, give both the same name"
    return f"; where {open_[0]!r} is always {numbers[0]}, give that number instead" if open_ and numbers else ""
