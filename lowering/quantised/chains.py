"""What elementwise float ops make of mantissas: the model's own arithmetic, evaluated number by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, op
from graphrewrite.types import element_dtype, element_kind, integer_limits

__all__ = ["ELEMENTWISE", "QUANTISERS", "Chain", "chain_of", "link", "quantised_as"]

QUANTISERS = op.quantize_linear | op.quant | op.bipolar_quant | op.trunc | op.multi_threshold | op.quantise
"""Ops that give the numbers of a grid, or where they are stored."""
_RISING = (
    *("relu", "clip", "hard_tanh", "hard_sigmoid", "identity", "round", "floor", "ceil", "name_axes"),
    *("add", "minimum", "maximum", "dequantize_linear"),
)
"""Ops that keep the order of numbers, rounding included (IEEE 754-2019, 4.3: rounding is monotone)."""
_STRAIGHT = ("mul", "div", "sub", "neg", "batch_norm", "leaky_relu", "cast")
"""Ops that keep or turn the order of numbers, each channel by itself, with operands that `_is_monotone` looks at."""
_CURVED = (
    *("sigmoid", "tanh", "hard_swish", "gelu", "softplus", "silu", "mish", "elu", "selu", "celu", "prelu", "abs"),
    *("softsign", "threshold", "exp", "log", "sqrt", "reciprocal", "erf", "pow", "sign", "sin", "cos"),
)
ELEMENTWISE = reduce(or_, [getattr(op, name) for name in (*_RISING, *_STRAIGHT, *_CURVED)])
"""Any op of numbers one by one that is no quantiser."""


def link(below, others: Constant):
    """Return the pattern of an op of numbers one by one, whose further operands are constants.

    Parameters
    ----------
    below : value of a pattern
        Its first operand, or its second one.
    others : variable of a pattern
        The rest.

    Returns
    -------
    pattern node
    """
    return ELEMENTWISE(below, *others)  # type: ignore[misc]  # a variable stands for any number of operands


_CHANNELS = {"batch_norm": 1, "prelu": 1}


@dataclass(frozen=True)
class Chain:
    """A function of mantissas.

    Attributes
    ----------
    function : callable
        From an array of int64 (or of real numbers), of the shape ``[numbers, channels or 1]``, to the model's values.
    channels : int
        1 where all are alike.
    is_monotone : bool
        Whether it is certain to rise or fall in each channel.
    """

    function: Callable[..., np.ndarray]
    channels: int
    is_monotone: bool


def chain_of(real: Any, links: Sequence[Any], *, starts_at_reals: bool = False) -> Chain | str:
    """Return what a run of ops makes of mantissas, or in words why it is no function of one mantissa.

    Parameters
    ----------
    real : node of a match
        The ``from_fixed`` that reads them.
    links : sequence of nodes of a match
        Lowest first.
    starts_at_reals : bool
        The function takes the numbers that the first argument gives, whatever node that is.

    Returns
    -------
    Chain or str
    """
    kind, graph = real.type, real.graph
    rank = len(kind.shape)
    if rank < 2 or not isinstance(kind.shape[1], int) or (kind.layout or "NC")[1] != "C":
        return "the second axis of its operand are no channels"
    below, steps, channels = real.node, [], 1
    for link in links:
        operands: list[np.ndarray | None] = []
        for operand in graph.operands(link.node):
            data = graph.nodes[operand.node]
            if operand.node != below and data["type"] != "constant":
                return f"{link.op_name} has a second operand that is computed"
            operands.append(None if operand.node == below else data["value"])
        attributes = {name: link.data[name] for name in link.op.attributes if name in link.data}
        found = _channels_of(link.op_name, operands, attributes, rank, kind.shape[1])
        if found is None:
            return f"an operand of {link.op_name} differs along other axes than the channels"
        channels = max(channels, found)
        steps.append((link.op, operands, attributes))
        below = link.node

    def function(numbers: np.ndarray, *, precisely: bool = False) -> np.ndarray:
        shape = (len(numbers), channels, *[1] * (rank - 2))
        value = np.broadcast_to(numbers, shape[:2]).reshape(shape)
        if not starts_at_reals:
            element = "f64" if precisely else real.element
            (value,) = op.from_fixed.compute([value], {"fraction": real.fraction, "element": element})
        with np.errstate(all="ignore"):
            for applied, operands, attributes in steps:
                given = [value if one is None else _widened(one) if precisely else one for one in operands]
                if not (precisely and applied.name == "cast" and element_kind(attributes["element"]) == "float"):
                    (value,) = applied.compute(given, attributes)
        return value.reshape(shape[:2])

    return Chain(function, channels, all(_is_monotone(*step) for step in steps))


def _widened(constant: np.ndarray) -> np.ndarray:
    return constant.astype(np.float64) if constant.dtype.kind == "f" else constant


def _channels_of(
    name: str, operands: Sequence[np.ndarray | None], attributes: dict[str, Any], rank: int, channels: int
) -> int | None:
    """How many channels constants tell apart; None if they differ along other axes."""
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
    found = 1
    for one in constants:
        along = (1,) * (rank - one.ndim) + one.shape
        if one.ndim > rank or any(size != 1 for axis, size in enumerate(along) if axis != 1):
            return None
        found = max(found, along[1])
    return found if found in (1, channels) else None


def _is_monotone(applied: Any, operands: Sequence[np.ndarray | None], attributes: dict[str, Any]) -> bool:
    name, constants = applied.name, [one for one in operands if one is not None]
    if (
        any(np.isnan(one).any() for one in constants if one.dtype.kind == "f")
        or sum(one is None for one in operands) != 1
    ):
        return False
    if name in ("quantize_linear", "quant", "trunc"):
        return bool((constants[0] > 0).all()) and attributes.get("element") in (None, "i8", "u8", "i16", "u16")
    if name == "multi_threshold":
        return bool(attributes.get("out_scale", 1.0) > 0)
    if name in ("add", "sub", "mul") and constants[0].dtype.kind != "f":
        return False  # whole numbers wrap around
    if name == "cast":
        return element_kind(attributes["element"]) == "float"
    if name == "div":
        return operands[0] is None
    if name == "leaky_relu":
        return bool(attributes.get("alpha", 0.01) >= 0)
    return name in (*_RISING, "mul", "sub", "neg", "batch_norm", "bipolar_quant", "quantise")


def quantised_as(top: Any, rank: int) -> tuple[Callable[[np.ndarray], np.ndarray], FixedPoint, Any] | str:
    """Return how a quantiser's values are whole numbers: their distance from the zero point.

    Parameters
    ----------
    top : node of a match
        The quantiser.
    rank : int
        Axes of what it quantises.

    Returns
    -------
    tuple of callable, FixedPoint and scale, or str
        From values to whole numbers, the format that holds them, and what one of them is worth: an array that
        broadcasts; None for stored numbers, which have no scale yet. Or in words why they are none.
    """
    constants = [o.value for o in _operands(top)[1:] if o.is_constant]
    if len(constants) < len(_operands(top)) - 1:
        return "its scale or zero point is computed"
    if top.op_name not in ("quantise", "multi_threshold") and not _is_positive(constants[0]):
        return "its scale is not positive"
    if top.op_name == "quantise":
        if top.fractions is not None:
            return "its result has a format for each channel"
        return lambda v: np.rint(np.ldexp(v.astype(np.float64), top.element.fraction)), top.element, top.element
    if top.op_name == "quantize_linear":
        limits = integer_limits(top.type.element)
        if limits is None or limits[1] >= 1 << 16:
            return f"its numbers are stored as {top.type.element}"
        zero = constants[1].astype(np.int64) if len(constants) > 1 else np.zeros((), np.int64)
        element = FixedPoint.holding(min(0, limits[0] - int(zero.max())), limits[1] - int(zero.min()))
        return lambda v: v.astype(np.int64) - zero.reshape(-1), element, None
    if top.op_name == "multi_threshold":
        return _of_thresholds(top, constants[0].shape[1])
    step = constants[0]
    if top.op_name == "bipolar_quant":
        element, whole = FixedPoint(True, 2), step
    else:
        bits = constants[2 if top.op_name == "quant" else 3]
        zero = float(constants[1].max())
        if bits.size != 1 or zero != constants[1].min() or zero != np.rint(zero) or float(bits.ravel()[0]) % 1:
            return "its zero point or bit width is no whole number, or differs from channel to channel"
        width = int(bits.ravel()[0])
        if not 1 <= width <= 16:
            return f"it has {width} bits, and quantised numbers have 1 to 16"
        whole = step
        if top.op_name == "trunc":
            if len(constants) > 4:
                whole = constants[4]
            if zero:
                return "its zero point is not 0"
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if top.signed else (0, (1 << width) - 1)
        if width == 1 and top.signed:
            high = 1
        element = FixedPoint.holding(min(0, low - int(zero)), max(high - int(zero), 1))
    if not _is_per_channel(whole, rank):
        return "its scale differs along other axes than the channels"
    units = whole.astype(np.float64).reshape(-1)
    return lambda v: np.rint(v.astype(np.float64) / units), element, whole


def _of_thresholds(top: Any, steps: int) -> tuple[Callable[[np.ndarray], np.ndarray], FixedPoint, Any] | str:
    scale, bias = float(top.out_scale), float(top.out_bias)
    for part in (1.0, 2.0) if 0 < scale < np.inf and np.isfinite(bias) else ():
        first = bias * part / scale
        if first == np.rint(first) and abs(first) < 1 << 16:
            element = FixedPoint.holding(min(0, int(first)), max(1, int(first + part * steps)))
            worth = np.asarray(scale / part, element_dtype(top.type.element))
            return lambda v, unit=float(worth): np.rint(v.astype(np.float64) / unit), element, worth
    return f"its bias {bias} is no multiple of half its scale {scale}"


def _is_positive(scale: np.ndarray) -> bool:
    return bool(scale.size and scale.dtype.kind == "f" and (np.isfinite(scale) & (scale > 0)).all())


def _operands(node: Any) -> list[Any]:
    return [type(node)(node.replay, operand) for operand in node.graph.operands(node.node)]


def _is_per_channel(values: np.ndarray, rank: int) -> bool:
    along = (1,) * (rank - values.ndim) + values.shape
    return values.ndim <= rank and all(size == 1 for axis, size in enumerate(along) if axis != 1)
