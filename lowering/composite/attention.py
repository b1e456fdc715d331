"""Attention written as products and a softmax, and the rotation of pairs by what stands beside."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import bare
from graphrewrite.lowering.composite.precision import converted, exact_floats, like, widened

__all__ = ["LOWER_ATTENTION", "factor_of", "for_each_head", "scores_of"]


@rule(keeps="rounding")
def write_attention_by_softmax(q, k, v, mask=None):
    """Products of queries with keys become shares, by which values are added up (Vaswani et al. 2017)."""
    attention = op.attention(q, k, v, mask)
    yield attention
    if (factor := factor_of(attention, q)) is None:
        return decline("only run time tells its scale", at=attention)
    element = q.type.element
    q, k, v = (bare(widened(x)) for x in (q, k, v))
    k, v = for_each_head(k, q), for_each_head(v, q)
    scores = scores_of(attention, q, k, mask, factor)
    shares = op.softmax(scores, axis=-1)
    if mask is not None:  # those of a query that sees no key are not numbers
        unseeing = op.equal(op.reduce_max(scores, axes=(-1,)), -math.inf)
        shares = op.where(unseeing, like(0.0, q), shares)
    return converted(op.matmul(shares, v), element)


def factor_of(attention, q):
    """Return by what products of queries with keys are multiplied; None where only run time tells."""
    size = q.shape[3]
    if attention.scale is None:
        return None if isinstance(size, str) else 1 / math.sqrt(max(size, 1))
    return attention.scale


def scores_of(attention, q, k, mask, factor):
    """Return the products of queries with keys; minus infinity where a query does not see a key."""
    scores = op.matmul(q if factor == 1 else q * factor, op.transpose(k, perm=(0, 1, 3, 2)))
    if mask is not None:
        seen = mask.type.element == "bool"
        scores = scores + (op.where(mask, like(0.0, q), like(-math.inf, q)) if seen else bare(widened(mask)))
    return scores + _later(scores) if attention.is_causal else scores


def for_each_head(x, q):
    """Return keys or values for each head of queries, of which several may share one."""
    count, wanted = x.shape[1], q.shape[1]
    return x if count == wanted else op.gather(x, np.repeat(np.arange(count), wanted // count), axis=1)


def _later(scores):
    """What is added to the scores of keys that come after the query."""
    queries, keys = scores.shape[2:]
    if isinstance(queries, int) and isinstance(keys, int):
        return np.triu(np.full((queries, keys), like(-math.inf, scores)), 1)
    every = op.constant_of_shape(shape=(queries, keys), value=-math.inf, element=scores.type.element)
    return op.trilu(every, k=1)


@rule
def write_rotary_embedding_by_products(x, cos, sin):
    """Each entry of a pair times the cosine, and the other one times the sine (Su et al. 2021)."""
    turned = op.rotary_embedding(x, cos, sin)
    yield turned
    pairs, size = cos.shape[2], x.shape[3]
    wide, across, along = (exact_floats(bare(each)) for each in (x, cos, sin))
    across, along = (op.unsqueeze(each, axes=(1,)) for each in (across, along))
    if turned.interleaved:
        first, second = _cut(wide, 0, 2 * pairs, 2), _cut(wide, 1, 2 * pairs, 2)
    else:
        first, second = _cut(wide, 0, pairs), _cut(wide, pairs, 2 * pairs)
    parts = [first * across - second * along, second * across + first * along]
    if turned.interleaved:
        pairs_apart = op.concat(*(op.unsqueeze(each, axes=(4,)) for each in parts), axis=4)
        parts = [op.reshape(pairs_apart, shape=(0, 0, 0, 2 * pairs))]
    rest = [_cut(wide, 2 * pairs, size)] if 2 * pairs < size else []
    return converted(op.concat(*parts, *rest, axis=3), x.type.element)


def _cut(x, start, end, step=1):
    return op.slice(x, starts=(start,), ends=(end,), axes=(3,), steps=(step,))


@rule(keeps="rounding")
def unroll_linear_attention(q, k, v, past=None, decay=None, beta=None):
    """In each step the state decays and gets the outer product of key and value; a query reads it by a product."""
    layer = op.linear_attention(q, k, v, past, decay, beta)
    y, last = layer
    yield y, last
    steps, heads, shared = q.shape[1], layer.kv_heads, layer.heads // layer.kv_heads
    if isinstance(steps, str) or not steps:
        return decline("there are no steps" if steps == 0 else "only run time tells how many steps there are", at=layer)
    size, width = q.shape[2] // layer.heads, v.shape[2] // heads
    if 0 in (size, width):
        return decline("a head of no channels cannot be told from one that a reshape copies", at=layer)
    factor = 1 / math.sqrt(max(size, 1)) if layer.scale is None else layer.scale

    def at(x, step, *shape):
        """The entries of one step, by head; of one gate for all steps, always the same."""
        one = x if x.shape[1] == 1 else op.slice(x, starts=(step,), ends=(step + 1,), axes=(1,))
        return op.reshape(one, shape=(0, *shape))

    def gate(x, step):
        count = min(heads, x.shape[2])
        return at(x, step, count, x.shape[2] // count, 1)

    element, stored = q.type.element, (q if past is None else past).type.element
    q, k, v = (bare(widened(x)) for x in (q, k, v))
    state = None if past is None else converted(bare(widened(past)), q.type.element)
    outputs = []
    for step in range(steps):
        if state is not None and layer.update_rule.startswith("gated"):
            state = state * op.exp(gate(bare(widened(decay)), step))
        new = at(v, step, heads, 1, width)
        if layer.update_rule.endswith("delta"):
            known = new if state is None else new - at(k, step, heads, 1, size) @ state
            new = gate(bare(widened(beta)), step) * known
        added = at(k, step, heads, size, 1) @ new
        state = added if state is None else state + added
        read = at(q, step, heads, shared, size) @ state
        outputs.append(op.reshape(read if factor == 1 else read * factor, shape=(0, 1, layer.heads * width)))
    found = outputs[0] if steps == 1 else op.concat(*outputs, axis=1)
    return converted(found, element), converted(state, stored)


LOWER_ATTENTION = (write_attention_by_softmax, write_rotary_embedding_by_products, unroll_linear_attention)
"""Attention and its positions by products, sums and a softmax."""
