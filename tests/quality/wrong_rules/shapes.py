"""Faults in what moves entries: axes, orders, borders."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule
def inverse_permutation_forgotten(x):
    """Two permutations are composed in the wrong order, which shows from three axes on."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(outer.perm[p] for p in inner.perm))


@rule
def reshape_for_transpose(x):
    """A reshape to the shape of the transposed value keeps the order of the entries."""
    moved = op.transpose(x)
    yield moved
    return op.reshape(x, shape=moved.shape)


@rule
def equal_sizes_hide_a_transpose(x):
    """A permutation applied twice is not always the identity, and equal sizes hide it in the type."""
    outer = op.transpose(op.transpose(x))
    yield outer
    return x if outer.type == x.type else decline("the type changes")


@rule
def transpose_before_flattening(x):
    """A transpose before a reshape decides the order of the entries."""
    shaped = op.reshape(op.transpose(x))
    yield shaped
    return op.reshape(x, shape=shaped.shape)


@rule
def zero_in_a_shape(x, s, t):
    """A zero in the outer shape stands for a size of the inner one."""
    last = op.reshape(op.reshape(x, shape=s), shape=t)
    yield last
    return op.reshape(x, shape=t)


@rule
def flattened_at_another_axis(x):
    """The axis at which a value is flattened is ignored."""
    flat = op.flatten(x)
    yield flat
    return op.flatten(x) if flat.axis != 1 else decline("the first axis")


@rule
def concatenated_in_another_order(x, y):
    """The order of the operands is the order of the entries."""
    joined = op.concat(x, y)
    yield op.neg(joined)
    return op.mul(op.concat(y, x, like=joined), -1)


@rule
def concatenated_along_the_first_axis(x, y):
    """The axis along which values are joined is ignored."""
    joined = op.concat(op.neg(x), op.neg(y))
    yield joined
    return op.neg(op.concat(x, y, axis=0))


@rule
def rank_two_assumed(x):
    """The last axis is the second one of matrices only."""
    soft = op.softmax(x, axis=-1)
    yield soft
    return op.softmax(x, axis=1) if len(x.shape) > 1 else decline("a vector")


@rule
def wrong_axis(x):
    """The axis of a softmax is ignored."""
    soft = op.softmax(x)
    yield soft
    return op.softmax(x, axis=0) if soft.axis else decline("done")


@rule
def moved_axis_of_a_softmax(x):
    """The axis of a softmax moves with a transpose."""
    moved = op.transpose(x)
    soft = op.softmax(moved)
    yield soft
    return op.transpose(op.softmax(x, like=soft), like=moved)


@rule
def begins_and_ends_of_a_border_swapped(x):
    """All begins come before all ends."""
    border = op.pad(x)
    yield op.neg(border)
    half = len(border.pads) // 2
    swapped = (*border.pads[half:], *border.pads[:half])
    return op.mul(op.pad(x, like=border, pads=swapped), -1)


@rule
def pads_in_pairs(x):
    """The pads are read as pairs of begin and end, axis by axis."""
    border = op.pad(x)
    yield op.neg(border)
    pairs = (*border.pads[0::2], *border.pads[1::2])
    other = op.mul(op.pad(x, like=border, pads=pairs), -1)
    return other if other.type == border.type else decline("the shape would show it")


@rule
def border_of_another_value(x):
    """A border of negatives is rectified as well."""
    border = op.pad(x)
    yield op.relu(border)
    return op.pad(op.relu(x), like=border)


@rule
def sign_of_a_border(x):
    """The negative of a border of zeros is one of -0."""
    border = op.pad(x, fill=0.0)
    yield op.neg(border)
    return op.pad(op.neg(x), like=border) if any(border.pads) else decline("no border")


@rule
def fill_forgotten(x):
    """The border gets another value."""
    border = op.pad(x)
    yield op.identity(border)
    return op.pad(x, pads=border.pads)


@rule
def cropped_and_padded(x):
    """What the first of two borders crops does not come back with the second."""
    inner = op.pad(x)
    outer = op.pad(inner)
    yield outer
    if inner.fill != outer.fill:
        return decline("two values")
    pads = tuple(p + q for p, q in zip(inner.pads, outer.pads, strict=True))
    return op.pad(x, pads=pads, fill=inner.fill)


@rule
def crop_off_by_one(x):
    """A window of a value begins one entry too late and ends one too late."""
    border = op.pad(x)
    yield op.relu(border)
    half = len(border.pads) // 2
    pads = list(border.pads)
    if not (pads[half - 1] or pads[-1]):
        return decline("the last axis has no border")
    pads[half - 1] -= 1
    pads[-1] += 1
    return op.maximum(op.pad(x, like=border, pads=tuple(pads)), 0)


@rule
def squeezed_axes_shift(x, y):
    """An axis inserted before another one moves it, so that a sum broadcasts along another axis."""
    total = op.add(op.unsqueeze(x, axes=(0,)), y)
    yield total
    other = op.add(op.unsqueeze(x, axes=(-1,)), y)
    return other if other.type == total.type else decline("the shape would show it")


@rule
def broadcast_for_elementwise(x, y):
    """Transposing both operands of a sum transposes the sum, unless one broadcasts."""
    moved = op.transpose(op.sub(x, y), perm=(1, 0))
    yield moved
    if len(x.shape) != 2:
        return decline("not the operand that gives the shape")
    return op.sub(op.transpose(x, perm=(1, 0)), y if y.shape != x.shape else op.transpose(y, perm=(1, 0)))


@rule
def size_one_squeezed_for_all(x, y):
    """A sum of values without an axis of size 1 broadcasts differently."""
    total = op.add(op.unsqueeze(x, axes=(1,)), op.unsqueeze(y, axes=(1,)))
    yield total
    small = op.add(x, y)
    other = op.unsqueeze(small, axes=(0,))
    return other if other.type == total.type else decline("the shape would show it")


@rule
def joined_to_itself(x):
    """A value joined to itself is not the value twice as long in any order."""
    joined = op.concat(x, x)
    yield joined
    turned = op.concat(x, op.neg(op.neg(op.relu(x))), like=joined)
    return turned


@rule
def last_axis_reshaped(x):
    """Swapping the last two axes of a value with equal sizes does not show in its type."""
    moved = op.transpose(x)
    yield op.identity(moved)
    perm = (*moved.perm[:-2], moved.perm[-1], moved.perm[-2]) if len(moved.perm) > 1 else moved.perm
    other = op.transpose(x, perm=perm)
    return other if other.type == moved.type else decline("the shape would show it")


@rule
def start_within_steps(x):
    """The start of a slice of a slice counts entries of the inner one, which has steps."""
    inner = op.slice(x)
    outer = op.slice(inner)
    yield outer
    if any(len(each.starts) != 1 or each.steps is None for each in (inner, outer)) or inner.axes != outer.axes:
        return decline("not along one axis")
    (first,), (step,), (start,), (more,) = inner.starts, inner.steps, outer.starts, outer.steps
    if min(first, start) < 0 or min(step, more) < 1 or min(*inner.ends, *outer.ends) < 1000:
        return decline("not to the end")
    return op.slice(x, starts=(first + start,), ends=inner.ends, axes=inner.axes, steps=(step * more,))
