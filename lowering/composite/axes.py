"""Axes with names, and sizes that run time decides, where one op is written as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import op

__all__ = ["bare", "channel_axis", "disordered", "named", "per_channel", "positions", "reshaped", "unsaid"]


def channel_axis(x: Any) -> int:
    """Return where the channels of an image are.

    Parameters
    ----------
    x : value of a rule
        With a batch and channels.

    Returns
    -------
    int
    """
    return int((x.type.layout or "NC").index("C"))


def positions(x: Any) -> tuple[int, ...]:
    """Return the axes of an image that are neither batch nor channels.

    Parameters
    ----------
    x : value of a rule
        With a batch and channels.

    Returns
    -------
    tuple of int
    """
    layout = x.type.layout or "NC"
    return tuple(i for i in range(len(x.shape)) if i not in (layout.index("N"), layout.index("C")))


def per_channel(entries: Any, x: Any) -> Any:
    """Return one entry a channel, to be broadcast against an image.

    Parameters
    ----------
    entries : value of a rule, shape [C]
        One a channel.
    x : value of a rule
        The image.

    Returns
    -------
    value of a rule
    """
    axes = tuple(i for i in range(len(x.shape)) if i != channel_axis(x))
    return op.unsqueeze(bare(entries), axes=axes)


def bare(x: Any) -> Any:
    """Return a value without names of its axes: those of another operand count.

    Parameters
    ----------
    x : value of a rule
        Any tensor.

    Returns
    -------
    value of a rule
    """
    return x if x.type.layout is None else op.name_axes(x, layout=None)


def named(x: Any, root: Any) -> Any:
    """Return a value with the names of axes that the node has which it replaces.

    Parameters
    ----------
    x : value of a rule
        Of the shape of that node, without names or with the same ones.
    root : matched node
        What is replaced.

    Returns
    -------
    value of a rule
    """
    return x if x.type.layout == root.type.layout else op.name_axes(x, layout=root.type.layout)


def disordered(root: Any, *operands: Any) -> str | None:
    """Say why the axes of a node cannot be split or joined by their numbers.

    Parameters
    ----------
    root : matched node
        Of an op of channels and positions.
    *operands : value of a rule
        Its operands.

    Returns
    -------
    str or None
        None if they come in the order in which its op has them.
    """
    if root.op.arrangement(tuple(x.type for x in operands)) is None:
        return None
    return "its axes are in another order than those of its op; transpose them first"


def unsaid(shape: Sequence[int | str]) -> str | None:
    """Say why no reshape gives a shape.

    Parameters
    ----------
    shape : sequence of int or str
        Sizes.

    Returns
    -------
    str or None
        None if one does.
    """
    symbols = sum(isinstance(d, str) for d in shape)
    if symbols > 1:
        return "several of its sizes are symbolic, and a reshape leaves one open"
    return "it has no entries, which do not tell its symbolic size" if symbols and 0 in shape else None


def reshaped(x: Any, shape: Sequence[int | str]) -> Any:
    """Return a value in another shape, in which 0 is a size.

    Parameters
    ----------
    x : value of a rule
        Any tensor.
    shape : sequence of int or str
        Sizes, of which `unsaid` says nothing.

    Returns
    -------
    value of a rule
    """
    return op.reshape(x, shape=tuple(shape), allow_zero=True) if 0 in shape else op.reshape(x, shape=tuple(shape))
