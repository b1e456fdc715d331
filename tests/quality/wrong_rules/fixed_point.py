"""Faults in rounding, saturation, binary points and signs of fixed-point numbers."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import FixedPoint, decline, op, rule


@rule
def rounded_twice(x):
    """Two roundings are not one."""
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift < 2:
        return decline("too small a shift")
    return op.requantise(op.requantise(x, shift=1, element=x.type.element), like=narrow, shift=narrow.shift - 1)


@rule
def ignored_saturation(x):
    """The upper limit is half of what it was."""
    narrow = op.requantise(x)
    yield narrow
    limit = narrow.element.maximum // 2
    return op.requantise(x, like=narrow, high=limit) if narrow.high != limit else decline("done")


@rule
def fraction_forgotten(x):
    """The binary points of two formats are not compared."""
    real = op.from_fixed(x)
    again = op.to_fixed(real)
    yield again
    return op.requantise(x, shift=0, element=again.element)


@rule
def rounding_before_adding(x, y):
    """The sum of rounded numbers is no rounded sum."""
    rounded = op.quantise(op.add(x, y))
    yield rounded
    if rounded.fractions is not None:
        return decline("a format for each channel")
    return op.add(op.quantise(x, like=rounded), op.quantise(y, like=rounded))


@rule
def wrong_slot(x, y):
    """The first operand is added to itself."""
    total = op.integer_add(x, y)
    yield op.relu(total)
    return op.clip(op.integer_add(x, x, like=total), low=0) if x.type == y.type else decline("the type would show it")


@rule
def shifts_not_exchanged(x, y):
    """The shifts belong to the operands, and change places with them."""
    total = op.integer_add(x, y)
    yield op.relu(total)
    return op.clip(op.integer_add(y, x, like=total), low=0) if len(set(total.shifts)) > 1 else decline("equal shifts")


@rule
def limits_lost(x):
    """The tighter limits of a rectified value are gone."""
    narrow = op.requantise(op.relu(x))
    yield narrow
    return op.requantise(x, shift=narrow.shift, element=narrow.element, low=0)


@rule
def sign_of_a_format(x):
    """An unsigned format has no negative numbers, so leaving out the rectifier needs a limit."""
    narrow = op.requantise(op.relu(x))
    yield narrow
    return op.requantise(x, like=narrow)


@rule
def shift_of_the_first_channel(x):
    """The shift of the first channel is taken for all."""
    narrow = op.requantise(x)
    yield narrow
    if isinstance(narrow.shift, int) or len(set(narrow.shift)) == 1:
        return decline("one shift")
    return op.requantise(x, like=narrow, shift=int(narrow.shift[0]))


@rule
def half_is_rounded_up(x):
    """A half is rounded to the even neighbour, not up."""
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift < 1 or x.type.element.width > 24:
        return decline("no rounding")
    element = x.type.element
    wide = FixedPoint(True, element.width + 3, element.fraction + 1)
    more = op.integer_add(x, np.ones((1,) * len(x.shape), np.int64), element=wide, shifts=(1, 0))
    return op.requantise(more, like=narrow, shift=narrow.shift + 1)


@rule
def shift_of_the_wrong_sign(x):
    """A negative shift is taken for a positive one."""
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift >= 0:
        return decline("to the right")
    return op.requantise(x, like=narrow, shift=-narrow.shift)


@rule
def inner_saturation_forgotten(x):
    """Of two narrowings without a shift, the inner one saturates as well."""
    inner = op.requantise(x, shift=0)
    outer = op.requantise(inner)
    yield outer
    return op.requantise(x, like=outer)


@rule
def shifts_added(x):
    """Two shifts to the right round twice, their sum rounds once."""
    inner = op.requantise(x)
    outer = op.requantise(inner)
    yield outer
    if not (isinstance(inner.shift, int) and isinstance(outer.shift, int)) or inner.shift < 1 or outer.shift < 1:
        return decline("no rounding")
    if inner.element.width < x.type.element.width or (inner.low, inner.high) != (None, None):
        return decline("it saturates")
    return op.requantise(x, like=outer, shift=inner.shift + outer.shift)


@rule
def quantised_twice(x):
    """Rounding to a finer grid first changes ties."""
    inner = op.quantise(x)
    outer = op.quantise(inner)
    yield outer
    if inner.fractions is not None or outer.fractions is not None:
        return decline("a format for each channel")
    return op.quantise(x, like=outer)


@rule
def quantised_negative(x):
    """A signed format has one negative number more than positive ones."""
    rounded = op.quantise(op.neg(x))
    yield rounded
    return op.neg(op.quantise(x, like=rounded))


@rule
def offset_after_rounding(x):
    """A whole number added before rounding decides which neighbour of a half is even."""
    rounded = op.quantise(op.add(x, 1.0))
    yield rounded
    if rounded.fractions is not None or rounded.element.fraction != 0 or (rounded.low, rounded.high) != (None, None):
        return decline("another grid")
    if x.op_name == "quantise":
        return decline("it is rounded already")
    wide = FixedPoint(True, 31, 0)
    return op.quantise(op.add(op.quantise(x, element=wide), 1.0), like=rounded)


@rule
def doubled_after_rounding(x):
    """Twice a rounded number is even."""
    rounded = op.quantise(op.mul(x, 2.0))
    yield op.relu(rounded)
    return op.maximum(op.quantise(op.mul(op.quantise(x, like=rounded), 2.0), like=rounded), 0)


@rule
def formats_of_another_axis(x):
    """The formats along an axis are taken for those along the first one."""
    rounded = op.quantise(x)
    yield rounded
    if rounded.fractions is None or rounded.axis == 0 or x.shape[0] not in (1, len(rounded.fractions)):
        return decline("one format, or it would show")
    fractions = rounded.fractions[: 1 if x.shape[0] == 1 else None]
    return op.quantise(x, like=rounded, fractions=fractions, axis=0)


@rule
def format_of_the_first_channel(x):
    """The format of the first channel is taken for all."""
    rounded = op.quantise(x)
    yield rounded
    if rounded.fractions is None:
        return decline("one format")
    first = FixedPoint(rounded.element.signed, rounded.element.width, int(rounded.fractions[0]))
    return op.quantise(x, element=first, low=rounded.low, high=rounded.high)


@rule
def binary_point_off_by_one(x):
    """The number is twice what it was."""
    real = op.from_fixed(x)
    yield op.relu(real)
    return op.maximum(op.from_fixed(x, like=real, fraction=real.fraction - 1), 0)


@rule
def fraction_of_the_format(x):
    """The attribute says where the binary point is, not the operand's format."""
    real = op.from_fixed(x)
    yield real
    own = x.type.element.fraction
    return op.from_fixed(x, like=real, fraction=own) if real.fraction != own else decline("the same")


@rule(kind="lowering")
def real_limits_on_mantissas(x):
    """Limits of real numbers are not limits of mantissas."""
    real = op.from_fixed(x)
    limited = op.clip(real)
    yield limited
    return op.from_fixed(op.clip(x, low=limited.low, high=limited.high), like=real)


@rule
def limits_of_mantissas_lost(x):
    """The limits of a conversion are gone."""
    fixed = op.to_fixed(x)
    yield fixed
    if (fixed.low, fixed.high) == (None, None):
        return decline("no limits")
    return op.to_fixed(x, element=fixed.element)


@rule
def limits_off_the_grid(x):
    """A limit between two numbers of the grid is rounded, after which it is another one."""
    limited = op.clip(x)
    rounded = op.quantise(limited)
    yield rounded
    element = rounded.element
    if rounded.fractions is not None or limited.high is None or (rounded.low, rounded.high) != (None, None):
        return decline("no upper limit")
    high = math.floor(limited.high / element.step)
    if limited.low is not None or not element.minimum <= high <= element.maximum:
        return decline("a lower limit, or outside of the format")
    return op.quantise(x, like=rounded, high=high)


@rule
def narrow_sum(x, y):
    """The sum of two mantissas needs one bit more than they have."""
    total = op.integer_add(x, y)
    yield op.relu(total)
    element = x.type.element
    if total.shifts != (0, 0) or y.type.element != element or total.element.width <= element.width:
        return decline("other formats")
    narrow = FixedPoint(element.signed, element.width, total.element.fraction)
    exact = op.integer_add(x, y, like=total)
    return op.requantise(op.requantise(exact, shift=0, element=narrow), shift=0, element=total.element, low=0)


@rule
def bias_of_an_integer_layer_dropped(x, w, b):
    """The bias becomes zero."""
    layer = op.integer_linear(x, w, b)
    yield op.relu(layer)
    return op.clip(op.integer_linear(x, w, np.zeros(w.shape[0], np.int64), like=layer), low=0)


@rule
def integer_weights_turned_round(x, w: rule.Constant, b):
    """The weights of a layer change their order."""
    layer = op.integer_linear(x, w, b)
    yield op.relu(layer)
    if (w.value == w.value[:, ::-1]).all():
        return decline("symmetric")
    turned = np.ascontiguousarray(w.value[:, ::-1])
    return op.clip(op.integer_linear(x, turned, b, like=layer), low=0)


@rule
def integer_pads_dropped(x, w, b):
    """The border of an integer convolution is swapped from begin to end."""
    conv = op.integer_conv(x, w, b)
    yield op.relu(conv)
    half = len(conv.pads) // 2
    pads = (*conv.pads[half:], *conv.pads[:half])
    turned = op.clip(op.integer_conv(x, w, b, like=conv, pads=pads), low=0)
    return turned if pads != tuple(conv.pads) else decline("symmetric")


@rule
def quantised_product(x, y):
    """The product of rounded numbers is no rounded product."""
    rounded = op.quantise(op.mul(x, y))
    yield op.relu(rounded)
    if rounded.fractions is not None:
        return decline("a format for each channel")
    return op.maximum(op.quantise(op.mul(op.quantise(x, like=rounded), y), like=rounded), 0)


@rule
def lesser_of_unsigned(x):
    """The lower limit of a signed format is below zero."""
    narrow = op.requantise(x)
    yield narrow
    if not narrow.element.signed or narrow.low is not None:
        return decline("unsigned")
    return op.requantise(x, like=narrow, low=-narrow.element.maximum)
