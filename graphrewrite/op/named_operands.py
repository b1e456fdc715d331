"""Named operands: operands that a call gives by keyword, and their places in the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite.errors import ArgumentError, TypeMismatchError

if TYPE_CHECKING:
    from graphrewrite.op.signature import Signature

__all__ = ["NOT_OPERANDS", "own_positions", "placed", "positions"]

NOT_OPERANDS = frozenset({"name", "like", "annotations"})
"""Keywords that say something of a new node, whatever its operands are called."""

_FAMILIES: tuple[Mapping[str, str], ...] = (
    {"input": "x"},
    {"weight": "w", "bias": "b"},
    {
        "weight": "gain",
        "gamma": "gain",
        "scale": "gain",
        "bias": "shift",
        "beta": "shift",
        "running_mean": "mean",
        "moving_mean": "mean",
        "running_var": "var",
        "moving_variance": "var",
    },
    {"weight": "slope"},
)
"""Other names of operands, as PyTorch, ONNX and Keras have them; each family is for ops that have its first operand."""


def own_positions(op: Signature) -> dict[str, int]:
    """Return the places of the operands by their own names; those of which there is any number have none.

    Examples
    --------
    >>> from graphrewrite import op
    >>> own_positions(op.add), own_positions(op.concat)
    ({'x': 0, 'y': 1}, {})
    """
    fixed = op.operands[:-1] if op.variadic else op.operands
    return {name: i for i, name in enumerate(fixed) if name not in NOT_OPERANDS}


def positions(op: Signature) -> dict[str, int]:
    """Return the places of the operands by all names with which a call may give them.

    Examples
    --------
    >>> from graphrewrite import op
    >>> positions(op.conv)
    {'x': 0, 'w': 1, 'b': 2, 'input': 0, 'weight': 1, 'bias': 2}
    """
    own = own_positions(op)
    families = [family for family in _FAMILIES if next(iter(family.values())) in own]
    others = [pair for family in families for pair in family.items()]
    others += [(other, name) for other, name in op.derived.items() if isinstance(name, str)]
    taken = {*op.operands, *op.attributes, *(key for key in op.derived if op.canonical_name(key) != key)}
    return own | {other: own[name] for other, name in others if name in own and other not in taken}


def placed(ops: Sequence[Signature], operands: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
    """Return operands with those that are given by name in their places, and take these from the attributes.

    A bias may be empty, as views of layers have it where there is none.

    Parameters
    ----------
    ops : sequence of Signature
        At least one; the alternatives of a pattern.
    operands : tuple
        Those that are given by position.
    attributes : dict
        Keywords of the call.

    Raises
    ------
    ArgumentError
        If an operand is given twice, or stands in different places in the alternatives.
    TypeMismatchError
        If one before them is missing, without which the op cannot be.

    Examples
    --------
    >>> from graphrewrite import op
    >>> given = {"weight": 2, "groups": 1}
    >>> placed([op.conv], (1,), given), given
    ((1, 2), {'groups': 1})
    """
    op, positions = ops[0], ops[0].operand_positions
    named: dict[int, Any] = {}
    for word in [key for key in attributes if key in positions]:
        place, value = positions[word], attributes.pop(word)
        if place < len(operands) or place in named:
            raise ArgumentError(f"{op.name} got two values for the operand {op.operands[place]!r}; give one of them")
        other = next((each for each in ops if each.operand_positions.get(word) != place), None)
        if other is not None:
            raise ArgumentError(
                f"{word!r} is operand {place} of {op.name}, and not of {other.name}; pass it without its name"
            )
        is_empty = word == "bias" and isinstance(value, np.ndarray | list | tuple) and np.size(value) == 0
        named[place] = None if is_empty else value
    if not named:
        return operands
    slots = [*operands, *(named.get(i) for i in range(len(operands), max(named) + 1))]
    for name, value in zip(op.operands[: op.required], slots, strict=False):
        if value is None and name not in op.neutral:
            raise TypeMismatchError(f"{op.name} needs operand {name!r}")
    return tuple(slots)
