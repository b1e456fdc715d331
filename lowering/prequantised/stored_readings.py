"""Stored integers read as distances from their zero points: of inputs, casts, limits, tables and greatest entries."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.matched_operands import REARRANGING, Mantissas, computed_from_inputs
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.lowering.prequantised.quantised_inputs import DIGITS, distances, zero_of
from graphrewrite.lowering.prequantised.quantisers import stored_limits
from graphrewrite.rewriting.rule.replacement import Known
from graphrewrite.rules.operands import operands_of
from graphrewrite.types import Quantised, element_dtype, integer_limits

__all__ = ["HOST_STORES", "READ_STORED", "stored_as", "zero_of_stored"]

HOST_STORES = (*REARRANGING, *ONE_BY_ONE, "round_half_away")
"""Ops by which the host makes stored integers of inputs."""
_MOST_BITS = 16
"""Of numbers for which a table is written."""
_READERS = (
    op.conv_integer | op.matmul_integer | op.qlinear_conv | op.qlinear_matmul | op.multiply_fixed_point | op.lookup
)
_READERS = _READERS | op.max_pool | op.pad | op.cast


def _is_stored_input(x: Any) -> bool:
    return stored_limits(x.type.element) is not None and computed_from_inputs(x, HOST_STORES)


StoredInput = Annotated[
    Any, rule.where(_is_stored_input, "it is an input of stored integers, or what the host makes of inputs")
]


def _source(x: Any) -> dict[str, Any]:
    """Return the attributes of the node that gave stored integers, before they were rearranged."""
    node = x.node
    while x.graph.nodes[node]["type"] in REARRANGING:
        node = x.graph.operands(node)[0].node
    return dict(x.graph.nodes[node])


def _stated_zero(x: Any) -> int | None:
    """Return the zero point that an annotation or a rounding states for stored integers."""
    data = _source(x)
    stated = data.get("quantisation")
    if isinstance(stated, Quantised) and stated.axis is None:
        return int(stated.channels[0][1])
    return int(data.get("zero_point", 0)) if data["type"] == "round_half_away" else None


def _zero_of_reader(reader: Any) -> int | None:
    """Return the zero point that an op subtracts from its first operand."""
    if reader.op_name == "multiply_fixed_point":
        return int(reader.input_zero_point)
    place = {"conv_integer": 2, "matmul_integer": 2, "qlinear_conv": 2, "qlinear_matmul": 2}.get(reader.op_name)
    operands = operands_of(reader)
    if place is None or place >= len(operands) or operands[place] is None:
        return 0
    return zero_of(operands[place]) if operands[place].is_constant else None


def stored_as(mantissas: Any, zero: int, element: Any) -> Any:
    """Return stored integers that are so far from their zero point."""
    return _stored(op.from_fixed(mantissas, fraction=0, element="f32"), zero, element)


def _stored(real: Any, zero: int, element: Any) -> Any:
    """Return real numbers that are whole, so far from a zero point, as stored integers."""
    point = Known(real.replay, np.asarray(zero, element_dtype(element)), Tensor(element, ()))
    return op.quantize_linear(real, np.float32(1), point, element=element)


def zero_of_stored(x: Any, z: Any, stored: Any) -> int | str:
    """Return the zero point of stored numbers that are made of distances, or the reason why they are not."""
    zero = zero_of(z)
    if zero is None:
        return "its zero point differs from channel to channel"
    return distances(x, z, stored, z) or zero


def _is_integer_arithmetic(wide: Any) -> bool:
    """Tell whether stored numbers become wider for integer arithmetic, or for a mean that is rounded."""
    graph, names = wide.graph, [wide.node]
    for name in names:
        names += [r.node for r in graph.readers(name) if graph.nodes[r.node]["type"] == "transpose"]
    readers = {graph.nodes[r.node]["type"] for name in names for r in graph.readers(name)} - {"transpose"}
    return str(wide.type.element) == "i32" or readers == {"average_pool"}


@rule
def enter_integers(x: StoredInput, others):
    """The host subtracts the zero point of an input of stored integers."""
    reader = _READERS(x, *others)
    yield reader
    if reader.op_name == "cast" and not _is_integer_arithmetic(reader):
        return decline("it becomes a real number, which the host computes", at=reader)
    stated = _stated_zero(x)
    if stated is None and reader.op_name in ("cast", "lookup", "max_pool", "pad"):
        return decline("nothing says that its operand is a stored number", at=reader)
    zero = stated if stated is not None else _zero_of_reader(reader)
    if zero is None:
        return decline("its zero point is computed, or differs from channel to channel", at=reader)
    real = op.sub(op.cast(x, element="f32"), np.float32(zero))
    return reader.op(_stored(real, zero, x.type.element), *others, like=reader)


@rule(shared="keep")
def read_as_integers(x: Mantissas, z: Constant | None = None):
    """Stored numbers in a wider type, less their zero point, are mantissas."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    wide = op.cast(stored)
    yield wide
    zero = zero_of(z)
    if zero is None or (reason := distances(x, z, stored, z)):
        return decline(reason if zero is not None else "its zero points differ", at=stored)
    if wide.element != "i32" or any(
        wide.graph.nodes[r.node]["type"] == "reduce_sum" for r in wide.graph.readers(wide.node)
    ):
        return decline(f"it becomes {wide.element}, or is added up", at=wide)
    real = op.from_fixed(x, fraction=0, element=wide.element)
    return op.add(real, np.asarray(zero, element_dtype(wide.element))) if zero else real


@rule(shared="keep", kind="lowering")
def clip_distances(x: Mantissas, z: Constant | None = None):
    """Stored numbers within limits are distances within limits."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    limited = op.clip(stored)
    yield limited
    zero = zero_of_stored(x, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    element, limits = x.type.element, {}
    for name, end in (("low", element.minimum), ("high", element.maximum)):
        limit = limited.graph.nodes[limited.node].get(name)
        limits[name] = end if limit is None else min(max(int(limit) - zero, element.minimum), element.maximum)
        if limit is not None and limits[name] not in (int(limit) - zero, end):
            return decline("its limits are beyond all numbers", at=limited)
    return stored_as(op.clip(x, **limits), zero, stored.type.element)


@rule(shared="keep", kind="lowering")
def look_up_distances(x: Mantissas, table: Constant, z: Constant | None = None):
    """A table of stored numbers is one of their distances from the zero points before and after."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    found = op.lookup(stored, table)
    yield found
    zero = zero_of_stored(x, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    limits = stored_limits(table.type.element)
    if table.value.ndim != 1 or limits is None:
        return decline("it has a table for each channel, or of no stored numbers", at=found)
    point = _zero_of_result(found)
    element = x.type.element
    if element.width > _MOST_BITS:
        return decline(f"a table of all numbers of {element} is too large", at=found)
    entries = np.arange(element.minimum, element.maximum + 1) + (zero - int(found.low))
    values = table.value.astype(np.int64)[np.clip(entries, 0, len(table.value) - 1)] - point
    kind = FixedPoint.holding(min(0, int(values.min())), max(1, int(values.max())))
    if not (limits[0] <= kind.minimum + point and kind.maximum + point <= limits[1]):
        kind = FixedPoint.holding(min(0, limits[0] - point), limits[1] - point)
    known = Known(x.replay, values.astype(kind.dtype), Tensor(kind, values.shape))
    return stored_as(op.lookup(x, known, low=element.minimum), point, found.type.element)


def _zero_of_result(node: Any) -> int:
    """Return the zero point of stored numbers, as an annotation or a reader says; 0 if nothing does."""
    stated = node.graph.nodes[node.node].get("quantisation")
    if isinstance(stated, Quantised) and stated.axis is None:
        return int(stated.channels[0][1])
    names = [node.node]
    for name in names:  # past data movement
        for reader in node.graph.readers(name):
            data = node.graph.nodes[reader.node]
            if data["type"] == "multiply_fixed_point":
                return int(data.get("input_zero_point", 0))
            if data["type"] in ("conv_integer", "matmul_integer"):
                operands = node.graph.operands(reader.node)
                value = node.graph.nodes[operands[2].node].get("value") if len(operands) > 2 else None
                return 0 if value is None else int(np.ravel(value)[0])
            if data["type"] in ("max_pool", *REARRANGING):
                names.append(reader.node)
    return 0


@rule(shared="keep")
def arg_max_of_stored(x: Mantissas, z: Constant | None = None):
    """The greatest stored number stands where the greatest distance from the zero point does."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    index = op.arg_max(stored)
    yield index
    zero = zero_of_stored(x, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    return op.arg_max(op.from_fixed(x, fraction=0, element="f32"), like=index)


@rule(shared="keep", kind="lowering")
def change_zero_point(x: Mantissas, z: Constant, others):
    """Stored numbers from which another zero point is subtracted are distances from that one."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    layer = (op.conv_integer | op.matmul_integer)(stored, *others)
    yield layer
    zero, wanted = zero_of_stored(x, z, stored), _zero_of_reader(layer)
    if isinstance(zero, str) or wanted is None or wanted == zero:
        return decline("its zero points are alike, or not one number", at=layer)
    low, high = x.type.element.minimum + zero - wanted, x.type.element.maximum + zero - wanted
    element = FixedPoint.holding(min(0, low), max(1, high))
    limits = integer_limits(stored.type.element)
    if limits is None or not (limits[0] <= element.minimum + wanted and element.maximum + wanted <= limits[1]):
        low, high = limits or (0, 0)
        element = FixedPoint.holding(min(0, low - wanted), high - wanted)
    if element.width > DIGITS["f32"]:
        return decline(f"f32 does not hold every number of {element}", at=layer)
    shifted = op.rescale(x, multiplier=1, shift=0, addend=zero - wanted, element=element)
    return layer.op(stored_as(shifted, wanted, stored.type.element), *others, like=layer)


READ_STORED = (
    enter_integers,
    read_as_integers,
    clip_distances,
    look_up_distances,
    arg_max_of_stored,
    change_zero_point,
)
"""Stored integers read as distances from their zero points."""
