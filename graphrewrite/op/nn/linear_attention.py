"""Attention whose state has one size however long the sequence is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, check_elements, one_element
from graphrewrite.op.nn.sampling import check_word
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.types import Dimension, Tensor, element_dtype

__all__ = ["linear_attention"]

_RULES = ("gated_delta", "linear", "gated", "delta")


def _infer(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    past: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    heads: int,
    kv_heads: int,
    update_rule: str,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    check_elements(FLOATS, [query])
    one_element(query, key, value, decay, beta)
    check_word("update_rule", update_rule, _RULES)
    missing = "decay" if update_rule.startswith("gated") and decay is None else ""
    missing = "beta" if update_rule.endswith("delta") and beta is None else missing
    if missing:
        raise TypeMismatchError(f"the rule {update_rule!r} needs the operand {missing!r}")
    if not 0 < kv_heads <= heads or heads % kv_heads:
        raise TypeMismatchError(f"{heads} heads of queries cannot share {kv_heads} heads of keys")
    if any(len(x.shape) != 3 for x in (query, key, value)):
        raise TypeMismatchError(f"queries, keys and values are [N,T,heads*size], got {query}, {key} and {value}")
    batch, steps, features = query.shape
    if key.shape[:2] != (batch, steps) or value.shape[:2] != (batch, steps):
        raise TypeMismatchError(f"the steps of {query}, {key} and {value} differ")
    if not isinstance(features, int) or features % heads or key.shape[2] != features // heads * kv_heads:
        raise TypeMismatchError(f"{features} features of {heads} heads need keys of {kv_heads} such heads, got {key}")
    width = value.shape[2]
    if not isinstance(width, int) or width % kv_heads:
        raise TypeMismatchError(f"values have features of {kv_heads} heads, got {value}")
    state = (batch, kv_heads, features // heads, width // kv_heads)
    if past is not None:
        pairs = zip(past.shape, state, strict=False)
        differ = [own for axis, (own, wanted) in enumerate(pairs) if own != wanted and (axis or own != 1)]
        if len(past.shape) != 4 or differ:  # one state may be that of all samples
            raise TypeMismatchError(f"the state is [{','.join(map(str, state))}], got {past}")
    _check_gate("decay", decay, batch, steps, (kv_heads, features // heads * kv_heads))
    _check_gate("beta", beta, batch, steps, (kv_heads, 1))
    result = Tensor(query.element, (batch, steps, width // kv_heads * heads))
    return result, Tensor(query.element if past is None else past.element, state)


def _check_gate(name: str, kind: Tensor | None, batch: Dimension, steps: Dimension, sizes: tuple[int, int]) -> None:
    if kind is None or kind.shape == (1, 1, 1):
        return
    if len(kind.shape) != 3 or kind.shape[:2] != (batch, steps) or kind.shape[2] not in sizes:
        raise TypeMismatchError(f"{name} is [{batch},{steps},{sizes[0]}] or [{batch},{steps},{sizes[1]}], got {kind}")


def _no_state(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
    query, value, count = types[0], types[2], attributes["kv_heads"]
    shape = (1, count, int(query.shape[2]) // attributes["heads"], int(value.shape[2]) // count)
    return np.zeros(shape, element_dtype(query.element))


def _no_decay(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
    return np.zeros((1, 1, 1), element_dtype(types[0].element))


@define_op(infer=_infer, results=2, neutral={"past": _no_state, "decay": _no_decay})
def linear_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    past: np.ndarray | None = None,
    decay: np.ndarray | None = None,
    beta: np.ndarray | None = None,
    *,
    heads: int,
    kv_heads: int,
    update_rule: Literal["gated_delta", "linear", "gated", "delta"] = "gated_delta",
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Linear attention, and its last state (ONNX specification, LinearAttention; Yang et al. 2024).

    In each step the state is times ``exp(decay)`` where the rule is gated, and gets the outer product of key and value;
    by the delta rule, of ``beta`` times the difference of the value to the one that the state has for the key. The
    output is the query times the state.

    Parameters
    ----------
    query
        Queries [N, T, heads * size].
    key
        Keys [N, T, kv_heads * size].
    value
        Values [N, T, kv_heads * size].
    past
        State before [N, kv_heads, size of keys, size of values]; zeros if not given.
    decay
        Logarithm of the state's factor in each step.
    beta
        Weight of each step.
    heads
        Number of heads of the queries.
    kv_heads
        Number of heads of keys and values.
    update_rule
        "linear", "gated", "delta" or "gated_delta".
    scale
        Factor of the output; ``1/sqrt(size)`` if not given.

    Examples
    --------
    >>> x = np.ones((1, 3, 1))
    >>> linear_attention(x, x, x, heads=1, kv_heads=1, update_rule="linear")[0].ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    batch, steps = query.shape[:2]
    size = query.shape[2] // heads
    q, k, v = (
        widened(x).reshape(batch, steps, count, x.shape[2] // count)
        for x, count in ((query, heads), (key, kv_heads), (value, kv_heads))
    )
    state = np.zeros((1, kv_heads, size, v.shape[3]), q.dtype) if past is None else widened(past).astype(q.dtype)
    state = np.broadcast_to(state, (batch, *state.shape[1:]))
    gates = _by_head(decay, batch, steps, kv_heads) if update_rule.startswith("gated") else None
    rates = _by_head(beta, batch, steps, kv_heads) if update_rule.endswith("delta") else None
    factor = 1 / math.sqrt(size) if scale is None else scale
    outputs = np.zeros((batch, steps, heads, v.shape[3]), q.dtype)
    for step in range(steps):
        if gates is not None:
            state = state * np.exp(gates[:, step])[..., None]
        new = v[:, step]
        if rates is not None:
            new = rates[:, step] * (new - np.einsum("nhkv,nhk->nhv", state, k[:, step]))
        state = state + k[:, step, :, :, None] * new[:, :, None, :]
        seen = np.repeat(state, heads // kv_heads, axis=1)
        outputs[:, step] = q.dtype.type(factor) * np.einsum("nhk,nhkv->nhv", q[:, step], seen)
    last = np.ascontiguousarray(state)
    return narrowed(outputs.reshape(batch, steps, heads * v.shape[3]), query), narrowed(
        last, query if past is None else past
    )


def _by_head(x: np.ndarray | None, batch: int, steps: int, heads: int) -> np.ndarray:
    """A gate of each head, of one number for all entries or one each: [N, T, heads, 1 or size]."""
    assert x is not None  # as the inference asked
    wide = np.broadcast_to(widened(x), (batch, steps, x.shape[2]))
    count = min(heads, x.shape[2])
    return wide.reshape(batch, steps, count, x.shape[2] // count)
