"""Lower numbers with binary points to exact integer arithmetic, by rules.

A value on a fixed-point grid is written ``from_fixed(mantissas)``. Each rule moves one ``from_fixed`` below one op,
until only the conversions at inputs and outputs are left of the float network.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.integer.mantissas import format_of, inexact, infinite, of_layer
from graphrewrite.lowering.matched_operands import REARRANGING, Mantissas, computed_from_inputs
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.types import element_kind

__all__ = ["LOWER_BINARY_POINTS", "requantised"]

_WRAPS = "the integers in which its mantissas are read wrap around"
_COMPUTED = frozenset({"conv", "linear", "add", "relu", "clip", "from_fixed", "max_pool", "sub", "mul"})

_QUANTISED = frozenset({"to_fixed", "quantise", "quantize_linear", "quant", "bipolar_quant", "multi_threshold"})


@rule
def absorb_relu(x):
    """Rounding is monotone and keeps zero, so rectifying before it or limiting after it is the same."""
    rounded = op.quantise(op.relu(x))
    yield rounded
    if rounded.fractions is not None:
        return decline("the format differs from channel to channel", at=rounded)
    return op.quantise(x, like=rounded, low=max(0, rounded.element.minimum if rounded.low is None else rounded.low))


@rule
def absorb_clip(x):
    """Rounding is monotone and keeps every number of the grid, so limits on the grid may come after it."""
    limited = op.clip(x)
    rounded = op.quantise(limited)
    yield rounded
    element = rounded.element
    if rounded.fractions is not None:
        return decline("the format differs from channel to channel", at=rounded)
    low = element.minimum if rounded.low is None else rounded.low
    high = element.maximum if rounded.high is None else rounded.high
    ends = (-math.inf if limited.low is None else limited.low, math.inf if limited.high is None else limited.high)
    if not (ends[0] < math.inf and ends[1] > -math.inf):
        return decline("a limit leaves no number", at=limited)
    if limited.low is not None:
        bound = limited.low / element.step
        # Off the grid, a limit matters only where the format does not limit more.
        if bound > low and bound != math.floor(bound):
            return decline("the lower limit is not on the grid", at=limited)
        low = max(low, math.ceil(max(bound, element.minimum)))
    if limited.high is not None:
        bound = limited.high / element.step
        if bound < high and bound != math.floor(bound):
            return decline("the upper limit is not on the grid", at=limited)
        high = min(high, math.floor(min(bound, element.maximum)))
    if low > high:
        return decline("no number of the format lies between the limits", at=limited)
    return op.quantise(x, like=rounded, low=low, high=high)


@rule(kind="lowering")
def enter_fixed(x):
    """An input is rounded to mantissas, perhaps after the host has scaled it."""
    rounded = op.quantise(x)
    yield rounded
    if rounded.fractions is not None:
        return decline("the format differs from channel to channel", at=rounded)
    # An operand that is quantised further up is one of the network, which other rules lower.
    is_of_host = x.op_name not in _COMPUTED or computed_from_inputs(x, (*REARRANGING, *ONE_BY_ONE))
    if not is_of_host or any(x.graph.nodes[n]["type"] in _QUANTISED for n in x.graph.upstream(x.node)):
        return decline("its operand is not an input", at=x)
    return _real(op.to_fixed(x, element=rounded.element, low=rounded.low, high=rounded.high), rounded)


def _real(mantissas, like):
    """The real numbers of mantissas, in the element type of another value."""
    return op.from_fixed(mantissas, fraction=mantissas.type.element.fraction, element=like.type.element)


def requantised(sums, fractions, rounded):
    """Return exact sums, with a binary point for each channel or one for all, in the format of a quantiser."""
    shifts = [int(f) - rounded.element.fraction for f in fractions]
    shift = shifts[0] if len(set(shifts)) == 1 else tuple(shifts)
    return _real(op.requantise(sums, shift=shift, element=rounded.element, low=rounded.low, high=rounded.high), rounded)


def _lowered_layer(x, real, w, b, rounded, product):
    """A layer on mantissas: ``product`` makes its integer sums of weights, bias and accumulator."""
    if reason := infinite(x, real):
        return decline(reason, at=real)
    layer = of_layer(w.value, b.value, format_of(x, real))
    if isinstance(layer, str):
        return decline(layer, at=w)
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=rounded)
    return requantised(product(x, layer.weights, layer.bias, element=layer.element), layer.fractions, rounded)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_linear(x: Mantissas, w: Constant, b: Constant):
    """A fully-connected layer on a grid is integer arithmetic; assumes exact float sums (24 bits in float32)."""
    real = op.from_fixed(x)
    linear = op.linear(real, w, b)
    rounded = op.quantise(linear)
    yield rounded
    return _lowered_layer(x, real, w, b, rounded, partial(op.integer_linear, like=linear))


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_conv(x: Mantissas, w: Constant, b: Constant):
    """A convolution on a grid is integer arithmetic; assumes that the float sums are exact (24 bits in float32)."""
    real = op.from_fixed(x)
    conv = op.conv(real, w, b)
    rounded = op.quantise(conv)
    yield rounded
    return _lowered_layer(x, real, w, b, rounded, partial(op.integer_conv, like=conv))


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_add(x: Mantissas, y: Mantissas):
    """A sum of two values on grids is an integer sum on the finer one; assumes an exact float sum (24 bits)."""
    one, other = op.from_fixed(x), op.from_fixed(y)
    total = op.add(one, other)
    rounded = op.quantise(total)
    yield rounded
    if reason := infinite(x, one) or infinite(y, other):
        return decline(reason, at=total)
    a, b = format_of(x, one), format_of(y, other)
    if rounded.fractions is not None or x.shape != y.shape:
        return decline("its operands differ in shape, or its result has a format for each channel", at=total)
    fraction = max(a.fraction, b.fraction)
    shifts = (fraction - a.fraction, fraction - b.fraction)
    if max(shifts) > 24:
        return decline("the binary points of its operands are more than 24 bits apart", at=total)
    # The sum has a bit more than its operands, and a format has 63 at most.
    if max(a.width + shifts[0], b.width + shifts[1]) > 61:
        return decline("its sum may need more than 63 bits", at=total)
    low = (a.minimum << shifts[0]) + (b.minimum << shifts[1])
    high = (a.maximum << shifts[0]) + (b.maximum << shifts[1])
    sums = op.integer_add(x, y, shifts=shifts, element=FixedPoint.holding(low, high, fraction), like=total)
    return requantised(sums, [fraction], rounded)


@rule(shared="keep", kind="lowering")
def lower_doubling(x: Mantissas):
    """A value added to itself is twice its mantissas; the pattern of a sum needs two different operands."""
    real = op.from_fixed(x)
    total = op.add(real, real)
    rounded = op.quantise(total)
    yield rounded
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=total)
    if reason := inexact(x, real):
        return decline(reason, at=real)
    element = format_of(x, real)
    sums = op.integer_add(x, x, element=FixedPoint(element.signed, element.width + 1, element.fraction), like=total)
    return requantised(sums, [element.fraction], rounded)


@rule(shared="keep", kind="lowering")
def lower_rounding(x: Mantissas):
    """Rounding a value that lies on a grid already is a shift."""
    real = op.from_fixed(x)
    rounded = op.quantise(real)
    yield rounded
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=rounded)
    if reason := inexact(x, real):
        return decline(reason, at=real)
    return requantised(x, [real.fraction], rounded)


@rule(shared="keep", kind="lowering")
def lower_relu(x: Mantissas):
    """Rectifying mantissas is rectifying the numbers."""
    real = op.from_fixed(x)
    yield op.relu(real)
    if element_kind(real.element) != "float":
        return decline(_WRAPS, at=real)
    return op.from_fixed(op.relu(x), like=real)


@rule
def absorb_integer_relu(x):
    """Requantising is monotone and keeps zero, so rectifying before it or limiting after it is the same."""
    narrow = op.requantise(op.relu(x))
    yield narrow
    return op.requantise(x, like=narrow, low=max(0, narrow.element.minimum if narrow.low is None else narrow.low))


@rule(shared="keep", kind="lowering")
def lower_clip(x: Mantissas):
    """Limiting mantissas is limiting the numbers, where the limits are on the grid."""
    real = op.from_fixed(x)
    limited = op.clip(real)
    yield limited
    if reason := inexact(x, real):
        return decline(reason, at=real)
    element = format_of(x, real)
    bounds = []
    for bound, outside in ((limited.low, element.minimum), (limited.high, element.maximum)):
        whole = outside if bound is None else bound / element.step
        if whole != np.floor(whole) or not element.minimum <= whole <= element.maximum:
            return decline("a limit is not on the grid of its operand", at=limited)
        bounds.append(int(whole))
    return op.from_fixed(op.clip(x, low=bounds[0], high=bounds[1]), like=real)


@rule(shared="keep", kind="lowering")
def lower_max_pool(x: Mantissas):
    """The greatest mantissa is the mantissa of the greatest number."""
    real = op.from_fixed(x)
    pool = op.max_pool(real)
    yield pool
    if element_kind(real.element) != "float":
        return decline(_WRAPS, at=real)
    (image,) = pool.op.axes.in_order((x.type,))
    if has_window_in_border(image.shape[2:], pool.kernel, pool.strides, pool.pads, pool.dilations, pool.ceil_mode):
        return decline(
            "a window may lie wholly in the border, which is -inf there and the least mantissa here", at=pool
        )
    return op.from_fixed(op.max_pool(x, like=pool), like=real)


@rule(shared="keep", kind="lowering")
def lower_rearranging(x):
    """Rearranging mantissas is rearranging the numbers."""
    real = op.from_fixed(x)
    moved = (op.reshape | op.transpose | op.squeeze | op.unsqueeze | op.name_axes)(real)
    yield moved
    return op.from_fixed(moved.op(x, like=moved), like=real)


@rule(shared="keep", kind="lowering")
def lower_arg_max(x: Mantissas):
    """The greatest mantissa has the index of the greatest number."""
    real = op.from_fixed(x)
    index = op.arg_max(real)
    yield index
    if reason := inexact(x, real):
        return decline(reason, at=real)
    # The component gives a stream, which has a channel axis: the host drops it.
    result = op.from_fixed(op.arg_max(x, like=index, keep_dims=True), fraction=0, element="i64")
    return result if index.keep_dims else op.squeeze(result, axes=(index.axis,))


LOWER_BINARY_POINTS = (
    absorb_relu,
    absorb_clip,
    enter_fixed,
    lower_linear,
    lower_conv,
    lower_add,
    lower_doubling,
    lower_rounding,
    lower_relu,
    absorb_integer_relu,
    lower_clip,
    lower_max_pool,
    lower_rearranging,
    lower_arg_max,
)
"""From quantised floats with binary points to integers."""
