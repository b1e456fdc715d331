"""Recurrent layers: missing optional operands become zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import number, numbers, snake_case, truth, whole, word, words
from graphrewrite.lowering.exchange.entry import Entry, Named, same_names
from graphrewrite.op.op import Op
from graphrewrite.types import element_dtype

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
Neutral = Callable[[Mapping[str, Any], Sequence[Tensor | None]], np.ndarray]


def _zeros(shape_of: Callable[[int, int, int], tuple[int, ...]]) -> Neutral:
    """Zeros of a shape given by directions, gates and hidden size."""

    def neutral(attributes: Mapping[str, Any], types: Sequence[Tensor | None]) -> np.ndarray:
        recurrence = types[2]
        if recurrence is None:
            raise ValueError("its recurrence weights are missing")
        directions, gates, hidden = recurrence.shape
        return np.zeros(shape_of(int(directions), int(gates), int(hidden)), element_dtype(recurrence.element))

    return neutral


def _state(attributes: Mapping[str, Any], types: Sequence[Tensor | None]) -> np.ndarray:
    """An initial state of zeros for a batch of any size, in the layout of the node."""
    if attributes.get("layout"):
        return _zeros(lambda directions, gates, hidden: (1, directions, hidden))(attributes, types)
    return _zeros(lambda directions, gates, hidden: (directions, 1, hidden))(attributes, types)


_BIAS = _zeros(lambda directions, gates, hidden: (directions, 2 * gates))
_PEEPHOLE = _zeros(lambda directions, gates, hidden: (directions, 3 * hidden))


def _activations(attributes: dict[str, Any], types: Sequence[Tensor]) -> dict[str, Any]:
    """Activations by their names in ONNX, of both directions where there are two."""
    names = tuple(map(_camel, attributes["activations"]))
    gates = int(types[2].shape[1]) // int(types[2].shape[2])
    one_direction = {1: 1, 3: 2, 4: 3}[gates]
    if len(names) == one_direction:
        names *= int(types[2].shape[0])
    return {**attributes, "activations": names}


def _sized(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """The hidden size is that of the recurrence weights; equal activations of two directions are said once."""
    names = attributes.get("activations", ())
    half = names[: len(names) // 2]
    is_repeated = bool(half) and attributes.get("direction") == "bidirectional" and names == half * 2
    if is_repeated and not attributes.get("activation_alpha"):
        attributes = {**attributes, "activations": half}
    return {"hidden_size": int(types[2].shape[2]), **attributes}


_CELLS: tuple[tuple[str, Op, dict[str, Named], tuple[int, ...], dict[int, Neutral]], ...] = (
    ("RNN", op.rnn, {}, (5, 4), {}),
    ("GRU", op.gru, same_names(truth, "linear_before_reset"), (5, 4), {}),
    ("LSTM", op.lstm, same_names(truth, "input_forget"), (5, 6, 7, 4), {6: _state, 7: _PEEPHOLE}),
)
RECURRENT: tuple[Entry, ...] = tuple(
    Entry(
        name,
        cell,
        {**_CELL, **further},
        operands=(0, 1, 2, 3, *operands),
        neutral={3: _BIAS, 5: _state, **neutral},
        zeros=(5, 6) if cell is op.lstm else (5,),
        complete=_sized,
        shown=_activations,
    )
    for name, cell, further, operands, neutral in _CELLS
)
