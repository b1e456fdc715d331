"""Stored integers that are rescaled as TensorFlow Lite's kernels do: by multipliers of 31 bits, or half away from zero.

Such a rescaling is a step function of the sums before it, whose steps are found with the op's own arithmetic: both of
its roundings are in them, and the integer ops that have these steps are equal to it bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.matched_operands import REARRANGING, Mantissas, computed_from_inputs
from graphrewrite.lowering.preparation.pooling_windows import windows_of
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE, traced, way
from graphrewrite.lowering.prequantised.layers import accumulated
from graphrewrite.lowering.prequantised.quantised_inputs import distances, zero_of
from graphrewrite.lowering.prequantised.rescaling import limits_within, rescaled
from graphrewrite.lowering.prequantised.step_functions import Steps, steps_of, within
from graphrewrite.lowering.prequantised.step_lowering import certain, ends_of, reach_of
from graphrewrite.lowering.prequantised.sums_and_products import common_grid, widened
from graphrewrite.op.quantised.multipliers import round_half_away
from graphrewrite.rewriting.rule.replacement import Known
from graphrewrite.rules.operands import operands_of
from graphrewrite.types import Quantised, element_dtype, integer_limits

__all__ = ["LOWER_STORED_RESCALING"]

_MOST_PAIRS = 18
"""Most bits of both operands of a sum together, since all pairs are evaluated."""
_WORD = 31
"""Most bits of a number of 32 bits, without its sign."""
_OF_HOST = (*REARRANGING, *ONE_BY_ONE, "round_half_away")
"""Ops by which the host makes stored integers of inputs."""

_RESCALING = op.multiply_fixed_point | op.round_half_away
_MOVING = op.reshape | op.flatten | op.squeeze | op.unsqueeze
_READERS = (
    op.conv_integer | op.matmul_integer | op.qlinear_conv | op.qlinear_matmul | op.multiply_fixed_point | op.lookup
)
_READERS = _READERS | op.max_pool | op.pad | op.cast


def _is_stored_input(x: Any) -> bool:
    limits = integer_limits(x.type.element) if isinstance(x.type.element, str) else None
    return limits is not None and limits[1] < 1 << 16 and computed_from_inputs(x, _OF_HOST)


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


def _stored(mantissas: Any, zero: int, element: Any) -> Any:
    """Return stored integers that are so far from their zero point."""
    point = np.asarray(zero, element_dtype(element))
    return op.quantize_linear(
        op.from_fixed(mantissas, fraction=0, element="f32"), np.float32(1), point, element=element
    )


def _is_integer_arithmetic(wide: Any) -> bool:
    """Tell whether stored numbers become wider for integer arithmetic, or for a mean that is rounded."""
    readers = {wide.graph.nodes[r.node]["type"] for r in wide.graph.readers(wide.node)}
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
    point = np.asarray(zero, element_dtype(x.type.element))
    stored = op.quantize_linear(real, np.float32(1), point, element=x.type.element)
    return reader.op(stored, *others, like=reader)


@rule(shared="keep")
def read_as_integers(x: Mantissas, one: Constant, z: Constant | None = None):
    """Stored numbers in a wider type, less their zero point, are mantissas."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    wide = op.cast(stored)
    yield wide
    zero = zero_of(z)
    if zero is None or (reason := distances(x, one, z, stored, z)):
        return decline(reason if zero is not None else "its zero points differ", at=stored)
    if wide.element != "i32" or any(
        wide.graph.nodes[r.node]["type"] == "reduce_sum" for r in wide.graph.readers(wide.node)
    ):
        return decline(f"it becomes {wide.element}, or is added up", at=wide)
    real = op.from_fixed(x, fraction=0, element=wide.element)
    return op.add(real, np.asarray(zero, element_dtype(wide.element))) if zero else real


@rule(shared="keep")
def rescale_distances(x: Mantissas, one: Constant, multiplier: Constant, exponent: Constant, z: Constant | None = None):
    """Stored numbers that are rescaled are distances from their zero point that are."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    top = op.multiply_fixed_point(stored, multiplier, exponent)
    yield top
    zero = zero_of(z)
    if zero is None or (reason := distances(x, one, z, stored, z)):
        return decline(reason if zero is not None else "its zero points differ", at=stored)
    real = op.from_fixed(x, fraction=0, element="i32")
    return op.multiply_fixed_point(real, multiplier, exponent, like=top, input_zero_point=top.input_zero_point - zero)


@rule
def rescale_first(x, others):
    """Numbers that are only moved may be brought into another scale before."""
    movement = _MOVING(x)
    top = _RESCALING(movement, *others)
    yield top
    if computed_from_inputs(x, _OF_HOST):
        return decline("the host rearranges inputs", at=movement)
    if any(not each.is_constant or each.value.size != 1 for each in others):
        return decline("its multiplier differs from channel to channel", at=top)
    return movement.op(top.op(x, *(each.value.reshape(()) for each in others), like=top), like=movement)


def _format(top: Any, zero: int) -> FixedPoint:
    """Return the format of distances from a zero point: by limits of the op where their storage holds it."""
    storage = integer_limits(top.type.element)
    assert storage is not None  # results of these ops are integers
    low, high = (top.graph.nodes[top.node].get(name) for name in ("low", "high"))
    least = storage[0] if low is None else max(int(low), storage[0])
    most = storage[1] if high is None else min(int(high), storage[1])
    tight = FixedPoint.holding(min(0, least - zero), max(1, most - zero))
    if storage[0] <= tight.minimum + zero and tight.maximum + zero <= storage[1]:
        return tight
    return FixedPoint.holding(min(0, storage[0] - zero), storage[1] - zero)


def _by_steps(x: Any, function: Callable[[np.ndarray], np.ndarray], channels: int, monotone: bool, top: Any) -> Any:
    """Return distances from the zero point of a rescaling, a function of integers, as read from mantissas."""
    is_wide = str(top.type.element) == "i32"
    zero = 0 if is_wide else int(top.zero_point)
    low, high = ends_of(x)
    steps = steps_of(lambda numbers: certain(function(numbers)) - zero, low, high, channels, is_monotone=monotone)
    if isinstance(steps, str):
        return decline(steps, at=top)
    element = FixedPoint.holding(min(0, steps.least), max(1, steps.most)) if is_wide else _format(top, zero)
    if is_wide and element.width > _WORD + 1:
        return decline(f"its numbers need {element.width} bits", at=top)
    return _written(x, within(steps, *reach_of(x)) if steps.corners else steps, element, zero, top)


def _written(x: Any, steps: Steps, element: FixedPoint, zero: int, top: Any) -> Any:
    if not element.minimum <= steps.least <= steps.most <= element.maximum:
        return decline(f"its values from {steps.least} to {steps.most} do not fit {element}", at=top)
    result = rescaled(x, steps, element)
    if isinstance(result, str):
        return decline(result, at=top)
    if str(top.type.element) == "i32":
        return op.from_fixed(result, fraction=0, element="i32")
    return _stored(result, zero, top.type.element)


def _is_part_of_sum(top: Any) -> bool:
    """Tell whether a number in 32 bits is added to another one: both are lowered together with what follows."""
    readers = [top.graph.nodes[r.node] | {"name": r.node} for r in top.graph.readers(top.node)]
    return bool(readers) and all(
        data["type"] in ("add", "sub")
        and all(top.graph.nodes[o.node]["type"] == "multiply_fixed_point" for o in top.graph.operands(data["name"]))
        for data in readers
    )


@rule(shared="keep", kind="lowering")
def lower_rescaling(x: Mantissas, parameters):
    """Integers that are brought into another scale are a rescaling, a count of thresholds, or a table.

    Its steps are found with the op's own arithmetic, both roundings of it, and proved for each number that there is.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, way, least=0)
    top = _RESCALING(run, *parameters)
    yield top
    if any(not each.is_constant for each in parameters):
        return decline("its multiplier is computed", at=top)
    if str(top.type.element) == "i32" and _is_part_of_sum(top):
        return decline("it is lowered with the sum that it is a part of", at=top)
    if integer_limits(top.type.element) is None or str(top.type.element) not in ("i8", "u8", "i16", "u16", "i32"):
        return decline(f"its numbers are stored as {top.type.element}", at=top)
    function = traced(x, real, top)
    if isinstance(function, str):
        return decline(function, at=top)
    x, chain = function
    return _by_steps(x, chain.function, chain.channels, chain.is_monotone, top)


@rule(shared="keep", kind="lowering")
def lower_rescaled_sum(
    x: Mantissas,
    y: Mantissas,
    one: Constant,
    other: Constant,
    up: Constant,
    down: Constant,
    multiplier: Constant,
    exponent: Constant,
):
    """A sum of two stored numbers, each in the scale of the sum, is one on a common grid: proved for every pair."""
    first = op.multiply_fixed_point(op.from_fixed(x, fraction=0), one, up)
    second = op.multiply_fixed_point(op.from_fixed(y, fraction=0), other, down)
    total = (op.add | op.sub)(first, second)
    top = op.multiply_fixed_point(total, multiplier, exponent)
    yield top
    left, right = x.type.element, y.type.element
    if left.width + right.width > _MOST_PAIRS:
        return decline(f"its operands have {left.width} and {right.width} bits, too many for all pairs", at=total)
    if x.shape != y.shape or any(each.value.size != 1 for each in (one, other, up, down, multiplier, exponent)):
        return decline("one operand broadcasts, or has a scale for each channel", at=total)
    a, b = (each.ravel() for each in np.mgrid[left.minimum : left.maximum + 1, right.minimum : right.maximum + 1])
    terms = [
        term.op.compute([numbers.astype(np.int32), *(o.value for o in operands_of(term)[1:])], _attributes(term))[0]
        for term, numbers in ((first, a), (second, b))
    ]
    (sums,) = total.op.compute(terms, {})
    (found,) = top.op.compute([sums, multiplier.value.reshape(()), exponent.value.reshape(())], _attributes(top))
    zero = int(top.zero_point)
    levels, element = found.astype(np.int64) - zero, _format(top, zero)
    scales = [
        float(each.value.reshape(())) * 2.0 ** (int(bits.value.reshape(())) - _WORD + term.left_shift)
        for each, bits, term in ((one, up, first), (other, down, second))
    ]
    sign = -1 if total.op_name == "sub" else 1
    grid = common_grid((scales[0], sign * scales[1]), a, b, levels)
    if grid is None:
        return decline("no factors of 28 bits bring its operands on one grid", at=total)
    multiples = a * grid.factors[0] + b * grid.factors[1]
    ends = int(multiples.min()), int(multiples.max())
    whole = op.integer_add(
        widened(x, grid.factors[0]),
        widened(y, grid.factors[1]),
        element=FixedPoint.holding(min(0, *ends), max(1, *ends)),
    )
    bounds = limits_within(element, int(levels.min()), int(levels.max()))
    result = op.rescale(
        whole, multiplier=1, addend=grid.addend, shift=grid.shift, rounding="down", element=element, **bounds
    )
    return _stored(result, zero, top.type.element)


def _attributes(node: Any) -> dict[str, Any]:
    return dict(node.graph.attributes(node.node))


@rule(shared="keep", kind="lowering")
def multiply_distances(x: Mantissas, y: Mantissas):
    """A product of distances from zero points in 32 bits is one of mantissas."""
    product = op.mul(op.from_fixed(x, fraction=0), op.from_fixed(y, fraction=0))
    yield product
    if str(product.type.element) != "i32":
        return decline("it is no product of 32-bit integers", at=product)
    if x.shape != y.shape or x.type.element.width + y.type.element.width > _WORD:
        return decline("one operand broadcasts, or the product may wrap around", at=product)
    return op.from_fixed(op.integer_mul(x, y), fraction=0, element="i32")


def _stored_zero(x: Any, one: Any, z: Any, stored: Any) -> int | str:
    """Return the zero point of stored numbers that are made of distances, or the reason why they are not."""
    zero = zero_of(z)
    if zero is None:
        return "its zero point differs from channel to channel"
    return distances(x, one, z, stored, z) or zero


def _sums(x: Any, kernel: Any, **moving: Any) -> Any:
    """Return sums over windows of each channel, or the reason why there are none."""
    channels = x.shape[1]
    if isinstance(channels, str):
        return "its number of channels is symbolic"
    ones, nothing = np.ones((channels, 1, *kernel), np.int64), np.zeros(channels, np.int64)
    element = accumulated(ones, nothing, x.type.element)
    if isinstance(element, str):
        return element
    return op.integer_conv(x, ones, nothing, groups=channels, element=element, **moving)


@rule(shared="keep", kind="lowering")
def lower_average_of_stored(x: Mantissas, one: Constant, z: Constant | None = None):
    """A mean of stored numbers over windows, rounded, is a sum of their distances, divided and rounded alike."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    pool = op.average_pool(op.cast(stored))
    top = op.round_half_away(pool)
    yield top
    zero, windows = _stored_zero(x, one, z, stored), windows_of(pool, x.shape)
    for reason in (zero, windows):
        if isinstance(reason, str):
            return decline(reason, at=pool)
    if not windows.is_even or top.zero_point or integer_limits(top.type.element) is None:
        return decline("its windows reach beyond the image, or its result has another zero point", at=pool)
    count, sums = prod(windows.kernel), _sums(x, windows.kernel, **windows.moving)
    if isinstance(sums, str):
        return decline(sums, at=pool)
    # Distances from the zero point of the operand: the result has the same one.
    given = {name: top.graph.nodes[top.node].get(name) for name in ("low", "high")}
    limits = {name: limit for name, limit in given.items() if limit is not None}

    def function(numbers: np.ndarray) -> np.ndarray:
        means = (numbers + count * zero) / count
        return round_half_away(means, element=top.type.element, **limits).astype(np.int64) - zero

    steps = steps_of(function, sums.type.element.minimum, sums.type.element.maximum, 1, is_monotone=True)
    return decline(steps, at=top) if isinstance(steps, str) else _written(sums, steps, _format(top, zero), zero, top)


@rule(shared="keep", kind="lowering")
def lower_mean_of_stored(
    x: Mantissas, one: Constant, multiplier: Constant, exponent: Constant, z: Constant | None = None
):
    """A sum of stored numbers over all positions that is rescaled is one of their distances."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    total = op.reduce_sum(op.cast(stored))
    top = op.multiply_fixed_point(total, multiplier, exponent)
    yield top
    zero, rank = _stored_zero(x, one, z, stored), len(x.shape)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    axes = sorted({axis % rank for axis in (range(rank) if total.axes is None else total.axes)})
    kernel = x.shape[2:]
    if not kernel or axes != list(range(2, rank)) or any(isinstance(size, str) for size in kernel):
        return decline("it adds up other axes than those of all positions, or open ones", at=total)
    ones, nothing = (1,) * len(kernel), (0,) * 2 * len(kernel)
    sums = _sums(x, kernel, strides=ones, pads=nothing, dilations=ones)
    if isinstance(sums, str):
        return decline(sums, at=total)
    sums = sums if total.keep_dims else op.squeeze(sums, axes=tuple(axes))
    left = top.input_zero_point - zero * prod(kernel)
    real = op.from_fixed(sums, fraction=0, element="i32")
    return op.multiply_fixed_point(real, multiplier, exponent, like=top, input_zero_point=left)


@rule(shared="keep")
def clip_distances(x: Mantissas, one: Constant, z: Constant | None = None):
    """Stored numbers within limits are distances within limits."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    limited = op.clip(stored)
    yield limited
    zero = _stored_zero(x, one, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    element, limits = x.type.element, {}
    for name, end in (("low", element.minimum), ("high", element.maximum)):
        limit = limited.graph.nodes[limited.node].get(name)
        limits[name] = end if limit is None else min(max(int(limit) - zero, element.minimum), element.maximum)
    return _stored(op.clip(x, **limits), zero, stored.type.element)


@rule(shared="keep")
def look_up_distances(x: Mantissas, one: Constant, table: Constant, z: Constant | None = None):
    """A table of stored numbers is one of their distances from the zero points before and after."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    found = op.lookup(stored, table)
    yield found
    zero = _stored_zero(x, one, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    limits = integer_limits(table.type.element) if isinstance(table.type.element, str) else None
    if table.value.ndim != 1 or limits is None or limits[1] >= 1 << 16:
        return decline("it has a table for each channel, or of no stored numbers", at=found)
    point = _zero_of_result(found)
    element = x.type.element
    entries = np.arange(element.minimum, element.maximum + 1) + (zero - int(found.low))
    values = table.value.astype(np.int64)[np.clip(entries, 0, len(table.value) - 1)] - point
    kind = FixedPoint.holding(min(0, int(values.min())), max(1, int(values.max())))
    if not (limits[0] <= kind.minimum + point and kind.maximum + point <= limits[1]):
        kind = FixedPoint.holding(min(0, limits[0] - point), limits[1] - point)
    known = Known(x.replay, values.astype(kind.dtype), Tensor(kind, values.shape))
    return _stored(op.lookup(x, known, low=element.minimum), point, found.type.element)


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
def arg_max_of_stored(x: Mantissas, one: Constant, z: Constant | None = None):
    """The greatest stored number stands where the greatest distance from the zero point does."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    index = op.arg_max(stored)
    yield index
    zero = _stored_zero(x, one, z, stored)
    if isinstance(zero, str):
        return decline(zero, at=stored)
    return op.arg_max(op.from_fixed(x, fraction=0, element="f32"), like=index)


@rule(shared="keep")
def cancel_zero_point(x: Mantissas, c: Constant, d: Constant):
    """A zero point that is added and subtracted is none."""
    real = op.from_fixed(x)
    less = op.sub(op.add(real, c), d)
    yield less
    if str(real.element) != "i32" or c.value.size != 1 or d.value.size != 1 or int(c.value) != int(d.value):
        return decline("it is another number, or no 32-bit integer", at=less)
    return real


@rule(shared="keep", kind="lowering")
def change_zero_point(x: Mantissas, one: Constant, z: Constant, others):
    """Stored numbers from which another zero point is subtracted are distances from that one."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    layer = (op.conv_integer | op.matmul_integer)(stored, *others)
    yield layer
    zero, wanted = _stored_zero(x, one, z, stored), _zero_of_reader(layer)
    if isinstance(zero, str) or wanted is None or wanted == zero:
        return decline("its zero points are alike, or not one number", at=layer)
    low, high = x.type.element.minimum + zero - wanted, x.type.element.maximum + zero - wanted
    element = FixedPoint.holding(min(0, low), max(1, high))
    limits = integer_limits(stored.type.element)
    if limits is None or not (limits[0] <= element.minimum + wanted and element.maximum + wanted <= limits[1]):
        low, high = limits or (0, 0)
        element = FixedPoint.holding(min(0, low - wanted), high - wanted)
    shifted = op.rescale(x, multiplier=1, shift=0, addend=zero - wanted, element=element)
    return layer.op(_stored(shifted, wanted, stored.type.element), *others, like=layer)


LOWER_STORED_RESCALING = (
    enter_integers,
    read_as_integers,
    rescale_distances,
    rescale_first,
    lower_average_of_stored,
    lower_mean_of_stored,
    lower_rescaled_sum,
    multiply_distances,
    clip_distances,
    look_up_distances,
    arg_max_of_stored,
    cancel_zero_point,
    change_zero_point,
    lower_rescaling,
)
"""Stored integers that are rescaled as TensorFlow Lite's kernels do."""
