"""Right rules about rounding, saturation and casts."""

from __future__ import annotations

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.types import element_kind


@rule(shared="keep")
def rounded_again(x):
    """A rounded number is on its grid."""
    first = op.quantise(x)
    again = op.quantise(first)
    yield again
    same = ("element", "low", "high", "fractions", "axis")
    if any(getattr(first, name) != getattr(again, name) for name in same):
        return decline("another grid")
    if first.low is not None and first.high is not None and first.low > first.high:
        return decline("the limits cross")
    return first if first.element.width <= 24 else decline("a float does not hold its numbers")


@rule
def rectified_before_narrowing(x):
    """A requantised value is rectified by a lower limit of zero."""
    narrow = op.requantise(op.relu(x))
    yield narrow
    if narrow.low is not None and narrow.low > 0:
        return decline("a higher limit")
    return op.requantise(x, like=narrow, low=0)


@rule
def shift_to_the_left(x):
    """Shifts to the left do not round, and add up where nothing saturates between."""
    inner = op.requantise(x)
    outer = op.requantise(inner)
    yield outer
    if not (isinstance(inner.shift, int) and isinstance(outer.shift, int)) or inner.shift > 0:
        return decline("it rounds")
    if (inner.low, inner.high) != (None, None):
        return decline("limits")
    reach = max(abs(x.type.element.minimum), x.type.element.maximum) << -inner.shift
    if reach > inner.element.maximum or (x.type.element.signed and not inner.element.signed):
        return decline("it saturates")
    return op.requantise(x, like=outer, shift=inner.shift + outer.shift)


@rule
def add_commutes_with_its_shifts(x, y):
    """The operands of a sum change places together with their shifts."""
    total = op.integer_add(op.relu(x), y)
    yield total
    return op.integer_add(y, op.clip(x, low=0), like=total, shifts=tuple(reversed(total.shifts)))


@rule
def narrow_limits(x):
    """Limits beyond the format do not limit."""
    narrow = op.requantise(x)
    yield narrow
    if narrow.low is not None or narrow.high is not None:
        return decline("limits")
    return op.requantise(x, like=narrow, low=narrow.element.minimum - 1, high=narrow.element.maximum + 1)


@rule
def greatest_before_narrowing(x):
    """Rounding is monotone, so the greatest may be taken before or after it."""
    pool = op.max_pool(x)
    narrow = op.requantise(pool)
    yield narrow
    if not isinstance(narrow.shift, int) or any(pool.pads):
        return decline("a shift for each channel, or a border that might win")
    return op.max_pool(op.requantise(x, like=narrow), like=pool)


@rule(kind="lowering")
def real_and_back(x):
    """Mantissas of a narrow format survive floats."""
    real = op.from_fixed(x)
    again = op.to_fixed(real)
    yield op.relu(again)
    if not isinstance(x.type.element, FixedPoint):
        return decline("no fixed point")
    if (again.low, again.high) != (None, None) or x.type.element.width > 8 or real.type.element != "f32":
        return decline("limits, or too wide")
    if again.element != x.type.element or real.fraction != again.element.fraction:
        return decline("another format")
    return op.relu(x)


@rule
def wide_casts(x):
    """A cast through a wider float loses nothing."""
    last = op.cast(op.cast(x, element="f64"))
    yield last
    return op.cast(x, like=last) if x.type.element == "f32" else decline("not narrower")


@rule
def cast_to_its_own_type(x):
    """A cast to the type that is there already does nothing, but that it lets infinities of 8 bits saturate."""
    last = op.cast(x)
    yield last
    if last.element == "f8e5m2" and last.saturate:
        return decline("infinities become the greatest number")
    return x if last.element == x.type.element else decline("another type")


@rule
def rectified_before_truncating(x):
    """Truncating keeps signs, so floats may be rectified before or after it."""
    last = op.cast(op.relu(x))
    yield last
    if element_kind(x.type.element) != "float" or last.element not in ("i8", "i16", "i32", "i64"):
        return decline("not from floats to signed integers that saturate")
    return op.relu(op.cast(x, like=last))


@rule
def truth_of_a_negative(x):
    """A number and its negative are both zero or not."""
    last = op.cast(op.neg(x), element="bool")
    yield last
    return op.cast(x, element="bool")


@rule(shared="keep")
def quantised_twice_alike(x):
    """Quantising what was quantised in the same format gives the same numbers."""
    there = op.to_quantised(x)
    back = op.from_quantised(there)
    again = op.to_quantised(back)
    last = op.from_quantised(again)
    yield last
    if last.type != back.type:
        return decline("another type")
    if again.element != there.element or back.type.element != "f32" or there.element.axis is not None:
        return decline("another format")
    if there.element.scale not in (0.125, 0.25, 0.5, 1.0):
        return decline("a scale that may round")
    return back


@rule(kind="lowering")
def joined_mantissas(x, y):
    """Real numbers of one format may be joined as mantissas."""
    left, right = op.from_fixed(x), op.from_fixed(y)
    joined = op.concat(left, right)
    yield op.relu(joined)
    if x.type.element != y.type.element or left.fraction != right.fraction:
        return decline("two formats")
    if left.type.element != right.type.element:
        return decline("two types")
    return op.maximum(op.from_fixed(op.concat(x, y, like=joined), like=left), 0)


@rule
def exact_sum_in_any_order(x, y, z):
    """Sums of mantissas that nothing saturates do not depend on their order."""
    inner = op.integer_add(x, y)
    outer = op.integer_add(inner, z)
    yield op.relu(outer)
    kinds = (x.type, y.type, z.type)
    if len(set(kinds)) > 1 or x.type.element.width > 20 or inner.shifts != (0, 0) or outer.shifts != (0, 0):
        return decline("formats or shifts differ")
    wide = FixedPoint(True, 24, 0)
    if min(inner.element.width, outer.element.width) < x.type.element.width + 3 or not outer.element.signed:
        return decline("it may not fit")
    sums = op.integer_add(x, op.integer_add(y, z, element=wide), like=outer)
    return op.clip(sums, low=0)
