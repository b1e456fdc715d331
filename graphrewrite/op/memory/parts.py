"""Parts of regions: the same memory seen in another shape, and boxes of entries that are copied in and out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.memory.destination import check_same, is_without_scales
from graphrewrite.types import Dimension, Tensor, Type, as_size, is_at_most, product

__all__ = ["extract", "insert", "view"]


def _infer_view(x: Type, *, shape: Sequence[Dimension], offset: Dimension = 0, layout: str | None = None) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeMismatchError(f"{x} is no region; a view is of a tensor")
    end, whole = as_size(offset) + product(shape), product(x.shape)
    if is_at_most(0, offset) is False or is_at_most(end, whole) is False:
        raise TypeMismatchError(f"the entries from {offset} to {end} are not within the {whole} entries of {x}")
    if tuple(shape) != x.shape and not is_without_scales(x):
        raise TypeMismatchError(f"the entries of {x} have different scales along an axis, which another shape loses")
    return Tensor(x.element, tuple(shape), layout)


@define_op(level="memory", infer=_infer_view)
def view(x: np.ndarray, *, shape: Sequence[Dimension], offset: Dimension = 0, layout: str | None = None) -> np.ndarray:
    """Entries of a region that lie one behind the other, in a shape: the same memory, of which nothing moves.

    Parameters
    ----------
    x
        The region.
    shape
        Shape of the view.
    offset
        The first entry, where the region's are counted in the order in which they lie: the last axis runs fastest.
    layout
        The order of its axes, as of a tensor.

    Examples
    --------
    >>> view(np.arange(6).reshape(3, 2), shape=(4,), offset=2).tolist()
    [2, 3, 4, 5]
    """
    sizes = tuple(map(int, shape))
    start, end = int(offset), int(offset) + math.prod(sizes)
    if not 0 <= start <= end <= x.size:
        raise ValueError(f"the entries from {start} to {end} are not within the {x.size} entries of the region")
    return np.reshape(np.ravel(x)[start:end], sizes)


def _check_part(whole: Type, part: Type, starts: Sequence[Dimension], what: str) -> None:
    check_same(whole, part, what)
    if len(whole.shape) != len(part.shape) or len(starts) != len(part.shape):
        raise TypeMismatchError(
            f"{part} is a part of {whole} from {list(starts)}; give both as many axes, and a start for each axis"
        )
    for size, within, start in zip(part.shape, whole.shape, starts, strict=True):
        if is_at_most(0, start) is False or is_at_most(as_size(start) + size, within) is False:
            raise TypeMismatchError(f"{part} from {list(starts)} reaches beyond {whole}")
    axis = getattr(whole.element, "axis", None)
    if axis is not None and part.shape[axis] != whole.shape[axis]:
        raise TypeMismatchError(f"the entries of {whole} along axis {axis} have different scales; take all of them")


def _box(whole: np.ndarray, part: np.ndarray, starts: Sequence[Dimension]) -> tuple[slice, ...]:
    """Return where a part lies; sizes that were open may only now show that it reaches beyond."""
    box = tuple(slice(int(a), int(a) + size) for a, size in zip(starts, part.shape, strict=True))
    if any(axis.start < 0 or axis.stop > size for axis, size in zip(box, whole.shape, strict=True)):
        raise ValueError(f"a part of shape {part.shape} from {[a.start for a in box]} reaches beyond {whole.shape}")
    return box


def _infer_insert(out: Type, x: Type, *, starts: Sequence[Dimension]) -> Type:
    _check_part(out, x, starts, "inserted")
    return out


@define_op(level="memory", infer=_infer_insert)
def insert(out: np.ndarray, x: np.ndarray, *, starts: Sequence[Dimension]) -> np.ndarray:
    """A region with a box of its entries replaced; where the value lies in that very place, nothing moves.

    Parameters
    ----------
    out
        The region.
    x
        The entries, with as many axes.
    starts
        Where the box begins, by axis.

    Examples
    --------
    >>> insert(np.zeros((3, 2)), np.ones((1, 2)), starts=(1, 0)).tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    result = np.array(out)
    result[_box(result, x, starts)] = x
    return result


def _infer_extract(out: Type, x: Type, *, starts: Sequence[Dimension]) -> Type:
    _check_part(x, out, starts, "extracted")
    return out


@define_op(level="memory", infer=_infer_extract)
def extract(out: np.ndarray, x: np.ndarray, *, starts: Sequence[Dimension]) -> np.ndarray:
    """A box of the entries of a value, copied into a region.

    Parameters
    ----------
    out
        The region, of the box's shape.
    x
        The value, with as many axes.
    starts
        Where the box begins, by axis.

    Examples
    --------
    >>> extract(np.zeros((1, 2)), np.arange(6.0).reshape(3, 2), starts=(1, 0)).tolist()
    [[2.0, 3.0]]
    """
    return np.array(x[_box(x, out, starts)])
