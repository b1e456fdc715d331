"""Attention in parts, as exporters write it: each form of factors, masks and heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op

__all__ = ["attentions"]

_NUMPY: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
FACTORS = ("none", "times", "over", "queries", "keys", "both")
MASKS = ("none", "added", "rows", "both", "later", "chosen", "hidden", "later hidden")


@st.composite
def attentions(draw: st.DrawFn) -> Graph:
    """Return graphs of attention, in parts or as one op; each query sees a key."""
    element = draw(st.sampled_from(("f32", "f64", "f16")))
    batch, size, width = draw(st.sampled_from(("N", 1, 2))), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys = draw(st.sampled_from(((3, 3), (2, 3), (3, 2), (1, 2), ("T", "T"), ("T", "S"))))
    shared, heads = draw(st.sampled_from(((1, 2), (2, 1), (2, 2), (1, 1))))
    graph = Graph("attention")
    q = graph.input("q", Tensor(element, (batch, shared * heads, queries, size)))
    # Keys as a layer gives them, the heads behind the steps, or as they are multiplied.
    perm = draw(st.sampled_from(((0, 1, 2, 3), (0, 2, 1, 3))))
    k, v = (
        _repeated(
            op.transpose(graph.input(name, Tensor(element, _permuted(perm, batch, shared, keys, n))), perm=perm), heads
        )
        for name, n in (("k", size), ("v", width))
    )
    factor, number = draw(st.sampled_from(FACTORS)), np.array(draw(st.sampled_from((0.5, 0.25, 2.0))), _NUMPY[element])
    q = q * number if factor in ("queries", "both") else q
    k = k / number if factor in ("keys", "both") else k
    form = draw(st.sampled_from(MASKS))
    if draw(st.booleans()):
        mask = _mask(form, graph, element, (batch, queries, keys))
        y = op.attention(q, k, v, *([] if mask is None else [mask]), scale=draw(st.sampled_from((None, 0.5))))
    else:
        turned = op.transpose(k, perm=(0, 1, 3, 2))
        if batch == 2 and isinstance(keys, int) and draw(st.booleans()):  # heads and samples are one axis before
            rows = op.reshape(k, shape=(2 * shared * heads, keys, size))
            turned = op.reshape(op.transpose(rows, perm=(0, 2, 1)), shape=turned.type.shape)
        scores = op.matmul(q, turned)
        scores = scores * number if factor == "times" else scores / number if factor == "over" else scores
        scores = _masked(form, scores, graph, element)
        shares = op.softmax(scores, axis=draw(st.sampled_from((-1, 3))))
        if draw(st.booleans()):
            shares = op.where(op.is_nan(shares), np.array(0, number.dtype), shares)
        y = op.matmul(shares, v)
    graph.output("y", y)
    return graph


def _permuted(perm: tuple[int, ...], *shape: Any) -> tuple[Any, ...]:
    return tuple(shape[i] for i in perm)


def _repeated(x: Any, count: int) -> Any:
    """Each head as many times, as Llama's exporters write it."""
    if count == 1:
        return x
    batch, heads, *rest = x.type.shape
    each = op.expand(op.unsqueeze(x, axes=(2,)), shape=(batch, heads, count, *rest))
    return op.reshape(each, shape=(batch, heads * count, *rest))


def _mask(form: str, graph: Graph, element: str, sizes: tuple[Any, Any, Any]) -> Any:
    """What is added to scores: numbers, or a constant that hides the keys after each query; None for other forms."""
    batch, queries, keys = sizes
    if form == "added":
        return graph.input("m", Tensor(element, (queries, keys)))
    if form == "rows":
        return graph.input("m", Tensor(element, (batch, 1, queries, keys)))
    if form.startswith("later") and isinstance(keys, int):
        later = np.triu(np.ones((queries, keys), bool), 1)
        return np.where(later, _low(element), 0).astype(_NUMPY[element]) if form == "later" else ~later
    return None


def _low(element: str) -> Any:
    return np.array(-np.inf if element == "f64" else np.finfo(_NUMPY[element]).min, _NUMPY[element])


def _masked(form: str, scores: Any, graph: Graph, element: str) -> Any:
    batch, _, queries, keys = scores.type.shape
    low = _low(element)
    if form == "rows":
        return graph.input("m", Tensor(element, (batch, 1, 1, keys))) + scores
    if form == "both":
        both = [graph.input(n, Tensor(element, s)) for n, s in (("m", (queries, keys)), ("n", (batch, 1, 1, keys)))]
        return both[0] + scores + both[1]
    if form in ("chosen", "hidden"):
        given = graph.input("m", Tensor(element, (queries, keys)))
        seen = op.greater(op.softmax(given, axis=-1), np.array(0, low.dtype))
        return op.where(seen, scores, low) if form == "chosen" else op.where(op.logical_not(seen), low, scores)
    mask = _mask(form, graph, element, (batch, queries, keys))
    if mask is None:
        return scores
    return op.where(~mask, low, scores) if form == "later hidden" else scores + mask
