"""Attention from products, a softmax and masks."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np

from graphrewrite import Constant, Tensor, decline, op, rule
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import symbols

__all__ = [
    "RECOGNISE_ATTENTION",
    "add_masks",
    "hide_later_keys",
    "recognise_attention",
    "recognise_attention_of_chosen",
    "recognise_masked_attention",
    "scale_keys",
    "scale_queries",
    "share_keys",
]

_OF_FEW: Any = {perm for rank in (2, 3, 4) for perm in permutations(range(rank))}
_OF_THREE: Any = {*permutations(range(3))}
_LAST: Any = {-1, 3}
_HIDES = -1e4
"""A score that is so low has no share beside those of a network, which are tens."""


def _turned(z):
    """Keys as they are multiplied: each one a column. Where heads and samples are one axis, a reshape splits it."""
    return op.transpose(z, perm=_OF_FEW) | op.reshape(op.transpose(z, perm=_OF_THREE))


def _rows(keys):
    """The keys as rows."""
    turn = keys if keys.op is op.transpose else first_operand(keys)
    *before, columns, entries = turn.perm
    rows, perm = first_operand(turn), (*before, entries, columns)
    rows = rows if perm == tuple(range(len(perm))) else op.transpose(rows, perm=perm)
    return rows if turn is keys else op.reshape(rows, shape=(*keys.shape[:2], keys.shape[3], keys.shape[2]))


def _sums(scores, v):
    """Sums of values by the softmax of scores, and that; exporters may say that a query that sees no key gets zeros."""
    shares = op.softmax(scores)
    return shares, op.matmul(op.where(op.is_nan(shares), 0, shares) | shares, v)


def _scaled(x, c):
    """A value times a constant, or divided by it."""
    return op.mul(x, c) | op.div(x, c)


def _products(q, z, c, d):
    """Queries times keys, where these or the products may have a factor; and all of which that is made."""
    keys = _turned(z)
    factored = _scaled(keys, d)
    product = op.matmul(q, factored | keys)
    return keys, factored, product, _scaled(product, c)


def _factor(x, scaled, c):
    """The factor of scores, or of what they are products of; None where it is not one number above 0."""
    if not scaled:
        return 1.0
    if c.value.size != 1 or scaled.type != x.type or not c.value.item() > 0:
        return None
    return c.value.item() if scaled.op is op.mul else 1 / c.value.item()


def _attention(q, keys, v, shares, result, factors, mask=None, *, hides=False):
    """The attention that the parts are, or why they are none; fewer axes than four have one head."""
    rank = len(result.shape)
    if shares.axis % rank != rank - 1:
        return decline("its softmax is not over the keys", at=shares)
    if {len(x.shape) for x in (q, keys, v)} != {rank}:
        return decline("its operands have different numbers of axes", at=result)
    sizes = {size for x in (q, keys, v) for size in x.shape}
    if rank < 4 and (0 in sizes or any(len(symbols(size)) > 1 for size in sizes if isinstance(size, str))):
        return decline("a size is 0, or has several names, so that a reshape does not say it", at=result)
    if None in factors or not 0 < (factor := math.prod(factors)) < math.inf:
        return decline("its factor is not one number above 0", at=result)
    if keys.op is op.reshape and keys.shape[2:] != first_operand(keys).shape[1:]:
        return decline("its reshape does more than split the first axis of the keys", at=keys)
    *others, columns, entries = keys.shape
    masks = []
    if mask is not None:
        shape = broadcast_shape(mask.shape, (q.shape[-2], entries))
        masks = [Tensor(mask.type.element, _by_heads(shape) if len(shape) == rank else shape)]
    kinds = [Tensor(q.type.element, _by_heads(each)) for each in (q.shape, (*others, entries, columns), v.shape)]
    try:
        (found,) = op.attention.infer(*kinds, *masks, scale=factor)
    except TypeMismatchError as error:
        return decline(str(error), at=result)
    if found.shape != _by_heads(result.shape) or any(x.type.layout is not None for x in (q, keys, v, result)):
        return decline("its mask repeats it, or its axes have names", at=result)
    parts = [_with_heads(x) for x in (q, _rows(keys), v)]
    if mask is not None:
        seen = op.logical_not(mask) if hides else mask
        spread = seen if mask.shape == shape else op.expand(seen, shape=shape)
        parts.append(_with_heads(spread) if len(shape) == rank else spread)
    attention = op.attention(*parts, scale=factor)
    return attention if rank == 4 else op.reshape(attention, shape=result.shape)


def _by_heads(shape):
    """A shape with an axis of one head behind that of the samples, unless it has one of heads."""
    return shape if len(shape) == 4 else (*(shape[:-2] or (1,)), 1, *shape[-2:])


def _with_heads(x):
    return x if len(x.shape) == 4 else op.reshape(x, shape=_by_heads(x.shape))


@rule(keeps="rounding")
def recognise_attention(q, z, v, c: Constant | None = None, d: Constant | None = None):
    """A softmax of products of queries with keys, times values, is attention (Vaswani et al. 2017)."""
    keys, factored, product, scaled = _products(q, z, c, d)
    shares, result = _sums(scaled | product, v)
    yield result
    factors = _factor(product, scaled, c), _factor(keys, factored, d)
    return _attention(q, keys, v, shares, result, factors)


@rule(keeps="assumes")
def recognise_masked_attention(q, z, v, mask, c: Constant | None = None, d: Constant | None = None):
    """So it is with a mask added to the scores; assumes that this does not hide all keys from a query."""
    keys, factored, product, scaled = _products(q, z, c, d)
    masked = op.add(scaled | product, mask)
    shares, result = _sums(masked, v)
    yield result
    if masked.type != product.type:
        return decline("its mask repeats the scores", at=masked)
    factors = _factor(product, scaled, c), _factor(keys, factored, d)
    return _attention(q, keys, v, shares, result, factors, mask)


@rule(keeps="assumes")
def recognise_attention_of_chosen(q, z, v, seen, low: Constant, c: Constant | None = None, d: Constant | None = None):
    """So it is where scores are chosen; assumes that some key of each query is, and that no score is as low."""
    keys, factored, product, scaled = _products(q, z, c, d)
    kept, hidden = op.where(seen, scaled | product, low), op.where(seen, low, scaled | product)
    chosen = kept | hidden
    shares, result = _sums(chosen, v)
    yield result
    if chosen.type != product.type or not (low.value <= _HIDES).all():
        return decline("it repeats the scores, or what is chosen instead is not so low that it hides them", at=chosen)
    factors = _factor(product, scaled, c), _factor(keys, factored, d)
    return _attention(q, keys, v, shares, result, factors, seen, hides=not kept)


@rule(keeps="rounding")
def add_masks(q, keys, m, n, c: Constant | None = None):
    """Two masks of scores, such as what comes later and what is padded, are added first: they have fewer entries."""
    product = op.matmul(q, keys)
    scaled = _scaled(product, c)
    scores = scaled | product
    masked = op.add(scores, m)
    twice = op.add(masked, n)
    shares = op.softmax(twice, axis=_LAST)
    yield shares
    if masked.type != product.type or twice.type != product.type:
        return decline("a mask repeats the scores", at=twice)
    return op.softmax(op.add(scores, op.add(m, n)), like=shares)


@rule(keeps="rounding")
def scale_queries(x, k, v, c: Constant, mask=None):
    """A factor of all queries is one of the scores."""
    scaled = _scaled(x, c)
    attention = op.attention(scaled, k, v, mask)
    yield attention
    return _with_factor(x, k, v, mask, attention, _factor(x, scaled, c))


@rule(keeps="rounding")
def scale_keys(q, x, v, c: Constant, mask=None):
    """So is one of all keys."""
    scaled = _scaled(x, c)
    attention = op.attention(q, scaled, v, mask)
    yield attention
    return _with_factor(q, x, v, mask, attention, _factor(x, scaled, c))


def _with_factor(q, k, v, mask, attention, factor):
    if factor is None:
        return decline("the factor is not one number above 0, or repeats what it is a factor of", at=attention)
    size = q.shape[3]
    if isinstance(size, str) or not size:
        return decline("only run time tells the scale", at=attention)
    scale = factor * (1 / math.sqrt(size) if attention.scale is None else attention.scale)
    if not 0 < scale < math.inf:
        return decline("the product of its factors is 0 or infinite", at=attention)
    return op.attention(q, k, v, *([] if mask is None else [mask]), like=attention, scale=scale)


@rule(keeps="rounding")
def share_keys(q, k, v, mask=None):
    """Keys and values that are repeated for the heads of queries are shared by them (Ainslie et al. 2023)."""
    keys, values = op.expand(k), op.expand(v)
    shaped_keys, shaped_values = op.reshape(keys), op.reshape(values)
    attention = op.attention(q, shaped_keys, shaped_values, mask)
    yield attention
    for one, each, shaped in ((k, keys, shaped_keys), (v, values, shaped_values)):
        if len(one.shape) != 5 or one.shape[2] != 1 or one.shape != (*each.shape[:2], 1, *each.shape[3:]):
            return decline("it is not each head that is repeated", at=each)
        batch, heads, count, *rest = each.shape
        if isinstance(heads, str) or isinstance(count, str) or shaped.shape != (batch, heads * count, *rest):
            return decline("what it is repeated as are not the heads of each sample", at=each)
    if k.shape[1] != v.shape[1]:
        return decline("keys and values have different numbers of heads", at=attention)
    alone = (op.reshape(each, shape=(*each.shape[:2], *each.shape[3:])) for each in (k, v))
    return op.attention(q, *alone, *([] if mask is None else [mask]), like=attention)


@rule(keeps="assumes")
def hide_later_keys(q, k, v, mask: Constant):
    """A mask that hides what comes after each query is no operand; assumes that no score is as low as it."""
    attention = op.attention(q, k, v, mask, is_causal=False)
    yield attention
    later = np.triu(np.ones(mask.shape[-2:], bool), 1)
    entries = mask.value
    hides = ~entries if entries.dtype == bool else entries <= _HIDES
    if (hides != later).any() or (entries.dtype != bool and (entries[~hides] != 0).any()):
        return decline("its mask does not hide just the keys after each query", at=mask)
    return op.attention(q, k, v, scale=attention.scale, is_causal=True)


RECOGNISE_ATTENTION = (
    add_masks,
    recognise_attention,
    recognise_masked_attention,
    recognise_attention_of_chosen,
    scale_queries,
    scale_keys,
    share_keys,
    hide_later_keys,
)
"""Attention from products, a softmax and masks."""
