"""Blocks of positions that become samples, and samples that become blocks, as both files of TensorFlow have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit

__all__ = ["batch_to_space", "space_to_batch"]


def space_to_batch(x: Value, blocks: Sequence[int], borders: Any, fill: float = 0) -> Any:
    """Return a value [B, H, W, ...] of which blocks of positions are further samples, after a border was added."""
    count, before, after = _around(x, blocks, borders)
    rest = (0,) * (len(x.type.shape) - 1 - count)
    pads = (0, *before, *rest, 0, *after, *rest)
    y = op.pad(x, pads=pads, fill=fill) if any(pads) else x
    shape = y.type.shape
    split = [part for axis, block in enumerate(blocks) for part in (_over(shape[1 + axis], block), block)]
    y = op.reshape(y, shape=(shape[0], *split, *shape[1 + count :]))
    inner = [2 + 2 * axis for axis in range(count)]
    outer = [1 + 2 * axis for axis in range(count)]
    y = op.transpose(y, perm=(*inner, 0, *outer, *range(1 + 2 * count, 1 + 2 * count + len(rest))))
    return op.reshape(y, shape=(math.prod(blocks) * shape[0], *split[::2], *shape[1 + count :]))


def batch_to_space(x: Value, blocks: Sequence[int], crops: Any) -> Any:
    """Return a value of which samples became blocks of positions, and a border was cut off."""
    count, before, after = _around(x, blocks, crops)
    shape = x.type.shape
    rest = len(shape) - 1 - count
    batch = _over(shape[0], math.prod(blocks))
    y = op.reshape(x, shape=(*blocks, batch, *shape[1:]))
    pairs = [place for axis in range(count) for place in (count + 1 + axis, axis)]
    y = op.transpose(y, perm=(count, *pairs, *range(2 * count + 1, 2 * count + 1 + rest)))
    joined = [block * shape[1 + axis] for axis, block in enumerate(blocks)]
    y = op.reshape(y, shape=(batch, *joined, *shape[1 + count :]))
    cut = [axis for axis in range(count) if before[axis] or after[axis]]
    if not cut:
        return y
    ends = tuple(joined[axis] - after[axis] for axis in cut)
    return op.slice(y, starts=tuple(before[axis] for axis in cut), ends=ends, axes=tuple(axis + 1 for axis in cut))


def _around(x: Value, blocks: Sequence[int], borders: Any) -> tuple[int, list[int], list[int]]:
    """Return the number of axes with blocks, and the borders before and after each."""
    pairs = np.reshape(borders, (-1, 2))
    if len(pairs) != len(blocks) or len(blocks) >= len(x.type.shape) or min(blocks, default=1) < 1 or (pairs < 0).any():
        raise Unfit(f"blocks {list(blocks)} and borders {pairs.tolist()} do not fit {x.type}")
    return len(blocks), [int(before) for before, _ in pairs], [int(after) for _, after in pairs]


def _over(size: Any, number: int) -> Any:
    """Return a size divided by a number, without a rest."""
    if isinstance(size, int) and size % number:
        raise Unfit(f"a size of {size} has no blocks of {number}")
    return size // number
