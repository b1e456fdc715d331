"""Windows of an average pooling: their movement, and how many entries each of them counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.op.nn.convolution import spatial_sizes
from graphrewrite.op.nn.windows import covering_pads, window_counts

__all__ = ["Windows", "windows_of"]


class Windows(NamedTuple):
    """The windows of an average pooling, as those of a convolution that reads the same numbers.

    Attributes
    ----------
    kernel, strides, pads, dilations : tuple of int
        As a convolution has them: its border reaches as far as the last windows do.
    counts : ndarray of int, of the shape of the positions
        The number by which each window divides its sum.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    counts: np.ndarray

    @property
    def is_even(self) -> bool:
        """Whether every window counts its whole kernel."""
        return bool((self.counts == np.prod(self.kernel)).all())

    @property
    def moving(self) -> dict[str, Any]:
        """The attributes of the convolution."""
        return {"strides": self.strides, "pads": self.pads, "dilations": self.dilations}


def windows_of(pool: Any, shape: Sequence[int | str]) -> Windows | str:
    """Return the windows of an average pooling, or the reason why they cannot be counted.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> pool = SimpleNamespace(kernel=(3,), strides=(2,), pads=(1, 0), dilations=(1,), ceil_mode=True,
    ...     count_include_pad=False)
    >>> windows = windows_of(pool, ("N", 4, 5))
    >>> windows.counts.tolist(), windows.pads
    ([2, 3, 2], (1, 1))
    """
    sizes = [size for size in shape[1:] if not isinstance(size, str)][1:]
    rank = len(shape) - 2
    if len(sizes) != rank:
        return "its channels or positions are symbolic, so its windows cannot be determined"
    moving = tuple(pool.kernel), tuple(pool.strides), tuple(pool.pads), tuple(pool.dilations)
    kernel, strides, _, dilations = moving
    results = spatial_sizes(sizes, *moving, ceil_mode=pool.ceil_mode)
    counts = window_counts(sizes, results, *moving, border=pool.count_include_pad)
    if not counts.all():
        return "a window lies wholly in the border, where nothing counts"
    covering = covering_pads(sizes, results, *moving)
    return Windows(kernel, strides, covering, dilations, counts)
