"""Element-wise functions of several steps in a wider dtype, one block after the other: what is wide is in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite.op.precision import narrowed

__all__ = ["entrywise"]

_ENTRIES = 10 << 10
"""Entries of a block: half a dozen arrays of its size are a small part of a typical second-level cache."""

_FEWEST, _SHARE = 4 << 10, 8
"""Blocks of a small operand are this part of it, if not too short, so that they take no more room than it does."""

_OPERANDS: Any = [["readonly", "contig"], ["writeonly", "allocate", "contig"]]
"""Blocks are contiguous, whatever the operand's memory is."""


def entrywise(
    steps: Callable[..., np.ndarray], x: np.ndarray, *, dtype: Any = None, out: np.ndarray | None = None
) -> np.ndarray:
    """Return an element-wise function, in the dtype and the memory layout of its operand; nothing warns in it.

    Parameters
    ----------
    steps : callable
        Of an array, which it leaves as it is. It gives the same bits for an entry whichever are beside it.
    x : ndarray
        Any shape.
    dtype : dtype, optional
        In which to compute; that of the operand if not given.
    out : ndarray, optional
        Where to write the result, of the dtype and the shape of the operand; it may be the operand itself.

    Examples
    --------
    >>> entrywise(lambda x: x * x + 1, np.arange(3.0, dtype=np.float32), dtype=np.float64)
    array([1., 2., 5.], dtype=float32)
    """
    kind = x.dtype if dtype is None else np.dtype(dtype)
    with np.errstate(all="ignore"):
        if not x.ndim:  # numpy gives numbers in place of arrays without axes, which no step can write to
            return entrywise(steps, x.reshape(1), dtype=dtype, out=None if out is None else out.reshape(1)).reshape(())
        if x.size <= _ENTRIES or (kind == x.dtype and out is None):
            result = narrowed(steps(x.astype(kind, copy=False)), x)
            if out is None:
                return result
            out[...] = result
            return out
        blocks = np.nditer(
            (x, out),
            ["buffered", "external_loop"],
            _OPERANDS,
            [kind, x.dtype],
            casting="same_kind",
            buffersize=min(_ENTRIES, max(_FEWEST, x.size // _SHARE)),
        )
        with blocks:
            for block, result in blocks:
                result[...] = steps(block)
            return blocks.operands[1]
