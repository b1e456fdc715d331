"""Sequences of ONNX whose lengths are known on import: each is a tuple of the values that are its tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from graphrewrite import GraphRewriteError, op
from graphrewrite.graph import Value
from graphrewrite.graph.provenance import give_origin
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Unfit

if TYPE_CHECKING:
    from graphrewrite.lowering.exchange.onnx.importer import Importer

__all__ = ["add_sequence_node", "is_about_sequences"]

Found: TypeAlias = Value | tuple[Value, ...]
"""A tensor, or a sequence of tensors."""


def is_about_sequences(importer: Importer, node: Any) -> bool:
    """Tell whether a node makes or reads a sequence of known length."""
    if node.op_type not in _MEANINGS or node.domain not in ("", "ai.onnx"):
        return False
    return node.op_type != "Identity" or node.input[0] in importer.sequences


def add_sequence_node(importer: Importer, node: Any, label: str) -> None:
    """Add what a node makes of tensors and sequences.

    Raises
    ------
    ModelError
        If it asks for what is known at run time only, or for what the sequence does not have.
    """

    def found_of(name: str) -> Found | None:
        if name in importer.sequences:
            return importer.sequences[name]
        return importer.value(name, f"node {label!r}") if name else None

    operands = [found_of(name) for name in node.input]
    attributes = {a.name: importer.onnx.helper.get_attribute_value(a) for a in node.attribute}
    before = len(importer.graph)
    try:
        found = _MEANINGS[node.op_type](importer, operands, attributes)
    except (GraphRewriteError, Unfit) as error:
        raise ModelError(f"node {label!r} ({node.op_type}): {error}") from error
    give_origin(importer.graph, before, label)
    if isinstance(found, tuple):
        importer.sequences[node.output[0]] = found
    else:
        importer.values[node.output[0]] = found


_Meaning = Callable[["Importer", list[Found | None], Mapping[str, Any]], Found]


def _sequence(operand: Found | None) -> tuple[Value, ...]:
    if not isinstance(operand, tuple):
        raise Unfit("its first input is no sequence that a node of the model makes")
    return operand


def _tensors(operands: Iterable[Found | None]) -> tuple[Value, ...]:
    found = tuple(operands)
    if not all(isinstance(operand, Value) for operand in found):
        raise Unfit("an input is missing, or a sequence and no tensor")
    return found  # type: ignore[return-value]  # all of them are values


def _position(importer: Importer, operands: list[Found | None], slot: int, default: int, length: int) -> int:
    """Return the position that an operand holds, counted from the front; there are so many positions."""
    at = default
    if slot < len(operands) and operands[slot] is not None:
        (value,) = _tensors([operands[slot]])
        at = int(importer.static(value, slot, "position"))
    if not -length <= at < length:
        raise Unfit(f"position {at} is outside of a sequence of {length}")
    return at % length


def _at(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    items = _sequence(operands[0])
    return items[_position(importer, operands, 1, 0, len(items))]


def _inserted(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    items, (new,) = _sequence(operands[0]), _tensors(operands[1:2])
    if len(operands) > 2 and operands[2] is not None:
        (value,) = _tensors(operands[2:])
        at = int(importer.static(value, 2, "position"))
        if not -len(items) <= at <= len(items):
            raise Unfit(f"position {at} is outside of a sequence of {len(items)}")
    else:
        at = len(items)
    return (*items[:at], new, *items[at:])


def _erased(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    items = _sequence(operands[0])
    at = _position(importer, operands, 1, -1, len(items))
    return (*items[:at], *items[at + 1 :])


def _length(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    return importer.graph.constant(np.array(len(_sequence(operands[0])), np.int64))


def _joined(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    items, axis = _sequence(operands[0]), attributes["axis"]
    if not items:
        raise Unfit("its sequence is empty")
    if attributes.get("new_axis"):
        items = tuple(op.unsqueeze(item, axes=(axis,)) for item in items)
    joined: Value = op.concat(*items, axis=axis)
    return joined


def _split(importer: Importer, operands: list[Found | None], attributes: Mapping[str, Any]) -> Found:
    (x,) = _tensors(operands[:1])
    shape = x.type.shape
    axis = attributes.get("axis", 0)
    if not -len(shape) <= axis < len(shape):
        raise Unfit(f"axis {axis} is out of range for {x.type}")
    size = shape[axis]
    parts = importer.static(_tensors(operands[1:])[0], 1, "split") if len(operands) > 1 else None
    if (parts is None or parts.ndim == 0) and not isinstance(size, int):
        raise Unfit(f"how many parts there are depends on the size {size!r} of its axis {axis}; give that a number")
    if parts is None:
        sizes = [1] * int(size)
    elif parts.ndim == 0:
        whole = max(1, int(parts))
        sizes = [min(whole, int(size) - start) for start in range(0, int(size), whole)]
    else:
        sizes = [int(part) for part in parts]
    if not sizes:
        return ()
    found = op.split(x, axis=axis, sizes=tuple(sizes))
    items = found if isinstance(found, tuple) else (found,)
    if parts is None and not attributes.get("keepdims", 1):
        return tuple(op.squeeze(item, axes=(axis,)) for item in items)
    return items


_MEANINGS: dict[str, _Meaning] = {
    "ConcatFromSequence": _joined,
    "Identity": lambda importer, operands, attributes: _sequence(operands[0]),
    "SequenceAt": _at,
    "SequenceConstruct": lambda importer, operands, attributes: _tensors(operands),
    "SequenceEmpty": lambda importer, operands, attributes: (),
    "SequenceErase": _erased,
    "SequenceInsert": _inserted,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
"""What makes sequences, and what reads them."""
