"""The gradient of attention."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.attention import factor_of, for_each_head, scores_of
from graphrewrite.lowering.gradients.shapes import number, repeated, summed

__all__ = ["DIFFERENTIATE_ATTENTION"]


@rule(keeps="rounding")
def differentiate_attention(g, q, k, v, mask=None):
    """Of shares p = softmax(scores): dv = p.T @ g, dp = g @ v.T, and of scores p * (dp - sum(p * dp))."""
    d = op.attention.vjp(g, q, k, v, mask)
    yield d
    if (factor := factor_of(d, q)) is None:
        return decline("only run time tells its scale", at=d)
    if any(isinstance(size, str) for x in (k, v) for size in (x.shape[1], x.shape[3])):
        return decline("only run time tells how many heads there are", at=d)
    keys, values = for_each_head(k, q), for_each_head(v, q)
    scores = scores_of(d, q, keys, mask, factor)
    if mask is not None:  # a query that sees no key has no shares
        unseeing = op.equal(op.reduce_max(scores, axes=(-1,)), -math.inf)
        p = op.softmax(op.where(unseeing, number(0, q), scores), axis=-1)
        p = op.where(unseeing, number(0, q), p)
    else:
        p = op.softmax(scores, axis=-1)
    if d.wrt == 2:
        return _of_shared_heads(op.matmul(_turned(p), g), v)
    dp = op.matmul(g, _turned(values))
    ds = p * (dp - op.reduce_sum(p * dp, axes=(-1,)))
    if d.wrt == 3:
        return summed(ds, d)
    made = op.matmul(ds, keys) if d.wrt == 0 else _of_shared_heads(op.matmul(_turned(ds), q), k)
    return made if factor == 1 else made * factor


def _turned(x):
    return op.transpose(x, perm=(0, 1, 3, 2))


def _of_shared_heads(g, x):
    """The sum over the heads of queries that share one of keys or values."""
    if g.shape[1] == x.shape[1]:
        return g
    # Two sizes may be symbolic, and a reshape leaves one open: heads are taken apart by slices.
    count = g.shape[1] // x.shape[1]
    if count == 0:
        return repeated(op.reduce_sum(g, axes=(1,)), x.shape)
    every = [op.slice(g, starts=(i,), ends=(g.shape[1],), axes=(1,), steps=(count,)) for i in range(count)]
    return op.sum(*every)


DIFFERENTIATE_ATTENTION = (differentiate_attention,)
"""The gradient of attention."""
