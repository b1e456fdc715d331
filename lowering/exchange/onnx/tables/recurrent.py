"""Recurrent layers: missing optional operands become zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import number, numbers, snake_case, truth, whole, word, words
from graphrewrite.lowering.exchange.entry import Entry, Named, same_names
from graphrewrite.op.op import Op

__all__ = ["RECURRENT"]

_ONNX_NAMES = (
    *("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid"),
    *("Elu", "Softsign", "Softplus"),
)
"""Activations of recurrent layers (ONNX specification, RNN); there, their case does not matter."""


def _snake(name: str) -> str:
    spelling = next((other for other in _ONNX_NAMES if other.lower() == name.lower()), name)
    return snake_case(spelling)


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


_CELL: dict[str, Any] = {
    **same_names(whole, "hidden_size", "layout"),
    **same_names(word, "direction"),
    **same_names(numbers, "activation_alpha", "activation_beta"),
    **same_names(number, "clip"),
    "activations": ("activations", lambda names: tuple(map(_snake, words(names)))),
}


def _activations(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Activations by their names in ONNX, of both directions where there are two; and the size of the states."""
    names = tuple(map(_camel, attributes["activations"]))
    gates = int(types[2].shape[1]) // int(types[2].shape[2])
    one_direction = {1: 1, 3: 2, 4: 3}[gates]
    if len(names) == one_direction:
        names *= int(types[2].shape[0])
    return {**attributes, "activations": names, "hidden_size": int(types[2].shape[2])}


def _said_once(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Equal activations of two directions are said once."""
    names = attributes.get("activations", ())
    half = names[: len(names) // 2]
    is_repeated = bool(half) and attributes.get("direction") == "bidirectional" and names == half * 2
    if is_repeated and not attributes.get("activation_alpha"):
        attributes = {**attributes, "activations": half}
    return attributes


_CELLS: tuple[tuple[str, Op, dict[str, Named], tuple[int, ...]], ...] = (
    ("RNN", op.rnn, {}, (5, 4)),
    ("GRU", op.gru, same_names(truth, "linear_before_reset"), (5, 4)),
    ("LSTM", op.lstm, same_names(truth, "input_forget"), (5, 6, 7, 4)),
)
RECURRENT: tuple[Entry, ...] = tuple(
    Entry(
        name,
        cell,
        {**_CELL, **further},
        operands=(0, 1, 2, 3, *operands),
        zeros=(5, 6) if cell is op.lstm else (5,),
        complete=_said_once,
        shown=_activations,
    )
    for name, cell, further, operands in _CELLS
)
