"""Values of borders: a convolution whose border holds another value than zero is a `pad`, and one without a border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import RuleError, TypeMismatchError
from graphrewrite.op.named_operands import NOT_OPERANDS
from graphrewrite.op.signature import type_of
from graphrewrite.op.symbolic import CURRENT, Symbolic
from graphrewrite.op.tensor.shapes import pad
from graphrewrite.types import Dimension, Tensor

if TYPE_CHECKING:
    from graphrewrite.op.op import Op

__all__ = ["BorderValue"]


class BorderValue:
    """The value in the border of a convolution's node: zero, since another one is that of a node of its own."""

    def __call__(self, node: Any) -> int:
        """Return zero."""
        return 0

    def express(self, op: Op, operands: tuple[Any, ...], attributes: Mapping[str, Any]) -> Any:
        """Return the op of an operand with a border of a value, or None where the border is of zeros.

        Raises
        ------
        RuleError
            In a pattern, in which each node is written by itself.
        TypeMismatchError
            If it is no number, or operands and attributes do not fit the op; nothing is built then.
        """
        value = attributes["padding_value"]
        if type(value) in (int, float) and value == 0:
            return None
        if CURRENT.get() is not None:
            raise RuleError(
                f"{op.name}: a border of another value than 0 is a node of its own; in a pattern, write "
                f"op.{op.name}(op.pad(x, fill=value), w)"
            )
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise TypeMismatchError(f"{op.name}.padding_value: expected a number, got {value!r}")
        like = attributes.get("like")
        own = {key: each for key, each in attributes.items() if key not in {"padding_value", *NOT_OPERANDS}}
        known = {} if like is None else {key: each for key, each in like.data.items() if key in op.attributes}
        op.check(len(operands), known | op.as_attributes(own))
        types = [type_of(x) for x in operands if x is not None]
        if not any(isinstance(x, Symbolic) for x in operands):
            types = [Tensor("f32", kind.shape) for kind in types]
        pads = self.pads(op, types, known | op.as_attributes(own))
        rest = {key: each for key, each in attributes.items() if key != "padding_value"}
        if not any(pads):
            return op(*operands, **rest)
        rest = {key: each for key, each in rest.items() if op.canonical_name(key) != "pads"}
        rest |= {} if like is None else {"pads": 0}
        first = next((x for x in operands if isinstance(x, Symbolic)), None)
        with nullcontext() if first is None else first.undone_on_error(f"{op.name}(padding_value={value})"):
            return op(pad(operands[0], pads=pads, fill=float(value)), *operands[1:], **rest)

    def pads(self, op: Op, types: Sequence[Any], attributes: dict[str, Any]) -> tuple[int, ...]:
        """Return the border of all axes of the first operand, in its order.

        Parameters
        ----------
        types : sequence of Tensor
            Of the operands.
        attributes : dict
            As `Op.as_attributes` gives them.
        """
        batch = None if op.axes is None else op.axes.of_a_batch(types[0])
        types = types if batch is None else [batch, *types[1:]]
        stated = op.settled(attributes, types)
        spatial = stated.get("pads", op.defaults(types[0], stated)["pads"])
        pads = (0, 0, *spatial[: len(spatial) // 2], 0, 0, *spatial[len(spatial) // 2 :])
        axes = _axes(op, types)
        rank = len(axes)
        return tuple(pads[half + axis] for half in (0, rank) for axis in axes if batch is None or axis)

    def spatial(self, op: Op, types: Sequence[Any], pads: Sequence[Dimension]) -> tuple[Dimension, ...]:
        """Return the attribute of the op for a border of all axes of the first operand."""
        axes = _axes(op, types)
        rank = len(axes)
        return tuple(pads[half + axes.index(axis)] for half in (0, rank) for axis in range(2, rank))


def _axes(op: Op, types: Sequence[Any]) -> list[int]:
    """Return the place of each axis of the first operand among those of the op."""
    order, axes = op.arrangement(types), range(len(types[0].shape))
    return list(axes) if order is None else sorted(axes, key=order.operand.__getitem__)
