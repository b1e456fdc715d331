"""Steps of optimisers, as arithmetic (ONNX specification, ``ai.onnx.preview.training``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphrewrite import op
from graphrewrite.lowering.exchange.attribute_values import number, word
from graphrewrite.lowering.exchange.entry import Entry, same_names

__all__ = ["TRAINING"]

_DOMAIN = "ai.onnx.preview.training"
_MOST = 1 << 16
"""Outputs of a node: each tensor has several."""


def _of_each(step: Callable[..., tuple[Any, ...]], count: int) -> Callable[..., tuple[Any, ...]]:
    """A step for several tensors: of so many operands for each, first all tensors, then all gradients, and so on."""

    def build(rate: Any, step_count: Any, *operands: Any, **attributes: Any) -> tuple[Any, ...]:
        several, left = divmod(len(operands), count)
        if left or not several:
            raise ValueError(f"{len(operands)} operands are not {count} for each tensor")
        time = op.cast(step_count, element=operands[0].type.element)
        rows = [step(rate, time, *operands[i::several], **attributes) for i in range(several)]
        return tuple(result for results in zip(*rows, strict=True) for result in results)

    return build


def _regularised(x: Any, gradient: Any, factor: float) -> Any:
    return gradient if factor == 0 else op.add(op.mul(x, factor), gradient)


def _adagrad(
    rate: Any,
    time: Any,
    x: Any,
    gradient: Any,
    squares: Any,
    *,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Any, ...]:
    rate = op.div(rate, op.add(op.mul(time, decay_factor), 1.0))
    slope = _regularised(x, gradient, norm_coefficient)
    squares = op.add(squares, op.mul(slope, slope))
    return op.sub(x, op.div(op.mul(slope, rate), op.add(op.sqrt(squares), epsilon))), squares


def _adam(
    rate: Any,
    time: Any,
    x: Any,
    gradient: Any,
    mean: Any,
    squares: Any,
    *,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Any, ...]:
    slope = _regularised(x, gradient, norm_coefficient)
    mean = op.add(op.mul(mean, alpha), op.mul(slope, 1 - alpha))
    squares = op.add(op.mul(squares, beta), op.mul(op.mul(slope, slope), 1 - beta))
    # Both means begin at zero, of which the first steps have too much.
    right = op.div(op.sqrt(_missing(beta, time)), _missing(alpha, time))
    rate = op.where(op.greater(time, 0.0), op.mul(rate, right), rate)
    moved = op.sub(x, op.mul(op.div(mean, op.add(op.sqrt(squares), epsilon)), rate))
    return moved if norm_coefficient_post == 0 else op.mul(moved, 1 - norm_coefficient_post), mean, squares


def _missing(factor: float, time: Any) -> Any:
    """The part of a mean that its start still has no share in: ``1 - factor**time``."""
    return op.sub(1.0, op.pow(factor, time))


def _momentum(
    rate: Any,
    time: Any,
    x: Any,
    gradient: Any,
    velocity: Any,
    *,
    alpha: float,
    beta: float,
    mode: str = "standard",
    norm_coefficient: float = 0.0,
) -> tuple[Any, ...]:
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"mode {mode!r} is neither 'standard' nor 'nesterov'")
    slope = _regularised(x, gradient, norm_coefficient)
    share = op.where(op.greater(time, 0.0), op.mul(slope, beta), slope)  # all of it in the first step
    velocity = op.add(op.mul(velocity, alpha), share)
    step = velocity if mode == "standard" else op.add(slope, op.mul(velocity, alpha))
    return op.sub(x, op.mul(step, rate)), velocity


_NORM = ("norm_coefficient", "epsilon")

TRAINING: tuple[Entry, ...] = (
    Entry(f"{_DOMAIN}.Adagrad", _of_each(_adagrad, 3), same_names(number, "decay_factor", *_NORM), outputs=_MOST),
    Entry(
        f"{_DOMAIN}.Adam",
        _of_each(_adam, 4),
        same_names(number, "alpha", "beta", "norm_coefficient_post", *_NORM),
        outputs=_MOST,
    ),
    Entry(
        f"{_DOMAIN}.Momentum",
        _of_each(_momentum, 3),
        {**same_names(number, "alpha", "beta", "norm_coefficient"), **same_names(word, "mode")},
        outputs=_MOST,
    ),
)
