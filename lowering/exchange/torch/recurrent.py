"""Recurrent layers of PyTorch: one op for all layers and directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row

__all__ = ["RECURRENT"]

_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
"""Where the gates of ONNX's order are in that of PyTorch: i o f c of i f g o, and z r h of r z n."""


def _turned(x: Call, weights: Value, kind: str) -> np.ndarray:
    """Return weights with their gates in the order of ours."""
    array = x.array(weights, "weights")
    gates = _GATES[kind]
    return np.concatenate([np.split(array, len(gates), axis=0)[gate] for gate in gates])


def _layers(kind: str, activation: str = "tanh") -> Row:
    def compute(x: Call) -> Any:
        if "batch_sizes" in x.arguments:
            raise Unfit("packed sequences are not supported; use padded ones")
        value, state, params = x["input"], x["hx"], list(x["params"])
        starts = list(state) if kind == "lstm" else [state]
        directions = 2 if x["bidirectional"] else 1
        if x["dropout"] and x["train"]:
            raise Unfit("it drops entries at random, in training mode; import the model for inference: model.eval()")
        count = x["num_layers"]
        each = len(params) // (count * directions)
        if each != (4 if x["has_biases"] else 2):
            raise Unfit("projected states (proj_size) are not supported")
        y = op.transpose(value, perm=(1, 0, 2)) if x["batch_first"] else value
        lasts: list[list[Any]] = [[] for _ in starts]
        for layer in range(count):
            place = layer * directions
            group = [params[(place + at) * each : (place + at + 1) * each] for at in range(directions)]
            begin = [_part(start, place, directions, count * directions) for start in starts]
            y, *last = _layer(x, kind, activation, y, group, begin)
            for kept, state_of_layer in zip(lasts, last, strict=True):
                kept.append(state_of_layer)
        joined = [op.concat(*kept, axis=0) if count > 1 else kept[0] for kept in lasts]
        return (op.transpose(y, perm=(1, 0, 2)) if x["batch_first"] else y, *joined)

    return compute


def _part(state: Value, place: int, directions: int, count: int) -> Any:
    if directions == count:
        return state
    return op.slice(state, starts=(place,), ends=(place + directions,), axes=(0,))


def _layer(
    x: Call, kind: str, activation: str, value: Value, group: Sequence[Sequence[Value]], begin: Sequence[Value]
) -> tuple[Any, ...]:
    """Return all outputs of a layer, and its last states."""
    directions = len(group)
    w, r = (x.constant(np.stack([_turned(x, each[at], kind) for each in group])) for at in (0, 1))
    size = r.type.shape[-1]
    if len(group[0]) == 4:
        pairs = [np.concatenate([_turned(x, each[at], kind) for at in (2, 3)]) for each in group]
        b = x.constant(np.stack(pairs))
    else:
        b = x.constant(np.zeros((directions, 2 * len(_GATES[kind]) * size)))
    direction = "bidirectional" if directions == 2 else "forward"
    if kind == "lstm":
        found = op.lstm(value, w, r, b, *begin, direction=direction)
    elif kind == "gru":
        found = op.gru(value, w, r, b, *begin, direction=direction, linear_before_reset=True)
    else:
        found = op.rnn(value, w, r, b, *begin, direction=direction, activations=(activation,) * directions)
    y, *last = found
    steps, _, batch, _ = y.type.shape
    joined = op.reshape(op.transpose(y, perm=(0, 2, 1, 3)), shape=(steps, batch, directions * size))
    return (joined, *last)


RECURRENT: dict[str, Row] = {
    "aten.gru": _layers("gru"),
    "aten.lstm": _layers("lstm"),
    "aten.rnn_relu": _layers("rnn", "relu"),
    "aten.rnn_tanh": _layers("rnn"),
}
"""What each op means."""
