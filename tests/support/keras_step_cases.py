"""Layers of Keras that run along time, and attention, as numpy computes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from tests.support.keras_files import Case, T, drawn, sigmoid, softmax

__all__ = ["attention", "recurrent"]


def steps(
    kind: str, x: np.ndarray, parts: Sequence[np.ndarray], states: Sequence[np.ndarray], *, turned: bool, after: bool
) -> tuple[np.ndarray, ...]:
    """All outputs, in the order of the steps that are taken, and the last states (LSTM, GRU, SimpleRNN of Keras)."""
    kernel, recurrent, *bias = parts
    units = recurrent.shape[0]
    first, second = (bias[0], 0 * bias[0]) if bias and bias[0].ndim == 1 else bias[0] if bias else (0, 0)
    h, *cell = states or [np.zeros((len(x), units))] * (1 + (kind == "LSTM"))
    found = []
    for step in x.swapaxes(0, 1)[:: -1 if turned else 1]:
        given, own = step @ kernel + first, h @ recurrent + second
        if kind == "LSTM":
            i, f, c, o = np.split(given + own, 4, 1)
            cell = [sigmoid(f) * cell[0] + sigmoid(i) * np.tanh(c)]
            h = sigmoid(o) * np.tanh(cell[0])
        elif kind == "GRU":
            (z, r, n), (u, v, w) = np.split(given, 3, 1), np.split(own, 3, 1)
            z, r = sigmoid(z + u), sigmoid(r + v)
            n = np.tanh(n + (r * w if after else (r * h) @ recurrent[:, 2 * units :]))
            h = z * h + (1 - z) * n
        else:
            h = np.tanh(given + own)
        found.append(h)
    return (np.stack(found, 1), h, *cell)


def recurrent() -> Iterator[Case]:
    """Layers that run along time, in each direction, with and without states and biases."""
    cells = {"LSTM": (4, "lstm"), "GRU": (3, "gru"), "SimpleRNN": (1, "simple_rnn")}
    usual = {"activation": "tanh", "recurrent_activation": "sigmoid", "units": 3}
    for kind, (gates, _) in cells.items():
        for after in (True, False) if kind == "GRU" else (True,):
            shape = (2, gates * 3) if kind == "GRU" and after else (gates * 3,)
            parts = [drawn(4, gates * 3), drawn(3, gates * 3), drawn(*shape)]
            for turned, plain, states in product((False, True), (False, True), (False, True)):
                own = parts[:2] if plain else parts
                start = [drawn(2, 3) for _ in range(1 + (kind == "LSTM"))] if states else []
                every, *last = steps(kind, T, own, start, turned=turned, after=after)
                said = {
                    **usual, "go_backwards": turned, "use_bias": not plain, "return_sequences": not states,
                    "return_state": not plain, "weights": {"cell": own}, "reset_after": after,
                }  # fmt: skip
                results = (last[0] if states else every, *(() if plain else last))
                yield kind, (T, *start), said, results
        parts = [drawn(4, gates * 3), drawn(3, gates * 3), drawn(gates * 3)]
        others = [drawn(4, gates * 3), drawn(3, gates * 3), drawn(gates * 3)]
        config = {**usual, "name": "inner", "reset_after": False, "return_sequences": True}
        weights = {"forward_layer/cell": parts, "backward_layer/cell": others}
        forth, back = (steps(kind, T, own, [], turned=turned, after=False) for own, turned in ((parts, 0), (others, 1)))
        second = back[0][:, ::-1]
        merges = {
            "concat": np.concatenate([forth[0], second], -1), "sum": forth[0] + second, "mul": forth[0] * second,
            "ave": (forth[0] + second) / 2, None: (forth[0], second),
        }  # fmt: skip
        for merge, wanted in merges.items():
            said = {"layer": {"class_name": kind, "config": config}, "merge_mode": merge, "weights": weights}
            yield "Bidirectional", (T,), said, wanted
        config = {**config, "return_sequences": False, "return_state": True}
        start = [drawn(2, 3) for _ in range(2 + 2 * (kind == "LSTM"))]
        half = len(start) // 2
        one, two = (
            steps(kind, T, own, own_start, turned=turned, after=False)
            for own, own_start, turned in ((parts, start[:half], False), (others, start[half:], True))
        )
        said = {"layer": {"class_name": kind, "config": config}, "weights": weights}
        yield "Bidirectional", (T, *start), said, (np.concatenate([one[1], two[1]], -1), *one[1:], *two[1:])
        cell = {"class_name": f"{kind}Cell", "config": {**usual, "name": "inner", "reset_after": False}}
        every = steps(kind, T, parts, [], turned=True, after=False)
        said = {"cell": cell, "go_backwards": True, "return_sequences": True, "weights": {"cell": parts}}
        yield "RNN", (T,), said, every[0]
        again = {"class_name": "StackedRNNCells", "config": {"name": "cells", "cells": [cell, cell]}}
        more = [drawn(3, gates * 3), drawn(3, gates * 3), drawn(gates * 3)]
        names = {"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}
        weights = {f"cell/cells/{names[kind]}": parts, f"cell/cells/{names[kind]}_1": more}
        first = steps(kind, T, parts, [], turned=False, after=False)[0]
        yield (
            "RNN",
            (T,),
            {"cell": again, "weights": weights},
            steps(kind, first, more, [], turned=False, after=False)[1],
        )
    inner = {"class_name": "Dense", "config": {"name": "d", "units": 6}}
    kernel, bias = drawn(4, 6), drawn(6)
    said = {"layer": inner, "weights": {"layer": [kernel, bias]}}
    yield "TimeDistributed", (T,), said, T @ kernel + bias


def attention() -> Iterator[Case]:
    """Attention of several heads, and of one, with masks."""
    q, v = drawn(2, 3, 4), drawn(2, 5, 4)
    several = {
        name: [drawn(4, 2, 3), drawn(2, 3)] for name in ("query_dense", "key_dense", "value_dense")
    } | {"output_dense": [drawn(2, 3, 4), drawn(4)]}  # fmt: skip
    few = {f"{name}_dense": [drawn(4, 2, 3)] for name in ("key", "value")}
    grouped = {"query_dense": [drawn(4, 4, 3)], **few, "output_dense": [drawn(4, 3, 4)]}

    def heads(weights: dict[str, Any], key: np.ndarray, seen: Any = None) -> tuple[Any, Any]:
        a, b, c = (
            np.einsum("btd,dhk->bhtk", x, weights[name][0]) + (weights[name][1][:, None] if weights[name][1:] else 0)
            for x, name in ((q, "query_dense"), (key, "key_dense"), (v, "value_dense"))
        )
        b, c = (each.repeat(a.shape[1] // each.shape[1], 1) for each in (b, c))
        scores = a @ b.swapaxes(2, 3) / np.sqrt(3)
        shares = softmax(scores if seen is None else np.where(seen, scores, -1e30))
        kernel, *bias = weights["output_dense"]
        return np.einsum("bhtk,hkd->btd", shares @ c, kernel) + (bias[0] if bias else 0), shares

    causal, mask = np.tril(np.ones((3, 5), bool)), drawn(2, 3, 5) > 0
    mask[..., 0] = True
    key = drawn(2, 5, 4)
    plain = {name: each[:1] for name, each in several.items()}
    said = {"key_dim": 3, "weights": several}
    yield "MultiHeadAttention", (q, v), said, heads(several, v)[0]
    yield "MultiHeadAttention", (q, v, key), said, heads(several, key)[0]
    yield "MultiHeadAttention", (q, v), {"key_dim": 3, "use_bias": False, "weights": plain}, heads(plain, v)[0]
    yield "MultiHeadAttention", (q, v), {**said, "call": {"use_causal_mask": True}}, heads(several, v, causal)[0]
    yield "MultiHeadAttention", (q, v), {**said, "call": {"return_attention_scores": True}}, heads(several, v)
    for kind in (bool, np.int32, np.float32):
        given = {**said, "call": {"attention_mask": mask.astype(kind)}}
        yield "MultiHeadAttention", (q, v), given, heads(several, v, mask[:, None])[0]
    both = {**said, "call": {"attention_mask": mask, "use_causal_mask": True}}
    yield "MultiHeadAttention", (q, v), both, heads(several, v, mask[:, None] & causal)[0]
    some = np.bool_([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]])
    given = {**said, "call": {"value_mask": some}}
    yield "MultiHeadAttention", (q, v), given, heads(several, v, some[:, None, None])[0]
    said = {"head_dim": 3, "use_bias": False, "weights": {f"_{name}": each for name, each in grouped.items()}}
    yield "GroupedQueryAttention", (q, v), said, heads(grouped, v)[0]
    yield "GroupedQueryAttention", (q, v), {**said, "call": {"return_attention_scores": True}}, heads(grouped, v)

    def single(scores: np.ndarray) -> tuple[Any, Any]:
        return softmax(scores) @ v, softmax(scores)

    dots, sums = q @ v.swapaxes(1, 2), np.tanh(q[:, :, None] + v[:, None])
    scale, scales = np.float32(0.5), drawn(4)
    yield "Attention", (q, v), {}, single(dots)[0]
    yield "Attention", (q, v), {"use_scale": True, "weights": [scale]}, single(dots * scale)[0]
    yield "Attention", (q, v, key), {}, single(q @ key.swapaxes(1, 2))[0]
    yield "Attention", (q, v), {"call": {"use_causal_mask": True}}, single(np.where(causal, dots, -1e30))[0]
    yield "Attention", (q, v), {"call": {"return_attention_scores": True}}, single(dots)
    yield "AdditiveAttention", (q, v), {"weights": [scales]}, single((sums * scales).sum(-1))[0]
    yield "AdditiveAttention", (q, v), {"use_scale": False}, single(sums.sum(-1))[0]
