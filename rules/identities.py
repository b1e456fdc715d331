"""Ops that do nothing, or repeat another op."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.rules.choices import CHOICES
from graphrewrite.rules.shapes import reshaped
from graphrewrite.rules.slices import taken
from graphrewrite.types import SMALL_FLOATS, element_kind

__all__ = [
    "IDENTITIES",
    "drop_absorbed",
    "drop_blocks_there_and_back",
    "drop_cast_to_fixed_and_back",
    "drop_crop",
    "drop_dropout",
    "drop_equal_operands",
    "drop_factor_one",
    "drop_identity",
    "drop_inverse_twice",
    "drop_neutral_one",
    "drop_neutral_zero",
    "drop_pad",
    "drop_repeated",
    "drop_repeated_relu",
    "drop_requantise",
    "drop_resize",
    "drop_shuffle_there_and_back",
    "drop_slope_one",
    "drop_subtract_zero",
    "drop_unchanged",
    "drop_unit_pool",
    "reduce_one_as_reshape",
]


@rule
def drop_identity(x):
    """The identity is its operand."""
    yield op.identity(x)
    return x


@rule
def drop_dropout(x):
    """Dropout is its operand: in inference it drops nothing."""
    yield op.dropout(x)
    return x


@rule
def drop_factor_one(x):
    """X · 1 and x / 1 are x, unless the one broadcasts x to a larger shape."""
    product = (op.mul | op.div)(x, 1)
    yield product
    if x.type != product.type:
        return decline("the constant broadcasts the other operand", at=product)
    return x


@rule
def drop_subtract_zero(x):
    """X - 0 is x, for every x; x + 0 is not, for it makes +0 of -0 (IEEE 754-2019, 6.3)."""
    difference = op.sub(x, 0)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    return x


@rule(shared="keep")
def drop_repeated_relu(x):
    """A rectified value rectified again is the same."""
    first = op.relu(x)
    yield op.relu(first)
    return first


@rule(shared="keep")
def drop_cast_to_fixed_and_back(x):
    """Mantissas read as real numbers in a format, and written in that format again, are the same mantissas."""
    real = op.from_fixed(x)
    stored = op.to_fixed(real)
    yield stored
    if x.type != stored.type or real.fraction != stored.element.fraction:
        return decline("the formats differ, so the value may change", at=stored)
    fact = x.fact()
    if not fact.is_within(stored.low, stored.high):
        return decline(f"a limit is reached: its range is {fact.range}", at=x)
    if not stored.element.is_held_by(real.element):
        return decline(f"{real.element} does not hold every number of {stored.element}", at=real)
    return x


@rule
def drop_requantise(x):
    """Requantising to the format that is there already, without a shift or tighter limits, does nothing."""
    same = op.requantise(x, shift=0)
    yield same
    element = same.element
    low = element.minimum if same.low is None else same.low
    high = element.maximum if same.high is None else same.high
    # Limits that are never reached stay: they tell hardware what it has to hold.
    if x.type != same.type or low > element.minimum or high < element.maximum:
        return decline("the format or the limits change", at=same)
    return x


@rule
def drop_unchanged(x):
    """What moves, repeats, converts or joins entries does nothing where the type stays as it was."""
    same = (
        op.expand | op.tile | op.concat | op.sum | op.mean | op.cast | op.bit_cast | op.name_axes
        | op.global_max_pool
    )(x)  # fmt: skip
    yield same
    if x.type != same.type:
        return decline(f"the type changes from {x.type} to {same.type}", at=same)
    if same.op is op.cast and x.type.element in SMALL_FLOATS:
        return decline("a cast limits floats of 8 bits, of which some are infinite", at=same)
    return x


@rule
def drop_crop(x):
    """A slice of all entries, in their order, is its operand."""
    whole = op.slice(x)
    yield whole
    if taken(whole, x.shape) or x.type != whole.type:
        return decline("it leaves out entries, or goes backwards", at=whole)
    return x


@rule
def drop_pad(x):
    """A border of no entries is none."""
    padded = op.pad(x)
    yield padded
    if any(padded.pads):
        return decline("there is a border, or a part is cropped", at=padded)
    return x


@rule
def drop_resize(x):
    """A resize to the sizes that are there takes every entry as it is, however it interpolates."""
    same = op.resize(x)
    yield same
    if x.type != same.type or any(scale != 1 for scale in same.scales or ()):
        return decline("the sizes change, or its scale is not 1", at=same)
    if same.coordinate_transformation_mode == "tf_crop_and_resize":
        return decline("it crops", at=same)
    return x


@rule
def drop_unit_pool(x):
    """Windows of one entry, one at each position, are the entries."""
    pooled = (op.max_pool | op.average_pool)(x, kernel=rule.where(lambda sizes: set(sizes) == {1}, "it is one entry"))
    yield pooled
    if x.type != pooled.type or any(pooled.pads):
        return decline("windows are left out, or lie in the border", at=pooled)
    # A mean of integers is computed in double precision.
    if pooled.op is op.average_pool and not _is_exact_in_doubles(x):
        return decline(f"a double does not hold every number of {x.type.element}", at=x)
    return x


def _is_exact_in_doubles(x):
    fact = x.fact()
    return isinstance(fact.low, float) or fact.is_within(-(1 << 53), 1 << 53)


@rule
def reduce_one_as_reshape(x):
    """The greatest, the least or the product of single entries is that entry, in the result's shape."""
    reduced = (op.reduce_max | op.reduce_min | op.reduce_prod | op.reduce_mean | op.reduce_sum)(x)
    yield reduced
    rank = len(x.shape)
    if 1 not in x.shape and x.shape != reduced.shape:  # as most
        return decline("no axis has a single entry", at=x)
    axes = {axis % rank for axis in (range(rank) if reduced.axes is None else reduced.axes)}
    if any(x.shape[axis] != 1 for axis in axes):
        return decline("an axis has more entries than one, or none", at=reduced)
    # A sum begins with 0, and 0 + -0 is 0 (IEEE 754-2019, 6.3).
    if reduced.op in (op.reduce_mean, op.reduce_sum) and x.fact().minus_zero:
        return decline("a sum makes 0 of -0", at=x)
    if x.type == reduced.type:
        return x
    if reduced.type.layout is not None or reduced.type.element != x.type.element:
        return decline("its axes have names or channels, which a reshape forgets", at=reduced)
    return reshaped(x, reduced)


@rule
def drop_neutral_one(x):
    """X to the power of 1, x where it is true, and a slope of 1 below zero leave x as it is."""
    same = (op.pow | op.prelu | op.logical_and)(x, 1)
    yield same
    if x.type != same.type:
        return decline("the constant broadcasts the other operand", at=same)
    # The exponent may be real, and integers to its power are computed in double precision.
    if same.op is op.pow and not _is_exact_in_doubles(x):
        return decline(f"a double does not hold every number of {x.type.element}", at=x)
    return x


@rule
def drop_neutral_zero(x):
    """X or false, the bits that differ from none, and a shift by 0 bits leave x as it is."""
    same = (op.logical_or | op.logical_xor | op.bitwise_xor | op.bit_shift)(x, 0)
    yield same
    if x.type != same.type:
        return decline("the constant broadcasts the other operand", at=same)
    return x


@rule
def drop_slope_one(x):
    """A slope of 1 below zero as well as above leaves every number."""
    yield op.leaky_relu(x, alpha=1.0)
    return x


@rule(shared="keep")
def drop_inverse_twice(x):
    """A negation negated is what was negated: of numbers, of truth values and of bits."""
    inner = (op.neg | op.logical_not | op.bitwise_not)(x)
    outer = (op.neg | op.logical_not | op.bitwise_not)(inner)
    yield outer
    if inner.op is not outer.op:
        return decline("they negate in two ways", at=outer)
    if x.type.element in SMALL_FLOATS:
        return decline("floats of 8 or 4 bits need not have a negative", at=x)
    return x


@rule(shared="keep")
def drop_repeated(x):
    """A step that leaves its own results does nothing the second time."""
    first = (op.sign | op.hardmax | op.threshold | op.trilu)(x)
    again = (op.sign | op.hardmax | op.threshold | op.trilu)(first)
    yield again
    if first.op is not again.op or first.type != again.type or _attributes(first) != _attributes(again):
        return decline("they are two different steps", at=again)
    return first


def _attributes(node):
    return node.graph.attributes(node.node)


@rule
def drop_equal_operands(x):
    """The greater of a value and itself is that value, and so what both are; that of truth values, and of bits."""
    yield (op.maximum | op.minimum | op.logical_and | op.logical_or | op.bitwise_and | op.bitwise_or)(x, x)
    return x


_LATTICE = op.maximum | op.minimum | op.logical_and | op.logical_or | op.bitwise_and | op.bitwise_or
_ABSORBING = {
    frozenset({"maximum", "minimum"}),
    frozenset({"logical_and", "logical_or"}),
    frozenset({"bitwise_and", "bitwise_or"}),
}


@rule(shared="keep")
def drop_absorbed(x, y):
    """The greater of x and the lesser of x and y is x; and a value that was taken is taken again without effect."""
    inner = _LATTICE(x, y)
    outer = _LATTICE(inner, x)
    yield outer
    if element_kind(x.type.element) == "float":
        return decline("of floats NaN and the sign of a zero count", at=outer)
    if inner.op is outer.op:
        return inner
    if {inner.op_name, outer.op_name} not in _ABSORBING or x.type != outer.type:
        return decline("they are of two kinds, or the other operand broadcasts it", at=outer)
    return x


@rule(shared="keep")
def drop_blocks_there_and_back(x):
    """Blocks that become channels, and these blocks again, are where they were; and so channels."""
    there = (op.space_to_depth | op.depth_to_space)(x)
    back = (op.space_to_depth | op.depth_to_space)(there)
    yield back
    if (there.block_size, there.mode) != (back.block_size, back.mode):
        return decline("they come back in another order", at=back)
    return x if x.type == back.type else decline("they go there twice, or a size is said in another way", at=back)


@rule(shared="keep")
def drop_shuffle_there_and_back(x):
    """Channels read as a table by columns, and then by rows, are in order again."""
    there = op.channel_shuffle(x)
    back = op.channel_shuffle(there)
    yield back
    if there.groups * back.groups != x.shape[(x.type.layout or "NC").index("C")]:
        return decline("the second table has other columns than the first has rows", at=back)
    return x


IDENTITIES = (
    drop_dropout,
    drop_identity,
    drop_factor_one,
    drop_subtract_zero,
    drop_repeated_relu,
    drop_unchanged,
    drop_crop,
    drop_pad,
    drop_resize,
    drop_unit_pool,
    reduce_one_as_reshape,
    drop_slope_one,
    drop_inverse_twice,
    drop_repeated,
    drop_equal_operands,
    drop_absorbed,
    drop_blocks_there_and_back,
    drop_shuffle_there_and_back,
    drop_neutral_one,
    drop_neutral_zero,
    *CHOICES,
)
"""What does nothing, or what a shorter op does as well: a part of `RULES`."""
