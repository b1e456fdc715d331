"""Gradients of resized images, and of grids of positions in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.gradients.shapes import number

__all__ = ["DIFFERENTIATE_RESIZING"]


@rule(keeps="rounding")
def differentiate_resize(g, x):
    """Every entry adds to some of the result, by weights that are a matrix along each axis: its transpose goes back."""
    d = op.resize.vjp(g, x)
    yield d
    rank = len(x.shape)
    changed = [axis for axis in range(rank) if _is_changed(d, x, g, axis)]
    if any(isinstance(size, str) for axis in changed for size in (x.shape[axis], g.shape[axis])):
        return decline("a size that it changes is symbolic", at=d)
    if 0 in (*x.shape, *g.shape):
        return decline("there are no entries", at=d)
    for axis in changed:
        weights = _weights(d, x, changed, axis)
        swap = tuple({axis: rank - 1, rank - 1: axis}.get(i, i) for i in range(rank))
        last = g if axis == rank - 1 else op.transpose(g, perm=swap)
        made = op.matmul(last, number(weights, x))
        g = made if axis == rank - 1 else op.transpose(made, perm=swap)
    return g


def _place(d: Any, x: Any, axis: int) -> int | None:
    """The place of an axis among those that are resized; None if it is none of them."""
    axes = list(range(len(x.shape))) if d.axes is None else [a % len(x.shape) for a in d.axes]
    return axes.index(axis) if axis in axes else None


def _is_changed(d: Any, x: Any, g: Any, axis: int) -> bool:
    at = _place(d, x, axis)
    if at is None:
        return False
    if d.sizes is not None and d.keep_aspect_ratio_policy != "stretch":
        return True  # all axes have the scale of one of them
    if _crop(d, at) != (0, 1):
        return True
    return bool(x.shape[axis] != g.shape[axis] or (d.scales is not None and d.scales[at] != 1))


def _crop(d: Any, place: int) -> tuple[float, float]:
    """The start and the end of the part of an axis that is resized."""
    if d.coordinate_transformation_mode != "tf_crop_and_resize" or d.roi is None:
        return 0, 1
    return d.roi[place], d.roi[place + len(d.roi) // 2]


def _weights(d: Any, x: Any, changed: list[int], axis: int) -> np.ndarray:
    """The share [result, operand] of each entry along an axis in each of the result: what becomes of single ones."""
    shape = [size if i in changed else 1 for i, size in enumerate(x.shape)]
    sizes = None
    if d.sizes is not None:
        axes = range(len(shape)) if d.axes is None else [a % len(shape) for a in d.axes]
        sizes = tuple(size if a in changed else 1 for a, size in zip(axes, d.sizes, strict=True))
    given = {name: getattr(d, name) for name in op.resize.attributes if name not in ("sizes", "scales")}
    # Beyond the image there is a number, which has no gradient; of the other axes nothing is cropped.
    given["extrapolation_value"] = 0.0
    if d.roi is not None:
        place, count = _place(d, x, axis), len(d.roi) // 2
        given["roi"] = [d.roi[i] if i % count == place else float(i >= count) for i in range(2 * count)]
    rows = []
    for i in range(shape[axis]):
        image = np.zeros(shape)
        image[tuple(i if a == axis else slice(None) for a in range(len(shape)))] = 1
        made = op.resize.function(image, sizes=sizes, scales=d.scales, **given)
        rows.append(np.moveaxis(made, axis, -1).reshape(-1, made.shape[axis])[0])
    return np.stack(rows, axis=1)


@rule(keeps="rounding")
def differentiate_affine_grid(g, theta):
    """Each position is the product of a map and the position that it brings there: so is the gradient of the map."""
    d = op.affine_grid.vjp(g, theta)
    yield d
    sizes, rank = g.shape[1:-1], theta.shape[1]
    if any(isinstance(size, str) for size in sizes):
        return decline("only run time tells the size of the image", at=d)
    plain = np.eye(rank, rank + 1)[None]
    grid = op.affine_grid.function(plain, size=(1, 1, *sizes), align_corners=d.align_corners).reshape(-1, rank)
    positions = number(np.append(grid, np.ones((len(grid), 1)), axis=1), theta)
    each = op.reshape(g, shape=(0, len(grid), rank))
    return op.matmul(op.transpose(each, perm=(0, 2, 1)), positions)


DIFFERENTIATE_RESIZING = (differentiate_resize, differentiate_affine_grid)
"""Gradients of resized images and of grids of positions."""
