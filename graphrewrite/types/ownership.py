"""Ownership: arrays that nobody can change any more, as graphs, modules and typed views hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["arrays_in", "handed_over", "is_unchangeable", "owned", "read_only"]

_WITHOUT_ARRAYS = (list, tuple, int, float, complex, str, np.generic)
"""What numpy makes a new array of."""


def owned(value: Any) -> np.ndarray:
    """Return an array that nobody can change: the array itself if it and all its bases are read-only, else a copy.

    A memory map that was opened for reading only is such an array, and one made of ``bytes``. Whoever has just made an
    array, and keeps no other view of it, saves the copy by `handed_over`.

    Examples
    --------
    >>> mine = np.zeros(2)
    >>> held = owned(mine)
    >>> mine += 1
    >>> held.tolist(), held.flags.writeable, owned(held) is held
    ([0.0, 0.0], False, True)
    """
    if type(value) is np.ndarray and is_unchangeable(value):  # as most are in a graph
        return value
    array = np.asarray(value)
    if isinstance(value, _WITHOUT_ARRAYS):
        return handed_over(array)
    return array if is_unchangeable(array) else handed_over(array.copy("K"))


def handed_over(array: np.ndarray) -> np.ndarray:
    """Make an array read-only, with the arrays that it is a view of, and return it; nobody else may have them.

    Examples
    --------
    >>> made = np.arange(4)
    >>> owned(handed_over(made[1:])).base is made
    True
    """
    view: Any = array
    while isinstance(view, np.ndarray):
        view.flags.writeable = False
        view = view.base
    return array


def read_only(array: np.ndarray) -> np.ndarray:
    """Return an array that cannot be written to; its owner may still change it."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def arrays_in(data: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in data, at any depth of dictionaries, lists and tuples."""
    if isinstance(data, np.ndarray):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from arrays_in(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from arrays_in(value)


def is_unchangeable(array: np.ndarray) -> bool:
    """Tell whether nobody can change an array: it and all its bases are read-only.

    Examples
    --------
    >>> mine = np.zeros(2)
    >>> is_unchangeable(read_only(mine)), is_unchangeable(np.frombuffer(b"1234", np.int8))
    (False, True)
    """
    root: Any = array.base
    while type(root) is np.ndarray:
        root = root.base
    if type(root) is bytes:  # nothing that is a view of it can be written to
        return True
    base: Any = array
    while not base.flags.writeable:
        base = base.base
        if base is None:
            return True
        if not isinstance(base, np.ndarray):
            break
    else:
        return False
    try:
        return type(base) is bytes or memoryview(base).readonly
    except TypeError:  # memory of somebody else's, such as a tensor's
        return False
