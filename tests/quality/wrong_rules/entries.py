"""Wrong rules about the entries of constants, and about what is known of values: each asks of some, or of a summary."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rewriting.facts import never_minus_zero, never_nan, nonnegative, whole
from graphrewrite.types import integer_limits

Whole = Annotated[Any, rule.where(whole, "it is whole")]
Positive = Annotated[Any, rule.where(nonnegative, "it is not negative")]
Number = Annotated[Any, rule.where(never_nan, "it is a number")]


def _are_known(*values: Any) -> bool:
    return all(isinstance(size, int) for value in values for size in value.shape)


def _is_row(indices: Any) -> bool:
    return indices.ndim == 1 and indices.size > 1 and bool(indices.min() >= 0)


@rule
def run_of_indices(x, i: Constant, a):
    """Of the indices only the first and the last are looked at."""
    yield op.gather(x, i, axis=a)
    first, last = (int(each) for each in (i.value.flat[0], i.value.flat[-1])) if _is_row(i.value) else (0, -1)
    if not _are_known(x) or last - first + 1 != i.value.size:
        return decline("no run")
    return op.slice(x, starts=(first,), ends=(last + 1,), axes=(a,))


@rule
def rotated_by_indices(x, i: Constant, a):
    """Indices that are each there once need not be a rotation."""
    taken = op.gather(x, i, axis=a)
    yield taken
    if taken.type != x.type or not _is_row(i.value) or sorted(i.value) != list(range(i.value.size)):
        return decline("some are left out")
    at, size = int(i.value[0]), i.value.size
    parts = [
        op.slice(x, starts=(start,), ends=(end,), axes=(a,)) for start, end in ((at, size), (0, at)) if end > start
    ]
    return op.concat(*parts, axis=a)


@rule
def indices_in_steps(x, i: Constant, a):
    """Of the steps between indices only the first is looked at."""
    taken = op.gather(x, i, axis=a)
    yield taken
    if not _are_known(x) or not _is_row(i.value) or i.value.size < 3 or i.value[1] <= i.value[0]:
        return decline("no rising row")
    first, step, last = int(i.value[0]), int(i.value[1] - i.value[0]), int(i.value[-1])
    sliced = op.slice(x, starts=(first,), ends=(last + 1,), axes=(a,), steps=(step,))
    return sliced if sliced.type == taken.type else decline("as many are not there")


@rule
def divided_by_power_of_two(x, c: Constant):
    """Divided by a number that is small enough, one is infinite."""
    yield op.div(x, c)
    if c.shape or c.type.element not in ("f32", "f64") or abs(np.frexp(c.value)[0]) != 0.5:
        return decline("no power of two")
    return op.mul(x, (1 / c.value).astype(c.value.dtype))


@rule
def powers_of_two_multiplied(x, c: Constant, d: Constant):
    """Between a large factor and a small one, a product may overflow."""
    yield op.mul(op.mul(x, c), d)
    if c.shape or d.shape or c.type != d.type or c.type.element not in ("f32", "f64"):
        return decline("no two factors")
    if any(np.frexp(each.value)[0] != 0.5 for each in (c, d)):
        return decline("no powers of two")
    return op.mul(x, c.value * d.value)


@rule
def one_number_by_mean(x, c: Constant):
    """A mean that is the first entry is not all of them."""
    product = op.mul(x, c)
    yield product
    if c.value.size < 2 or product.type != x.type or x.type.element not in ("f32", "f64"):
        return decline("one number, or other types")
    return op.mul(x, c.value.flat[0]) if c.value.mean() == c.value.flat[0] else decline("several numbers")


@rule(keeps="rounding")
def mean_by_nearly_the_count(x, a, n: Constant):
    """A number that is nearly how many are added is another one."""
    mean = op.div(op.reduce_sum(x, axes=a), n)
    yield mean
    if not a or n.value.size != 1 or not _are_known(x) or x.type.element not in ("f32", "f64"):
        return decline("of all axes")
    count = np.prod([x.shape[axis] for axis in a])
    if abs(n.value.item() - count) > 0.01 * count:
        return decline("another number")
    made = op.reduce_mean(x, axes=a)
    return made if made.type == mean.type else decline("axes are dropped")


@rule
def slices_as_large_as_the_whole(x, a, b, first, second, e, f):
    """Two slices that are as large as the whole together need not be its parts in order."""
    left, right = op.slice(x, starts=first, ends=e, axes=b), op.slice(x, starts=second, ends=f, axes=b)
    joined = op.concat(left, right, axis=a)
    yield joined
    if left.steps is not None or right.steps is not None or joined.type != x.type or b != (a,):
        return decline("something is left out")
    return x


@rule
def slice_of_second_part(x, y, a, b, s, e):
    """Where a slice ends counts from the beginning of both parts."""
    cut = op.slice(op.concat(x, y, axis=a), starts=s, ends=e, axes=b)
    yield cut
    if not _are_known(x, y) or cut.steps is not None or b != (a,) or s[0] < x.shape[a]:
        return decline("it takes some of the first part")
    return op.slice(y, starts=(s[0] - x.shape[a],), ends=e, axes=b)


@rule
def resize_to_the_same_size(x):
    """A scale with which an axis keeps its size may still move entries."""
    resized = op.resize(x, mode="nearest")
    yield resized
    if resized.coordinate_transformation_mode.startswith("tf_"):
        return decline("it crops")
    return x if resized.type == x.type else decline("it has another size")


@rule
def drop_border_of_the_same_size(x):
    """What a border adds at one end it may cut off at the other."""
    padded = op.pad(x)
    yield padded
    return x if padded.type == x.type else decline("it has another size")


@rule
def whole_part_as_floor(x: Positive):
    """Integers do not hold all that is not negative."""
    back = op.cast(op.cast(x, element={"i32", "i64"}))
    yield back
    if back.type != x.type or x.type.element not in ("f32", "f64") or not never_nan(x) or not never_minus_zero(x):
        return decline("another type")
    return op.floor(x)


@rule
def difference_of_a_number(x: Number):
    """What is infinite less itself is no number."""
    yield op.sub(x, x)
    if not _are_known(x) or x.type.element not in ("f32", "f64"):
        return decline("its sizes are open")
    return op.constant_of_shape(shape=x.shape, value=0, element=x.type.element)


@rule
def whole_through_half(x: Whole):
    """Within the range of half floats there are whole numbers that they do not hold."""
    back = op.cast(op.cast(x, element="f16"))
    yield back
    fact = x.fact()
    if back.type != x.type or not -65504 <= fact.low <= fact.high <= 65504:
        return decline("beyond its range")
    return x if never_minus_zero(x) and never_nan(x) else decline("no number")


@rule
def through_a_float_of_too_few_bits(x):
    """A float of 32 bits holds whole numbers of 24 bits."""
    back = op.cast(op.cast(x, element="f32"))
    yield back
    fact = x.fact()
    if back.type != x.type or integer_limits(x.type.element) is None:
        return decline("no integers")
    return x if -(2**25) <= fact.low <= fact.high <= 2**25 else decline("of more bits")


@rule
def rounded_twice(x: Annotated[Any, rule.where(lambda x: str(x.type.element) == "i64", "of i64")]):
    """An integer is rounded twice on its way."""
    yield op.cast(op.cast(x, element="f64"), element="f32")
    return op.cast(x, element="f32")
