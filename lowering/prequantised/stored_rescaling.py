"""Stored integers that are rescaled as TensorFlow Lite's kernels do: by multipliers of 31 bits, or half away from zero.

Such a rescaling is a step function of the sums before it, whose steps are found with the op's own arithmetic: both of
its roundings are in them, and the integer ops that have these steps are equal to it bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.matched_operands import Mantissas, computed_from_inputs
from graphrewrite.lowering.prequantised.elementwise_chains import Chain, traced, way
from graphrewrite.lowering.prequantised.quantised_inputs import distances, zero_of
from graphrewrite.lowering.prequantised.quantisers import stored_limits
from graphrewrite.lowering.prequantised.rescaling import limits_within, rescaled
from graphrewrite.lowering.prequantised.step_functions import Steps, steps_of, within
from graphrewrite.lowering.prequantised.step_lowering import certain, ends_of, reach_of
from graphrewrite.lowering.prequantised.stored_readings import HOST_STORES, stored_as
from graphrewrite.lowering.prequantised.sums_and_products import common_grid, widened
from graphrewrite.rules.operands import operands_of
from graphrewrite.types import integer_limits

__all__ = ["RESCALE_STORED", "STORAGE", "format_of_stored", "holds_zero_point", "written"]

_MOST_PAIRS = 18
"""Most bits of both operands of a sum together, since all pairs are evaluated."""
_WORD = 31
"""Most bits of a number of 32 bits, without its sign."""
STORAGE = ("i8", "u8", "i16", "u16")
"""Types in which numbers are stored as distances from a zero point."""
_STORED_AS = "its numbers are stored as {}"
_NO_ZERO_POINT = "{} does not hold its zero point"
_FURTHER_AXES = "a constant gives it further axes"
_RESCALING = op.multiply_fixed_point | op.round_half_away
_MOVING = op.reshape | op.flatten | op.squeeze | op.unsqueeze


@rule(shared="keep")
def rescale_distances(x: Mantissas, multiplier: Constant, exponent: Constant, z: Constant | None = None):
    """Stored numbers that are rescaled are distances from their zero point that are."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    top = op.multiply_fixed_point(stored, multiplier, exponent)
    yield top
    zero = zero_of(z)
    if zero is None or (reason := distances(x, z, stored, z)):
        return decline(reason if zero is not None else "its zero points differ", at=stored)
    real = op.from_fixed(x, fraction=0, element="i32")
    return op.multiply_fixed_point(real, multiplier, exponent, like=top, input_zero_point=top.input_zero_point - zero)


@rule
def rescale_first(x, others):
    """Numbers that are only moved may be brought into another scale before."""
    movement = _MOVING(x)
    top = _RESCALING(movement, *others)
    yield top
    if computed_from_inputs(x, HOST_STORES):
        return decline("the host rearranges inputs", at=movement)
    if any(not each.is_constant or each.value.size != 1 for each in others):
        return decline("its multiplier differs from channel to channel", at=top)
    return movement.op(top.op(x, *(each.value.reshape(()) for each in others), like=top), like=movement)


def format_of_stored(top: Any, zero: int) -> FixedPoint:
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
    element = FixedPoint.holding(min(0, steps.least), max(1, steps.most)) if is_wide else format_of_stored(top, zero)
    if is_wide and element.width > _WORD + 1:
        return decline(f"its numbers need {element.width} bits", at=top)
    return written(x, within(steps, *reach_of(x)) if steps.corners else steps, element, zero, top)


def written(x: Any, steps: Steps, element: FixedPoint, zero: int, top: Any) -> Any:
    """Return a step function of mantissas as stored integers, or as numbers of 32 bits where the op gives these."""
    if not element.minimum <= steps.least <= steps.most <= element.maximum:
        return decline(f"its values from {steps.least} to {steps.most} do not fit {element}", at=top)
    result = rescaled(x, steps, element)
    if isinstance(result, str):
        return decline(result, at=top)
    if str(top.type.element) == "i32":
        return op.from_fixed(result, fraction=0, element="i32")
    return stored_as(result, zero, top.type.element)


def holds_zero_point(top: Any, zero: int) -> bool:
    """Tell whether the type in which a result is stored has a zero point."""
    least, most = integer_limits(top.type.element) or (0, 0)
    return bool(least <= zero <= most)


def _is_part_of_sum(top: Any) -> bool:
    """Tell whether a number in 32 bits is added to another one: both are lowered together with what follows."""
    readers = [top.graph.nodes[r.node] | {"name": r.node} for r in top.graph.readers(top.node)]
    return bool(readers) and all(
        data["type"] in ("add", "sub")
        and all(top.graph.nodes[o.node]["type"] == "multiply_fixed_point" for o in top.graph.operands(data["name"]))
        for data in readers
    )


def _is_part_of_choice(top: Any) -> bool:
    return {top.graph.nodes[r.node]["type"] for r in top.graph.readers(top.node)} == {"where"}


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
    if _is_part_of_choice(top) or (str(top.type.element) == "i32" and _is_part_of_sum(top)):
        return decline("it is lowered with the sum or choice that it is a part of", at=top)
    if str(top.type.element) not in (*STORAGE, "i32"):
        return decline(_STORED_AS, top.type.element, at=top)
    if not holds_zero_point(top, top.zero_point):
        return decline(_NO_ZERO_POINT, top.type.element, at=top)
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
    first = op.multiply_fixed_point(op.from_fixed(x, fraction=0, element="i32"), one, up)
    second = op.multiply_fixed_point(op.from_fixed(y, fraction=0, element="i32"), other, down)
    total = (op.add | op.sub)(first, second)
    top = op.multiply_fixed_point(total, multiplier, exponent)
    yield top
    left, right = x.type.element, y.type.element
    if left.width + right.width > _MOST_PAIRS:
        return decline(f"its operands have {left.width} and {right.width} bits, too many for all pairs", at=total)
    if any(each.value.size != 1 for each in (one, other, up, down, multiplier, exponent)):
        return decline("an operand has a scale for each channel", at=total)
    if len(top.shape) > max(len(x.shape), len(y.shape)):
        return decline(_FURTHER_AXES, at=top)
    if not one.value.all() or not other.value.all():
        return decline("an operand is multiplied by 0", at=total)
    if str(total.type.element) != "i32":
        return decline("it is no sum of 32-bit integers", at=total)
    if stored_limits(top.type.element) is None:
        return decline(_STORED_AS, top.type.element, at=top)
    if not holds_zero_point(top, top.zero_point):
        return decline(_NO_ZERO_POINT, top.type.element, at=top)
    a, b = (each.ravel() for each in np.mgrid[left.minimum : left.maximum + 1, right.minimum : right.maximum + 1])
    shifts = [int(bits.value.reshape(())) + term.left_shift for bits, term in ((up, first), (down, second))]
    if max(map(abs, shifts)) > 2 * _WORD:
        return decline(f"its operands are shifted by {shifts[0]} and {shifts[1]} bits", at=total)
    terms = [
        term.op.compute(
            [numbers.astype(np.int32), *(o.value.reshape(()) for o in operands_of(term)[1:])], _attributes(term)
        )[0]
        for term, numbers in ((first, a), (second, b))
    ]
    (sums,) = total.op.compute(terms, {})
    (found,) = top.op.compute([sums, multiplier.value.reshape(()), exponent.value.reshape(())], _attributes(top))
    zero = int(top.zero_point)
    levels, element = found.astype(np.int64) - zero, format_of_stored(top, zero)
    scales = [
        math.ldexp(float(each.value.reshape(())), shift - _WORD)
        for each, shift in zip((one, other), shifts, strict=True)
    ]
    sign = -1 if total.op_name == "sub" else 1
    grid = common_grid((scales[0], sign * scales[1]), a, b, levels)
    if grid is None:
        return decline("no factors of 32 bits bring its operands on one grid", at=total)
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
    return stored_as(result, zero, top.type.element)


def _attributes(node: Any) -> dict[str, Any]:
    return dict(node.graph.attributes(node.node))


@rule(shared="keep", kind="lowering")
def multiply_distances(x: Mantissas, y: Mantissas):
    """A product of distances from zero points in 32 bits is one of mantissas."""
    product = op.mul(op.from_fixed(x, fraction=0), op.from_fixed(y, fraction=0))
    yield product
    if str(product.type.element) != "i32":
        return decline("it is no product of 32-bit integers", at=product)
    if x.type.element.width + y.type.element.width > _WORD:
        return decline("the product may wrap around", at=product)
    return op.from_fixed(op.integer_mul(x, y), fraction=0, element="i32")


@rule(shared="keep", kind="lowering")
def lower_rescaled_choice(
    x: Mantissas,
    c: Constant,
    slope: Constant,
    one: Constant,
    up: Constant,
    other: Constant,
    down: Constant,
):
    """A rescaling from a number on and another one below it are one function of each channel."""
    real = op.from_fixed(x, fraction=0, element="i32")
    above, below = op.multiply_fixed_point(real, one, up), op.multiply_fixed_point(op.mul(real, slope), other, down)
    top = op.where(op.greater_or_equal(real, c), above, below)
    yield top
    chains: list[Chain] = []
    for each in (above, below):
        part = traced(x, real, each)
        if isinstance(part, str):
            return decline(part, at=top)
        chains.append(part[1])
    if above.zero_point != below.zero_point:
        return decline("its zero points differ", at=top)
    if stored_limits(top.type.element) is None and str(top.type.element) != "i32":
        return decline(_STORED_AS, top.type.element, at=top)
    if not holds_zero_point(above, above.zero_point):
        return decline(_NO_ZERO_POINT, top.type.element, at=top)
    if len(top.shape) > len(x.shape):
        return decline(_FURTHER_AXES, at=top)
    if c.value.size != 1:
        return decline("it begins at another number in each channel", at=top)
    threshold, (first, second) = int(c.value.reshape(())), chains

    def function(numbers: np.ndarray) -> np.ndarray:
        upper, lower = (chain.function(numbers[:, : chain.channels]) for chain in chains)
        return np.asarray(np.where(numbers >= threshold, upper, lower))

    return _by_steps(x, function, max(first.channels, second.channels), False, above)


RESCALE_STORED = (
    rescale_distances,
    rescale_first,
    lower_rescaled_sum,
    multiply_distances,
    lower_rescaled_choice,
    lower_rescaling,
)
"""Stored integers that are rescaled as TensorFlow Lite's kernels do."""
