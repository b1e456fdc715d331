"""Recurrent layers, as the ONNX specification has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.op.define import define_op
from graphrewrite.op.derived import RECURRENT
from graphrewrite.op.domain import NUMBERS, one_element
from graphrewrite.op.nn.gates import gates
from graphrewrite.op.nn.sequences import Step, along_sequences, check_shape, infer_sequences, limited, of_sequences
from graphrewrite.op.precision import widened
from graphrewrite.op.signature import Neutral
from graphrewrite.types import Tensor, element_dtype

__all__ = ["gru", "lstm", "rnn"]

_States = tuple[np.ndarray, ...]


def _infer(gate_count: int, activation_count: int, state_count: int) -> Callable[..., tuple[Tensor, ...]]:
    def infer(
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor,
        *others: Tensor,
        activations: Sequence[str],
        activation_alpha: Sequence[float],
        activation_beta: Sequence[float],
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        states, peepholes = others[:state_count], others[state_count : state_count + (gate_count == 4)]
        lengths = others[state_count + len(peepholes) :]
        lens = lengths[0] if lengths else None
        results = infer_sequences((x, w, r, b), states, lens, gates=gate_count, **attributes)
        for p in peepholes:
            one_element(x, p)
            check_shape("peepholes", p, w.shape[0], 3 * r.shape[2])
        directions = int(attributes["direction"] == "bidirectional") + 1
        gates(activations, activation_alpha, activation_beta, count=activation_count, directions=directions)
        return results

    return infer


def _zeros(shape_of: Callable[[int, int, int], tuple[int, ...]]) -> Neutral:
    """Return the function for zeros of a shape given by directions, gates times hidden size, and hidden size."""

    def neutral(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
        directions, gates, hidden = types[2].shape
        return np.zeros(shape_of(directions, gates, hidden), element_dtype(types[2].element))

    return neutral


def _state(types: Sequence[Any], attributes: Mapping[str, Any]) -> np.ndarray:
    """Return an initial state of zeros for a batch of any size, in the layout of the node."""
    if attributes.get("layout"):
        return _zeros(lambda directions, gates, hidden: (1, directions, hidden))(types, attributes)
    return _zeros(lambda directions, gates, hidden: (directions, 1, hidden))(types, attributes)


_STARTS = {"b": _zeros(lambda directions, gates, hidden: (directions, 2 * gates)), "initial_h": _state}
_CELL_STARTS = {**_STARTS, "initial_c": _state, "p": _zeros(lambda directions, gates, hidden: (directions, 3 * hidden))}


def _biases(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the biases of the input and of the state, [D, gates * H] each."""
    of_input, of_state = np.split(widened(b), 2, axis=1)
    return of_input, of_state


@define_op(infer=_infer(1, 1, 1), elements=NUMBERS, results=2, cost=of_sequences, derived=RECURRENT, neutral=_STARTS)
def rnn(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray,
    initial_h: np.ndarray,
    sequence_lens: np.ndarray | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("tanh",),
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    layout: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Recurrent layer ``h = tanh(x @ w.T + h @ r.T + b)`` along sequences; all outputs, and the last ones (ONNX RNN).

    D is 2 if the layer is bidirectional, else 1. Results are [T, D, N, H] and [D, N, H]; in layout 1 the batch comes
    first in all of them. Behind the end of a sequence, the outputs are zero.

    Parameters
    ----------
    x
        Input [T, N, I].
    w
        Weights of the input [D, H, I].
    r
        Weights of the state [D, H, H].
    b
        Biases of input and state [D, 2 H]; zeros if not given.
    initial_h
        Initial state [D, N, H], or [D, 1, H] for the whole batch; zeros if not given.
    sequence_lens
        Lengths of the sequences [N]; all of the input if not given.
    direction
        "forward", "reverse" or "bidirectional".
    activations
        Name of the function f, for each direction.
    activation_alpha
        First numbers of the functions that need some.
    activation_beta
        Second numbers of the functions that need some.
    clip
        Limit of the functions' inputs; none if not given.
    layout
        1 where the batch comes first, else 0.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> y, last = rnn(np.array([1.0, 2.0]).reshape(2, 1, 1), one, one, np.zeros((1, 2)), 0 * one)
    >>> y.reshape(-1).round(4).tolist(), last.reshape(-1).round(4).tolist()
    ([0.7616, 0.992], [0.992])
    """
    functions = gates(activations, activation_alpha, activation_beta, count=1, directions=len(w))

    def step_of(i: int) -> Step:
        (f,), inner = functions[i], widened(r[i]).T
        return lambda product, states: (f(limited(product + states[0] @ inner, clip)),)

    y, last = along_sequences(x, w, np.add(*_biases(b)), [initial_h], sequence_lens, step_of, direction, layout)
    return y, last


@define_op(infer=_infer(3, 2, 1), elements=NUMBERS, results=2, cost=of_sequences, derived=RECURRENT, neutral=_STARTS)
def gru(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray,
    initial_h: np.ndarray,
    sequence_lens: np.ndarray | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("sigmoid", "tanh"),
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    layout: int = 0,
    linear_before_reset: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Gated recurrent units along sequences (Cho et al. 2014); all outputs, and the last ones (ONNX GRU).

    With the gates z (update), r (reset) and h (hidden) in the rows of the weights, ``z = f(x Wz + h Rz + bz)``, ``r =
    f(x Wr + h Rr + br)``, ``n = g(x Wh + (r h) Rh + bh)`` and ``h = (1 - z) n + z h``. Results as of `rnn`.

    Parameters
    ----------
    x
        Input [T, N, I].
    w
        Weights of the input [D, 3 H, I].
    r
        Weights of the state [D, 3 H, H].
    b
        Biases of input and state [D, 6 H]; zeros if not given.
    initial_h
        Initial state [D, N, H], or [D, 1, H] for the whole batch; zeros if not given.
    sequence_lens
        Lengths of the sequences [N]; all of the input if not given.
    direction
        "forward", "reverse" or "bidirectional".
    activations
        Names of the functions f and g, for each direction.
    activation_alpha
        First numbers of the functions that need some.
    activation_beta
        Second numbers of the functions that need some.
    clip
        Limit of the functions' inputs; none if not given.
    layout
        1 where the batch comes first, else 0.
    linear_before_reset
        Whether ``n = g(x Wh + wbh + r (h Rh + rbh))``.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> w = np.ones((1, 3, 1))
    >>> y, last = gru(np.array([1.0, 2.0]).reshape(2, 1, 1), w, w, np.zeros((1, 6)), 0 * one)
    >>> y.reshape(-1).round(4).tolist(), last.reshape(-1).round(4).tolist()
    ([0.2048, 0.2813], [0.2813])
    """
    functions = gates(activations, activation_alpha, activation_beta, count=2, directions=len(w))
    of_input, of_state = _biases(b)
    inside = np.zeros_like(of_state)
    if linear_before_reset:  # the reset gate also reaches the bias of the state
        inside[:, 2 * r.shape[2] :] = of_state[:, 2 * r.shape[2] :]

    def step_of(i: int) -> Step:
        (f, g), inner, outer = functions[i], widened(r[i]).T, 2 * r.shape[2]
        # ONNX's order of gates: update, reset, hidden.
        first, second, added = inner[:, :outer], inner[:, outer:], inside[i, outer:]

        def step(product: np.ndarray, states: _States) -> _States:
            (h,) = states
            update, reset = np.split(f(limited(product[:, :outer] + h @ first, clip)), 2, axis=1)
            hidden = reset * (h @ second + added) if linear_before_reset else (reset * h) @ second
            new = g(limited(product[:, outer:] + hidden, clip))
            return ((1 - update) * new + update * h,)

        return step

    bias = of_input + of_state - inside
    y, last = along_sequences(x, w, bias, [initial_h], sequence_lens, step_of, direction, layout)
    return y, last


@define_op(
    infer=_infer(4, 3, 2), elements=NUMBERS, results=3, cost=of_sequences, derived=RECURRENT, neutral=_CELL_STARTS
)
def lstm(
    x: np.ndarray,
    w: np.ndarray,
    r: np.ndarray,
    b: np.ndarray,
    initial_h: np.ndarray,
    initial_c: np.ndarray,
    p: np.ndarray,
    sequence_lens: np.ndarray | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] = ("sigmoid", "tanh", "tanh"),
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    clip: float | None = None,
    layout: int = 0,
    input_forget: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Long short-term memory along sequences (Gers et al. 2002); all outputs, the last ones and the cells (ONNX LSTM).

    With the gates i (input), o (output), f (forget) and c (cell) in the rows of the weights, ``i = f(x Wi + h Ri + Pi c
    + bi)``, ``f = f(x Wf + h Rf + Pf c + bf)``, ``c = f c + i g(x Wc + h Rc + bc)``, ``o = f(x Wo + h Ro + Po c + bo)``
    and ``h = o h(c)``. Results as of `rnn`, the last one twice: state and cell.

    Parameters
    ----------
    x
        Input [T, N, I].
    w
        Weights of the input [D, 4 H, I].
    r
        Weights of the state [D, 4 H, H].
    b
        Biases of input and state [D, 8 H]; zeros if not given.
    initial_h
        Initial state [D, N, H], or [D, 1, H] for the whole batch; zeros if not given.
    initial_c
        Initial cell, in the shape of the initial state; zeros if not given.
    p
        Peepholes [D, 3 H] of i, o and f; zeros if not given.
    sequence_lens
        Lengths of the sequences [N]; all of the input if not given.
    direction
        "forward", "reverse" or "bidirectional".
    activations
        Names of the functions f, g and h, for each direction.
    activation_alpha
        First numbers of the functions that need some.
    activation_beta
        Second numbers of the functions that need some.
    clip
        Limit of the functions' inputs; none if not given.
    layout
        1 where the batch comes first, else 0.
    input_forget
        Whether ``f = 1 - i``.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> w, b, p = np.ones((1, 4, 1)), np.zeros((1, 8)), np.zeros((1, 3))
    >>> y, last, cell = lstm(one, w, w, b, 0 * one, 0 * one, p)
    >>> y.item() == last.item(), round(last.item(), 4), round(cell.item(), 4)
    (True, 0.3696, 0.5568)
    """
    functions = gates(activations, activation_alpha, activation_beta, count=3, directions=len(w))

    def step_of(i: int) -> Step:
        (f, g, final), inner = functions[i], widened(r[i]).T
        of_input, of_output, of_forget = np.split(widened(p[i]), 3)  # peepholes, in ONNX's order

        def step(product: np.ndarray, states: _States) -> _States:
            h, c = states
            # ONNX's order of gates: input, output, forget, cell.
            enter, leave, forget, new = np.split(product + h @ inner, 4, axis=1)
            enter = f(limited(enter + of_input * c, clip))
            forget = 1 - enter if input_forget else f(limited(forget + of_forget * c, clip))
            cell = forget * c + enter * g(limited(new, clip))
            return f(limited(leave + of_output * cell, clip)) * final(cell), cell

        return step

    bias, initial = np.add(*_biases(b)), [initial_h, initial_c]
    y, last, cell = along_sequences(x, w, bias, initial, sequence_lens, step_of, direction, layout)
    return y, last, cell
