"""Recurrent layers, unrolled over a known number of steps into matrix products, activations and concatenations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import bare
from graphrewrite.lowering.composite.precision import converted, like, widened

__all__ = ["LOWER_RECURRENT"]

Step = Callable[..., tuple[Any, ...]]
"""Takes the products of one step's input [N, gates * H] and the states [N, H]; returns the new states."""


@rule(keeps="rounding")
def unroll_rnn(x, w, r, b, initial_h, lengths=None):
    """A recurrent layer is h = f(x @ w.T + h @ r.T + b), step after step (ONNX specification, RNN)."""
    layer = op.rnn(x, w, r, b, initial_h, lengths)
    y, last = layer
    yield y, last
    if reason := _obstacle(x, layer):
        return decline(reason, at=layer)

    def step_of(i: int) -> Step:
        (f,), inner = _activations_of(layer, 1)[i], _matrix(r, i)
        return lambda inputs, h: (f(_limited(inputs + h @ inner, layer)),)

    return _unrolled(layer, (x, w, lengths), _biases(b, layer, 1), (initial_h,), step_of)


@rule(keeps="rounding")
def unroll_gru(x, w, r, b, initial_h, lengths=None):
    """Gated recurrent units, step after step (Cho et al. 2014; ONNX specification, GRU)."""
    layer = op.gru(x, w, r, b, initial_h, lengths)
    y, last = layer
    yield y, last
    if reason := _obstacle(x, layer):
        return decline(reason, at=layer)
    # Either the reset gate takes its share of the state, or of the state's product with the weights (cuDNN's variant).
    size, late = layer.hidden_size, layer.linear_before_reset

    def step_of(i: int) -> Step:
        (f, g), inner = _activations_of(layer, 2)[i], _matrix(r, i)
        outer, within = _part(inner, 0, 2 * size), _part(inner, 2 * size, 3 * size)
        added = _part(_row(b, i), 5 * size, 6 * size) if late else None

        def step(inputs, h):
            update, reset = _cut(f(_limited(_part(inputs, 0, 2 * size) + h @ outer, layer)), 2)
            hidden = reset * (h @ within + added) if late else (reset * h) @ within
            new = g(_limited(_part(inputs, 2 * size, 3 * size) + hidden, layer))
            return ((1.0 - update) * new + update * h,)

        return step

    return _unrolled(layer, (x, w, lengths), _biases(b, layer, 3, inside=late), (initial_h,), step_of)


@rule(keeps="rounding")
def unroll_lstm(x, w, r, b, initial_h, initial_c, p, lengths=None):
    """Long short-term memory, step after step (Gers et al. 2002; ONNX specification, LSTM)."""
    layer = op.lstm(x, w, r, b, initial_h, initial_c, p, lengths)
    y, last, cell = layer
    yield y, last, cell
    if reason := _obstacle(x, layer):
        return decline(reason, at=layer)

    def step_of(i: int) -> Step:
        (f, g, final), inner = _activations_of(layer, 3)[i], _matrix(r, i)
        size, (of_input, of_output, of_forget) = layer.hidden_size, _cut(_row(p, i), 3)

        def step(inputs, h, c):
            enter, leave, forget, new = _cut(inputs + h @ inner, 4)
            enter = f(_limited(enter + of_input * c, layer))
            forget = 1.0 - enter if layer.input_forget else f(_limited(forget + of_forget * c, layer))
            now = forget * c + enter * g(_limited(new, layer))
            return f(_limited(leave + of_output * now, layer)) * final(now), now

        def step_without_peepholes(inputs, h, c):
            both, count = inputs + h @ inner, 2 if layer.input_forget else 3
            enter, leave, *forget = _cut(f(_limited(_part(both, 0, count * size), layer)), count)
            new = g(_limited(_part(both, 3 * size, 4 * size), layer))
            now = (1.0 - enter if layer.input_forget else forget[0]) * c + enter * new
            return leave * final(now), now

        return step_without_peepholes if _is_zero(p) else step

    return _unrolled(layer, (x, w, lengths), _biases(b, layer, 4), (initial_h, initial_c), step_of)


LOWER_RECURRENT = (unroll_rnn, unroll_gru, unroll_lstm)
"""Recurrent layers by matrix products, activations and concatenations."""


def _obstacle(x, layer):
    """Return why a layer cannot be unrolled."""
    steps = x.shape[1 if layer.layout else 0]
    if isinstance(steps, str):
        return "only run time tells how many steps there are"
    return None if steps else "there are no steps"


def _matrix(weights, i):
    """The weights of one direction, transposed: one column a row of gates."""
    return op.transpose(_row(weights, i, matrix=True), perm=(1, 0))


def _row(values, i, *, matrix=False):
    """The entries of one direction of [D, …]; vectors become rows [1, …]."""
    one = _at(widened(bare(values)), 0, i)
    return op.squeeze(one, axes=(0,)) if matrix else one


def _at(x, axis, i, end=None):
    if x.shape[axis] == (1 if end is None else end - i):
        return x
    return op.slice(x, starts=(i,), ends=(i + 1 if end is None else end,), axes=(axis,))


def _part(x, start, end):
    """Columns of a matrix."""
    return _at(x, 1, start, end)


def _cut(x, count):
    """Columns of a matrix in so many equal parts."""
    size = x.shape[1] // count
    return [_part(x, size * i, size * (i + 1)) for i in range(count)]


def _is_zero(x):
    """Whether a value is a constant of zeros, as the peepholes of a layer without any."""
    data = x.graph.nodes[x.node]
    return data["type"] == "constant" and not np.any(data["value"])


def _limited(x, layer):
    """The input of an activation, within the limits of the layer."""
    return x if layer.clip is None else op.clip(x, low=-layer.clip, high=layer.clip)


def _biases(b, layer, gates, *, inside=False):
    """The sum of both biases for a direction, [1, gates * H], without the part after the reset gate."""
    width, size = gates * layer.hidden_size, layer.hidden_size

    def of_direction(i: int) -> Any:
        row = _row(b, i)
        if not inside:
            return _part(row, 0, width) + _part(row, width, 2 * width)
        both = _part(row, 0, 2 * size) + _part(row, width, width + 2 * size)
        return op.concat(both, _part(row, 2 * size, width), axis=1)

    return of_direction


def _unrolled(layer, operands, bias_of, initial, step_of):
    """All outputs of a layer and its last states, in the element type of its input."""
    x, w, lengths = operands
    wide = widened(bare(x))
    if lengths is not None:
        lengths = op.clip(converted(bare(lengths), "i64"), low=0, high=x.shape[1 if layer.layout else 0])
    if layer.layout:
        wide, initial = op.transpose(wide, perm=(1, 0, 2)), [op.transpose(bare(h), perm=(1, 0, 2)) for h in initial]
    sides = ["reverse"] if layer.direction == "reverse" else ["forward", "reverse"][: w.shape[0]]
    directions = []
    for i, side in enumerate(sides):
        states = [op.squeeze(_at(widened(bare(h)), 0, i), axes=(0,)) for h in initial]
        ordered = _reversed_steps(wide, lengths) if side == "reverse" else wide
        # The products with the input are formed for all steps at once; those with the state go step by step.
        products = ordered @ _matrix(w, i) + bias_of(i)
        outputs, states = _along(products, states, lengths, step_of(i))
        outputs = _reversed_steps(outputs, lengths) if side == "reverse" else outputs
        directions.append([op.unsqueeze(outputs, axes=(1,)), *(op.unsqueeze(h, axes=(0,)) for h in states)])
    y, *last = (_concatenated(parts, 0 if at else 1) for at, parts in enumerate(zip(*directions, strict=True)))
    if layer.layout:
        y, last = op.transpose(y, perm=(2, 0, 1, 3)), [op.transpose(h, perm=(1, 0, 2)) for h in last]
    return tuple(converted(each, x.type.element) for each in (y, *last))


def _along(products, states, lengths, step):
    """The outputs [T, N, H] of one direction, and its last states [N, H]: after its end a sequence gives zeros."""
    outputs = []
    for i in range(products.shape[0]):
        new = step(op.squeeze(_at(products, 0, i), axes=(0,)), *states)
        output = new[0]
        if lengths is not None:
            # A sequence that has ended keeps its states: the last ones are those of its end.
            runs = op.unsqueeze(op.greater(lengths, i), axes=(1,))
            output = op.where(runs, output, like(0.0, output))
            new = [op.where(runs, now, before) for now, before in zip(new, states, strict=True)]
        outputs.append(op.unsqueeze(output, axes=(0,)))
        states = new
    return _concatenated(outputs, 0), states


def _concatenated(parts, axis):
    return parts[0] if len(parts) == 1 else op.concat(*parts, axis=axis)


def _reversed_steps(x, lengths):
    """Steps in reverse order, within the length of each sequence."""
    if lengths is not None:
        return op.reverse_sequence(x, lengths)
    return op.slice(x, starts=(-1,), ends=(-(2**31) + 1,), axes=(0,), steps=(-1,)) if x.shape[0] > 1 else x


_Function = Callable[..., Any]

_ALPHA = {"elu": 1.0, "leakyrelu": 0.01, "thresholdedrelu": 1.0}
"""Activations with one parameter, and its default."""
_ALPHA_BETA = {"affine": (1.0, 0.0), "hardsigmoid": (0.2, 0.5), "scaledtanh": (1.0, 1.0)}
"""Activations with two parameters, and their defaults."""
_PLAIN = {"relu": op.relu, "sigmoid": op.sigmoid, "softplus": op.softplus, "softsign": op.softsign, "tanh": op.tanh}


def _function(name: str, numbers: tuple[float, ...]) -> _Function:
    match name, numbers:
        case "affine", (alpha, beta):
            return lambda x: x * alpha + beta
        case "scaledtanh", (alpha, beta):
            return lambda x: op.tanh(x * beta) * alpha
        case "hardsigmoid", (alpha, beta):
            return lambda x: op.hard_sigmoid(x, alpha=alpha, beta=beta)
        case "elu", (alpha,):
            return lambda x: op.elu(x, alpha=alpha)
        case "leakyrelu", (alpha,):
            return lambda x: op.leaky_relu(x, alpha=alpha)
        case "thresholdedrelu", (alpha,):
            return lambda x: op.threshold(x, alpha=alpha)
    return _PLAIN[name]


def _activations_of(layer: Any, count: int) -> list[list[_Function]]:
    """So many activations for each direction."""
    alphas, betas = list(layer.activation_alpha), list(layer.activation_beta)

    def next_of(numbers: list[float], default: float) -> float:
        return numbers.pop(0) if numbers else default

    functions = []
    for written in layer.activations:
        name = str(written).lower().replace("_", "")
        numbers: tuple[float, ...] = ()
        if name in _ALPHA:
            numbers = (next_of(alphas, _ALPHA[name]),)
        elif name in _ALPHA_BETA:
            numbers = (next_of(alphas, _ALPHA_BETA[name][0]), next_of(betas, _ALPHA_BETA[name][1]))
        functions.append(_function(name, numbers))
    return [functions[:count], functions[-count:]]
