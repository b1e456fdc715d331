"""Chains of elementwise float ops on mantissas, evaluated number by number in the model's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import Constant, op
from graphrewrite.lowering.composite.axes import channel_entries
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import HELD_WIDER, element_kind

__all__ = ["ELEMENTWISE", "ONE_BY_ONE", "Chain", "chain_of", "channels_of", "link", "traced", "way"]

_RISING = (
    *("relu", "clip", "hard_tanh", "hard_sigmoid", "identity", "round", "floor", "ceil", "sign", "name_axes"),
    *("add", "minimum", "maximum", "dequantize_linear"),
)
"""Non-decreasing ops, rounding included (IEEE 754-2019, 4.3: rounding is monotone)."""
_STRAIGHT = ("mul", "div", "sub", "neg", "batch_norm", "leaky_relu", "cast")
"""Ops that are monotone in each channel, depending on operands that `_is_monotone` checks."""
_ELEMENTARY = (
    *("sigmoid", "tanh", "gelu", "softplus", "silu", "mish", "elu", "selu", "celu", "exp", "log", "erf", "pow", "sin"),
    *("cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
"""Ops whose last bit no standard defines."""
_CURVED = (
    *("hard_swish", "prelu", "abs", "softsign", "threshold", "sqrt", "reciprocal"),
    *("where", "greater", "greater_or_equal", "less", "less_or_equal"),
)
ONE_BY_ONE = (*_RISING, *_STRAIGHT, *_CURVED, *_ELEMENTARY)
"""Names of elementwise ops, without quantisers."""
ELEMENTWISE = reduce(or_, [getattr(op, name) for name in ONE_BY_ONE])
"""Pattern of any of them."""


def link(below, others: Constant):
    """Return the pattern of an elementwise op whose other operands are constants."""
    return ELEMENTWISE(below, *others)  # a variable stands for any number of operands


def way(below, others):
    """Return the pattern of an elementwise op on a path to a function's end; `chain_of` checks its other operands."""
    return ELEMENTWISE(below, *others)


_ENDS = ("from_fixed", "bipolar_quant", "quantise", "round_half_away")
"""Non-decreasing ops at the ends of a chain."""
_CHANNELS = {"batch_norm": 1, "prelu": 1}


@dataclass(frozen=True)
class Chain:
    """An elementwise function of mantissas.

    Attributes
    ----------
    function : callable
        From an array of int64 or float, shape ``[numbers, channels or 1]``, to the model's values; ``ulps`` offsets the
        last op's operand by so many units in the last place.
    channels : int
        1 where all are equal.
    is_monotone : bool
        Whether it is certainly monotone in each channel.
    is_certain : bool
        Whether IEEE 754 defines every bit of it: other functions differ in their last bits between processors, and with
        the layout of an array.
    """

    function: Callable[..., np.ndarray]
    channels: int
    is_monotone: bool
    is_certain: bool


class _Step(NamedTuple):
    """An op of a chain; its operands are constants or names of nodes."""

    node: str
    op: Any
    operands: list[str | np.ndarray]
    attributes: dict[str, Any]

    @property
    def constants(self) -> list[np.ndarray | None]:
        return [one if isinstance(one, np.ndarray) else None for one in self.operands]


def traced(x: Any, real: Any, top: Any) -> tuple[Any, Chain] | str:
    """Return the mantissas that a node is a function of, and the function; or the reason why there are none.

    Where ``x`` is not such a value, its operand before a relu or clip may be.
    """
    chain = chain_of(real, top, start=x.node)
    source = x
    # A path may lead past a relu or clip, as in x * sigmoid(relu(x)): then all paths start before it.
    while isinstance(chain, str) and source.op_name in ("relu", "clip"):
        source = first_operand(source)
        lower = chain_of(real, top, start=source.node)
        if not isinstance(lower, str):
            return source, lower
    return chain if isinstance(chain, str) else (source, chain)


def chain_of(real: Any, top: Any, *, start: str | None = None) -> Chain | str:
    """Return the elementwise function from ``real`` to ``top``, or the reason why it is not one.

    ``start`` names the mantissas that it is a function of; by default it is a function of the values of ``real``.
    """
    kind = real.type
    rank = len(kind.shape)
    if rank < 2 or not isinstance(kind.shape[1], int) or (kind.layout or "NC")[1] != "C":
        return "the second axis of its operand is not a channel axis"
    first = real.node if start is None else start
    steps = _steps(real.graph, first, top.node)
    if isinstance(steps, str):
        return steps
    channels = 1
    for step in steps:
        count = channels_of(step.op.name, step.constants, step.attributes, rank, kind.shape[1])
        if count is None:
            return f"an operand of {step.op.name} differs along other axes than the channels"
        channels = max(channels, count)

    def function(numbers: np.ndarray, *, precisely: bool = False, ulps: int = 0) -> np.ndarray:
        # Numbers in place of samples, and one position: an elementwise op treats each entry alike.
        shape = (len(numbers), channels, *[1] * (rank - 2))
        value = np.broadcast_to(numbers, shape[:2]).reshape(shape)
        values = {first: value}
        with np.errstate(all="ignore"):
            for node, applied, operands, attributes in steps:
                arrays = [
                    values[one] if isinstance(one, str) else _widened(one) if precisely else one for one in operands
                ]
                if ulps and node == top.node:
                    arrays = [
                        _off(array, ulps) if isinstance(one, str) else array
                        for one, array in zip(operands, arrays, strict=True)
                    ]
                # Precisely means in float64 throughout: what the model rounds to a narrower float is not rounded.
                if precisely and applied.name == "cast" and element_kind(attributes["element"]) == "float":
                    values[node] = arrays[0]
                else:
                    wider = {"element": "f64"} if precisely and applied.name == "from_fixed" else {}
                    (values[node],) = applied.compute(arrays, attributes | wider)
        return np.broadcast_to(values[top.node], shape).reshape(shape[:2])

    is_monotone = all(_is_monotone(step.op, step.constants, step.attributes) for step in steps)
    return Chain(function, channels, is_monotone, all(step.op.name not in _ELEMENTARY for step in steps))


def _off(values: np.ndarray, ulps: int) -> np.ndarray:
    """Floats increased by so many units in the last place."""
    return values + ulps * np.spacing(values) if values.dtype.kind == "f" else values


def _steps(graph: Any, start: str, top: str) -> list[_Step] | str:
    """The ops from one node to another in topological order, or the reason why one reads something else."""
    steps: dict[str, _Step] = {}
    stack = [top]
    while stack:
        node = stack[-1]
        data, applied = graph.nodes[node], graph.op(node)
        if node != top and data["type"] not in (*ONE_BY_ONE, "from_fixed"):
            return f"{data['type']} is among its operands, so it is not a function of one number"
        element = graph.result_type(node).element
        if element in HELD_WIDER and element_kind(element) == "float" and "element" not in applied.attributes:
            return f"{data['type']} computes in {element}"
        operands = [
            graph.nodes[o.node]["value"] if graph.nodes[o.node]["type"] == "constant" else o.node
            for o in graph.operands(node)
        ]
        pending = [name for name in operands if isinstance(name, str) and name not in (start, *steps)]
        if pending:
            stack += pending
            continue
        stack.pop()
        if node not in steps:
            attributes = {name: data[name] for name in applied.attributes if name in data}
            steps[node] = _Step(node, applied, operands, attributes)
    return list(steps.values())


def _widened(constant: np.ndarray) -> np.ndarray:
    return constant.astype(np.float64) if constant.dtype.kind == "f" else constant


def channels_of(
    name: str, operands: Sequence[np.ndarray | None], attributes: Mapping[str, Any], rank: int, channels: int
) -> int | None:
    """Return 1 or the number of channels that the constants of an op distinguish; None if they differ along other axes.

    ``operands`` has None where an operand is computed.

    Examples
    --------
    >>> slope = np.zeros((3, 1, 1))
    >>> channels_of("mul", [None, slope], {}, 4, 3), channels_of("mul", [None, slope], {}, 3, 1)
    (3, None)
    """
    constants = [one for one in operands if one is not None]
    if name == "multi_threshold":
        last = str(attributes.get("data_layout", "NCHW"))[-1] == "C" and rank != 2
        return None if last and len(constants[0]) != 1 else len(constants[0])
    if name in ("quantize_linear", "dequantize_linear"):
        most = max(one.size for one in constants)
        own = attributes.get("axis", 1) % rank == 1 and not attributes.get("block_size", 0)
        return most if most == 1 or own else None
    if name in _CHANNELS and all(one.ndim == 1 for one in constants):
        return max(one.size for one in constants)
    channel_count = 1
    for one in constants:
        entries = channel_entries(one.shape, rank)
        if entries is None:
            return None
        channel_count = max(channel_count, entries)
    return channel_count if channel_count in (1, channels) else None


def _is_monotone(applied: Any, operands: Sequence[np.ndarray | None], attributes: dict[str, Any]) -> bool:
    name, constants = applied.name, [one for one in operands if one is not None]
    has_nan = any(np.isnan(one).any() for one in constants if one.dtype.kind == "f")
    if has_nan or len(constants) != len(operands) - 1:
        return False
    if name in ("quantize_linear", "quant", "trunc"):
        return bool((constants[0] > 0).all()) and attributes.get("element") in (None, "i8", "u8", "i16", "u16")
    if name == "multi_threshold":
        return bool(attributes.get("out_scale", 1.0) > 0)
    if name == "multiply_fixed_point":  # shifts to the left wrap around
        is_up = attributes.get("left_shift", 0) or (constants[1] > 0).any()
        return bool(not is_up and (constants[0] >= 0).all())
    if name in ("add", "sub", "mul") and constants[0].dtype.kind != "f":
        return False  # whole numbers wrap around
    if name == "cast":
        return element_kind(attributes["element"]) == "float"
    if name == "div":
        # A constant divided by a number has a pole at zero.
        return operands[0] is None
    if name == "leaky_relu":
        return bool(attributes.get("alpha", 0.01) >= 0)
    if name == "prelu":
        return operands[0] is None and bool((constants[0] >= 0).all())
    return name in (*_RISING, *_ENDS, "mul", "sub", "neg", "batch_norm")
