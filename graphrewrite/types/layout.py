"""Layouts: a capital letter for each axis of a tensor, in the order of the axes."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.errors import TypeMismatchError

__all__ = ["check_layout", "permutation", "permuted"]


def check_layout(layout: object, rank: int) -> None:
    """Raise unless a layout names each of so many axes.

    Parameters
    ----------
    layout : object
        Perhaps a layout.
    rank : int
        Number of axes.

    Raises
    ------
    TypeMismatchError
        If it is no string of that many distinct capital letters.

    Examples
    --------
    >>> check_layout("NHWC", 4)
    """
    if not isinstance(layout, str) or len(layout) != rank or len(set(layout)) != rank:
        raise TypeMismatchError(f"layouts of {rank} axes have {rank} distinct letters A to Z, got {layout!r}")
    if not all("A" <= letter <= "Z" for letter in layout):
        raise TypeMismatchError(f"layouts consist of the letters A to Z, as in 'NHWC', got {layout!r}")


def permutation(given: str, wanted: str) -> tuple[int, ...]:
    """Return the ``perm`` with which `op.transpose` brings one layout into another.

    Parameters
    ----------
    given, wanted : str
        Layouts of the same letters.

    Raises
    ------
    TypeMismatchError
        If their letters differ.

    Examples
    --------
    >>> permutation("NCHW", "NHWC")
    (0, 2, 3, 1)
    """
    if sorted(given) != sorted(wanted):
        raise TypeMismatchError(
            f"the layouts {given} and {wanted} name different axes; no transpose converts one to the other"
        )
    return tuple(map(given.index, wanted))


def permuted(layout: str | None, perm: Sequence[int]) -> str | None:
    """Return the layout after a transpose; None if the one before is unknown.

    Examples
    --------
    >>> permuted("NCHW", (0, 2, 3, 1))
    'NHWC'
    """
    return None if layout is None else "".join(layout[p] for p in perm)
