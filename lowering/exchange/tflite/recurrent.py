"""Operators of TensorFlow Lite that keep a state: their last results are what their variables become."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.layers import product
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, multipliers, rescaled

__all__ = ["stored_svdf", "svdf"]


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
