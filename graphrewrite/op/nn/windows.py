"""Windows of a pooling: their extent, and the number of entries that each of them reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrewrite.op.nn.convolution import per_axis

__all__ = ["covering_pads", "window_counts"]


def covering_pads(
    sizes: Sequence[int],
    results: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """Return pads with which there are so many windows, rounded down.

    Examples
    --------
    >>> covering_pads((4,), (2,), (2,), (3,), (0, 0), (1,))
    (0, 1)
    >>> covering_pads((1,), (1,), (1,), (1,), (0, 1), (1,))
    (0, 0)
    """
    rank = len(kernel)
    strides, pads, dilations = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0), per_axis(dilations, rank, 1)
    ends = []
    for size, count, stride, width, step, before, after in zip(
        sizes, results, strides, kernel, dilations, pads[:rank], pads[rank:], strict=True
    ):
        # With ceil_mode, the last window may end beyond the pads, and none begins in those behind the numbers.
        reached = (count - 1) * stride + (width - 1) * step + 1 - size - before
        ends.append(after if reached <= after < reached + stride else max(reached, 0))
    return (*pads[:rank], *ends)


def window_counts(
    sizes: Sequence[int],
    results: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    *,
    border: bool,
) -> np.ndarray:
    """Return how many numbers each window reads: the product of the counts along each axis.

    Parameters
    ----------
    sizes, results : sequence of int
        Of the axes that are pooled, before and after.

    Examples
    --------
    >>> [window_counts((4,), (4,), (3,), (1,), (1, 1), (1,), border=b).tolist() for b in (False, True)]
    [[2, 3, 3, 2], [3, 3, 3, 3]]
    """
    rank = len(kernel)
    strides, pads, dilations = per_axis(strides, rank, 1), per_axis(pads, 2 * rank, 0), per_axis(dilations, rank, 1)
    counts = np.ones((), np.int64)
    for axis, (size, count, width, stride, step) in enumerate(
        zip(sizes, results, kernel, strides, dilations, strict=True)
    ):
        before, after = pads[axis], pads[rank + axis]
        positions = np.arange(count)[:, None] * stride + np.arange(width) * step - before
        low, high = (-before, size + after) if border else (0, size)
        counts = counts[..., None] * ((positions >= low) & (positions < high)).sum(axis=1)
    return counts
