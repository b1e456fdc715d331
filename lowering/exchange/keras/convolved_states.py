"""Recurrent layers of Keras whose states are images: ConvLSTM of one to three axes."""

from __future__ import annotations

from typing import Any

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.activations import FUNCTIONS, activation_name, hard_sigmoid_slope
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.windows import biased, convolved
from graphrewrite.op.attribute_forms import same_pads

__all__ = ["CONVOLVED_STATES"]


def _conv_lstm(count: int) -> Row:
    def run(layer: Layer, x: Value, *states: Value, initial_state: Any = ()) -> Any:
        if layer.get("stateful", False) or layer.mask(x) is not None:
            raise Unfit("stateful layers and masks of images are not supported; export the model")
        names = ("kernel", "recurrent_kernel", *(["bias"] if layer.has("use_bias") else []))
        place = layer.inner("cell", str(layer.name) + "_cell")
        kernel, recurrent, *bias = layer.weights(*names, of=place)
        # What steps read from the input does not depend on states: all steps at once, as further samples.
        batch, steps, *image = x.type.shape
        y = op.reshape(x, shape=(batch * steps, *image))
        y = biased(layer, convolved(layer, y, kernel, count, "Conv3D" if count == 3 else "Conv2D"), bias)
        y = op.reshape(y, shape=(batch, steps, *y.type.shape[1:]))
        last, image_axes = layer.get("data_format", "channels_last") == "channels_last", range(2, 2 + count)
        y = op.transpose(y, perm=(0, 1, 2 + count, *image_axes)) if last else y

        def second(state: Value) -> Any:
            return op.transpose(state, perm=(0, 1 + count, *range(1, 1 + count))) if last else state

        def as_given(value: Value, *, sequence: bool) -> Any:
            front = (0, 1) if sequence else (0,)
            at = len(front)
            return op.transpose(value, perm=(*front, *range(at + 1, at + 1 + count), at)) if last else value

        filters = int(recurrent.type.shape[-2])
        shape = (batch, filters, *y.type.shape[3:])
        given = (*states, *(initial_state if isinstance(initial_state, list | tuple) else (initial_state,)))
        element = y.type.element
        start = [second(state) for state in given] or [layer.filled(shape, 0.0, element)] * 2
        turned = op.transpose(recurrent, perm=(count + 1, count, *range(count)))
        body = _step(layer, Tensor(element, shape), turned.type)
        hidden, cell, every = op.scan(
            *start,
            y,
            turned,
            body=body,
            carried=2,
            sequences=1,
            axes=(1,),
            backwards=(bool(layer.get("go_backwards", False)),),
            output_axes=(1,),
        )
        sequences = layer.get("return_sequences", False)
        result = as_given(every if sequences else hidden, sequence=bool(sequences))
        if not layer.get("return_state", False):
            return result
        return (result, as_given(hidden, sequence=False), as_given(cell, sequence=False))

    return run


def _step(layer: Layer, state: Tensor, weights: Tensor) -> Graph:
    """Return the graph of a step: its state and cell, what it reads, and the weights from state to state."""
    inner, outer = (_function(layer, name) for name in ("recurrent_activation", "activation"))
    batch, filters, *image = state.shape
    body = Graph(f"{layer.name}_step")
    hidden, cell = body.input("hidden", state), body.input("cell", state)
    read = body.input("read", Tensor(state.element, (batch, 4 * filters, *image)))
    kernel = body.input("weights", weights)
    ones = (1,) * len(image)
    window = tuple(map(int, weights.shape[2:]))
    pads = same_pads(image, window, ones, ones, upper=True)
    total = op.add(read, op.conv(hidden, kernel, strides=ones, pads=pads, dilations=ones))
    enters, forgets, new, leaves = op.split(total, axis=1, sizes=(filters,) * 4)
    kept = op.add(op.mul(inner(forgets), cell), op.mul(inner(enters), outer(new)))
    result = op.mul(inner(leaves), outer(kept))
    for name, value in (("next_hidden", result), ("next_cell", kept), ("result", result)):
        body.output(name, value)
    return body


def _function(layer: Layer, setting: str) -> Any:
    name = activation_name(layer.get(setting))
    if name == "hard_sigmoid":
        return lambda x: op.hard_sigmoid(x, alpha=hard_sigmoid_slope(layer), beta=0.5)
    if name not in FUNCTIONS:
        raise Unfit(f"the activation {name!r} in a cell is not supported")
    return FUNCTIONS[name]


CONVOLVED_STATES: dict[str, Row] = {f"ConvLSTM{n}D": _conv_lstm(n) for n in (1, 2, 3)}
"""What each layer means."""
