"""Attention of queries to keys, and the positions that turn them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, check_elements, one_element
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.types import Dimension, Tensor

__all__ = ["attention", "rotary_embedding"]


def _infer(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, scale: float | None, is_causal: bool
) -> Tensor:
    check_elements(FLOATS, [q])
    one_element(q, k, v)
    if any(len(x.shape) != 4 for x in (q, k, v)):
        raise TypeMismatchError(f"queries, keys and values are [N,heads,T,size], got {q}, {k} and {v}")
    if scale is not None and not scale > 0:
        raise TypeMismatchError(f"the scale must be above 0, got {scale}")
    batch, heads, queries, size = q.shape
    keys = k.shape[2]
    if k.shape[0] != batch or k.shape[3] != size or v.shape[:3] != k.shape[:3]:
        raise TypeMismatchError(f"keys {k} and values {v} do not fit to queries {q}, or to each other")
    if not _share(heads, k.shape[1]):
        raise TypeMismatchError(f"{heads} heads of queries cannot share {k.shape[1]} heads of keys")
    if mask is not None:
        _check_mask(mask, q, (batch, heads, queries, keys))
    return Tensor(q.element, (*q.shape[:3], v.shape[3]))


def _share(heads: Dimension, kv_heads: Dimension) -> bool:
    """Tell whether each head of keys and values is that of as many heads of queries."""
    if isinstance(heads, str) or isinstance(kv_heads, str):
        return heads == kv_heads
    return heads == kv_heads or (kv_heads > 0 and heads % kv_heads == 0)


def _check_mask(mask: Tensor, q: Tensor, scores: Sequence[Dimension]) -> None:
    if mask.element not in ("bool", q.element):
        raise TypeMismatchError(f"a mask is of bool, or added to scores of {q.element}, got {mask}")
    rank = len(mask.shape)
    fits = rank in (2, 3, 4) and mask.shape[-2:] == tuple(scores[2:])
    if not fits or any(own not in (1, size) for own, size in zip(mask.shape, scores[4 - rank :], strict=True)):
        shown = ",".join(map(str, scores))
        raise TypeMismatchError(f"a mask has an entry for each query and key of [{shown}], got {mask}")


def _products(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """Those of queries with keys, and of their weights with values."""
    keys = types[1].shape[2:3]
    return entries((*types[0].shape, *keys)) + entries((*result.shape, *keys))


@define_op(infer=_infer, cost=_products)
def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
) -> np.ndarray:
    """Scaled dot-product attention, ``softmax(q @ k.T * scale + mask) @ v`` (Vaswani et al. 2017; ONNX Attention).

    A query to which the mask hides all keys gets zeros.

    Parameters
    ----------
    q
        Queries [N, heads, T, size].
    k
        Keys [N, heads, S, size]; several heads of queries may share one of keys and values (Ainslie et al. 2023).
    v
        Values [N, heads, S, size of results].
    mask
        What is added to the scores, or where they count: [T, S], with axes of one or of all heads and samples before.
    scale
        Factor of the scores, above 0; ``1/sqrt(size)`` if not given.
    is_causal
        Whether a query sees no key that comes after it.

    Examples
    --------
    >>> x = np.array([[[[1.0], [3.0]]]])
    >>> attention(0 * x, x, x).ravel().tolist(), attention(0 * x, x, x, is_causal=True).ravel().tolist()
    ([2.0, 2.0], [1.0, 2.0])
    """
    batch, heads, queries, size = q.shape
    kv_heads, keys = k.shape[1:3]
    result = (*q.shape[:3], v.shape[3])
    if not (math.prod(result) and keys):
        return np.zeros(result, q.dtype)
    wide, factor = widened(q), 1 / math.sqrt(max(size, 1)) if scale is None else scale
    # Heads that share their keys are more queries of one head.
    rows = (batch, kv_heads, heads // kv_heads * queries)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scaled = (wide * wide.dtype.type(factor)).reshape(*rows, size)
        products = scaled @ widened(k).swapaxes(-1, -2)
        scores = products.reshape(batch, heads, queries, keys)
        if mask is not None:
            scores += np.where(mask, 0, -np.inf).astype(wide.dtype) if mask.dtype == bool else widened(mask)
        if is_causal:
            scores += np.where(np.tri(queries, keys, dtype=bool), 0, -np.inf).astype(wide.dtype)
        _to_shares(scores, may_be_empty=mask is not None)
        return narrowed((products @ widened(v)).reshape(result), q)


def _to_shares(scores: np.ndarray, *, may_be_empty: bool) -> None:
    """Make shares of scores in their place, as softmax does; of those that are all -inf zeros, where that may be."""
    most = scores.max(axis=-1, keepdims=True)
    if may_be_empty:
        most[most == -np.inf] = 0
    scores -= most
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    if may_be_empty:
        total[total == 0] = 1
    scores /= total


def _infer_rotary(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    one_element(x, cos, sin)
    if len(x.shape) != 4:
        raise TypeMismatchError(f"the operand is [N,heads,T,size], got {x}")
    batch, _, steps, size = x.shape
    for angle in (cos, sin):
        if len(angle.shape) != 3 or angle.shape[:2] != (batch, steps) or angle.shape != cos.shape:
            raise TypeMismatchError(f"cosines and sines are [{batch},{steps},pairs], got {angle}")
    pairs = cos.shape[2]
    if not isinstance(size, int) or not isinstance(pairs, int) or 2 * pairs > size:
        raise TypeMismatchError(f"{pairs} pairs do not fit in {size} entries")
    return Tensor(x.element, x.shape)


@define_op(infer=_infer_rotary, elements=FLOATS)
def rotary_embedding(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, *, interleaved: bool = False) -> np.ndarray:
    """Pairs of entries turned by angles that depend on their place (Su et al. 2021; ONNX RotaryEmbedding).

    A pair ``(a, b)`` becomes ``(a * cos - b * sin, b * cos + a * sin)``; entries behind the last pair stay.

    Parameters
    ----------
    x
        Queries or keys [N, heads, T, size].
    cos
        Cosine of the angle of each pair [N, T, pairs].
    sin
        Sine of the angle of each pair [N, T, pairs].
    interleaved
        Whether the entries of a pair stand side by side; else one is in the first half of the turned entries, and the
        other one at the same place in the second half.

    Examples
    --------
    >>> x, cos, sin = np.array([[[[1.0, 2.0, 3.0, 4.0]]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2))
    >>> rotary_embedding(x, cos, sin).ravel().tolist(), rotary_embedding(x, cos, sin, interleaved=True).ravel().tolist()
    ([-3.0, -4.0, 1.0, 2.0], [-2.0, 1.0, -4.0, 3.0])
    """
    pairs = cos.shape[2]
    first, second = (
        (np.s_[..., : 2 * pairs : 2], np.s_[..., 1 : 2 * pairs : 2])
        if interleaved
        else (np.s_[..., :pairs], np.s_[..., pairs : 2 * pairs])
    )
    across, along = cos[:, None], sin[:, None]
    y = np.empty_like(x)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        y[first] = x[first] * across - x[second] * along
        y[second] = x[second] * across + x[first] * along
    y[..., 2 * pairs :] = x[..., 2 * pairs :]
    return y
