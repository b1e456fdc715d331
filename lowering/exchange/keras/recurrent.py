"""Recurrent layers of Keras, and what runs a layer along time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.activations import activation_name, hard_sigmoid_slope
from graphrewrite.lowering.exchange.keras.archive import Place
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.masks import compacted, count_of, spread
from graphrewrite.lowering.exchange.strided_slices import LAST

__all__ = ["RECURRENT"]

_FUNCTIONS = {
    "elu": ("elu", 1.0, None),
    "hard_sigmoid": ("hard_sigmoid", None, 0.5),
    "linear": ("affine", 1.0, 0.0),
    "relu": ("relu", None, None),
    "sigmoid": ("sigmoid", None, None),
    "softplus": ("softplus", None, None),
    "softsign": ("softsign", None, None),
    "tanh": ("tanh", None, None),
}
"""Functions of cells: the op's name and its numbers."""
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "SimpleRNN": (0,)}
"""Where the gates of the op stand in the weights of a file."""
_MASKED = (*_GATES, "Bidirectional", "GlobalAveragePooling1D", "MultiHeadAttention", "Softmax")
_CELLS = {"LSTM": "lstm_cell", "GRU": "gru_cell", "SimpleRNN": "simple_rnn_cell"}


def _functions(layer: Layer) -> dict[str, Any]:
    """Return the functions of the cell as attributes."""
    inner, outer = (activation_name(layer.get(name, "tanh")) for name in ("recurrent_activation", "activation"))
    names = {"LSTM": (inner, outer, outer), "GRU": (inner, outer), "SimpleRNN": (outer,)}[layer.kind]
    for name in names:
        if name not in _FUNCTIONS:
            raise Unfit(f"the activation {name!r} in a cell is not supported; there are {', '.join(_FUNCTIONS)}")
    rows = [_FUNCTIONS[name] for name in names]
    slope = hard_sigmoid_slope(layer)
    rows = [(name, slope, last) if name == "hard_sigmoid" else (name, first, last) for name, first, last in rows]
    found: dict[str, Any] = {"activations": tuple(row[0] for row in rows)}
    for at, key in ((1, "activation_alpha"), (2, "activation_beta")):
        numbers = tuple(row[at] for row in rows if row[at] is not None)
        found |= {key: numbers} if numbers else {}
    return found


def _turned(array: np.ndarray, gates: tuple[int, ...]) -> np.ndarray:
    """Return weights [I, G H] of a file as those of the op, [1, G H, I], gates in its order."""
    parts = np.split(array, len(gates), axis=-1)
    return np.concatenate([parts[gate] for gate in gates], axis=-1).T[None]


def _recurrent(layer: Layer, x: Value, *states: Value, initial_state: Any = (), cell: Place | None = None) -> Any:
    """One direction; the results are as the layer says: all outputs or the last, and the states."""
    kind = layer.kind
    if layer.get("stateful", False):
        raise Unfit("stateful layers are not supported")
    states = (*states, *(initial_state if isinstance(initial_state, list | tuple) else (initial_state,)))
    # Keras 3 passes a mask on by itself to calls of a single operand only.
    ignored = layer.archive.version >= 3 and states and not layer.has_own_mask
    mask, zero = None if ignored else layer.mask(x), bool(layer.get("zero_output_for_mask", False))
    names = ["kernel", "recurrent_kernel", *(["bias"] if layer.has("use_bias") else [])]
    place = cell or layer.inner("cell", _CELLS[kind])
    if layer.element == "bf16":
        raise Unfit("a cell that computes in bfloat16 is not supported; export the model with model.export(…)")
    kernel, recurrent, *bias = (array for array, _ in layer.arrays(*names, of=place))
    gates = _GATES[kind]
    operands: list[Any] = [x if mask is None else compacted(x, mask), _turned(kernel, gates), _turned(recurrent, gates)]
    attributes: dict[str, Any] = {**_functions(layer), "layout": 1}
    units = recurrent.shape[0]
    if kind == "GRU":
        attributes["linear_before_reset"] = layer.has("reset_after")
    both = np.zeros((1, 2 * len(gates) * units), np.float32)
    if bias:
        rows = np.atleast_2d(bias[0])
        parts = [_turned(row[None], gates)[..., 0] for row in rows]
        both = np.concatenate([*parts, *[np.zeros_like(parts[0])] * (2 - len(parts))], axis=-1)
    operands += [both.astype(kernel.dtype), *(op.unsqueeze(state, axes=(1,)) for state in states)]
    lengths = {} if mask is None else {"sequence_lens": count_of(mask)}
    backwards = bool(layer.get("go_backwards", False))
    attributes["direction"] = "reverse" if backwards else "forward"
    compute = {"LSTM": op.lstm, "GRU": op.gru, "SimpleRNN": op.rnn}[kind]
    outputs, *last = compute(*operands, **lengths, **attributes)
    finals = [op.squeeze(state, axes=(1,)) for state in last]
    result = finals[0]
    if layer.get("return_sequences", False) or (mask is not None and (states or zero)):
        result = op.squeeze(outputs, axes=(2,))
        result = result if mask is None else spread(result, mask, backwards=backwards, zero=zero)
    if not layer.get("return_sequences", False):
        # The last output is that of the last step that counts, and not an initial state where there is none.
        result = result if result is finals[0] else _last(result, backwards=backwards)
    else:
        # Keras gives the outputs of a layer that runs backwards in the order in which it makes them.
        result = _reversed(result) if backwards else result
    return (result, *finals) if layer.get("return_state", False) else result


def _last(x: Value, *, backwards: bool) -> Any:
    at = 0 if backwards else -1
    return op.squeeze(op.slice(x, starts=(at,), ends=(at + 1 or LAST,), axes=(1,)), axes=(1,))


def _reversed(x: Value) -> Any:
    return op.slice(x, starts=(-1,), ends=(-LAST,), axes=(1,), steps=(-1,))


def _bidirectional(layer: Layer, x: Value, *states: Value, initial_state: Any = ()) -> Any:
    states = (*states, *initial_state)
    forward = layer.get("layer")
    backward = layer.get("backward_layer")
    if backward is None:
        config = {**forward["config"], "go_backwards": not forward["config"].get("go_backwards", False)}
        backward = {**forward, "config": config}
    names = [f"{side}_{_bare(forward)}" for side in ("forward", "backward")]
    half = len(states) // 2
    ignored = layer.archive.version >= 3 and states and not layer.has_own_mask
    mask = None if ignored else layer.mask(x)
    sequences = forward["config"].get("return_sequences", False)
    outputs, finals = [], []
    for each, path, name, own in (
        (forward, "forward_layer", names[0], states[:half]),
        (backward, "backward_layer", names[1], states[half:]),
    ):
        stored = str(each["config"].get("name", ""))
        place = layer.inner(path, stored if stored.startswith(path.split("_")[0]) else name)
        inner = {**each, "config": {**each["config"], "zero_output_for_mask": sequences}}
        found = layer.build(inner, place, (x, *own), {"mask": mask})
        result, *rest = found if isinstance(found, tuple) else (found,)
        outputs.append(result)
        finals += rest
    first, second = outputs[0], _reversed(outputs[1]) if sequences else outputs[1]
    merge = layer.config.get("merge_mode", "concat")
    merged: dict[str | None, Any] = {
        "concat": lambda: op.concat(first, second, axis=-1),
        "sum": lambda: op.add(first, second),
        "mul": lambda: op.mul(first, second),
        "ave": lambda: op.div(op.add(first, second), layer.number(first, 2)),
        None: lambda: (first, second),
    }
    if merge not in merged:
        raise Unfit(f"merge_mode={merge!r} is not supported")
    result = merged[merge]()
    return (*(result if isinstance(result, tuple) else (result,)), *finals) if finals else result


def _bare(stored: Mapping[str, Any]) -> str:
    """Return the name of a layer without the side that it stands on."""
    name = str(stored["config"].get("name", ""))
    return name.removeprefix("forward_")


def _of_cells(layer: Layer, x: Value, *states: Value, initial_state: Any = ()) -> Any:
    """RNN: cells are layers that run one after the other."""
    cell = layer.get("cell")
    path, name = "cell", str(cell["config"].get("name", ""))
    cells = [(cell, layer.inner(path, name))]
    if cell["class_name"] == "StackedRNNCells":
        counts: dict[str, int] = {}
        cells = []
        for each in cell["config"]["cells"]:
            stem = next((own for kind, own in _CELLS.items() if each["class_name"] == f"{kind}Cell"), "")
            counts[stem] = counts.get(stem, -1) + 1
            own = f"{stem}_{counts[stem]}" if counts[stem] else stem
            inner = layer.inner(path, name).inner(f"cells/{own}", str(each["config"].get("name", "")))
            cells.append((each, inner))
    settings = {key: layer.get(key) for key in ("go_backwards", "stateful", "zero_output_for_mask")}
    if len(cells) > 1 and (states or initial_state or layer.get("return_state") or settings["go_backwards"]):
        raise Unfit("states and going backwards are not supported for several cells; export the model")
    result: Any = x
    for at, (each, place) in enumerate(cells):
        kind = str(each["class_name"]).removesuffix("Cell")
        if kind not in _CELLS:
            raise Unfit(f"a cell {each['class_name']} is not supported; there are {', '.join(_CELLS)}")
        is_last = at == len(cells) - 1
        results = {
            "return_sequences": not is_last or layer.get("return_sequences"),
            "return_state": layer.get("return_state"),
        }
        stored = {"class_name": kind, "config": {**each["config"], **settings, **results}}
        given = {"initial_state": (*states, *initial_state), "cell": place, "mask": layer.mask(x)}
        result = layer.build(stored, place, (result,), given)
    return result


def _along_time(layer: Layer, x: Value) -> Any:
    """A layer for each step: the steps become further samples."""
    inner = layer.get("layer")
    if layer.mask(x) is not None and inner["class_name"] in _MASKED:
        raise Unfit(f"a mask along time for a {inner['class_name']} at each step is not supported; export the model")
    batch, steps, *rest = x.type.shape
    flat = op.reshape(x, shape=(batch * steps, *rest))
    y = layer.build(inner, layer.inner("layer", str(inner["config"].get("name", ""))), (flat,))
    return op.reshape(y, shape=(batch, steps, *y.type.shape[1:]))


RECURRENT: dict[str, Row] = {
    "Bidirectional": _bidirectional,
    "GRU": _recurrent,
    "LSTM": _recurrent,
    "RNN": _of_cells,
    "SimpleRNN": _recurrent,
    "TimeDistributed": _along_time,
}
"""What each layer means."""
