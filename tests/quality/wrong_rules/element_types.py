"""Faults in casts and quantised numbers: truncation, wrap-around, scales, zero points."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.testing import graphs
from graphrewrite.types import Quantised, element_kind


def _is_float(x):
    return isinstance(x.type.element, str) and element_kind(x.type.element) == "float"


@rule
def intermediate_type_forgotten(x):
    """What the first of two casts loses does not come back."""
    last = op.cast(op.cast(x))
    yield last
    return op.cast(x, like=last)


@rule
def truncated_negative(x):
    """The greatest negative has no positive counterpart, so a cast that saturates is not odd."""
    last = op.cast(op.neg(x))
    yield last
    if not _is_float(x) or not str(last.element).startswith("i"):
        return decline("not from floats to integers")
    return op.neg(op.cast(x, like=last))


@rule
def wrapped_before_rectifying(x):
    """An integer that wraps around changes its sign."""
    last = op.cast(op.relu(x))
    yield last
    if str(last.element).startswith("u") or last.element == "bool":
        return decline("unsigned")
    return op.relu(op.cast(x, like=last))


@rule
def truncated_before_doubling(x):
    """Truncating before doubling loses a half."""
    last = op.cast(op.add(x, x))
    yield last
    if last.element == "bool":
        return decline("no number")
    whole = op.cast(x, like=last)
    return op.add(whole, whole)


@rule
def true_is_one(x):
    """All numbers but zero are true, and true is one."""
    truth = op.cast(x, element="bool")
    last = op.cast(truth)
    yield last
    return op.cast(x, like=last) if last.element != "bool" else decline("the same")


@rule
def rounded_for_truncated(x):
    """A cast truncates, a conversion to fixed point rounds."""
    last = op.cast(x, element="i8")
    yield last
    if not _is_float(x):
        return decline("no float")
    return op.cast(op.add(x, 0.5), like=last) if x.op_name != "add" else decline("done")


@rule
def narrow_float(x):
    """A narrow float between two wide ones rounds."""
    last = op.cast(op.cast(x, element="bf16"), element="f32")
    yield last
    return x if x.type == last.type else decline("another type")


@rule
def quantised_and_back(x):
    """Quantising rounds and saturates."""
    back = op.from_quantised(op.to_quantised(x))
    yield back
    return x if x.type == back.type else decline("another type")


@rule
def zero_point_forgotten(x):
    """The zero point of the second format is taken from the first."""
    there = op.to_quantised(x)
    back = op.from_quantised(there)
    yield back
    element = there.element
    if element.axis is not None:
        return decline("a scale for each channel")
    first, *_ = element.channels
    other = Quantised(element.storage, first[0], 0)
    if other == element:
        return decline("it is zero")
    return op.from_quantised(op.to_quantised(x, element=other), source=other, element=back.element)


@rule
def scale_forgotten(x):
    """Twice the scale rounds more."""
    there = op.to_quantised(x)
    back = op.from_quantised(there)
    yield op.relu(back)
    element = there.element
    if element.axis is not None:
        return decline("a scale for each channel")
    (scale, zero_point), *_ = element.channels
    other = Quantised(element.storage, scale * 2, zero_point)
    return op.maximum(op.from_quantised(op.to_quantised(x, element=other), source=other, element=back.element), 0)


@rule
def quantised_negative_number(x):
    """With a zero point, the negative of a quantised number is none of the negated storage."""
    there = op.to_quantised(op.neg(x))
    back = op.from_quantised(there)
    yield back
    return op.neg(op.from_quantised(op.to_quantised(x, like=there), like=back))


@rule
def quantised_scales_of_channels(x):
    """The scale of the first channel is taken for all."""
    there = op.to_quantised(x)
    back = op.from_quantised(there)
    yield back
    element = there.element
    if element.axis is None or len(set(element.channels)) == 1:
        return decline("one scale")
    other = Quantised(element.storage, *element.channels[0])
    return op.from_quantised(op.to_quantised(x, element=other), source=other, element=back.element)


@rule
def rectified_storage(x):
    """Zero is stored as the zero point, so rectifying is not rectifying the storage."""
    there = op.to_quantised(op.relu(x))
    back = op.from_quantised(there)
    yield back
    return op.from_quantised(op.to_quantised(op.abs(x), like=there), like=back)


@rule
def sum_of_casts(x, y):
    """Truncated numbers do not add up to the truncated sum."""
    last = op.cast(op.add(x, y))
    yield last
    if not _is_float(x) or last.element == "bool":
        return decline("no float")
    return op.add(op.cast(x, like=last), op.cast(y, like=last))


@rule
def wide_for_narrow_integers(x):
    """The sum of narrow integers wraps around, that of wide ones does not."""
    narrow = op.cast(x, element="i8")
    last = op.cast(op.mul(narrow, narrow), element="f32")
    yield last
    if _is_float(x) or x.type.element == "bool":
        return decline("no integer")
    wide = op.cast(narrow, element="i64")
    return op.cast(op.mul(wide, wide), element="f32")


@rule
def exclusive_or_for_or(x):
    """The sum of truths is true where either is, the difference of numbers where they differ."""
    total = op.add(x, x)
    yield total
    return (
        op.cast(op.sub(op.cast(x, element="i8"), op.cast(x, element="i8")), element="bool")
        if (x.type.element == "bool")
        else decline("no truths")
    )


ON = {"exclusive_or_for_or": graphs(containing=exclusive_or_for_or, every_type=True)}
"""Where a rule is tested that is right for the types that most graphs hold."""
