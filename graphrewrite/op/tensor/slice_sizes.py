"""How many entries a slice picks of an axis, whose size and bounds may be symbolic.

Numbers are positions that are clamped to the axis, as in ONNX; a symbolic start or end says that it lies inside.
"""

from __future__ import annotations

from graphrewrite.types import Dimension, Size, as_size, is_at_most, size_max, size_min

__all__ = ["FAR", "picked", "picked_size"]

FAR = 2**31 - 1
"""A number that lies beyond the last entry of every axis, and its opposite before the first one."""


def picked(size: int, start: int, end: int, step: int) -> slice:
    """Return a Python slice of an axis; ONNX lets one that goes backwards from before the axis start at entry 0.

    Examples
    --------
    >>> picked(5, -9, 2, 1), picked(5, -9, -99, -1)
    (slice(-9, 2, 1), slice(-5, -99, -1))
    """
    return slice(max(start, -size) if step < 0 else start, end, step)


def picked_size(size: Dimension, start: Dimension, end: Dimension, step: int) -> int | Size:
    """Return the number of entries from a start to before an end.

    Parameters
    ----------
    size : int or str
        That of the axis.
    start, end : int or str
        Negative ones count from the back.
    step : int
        Not 0.

    Examples
    --------
    >>> from graphrewrite.types import as_size
    >>> n = as_size("N")
    >>> picked_size(5, 1, -1, 2), picked_size(n, 0, 5, 1), picked_size(n, 1, FAR, 1), picked_size(512, 0, n, 1)
    (2, 'min(5, N)', 'max(1, N) - 1', 'N')
    >>> picked_size(n - 1, 0, n - 1, 1)
    'N - 1'
    """
    whole, first, last = as_size(size), as_size(start), as_size(end)
    if isinstance(whole, int) and isinstance(first, int) and isinstance(last, int):
        return len(range(whole)[picked(whole, first, last, step)])
    if isinstance(first, int) and isinstance(last, int):
        ends = max(-FAR, min(first, FAR)), max(-FAR, min(last, FAR))
        count = _forwards(whole, *ends) if step > 0 else _backwards(whole, *ends)
    else:
        within = (0, whole) if step > 0 else (-1, whole - 1)
        length = _position(whole, last, *within) - _position(whole, first, *within)
        count = length if step > 0 else -length
    return (count + abs(step) - 1) // abs(step)


def _position(size: int | Size, at: int | Size, low: int | Size, high: int | Size) -> int | Size:
    """Return a position counted from the front; numbers are clamped to the axis where they may lie outside."""
    if isinstance(at, Size):
        return size + at if is_at_most(at, 0) else at
    if abs(at) >= FAR:
        return high if at > 0 else low
    # No axis is so short that its begin lies beyond its end.
    return size + at if at < 0 else at if at == low else size_min(at, high)


def _forwards(size: int | Size, start: int, end: int) -> int | Size:
    """Return how many entries lie between two positions."""
    last = size if end >= FAR else size_min(end, size) if end >= 0 else size_max(size + end, 0)
    if start >= 0:
        return size_max(last - start, 0) if start else last
    if end >= FAR:
        return size_min(-start, size)
    if end < 0:
        return size_min(max(end - start, 0), last)
    return size_max(last - size_max(size + start, 0), 0)


def _backwards(size: int | Size, start: int, end: int) -> int | Size:
    """Return how many entries lie between two positions, the first of which comes last."""
    first: int | Size = size - 1
    if 0 <= start < FAR:
        first = size_min(start, first)
    elif start < -1:
        first = size_min(size_max(size + start, 0), first)
    if end >= 0:
        return size_max(first - end, 0)
    whole = first + 1
    count = whole if end <= -FAR else size_min(whole - 1 - size - end, whole)
    return count if whole == size else size_max(count, 0)
