"""The nearest entries of resized images, at positions in float32, as TensorFlow, LiteRT and PyTorch compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value

__all__ = ["are_those_of_resize", "gathered", "nearest_entries"]


def nearest_entries(
    size: int, wanted: int, *, half_pixel: bool = False, align_corners: bool = False, scale: float | None = None
) -> np.ndarray:
    """Return which entry of an axis each entry of the result is; ``scale`` is the factor where one is given."""
    one = np.float32(1 / scale) if scale is not None else np.float32(size) / np.float32(wanted)
    if align_corners and wanted > 1:
        one = np.float32(size - 1) / np.float32(wanted - 1)
    at = (np.arange(wanted, dtype=np.float32) + np.float32(0.5 if half_pixel else 0)) * one
    found = np.floor(at.astype(np.float64) + 0.5) if align_corners else np.floor(at)
    return np.minimum(found, size - 1).astype(np.int64)


def are_those_of_resize(
    sizes: Sequence[int], entries: Sequence[np.ndarray], scales: Sequence[float] | None, **how: Any
) -> bool:
    """Tell whether `op.resize` takes these entries of axes: at some sizes rounding of positions picks others."""
    for at, (size, index) in enumerate(zip(sizes, entries, strict=True)):
        reached: dict[str, Any] = {"sizes": (len(index),)} if scales is None else {"scales": (scales[at],)}
        if not np.array_equal(op.resize(np.arange(size, dtype=np.float64), **reached, **how), index):
            return False
    return True


def gathered(image: Value, axes: Sequence[int], entries: Sequence[np.ndarray]) -> Value:
    """Return an image of these entries of axes."""
    for axis, index in zip(axes, entries, strict=True):
        image = op.gather(image, index, axis=axis)
    return image
