"""Scales and zero points moved past data movement: reshapes, transposes, maxima, slices, borders, concatenations."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import positions
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.layers import is_single
from graphrewrite.lowering.prequantised.quantised_inputs import zero_of
from graphrewrite.lowering.prequantised.quantisers import QUANTISERS
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.rules.operands import operands_of
from graphrewrite.types import integer_limits

__all__ = ["LEAVE_MOVED", "MOVE_SCALES"]

_ENTRIES = ("flatten", "squeeze", "unsqueeze", "slice", "tile", "identity", "channel_shuffle", "depth_to_space")
"""Ops whose results are entries of their operand."""
_PLAIN = reduce(or_, [getattr(op, name) for name in (*_ENTRIES, "space_to_depth", "pad", "resize")])
_MOVING = _PLAIN | op.reshape | op.transpose | op.max_pool
_MOST_BITS = 62
"""Bits of the widest format to which numbers of another one are brought."""
_OF_HOST = ("input", "to_fixed", "div")
"""Ops whose results the host has before it gives them to the hardware."""
_QUANTISABLE = reduce(or_, [getattr(op, name) for name in (*_ENTRIES, "space_to_depth", "reshape", "transpose")])
_QUANTISABLE = _QUANTISABLE | op.max_pool
_BELOW = "a window lies wholly in the border, whose numbers are below those of any format"


def _stays(movement: Any, zero: int = 0) -> str:
    """The reason why an op computes more than a rearrangement with zeros, or an empty text."""
    if movement.op_name == "pad" and movement.mode == "constant" and movement.fill != zero:
        return "its border is not of zeros"
    if movement.op_name == "resize" and movement.mode != "nearest":
        return "it interpolates"
    if movement.op_name == "resize" and movement.coordinate_transformation_mode == "tf_crop_and_resize":
        return "it crops, and fills what lies outside"
    return ""


def _reaches_only_border(pool: Any, x: Any) -> bool:
    geometry = (pool.kernel, pool.strides, pool.pads, pool.dilations, pool.ceil_mode)
    return has_window_in_border([x.shape[axis] for axis in positions(x)], *geometry)


@rule(shared="keep")
def move_scale(x: Mantissas, s: Constant):
    """Moving scaled numbers is scaling the moved numbers."""
    real = op.from_fixed(x, fraction=0)
    movement = _MOVING(op.mul(real, s))
    yield movement
    if not is_single(s, x):
        return decline("its scale differs from channel to channel, or is not positive", at=s)
    if reason := _stays(movement):
        return decline(reason, at=movement)
    return op.mul(movement.op(real, like=movement), s.value.reshape(()))


@rule(shared="keep")
def move_stored(x: Mantissas, one: Constant, z: Constant | None = None):
    """Moving stored numbers is storing the moved numbers."""
    real = op.from_fixed(x, fraction=0)
    stored = op.quantize_linear(real, one, z)
    movement = _MOVING(stored)
    yield movement
    zero, broadcasts = zero_of(z), z is not None and z.value.ndim > len(x.shape)
    if zero is None or broadcasts or not is_single(one, x) or (one.value != 1).any():
        return decline("its scale or zero point differs from channel to channel", at=stored)
    if reason := _stays(movement, zero):
        return decline(reason, at=movement)
    if movement.op_name == "max_pool" and integer_limits(stored.type.element) is None:
        return decline("it stores floats, whose NaN is above all numbers", at=stored)
    if movement.op_name == "max_pool" and _reaches_only_border(movement, x):
        return decline(_BELOW, at=movement)
    # A border of stored zero points is one of zeros, as mantissas are.
    mantissas = movement.op(real, like=movement, **({"fill": 0.0} if movement.op_name == "pad" else {}))
    points = [] if z is None else [z.value.reshape(-1)[0].reshape(())]
    return op.quantize_linear(mantissas, one.value.reshape(()), *points, like=stored, block_size=0)


@rule(shared="keep", kind="lowering")
def lower_movement(x: Mantissas):
    """Moving mantissas is moving the numbers; so is a border of one number of their grid."""
    real = op.from_fixed(x)
    movement = _PLAIN(real)
    yield movement
    # The border becomes a mantissa, too.
    fill = movement.fill * 2.0**real.fraction if movement.op_name == "pad" else 0.0
    if reason := _stays(movement, movement.fill if movement.op_name == "pad" else 0):
        return decline(reason, at=movement)
    if not x.type.element.minimum <= fill <= x.type.element.maximum or fill != round(fill):
        return decline(f"its border of {movement.fill} is not on the grid of its operand", at=movement)
    return op.from_fixed(movement.op(x, like=movement, **({"fill": fill} if fill else {})), like=real)


def _concatenated(readings: list[Any], concatenation: Any, read: Callable[[Any], Any] = lambda real: real) -> Any:
    """Mantissas of several formats, concatenated in one that holds all of them; ``read`` gives them their meaning."""
    parts = [operands_of(reading)[0] for reading in readings]
    formats = [part.type.element for part in parts]
    if not all(isinstance(each, FixedPoint) for each in formats):
        return decline("an operand is not a mantissa", at=concatenation)
    width = max(each.width for each in formats) + (len({each.signed for each in formats}) > 1)
    if width > _MOST_BITS and any(each != formats[0] for each in formats):
        return decline(f"no format of {_MOST_BITS} bits may hold the mantissas of all operands", at=concatenation)
    element = FixedPoint.holding(min(each.minimum for each in formats), max(each.maximum for each in formats))
    # All are read with this binary point, whatever those of their formats are.
    element = FixedPoint(element.signed, element.width, readings[0].fraction)
    if any(each != formats[0] for each in formats):
        parts = [
            part if part.type.element == element else op.rescale(part, multiplier=1, shift=0, element=element)
            for part in parts
        ]
    return read(op.from_fixed(op.concat(*parts, like=concatenation), like=readings[0]))


@rule(shared="keep", kind="lowering")
def concat_mantissas(xs):
    """Concatenating mantissas of one binary point is concatenating the numbers."""
    concatenation = op.concat(*xs)
    yield concatenation
    if any(x.op_name != "from_fixed" for x in xs):
        return decline("an operand is not read from mantissas", at=concatenation)
    if len({(x.fraction, x.element) for x in xs}) > 1:
        return decline("the binary points of its operands differ", at=concatenation)
    return _concatenated(list(xs), concatenation)


@rule(shared="keep", kind="lowering")
def concat_scaled(xs):
    """Concatenating numbers of one scale is scaling the concatenated mantissas."""
    concatenation = op.concat(*xs)
    yield concatenation
    pairs = [operands_of(x) for x in xs if x.op_name == "mul"]
    pairs = [pair if pair[0].op_name == "from_fixed" else pair[::-1] for pair in pairs]
    if len(pairs) < len(xs) or not all(_is_whole(real) and _is_scalar(s, real) for real, s in pairs):
        return decline("an operand is not a scaled number, or its scale gives it further axes", at=concatenation)
    scale = pairs[0][1].value.reshape(())
    if any(s.value.reshape(()) != scale for _, s in pairs):
        return decline("the scales of its operands differ; quantise the result", at=concatenation)
    return _concatenated([real for real, _ in pairs], concatenation, lambda real: op.mul(real, scale))


@rule(shared="keep", kind="lowering")
def concat_stored(xs):
    """Concatenating stored numbers of one zero point is storing the concatenated mantissas."""
    concatenation = op.concat(*xs)
    yield concatenation
    stored = [operands_of(x) for x in xs if x.op_name == "quantize_linear"]
    if len(stored) < len(xs) or not all(_is_whole(f[0]) and _is_one(f[1]) and len(f) == 3 for f in stored):
        return decline("an operand is not a stored number", at=concatenation)
    _, one, zero = stored[0]
    if not all(z.is_constant and z.value.size == 1 and z.value.ravel() == zero.value.ravel() for _, _, z in stored):
        return decline("the zero points of its operands differ", at=concatenation)
    reals = [real for real, _, _ in stored]
    if len({real.element for real in reals}) > 1:
        return decline("its operands are rounded to different element types", at=concatenation)
    return _concatenated(reals, concatenation, lambda real: op.quantize_linear(real, one.value, zero.value, like=xs[0]))


def _is_whole(real: Any) -> bool:
    """Tell whether a value is whole numbers, read from mantissas."""
    return bool(real.op_name == "from_fixed" and real.fraction == 0)


def _is_scalar(s: Any, real: Any) -> bool:
    """Tell whether a value is a single constant that does not broadcast another one."""
    return bool(s.is_constant and s.value.size == 1 and s.value.ndim <= len(real.shape))


def _is_one(s: Any) -> bool:
    return bool(s.is_constant and s.value.size == 1 and (s.value == 1).all())


@rule
def quantise_parts(xs, others):
    """Concatenated numbers may be quantised one by one."""
    concatenation = op.concat(*xs)
    quantiser = QUANTISERS(concatenation, *others)
    yield quantiser
    scalars = _scalars(quantiser, others)
    if scalars is None:
        return decline("its parameters differ along an axis", at=quantiser)
    return op.concat(*[quantiser.op(x, *scalars, like=quantiser) for x in xs], like=concatenation)


def _scalars(quantiser: Any, others: Any) -> list[Any] | None:
    """The parameters of a quantiser as scalars, if they are the same everywhere."""
    if quantiser.op_name == "quantise" and quantiser.fractions is not None:
        return None
    if quantiser.op_name == "quantize_linear" and quantiser.block_size:
        return None
    if quantiser.op_name == "multi_threshold":
        return list(others) if others[0].shape[0] == 1 else None
    if any(not c.is_constant or c.value.size != 1 for c in others):
        return None
    return [c.value.reshape(()) for c in others]


@rule
def quantise_first(x, others):
    """Numbers that are only moved, or of which the greatest are taken, may be quantised before."""
    movement = _QUANTISABLE(x)
    quantiser = QUANTISERS(movement, *others)
    yield quantiser
    if x.op_name in _OF_HOST:
        return decline("the host rearranges inputs", at=movement)
    scalars = _scalars(quantiser, others)
    if scalars is None:
        return decline("its parameters differ along an axis", at=quantiser)
    if quantiser.op_name == "multi_threshold" and len(x.shape) < 2:
        return decline("its operand has channels only when it is moved", at=quantiser)
    # A maximum and a quantiser change places where both keep the order of numbers, as a positive scale does.
    if quantiser.op_name not in ("quantise", "multi_threshold") and scalars and scalars[0] <= 0:
        return decline("its scale is not positive", at=quantiser)
    if movement.op_name == "max_pool" and _reaches_only_border(movement, x):
        return decline(_BELOW, at=movement)
    if movement.op_name == "max_pool" and quantiser.op_name == "multi_threshold" and quantiser.out_scale < 0:
        return decline("greater numbers have lesser results", at=quantiser)
    if movement.op_name == "max_pool" and quantiser.op_name == "quantize_linear" and not quantiser.saturate:
        return decline("numbers beyond its type are NaN, which is above all numbers", at=quantiser)
    plain = {"data_layout": "NCHW"} if quantiser.op_name == "multi_threshold" else {}
    return movement.op(quantiser.op(x, *scalars, like=quantiser, **plain), like=movement)


@rule
def double_scaled(x: Mantissas, s: Constant):
    """A scaled number and itself are twice the number."""
    real = op.mul(op.from_fixed(x, fraction=0), s)
    total = op.add(real, real)
    yield total
    if not is_single(s, x):
        return decline("its scale differs from channel to channel, or is not positive", at=s)
    return op.mul(real, np.asarray(2, s.value.dtype))


@rule(shared="keep")
def arg_max_scaled(x: Mantissas, s: Constant):
    """The greatest scaled number stands where the greatest number does."""
    real = op.from_fixed(x, fraction=0)
    index = op.arg_max(op.mul(real, s))
    yield index
    if not is_single(s, x) or not _stay_apart(x.type.element, s.value):
        return decline("its scale differs from channel to channel, or rounds different numbers to one", at=s)
    return op.arg_max(real, like=index)


def _stay_apart(element: FixedPoint, scale: np.ndarray) -> bool:
    """Tell whether different integers of a format are different and finite as scaled floats."""
    limits, most = np.finfo(scale.dtype), max(-element.minimum, element.maximum)
    return element.width < limits.nmant and most * float(scale.reshape(())) <= float(limits.max)


@rule
def enter_moved(x):
    """The host transposes what comes in."""
    entry = op.to_fixed(x)
    transposed = op.transpose(entry)
    yield transposed
    return op.to_fixed(op.transpose(x, like=transposed), like=entry)


MOVE_SCALES = (
    quantise_first,
    move_scale,
    move_stored,
    lower_movement,
    concat_mantissas,
    concat_scaled,
    concat_stored,
    quantise_parts,
    double_scaled,
    arg_max_scaled,
    enter_moved,
)
"""Scales and zero points past data movement."""


@rule
def leave_moved(x: Mantissas):
    """The host transposes what goes out."""
    transposed = op.transpose(x)
    real = op.from_fixed(transposed)
    yield real
    # An order of these axes that stays makes the transpose a reshape, which costs a stream nothing.
    long = [p for p in transposed.perm if x.shape[p] != 1]
    if long == sorted(long):
        return decline("axes longer than 1 keep their order, which a stream can do", at=transposed)
    return op.transpose(op.from_fixed(x, like=real), like=transposed)


@rule
def leave_reshaped(x: Mantissas):
    """The host takes the axis of the channels from what goes out, or merges the batch with another axis."""
    shaped = op.reshape(x)
    real = op.from_fixed(shaped)
    yield real
    if len(shaped.shape) > 1 and shaped.shape[:1] == x.shape[:1]:  # a number without axes has no batch
        return decline("a batch and channels are left, as a stream has them", at=shaped)
    return op.reshape(op.from_fixed(x, like=real), like=shaped)


LEAVE_MOVED = (leave_moved, leave_reshaped)
"""Data movement that the host does at the outputs."""
