"""Operators of TensorFlow Lite that keep a state: their last results are what their variables become."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.layers import product
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, multipliers, rescaled
from graphrewrite.op.quantised.fixed_point_functions import logistic, tangent

__all__ = ["lstm", "stored_lstm", "stored_svdf", "svdf"]

_MOST_STEPS = 1024
_GATE = 2.0**-12
"""Scale of what the gates' functions read, in 16 bits."""
_LEAST, _MOST = -(1 << 15), (1 << 15) - 1
_WORDS = np.arange(_LEAST, _MOST + 1)


def _filters(x: Operand, feature: Operand, time: Operand, state: Operand, rank: int) -> tuple[int, int]:
    """Return the numbers of filters and of steps that are kept."""
    shapes = [each.shape for each in (x, feature, time, state)]
    fits = [len(shape) for shape in shapes] == [2] * 4 and feature.shape[0] == time.shape[0]
    filters, steps = time.shape if fits else (0, 0)
    if not fits or rank < 1 or filters % rank or steps < 1 or state.shape != (x.shape[0], filters * steps):
        raise Unfit(f"shapes {', '.join(map(str, shapes))} and rank {rank} do not fit")
    return filters, steps


def _shifted(state: Operand, newest: Any, filters: int, steps: int) -> tuple[Any, Any]:
    """Return a state by filters and steps without its oldest step and with a new one, and the same as it is kept."""
    batch = state.shape[0]
    kept = op.reshape(state.value, shape=(batch, filters, steps))
    recent = op.concat(op.slice(kept, starts=(1,), ends=(steps,), axes=(2,)), op.unsqueeze(newest, axes=(2,)), axis=2)
    return recent, op.reshape(recent, shape=(batch, filters * steps))


def _summed(products: Any, batch: int, filters: int, rank: int) -> Any:
    sums = op.reduce_sum(products, axes=(2,), keep_dims=False)
    if rank == 1:
        return sums
    return op.reduce_sum(op.reshape(sums, shape=(batch, filters // rank, rank)), axes=(2,), keep_dims=False)


def svdf(
    x: Operand, feature: Operand, time: Operand, b: Operand | None, state: Operand, *, to: tuple[Result], rank: int
) -> Any:
    """SVDF (Nakkiran et al. 2015): filters of features, whose results are filtered along time."""
    filters, steps = _filters(x, feature, time, state, rank)
    recent, kept = _shifted(state, op.linear(x.value, feature.value), filters, steps)
    sums = _summed(op.mul(recent, time.value), x.shape[0], filters, rank)
    return (sums if b is None else op.add(sums, b.value)), kept


def stored_svdf(
    x: Operand, feature: Operand, time: Operand, b: Operand | None, state: Operand, *, to: tuple[Result], rank: int
) -> Any:
    """SVDF of stored numbers, with a state of 16 bits; its activation has no effect."""
    filters, steps = _filters(x, feature, time, state, rank)
    feature.known()
    if [str(each.kind.element).split("<")[0] for each in (feature, time, state)] != ["i8", "i16", "i16"]:
        raise Unfit("its feature weights are i8, and its time weights and state are i16, where it is supported")
    first = float(product(x.scale, feature.scale) / np.float32(state.scale))
    second = float(product(state.scale, time.scale) / np.float32(to[0].scale))
    features = op.matmul_integer(x.value, feature.moved(1, 0), np.array(x.zero_point, np.int8))
    newest = op.multiply_fixed_point(features, *multipliers(first), element="i16")
    recent, kept = _shifted(state, newest, filters, steps)
    products = op.mul(op.cast(recent, element="i32"), op.cast(time.value, element="i32"))
    sums = _summed(products, x.shape[0], filters, rank)
    plain = Result(to[0].kind, "none", to[0].fix)
    return rescaled(sums if b is None else op.add(sums, b.value), second, plain), kept


def _check_plain(
    x: Operand, weights: tuple[Operand | None, ...], h: Operand, others: tuple[Operand | None, ...]
) -> int:
    """Return the size of the state of a layer with all four gates and nothing else."""
    if any(weight is None for weight in weights):
        raise Unfit("gates that share their weights are not supported")
    if any(other is not None for other in others):
        raise Unfit("peepholes, projections and norms inside of it are not supported")
    size = h.shape[-1] if h.shape else 0
    first, *_ = (weight for weight in weights if weight is not None)
    if len(x.shape) != 3 or len(h.shape) != 2 or first.shape != (size, x.shape[2]):
        raise Unfit(f"shapes {x.shape}, {first.shape} and {h.shape} do not fit")
    return size


def _stacked(*parts: Operand | None) -> np.ndarray:
    return np.concatenate([part.known() for part in parts if part is not None])


def _apart(operands: tuple[Operand | None, ...]) -> tuple[tuple[Operand | None, ...], ...]:
    """Return weights, recurrent weights and biases of the gates, the two states, and what else there is."""
    padded = (*operands, *[None] * (23 - len(operands)))
    return padded[:4], padded[4:8], padded[11:15], padded[17:19], (*padded[8:11], *padded[15:17], *padded[19:])


def lstm(x: Operand, *operands: Operand | None, to: tuple[Result], time_major: bool = False, **clips: float) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_LSTM (Gers et al. 2002)."""
    weights, recurrent, biases, (h, c), others = _apart(operands)
    if h is None or c is None or None in biases or any(clips.values()):
        raise Unfit("its states or biases are missing, or it clips its cells, which is not supported")
    _check_plain(x, weights, h, others)
    order = [0, 3, 1, 2]  # of ONNX: input, output, forget and cell
    w, r = (_stacked(*(parts[at] for at in order))[None] for parts in (weights, recurrent))
    b = _stacked(*(biases[at] for at in order))
    bias = np.concatenate([b, np.zeros_like(b)])[None]
    axis = 0 if time_major else 1
    states = [op.unsqueeze(each.value, axes=(axis,)) for each in (h, c)]
    found, last, cell = op.lstm(x.value, w, r, bias, *states, layout=0 if time_major else 1)
    return (
        op.squeeze(found, axes=(1 if time_major else 2,)),
        op.squeeze(last, axes=(axis,)),
        op.squeeze(cell, axes=(axis,)),
    )


def stored_lstm(
    x: Operand,
    *operands: Operand | None,
    to: tuple[Result],
    time_major: bool = False,
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_LSTM of stored numbers, step by step, with gates and cells of 16 bits."""
    weights, recurrent, biases, (h, c), others = _apart(operands)
    if h is None or c is None or None in biases or len(to[0].inner) != 5:
        raise Unfit("its states, biases or formats of what it computes inside are missing")
    size = _check_plain(x, weights, h, others)
    graph, hidden, power = x.value.graph, Result(to[0].inner[4], "none", to[0].fix), round(math.log2(c.scale))
    if 2.0**power != c.scale or not -15 <= power < 0:
        raise Unfit(f"the scale of its cells is {c.scale}, and not a power of two from 2**-15 to 1/2")
    images, steps = (op.transpose(x.value, perm=(1, 0, 2)), x.shape[0]) if time_major else (x.value, x.shape[1])
    to[0].fix(images, [1])
    if steps > _MOST_STEPS:
        raise Unfit(f"it has {steps} steps; at most {_MOST_STEPS} are supported")
    first, second = (_by_gate(parts, each, size) for parts, each in ((weights, x), (recurrent, h)))
    matrix, again = (graph.constant(np.ascontiguousarray(_stacked(*parts).T)) for parts in (weights, recurrent))
    sums = op.matmul_integer(images, matrix, np.array(x.zero_point, np.int8))
    drive = op.multiply_fixed_point(op.add(sums, _stacked(*biases).astype(np.int32)), *first, element="i16")
    gate = graph.constant(logistic(_WORDS).astype(np.int16))
    squash, cells = (graph.constant(tangent(_WORDS, bits).astype(np.int16)) for bits in (3, 15 + power))
    state, cell, zero = h.value, c.value, np.array(h.zero_point, np.int8)
    limit = min(int(cell_clip / c.scale), _MOST) if cell_clip > 0 else None
    scale = float(np.float32(np.float32(2.0**-15) / np.float32(hidden.scale)) * np.float32(2.0**-15))
    results = []
    for step in range(steps):
        back = op.multiply_fixed_point(op.matmul_integer(state, again, zero), *second, element="i32")
        total = op.add(op.cast(op.gather(drive, np.array(step), axis=1), element="i32"), back)
        into, keep, new, out = op.split(_word(total), axis=1, sizes=(size,) * 4)
        kept = _product(op.lookup(keep, gate, low=_LEAST), cell, 15)
        added = _product(op.lookup(into, gate, low=_LEAST), op.lookup(new, squash, low=_LEAST), 30 + power)
        cell = _word(op.add(kept, added))
        cell = cell if limit is None else op.clip(cell, low=-limit, high=limit)
        opened, squashed = op.lookup(out, gate, low=_LEAST), op.lookup(cell, cells, low=_LEAST)
        state = rescaled(op.mul(op.cast(opened, element="i32"), op.cast(squashed, element="i32")), scale, hidden)
        results.append(op.unsqueeze(state, axes=(0 if time_major else 1,)))
    return op.concat(*results, axis=0 if time_major else 1), state, cell


def _by_gate(parts: tuple[Operand | None, ...], x: Operand, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers and exponents of the gates, each for so many numbers."""
    factors = [float(product(part.scale, x.scale) / np.float32(_GATE)) for part in parts if part is not None]
    pairs = [multipliers(factor) for factor in factors]
    return tuple(np.repeat(np.array([pair[at] for pair in pairs]), size) for at in (0, 1))  # type: ignore[return-value]


def _word(x: Any) -> Any:
    return op.cast(op.clip(x, low=_LEAST, high=_MOST), element="i16")


def _product(x: Any, y: Any, bits: int) -> Any:
    """Return a product of numbers of 16 bits without so many lower bits, rounded half away from zero."""
    wide = op.mul(op.cast(x, element="i32"), op.cast(y, element="i32"))
    return op.round_half_away(op.mul(op.cast(wide, element="f64"), 2.0**-bits), element="i32")
