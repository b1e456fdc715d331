"""Layers along sequences: types of their operands, and iteration over the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.cost import entries
from graphrewrite.op.domain import FLOATS, check_elements, one_element
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.sizes import advice, shown
from graphrewrite.types import Dimension, Tensor, element_kind

__all__ = ["Step", "along_sequences", "check_shape", "infer_sequences", "limited", "of_sequences"]

Step = Callable[[np.ndarray, tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]
"""Takes the products of one step's inputs [N, gates * H] and the states [N, H]; returns the new states."""

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def check_shape(name: str, kind: Tensor, *shape: Dimension) -> None:
    """Raise unless an operand has a shape."""
    if kind.shape != shape:
        pairs = zip(shape, kind.shape, strict=False)
        unequal = next((pair for pair in pairs if pair[0] != pair[1]), ())
        raise TypeMismatchError(f"{name} must have the shape {shown(shape)}, got {kind}{advice(*unequal)}")


def _check_attributes(direction: str, clip: float | None, layout: int) -> None:
    if direction not in _DIRECTIONS:
        raise TypeMismatchError(
            f"the direction is {' or '.join(map(repr, _DIRECTIONS))}, got {direction!r}"
            f"{did_you_mean(str(direction), _DIRECTIONS)}"
        )
    if layout not in (0, 1):
        raise TypeMismatchError(f"layout is 0 (steps first) or 1 (batch first), got {layout!r}")
    if clip is not None and not clip > 0:
        raise TypeMismatchError(f"clip is a positive number, or None for no limits, got {clip}")


def _hidden_size(r: Tensor) -> int:
    """Return the number of entries of a state, which the recurrent weights say."""
    size = r.shape[-1] if len(r.shape) == 3 else 0
    if not isinstance(size, int) or size < 1:
        raise TypeMismatchError(
            f"the recurrent weights are [D,gates*H,H] with states of H entries, at least one, got {r}"
        )
    return size


def infer_sequences(
    operands: Sequence[Tensor],
    states: Sequence[Tensor],
    sequence_lens: Tensor | None,
    *,
    gates: int,
    direction: str,
    clip: float | None,
    layout: int,
    **_: Any,
) -> tuple[Tensor, ...]:
    """Return the result types of a recurrent layer: all outputs, and the last of each state.

    Parameters
    ----------
    operands : sequence of Tensor
        The input, its weights, the recurrent weights and the bias.
    sequence_lens : Tensor, optional
        Numbers of steps of the samples.
    """
    x, w, r, b = operands
    check_elements(FLOATS, [x])
    one_element(x, w, r, b, *states)
    _check_attributes(direction, clip, layout)
    if len(x.shape) != 3:
        raise TypeMismatchError(f"the input is [{'N,T,I' if layout else 'T,N,I'}], steps of a batch, got {x}")
    steps, batch = (x.shape[1], x.shape[0]) if layout else (x.shape[0], x.shape[1])
    hidden_size = _hidden_size(r)
    count, rows = _DIRECTIONS[direction], gates * hidden_size
    check_shape("the weights", w, count, rows, x.shape[2])
    check_shape("the recurrent weights", r, count, rows, hidden_size)
    check_shape("the bias", b, count, 2 * rows)
    last = (batch, count, hidden_size) if layout else (count, batch, hidden_size)
    for state in states:
        if state.shape != ((1, *last[1:]) if layout else (count, 1, hidden_size)):  # one state for the whole batch
            check_shape("an initial state", state, *last)
    if sequence_lens is not None:
        if element_kind(sequence_lens.element) != "integer":
            raise TypeMismatchError(f"sequence lengths are integers, got {sequence_lens}")
        check_shape("the lengths", sequence_lens, batch)
    every = (batch, steps, count, hidden_size) if layout else (steps, count, batch, hidden_size)
    return Tensor(x.element, every), *(Tensor(x.element, last) for _ in states)


def limited(x: np.ndarray, clip: float | None) -> np.ndarray:
    """Return the input of an activation within ``[-clip, clip]``; as it is without limits."""
    return x if clip is None else np.clip(x, x.dtype.type(-clip), x.dtype.type(clip))


def of_sequences(types: Sequence[Any], result: Any, attributes: Mapping[str, Any]) -> int:
    """Return the products of a recurrent layer: each step takes one with every weight.

    Examples
    --------
    >>> kinds = [Tensor("f32", (5, "N", 3)), Tensor("f32", (1, 8, 3)), Tensor("f32", (1, 8, 2))]
    >>> of_sequences(kinds, None, {})
    200
    """
    return entries(types[0].shape[:2]) * (entries(types[1].shape) + entries(types[2].shape))


def _backwards(x: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
    """Return the steps of each sequence in opposite order, padding at its place; done twice it is undone."""
    if lengths is None:
        return np.flip(x, 0)
    step = np.arange(len(x))[:, None]
    order = np.where(step < lengths, lengths - 1 - step, step)
    return np.take_along_axis(x, order[:, :, None], 0)


def _one_direction(
    products: np.ndarray, states: tuple[np.ndarray, ...], lengths: np.ndarray | None, step: Step
) -> tuple[np.ndarray, ...]:
    """Return all outputs [T, N, H] and the last states [N, H]: after its end a sequence gives zeros."""
    outputs = np.empty((len(products), *states[0].shape), products.dtype)
    for i, product in enumerate(products):
        new = step(product, states)
        if lengths is not None:
            runs = (i < lengths)[:, None]
            outputs[i] = np.where(runs, new[0], products.dtype.type(0))
            new = tuple(np.where(runs, n, old) for n, old in zip(new, states, strict=True))
        else:
            outputs[i] = new[0]
        states = new
    return outputs, *states


def along_sequences(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray,
    initial: Sequence[np.ndarray],
    sequence_lens: np.ndarray | None,
    step_of: Callable[[int], Step],
    direction: str,
    layout: int,
) -> tuple[np.ndarray, ...]:
    """Return the results of a recurrent layer: all outputs, and the last of each state.

    Parameters
    ----------
    x : ndarray
        Input, [T, N, I], or [N, T, I] in layout 1.
    w, bias : ndarray
        Weights [D, gates * H, I] and what is added to their products [D, gates * H].
    initial : sequence of ndarray
        States before the first step, [D, N, H], or [N, D, H] in layout 1; N may be 1.
    sequence_lens : ndarray, optional
        Numbers of steps of the samples.
    step_of : callable
        One step of each direction.
    layout : int
        0 for the steps first, 1 for the batch first.
    """
    wide, weights, initial = widened(x), widened(w), [widened(state) for state in initial]
    if layout:
        wide, initial = np.swapaxes(wide, 0, 1), [np.swapaxes(state, 0, 1) for state in initial]
    count, batch, inputs = wide.shape
    lengths = None if sequence_lens is None else np.clip(sequence_lens, 0, count).astype(np.intp)
    directions = []
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for i in range(len(w)):
            is_reverse = direction == "reverse" or i == 1  # the second one of a bidirectional layer
            ordered = _backwards(wide, lengths) if is_reverse else wide
            flat = ordered.reshape(count * batch, inputs) @ weights[i].T + bias[i]
            states = tuple(np.broadcast_to(state[i], (batch, state.shape[-1])) for state in initial)
            outputs, *last = _one_direction(flat.reshape(count, batch, w.shape[1]), states, lengths, step_of(i))
            directions.append((_backwards(outputs, lengths) if is_reverse else outputs, *last))
    every, *lasts = (np.stack(p, axis=1 if k == 0 else 0) for k, p in enumerate(zip(*directions, strict=True)))
    if layout:  # [T, D, N, H] and [D, N, H]
        every, lasts = np.transpose(every, (2, 0, 1, 3)), [np.swapaxes(last, 0, 1) for last in lasts]
    return narrowed(every, x), *(narrowed(last, x) for last in lasts)
