"""Right rules about what moves entries."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule(shared="keep")
def merge_transposes(x):
    """Two permutations are one."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(inner.perm[p] for p in outer.perm))


@rule
def transpose_twice(x):
    """A permutation and its inverse do nothing."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return x if all(inner.perm[p] == i for i, p in enumerate(outer.perm)) else decline("another permutation")


@rule(shared="keep")
def merge_reshapes(x):
    """Only the last shape counts."""
    last = op.reshape(op.reshape(x))
    yield last
    if sum(isinstance(size, str) for size in last.shape) > 1:
        return decline("a reshape leaves one size open")
    if 0 in last.shape:
        return decline("there are no entries")
    return op.reshape(x, shape=last.shape)


@rule
def elementwise_before_a_transpose(x):
    """An element-wise op may come before or after a transpose."""
    moved = op.transpose(x)
    yield op.relu(moved)
    return op.transpose(op.relu(x), like=moved)


@rule
def elementwise_before_a_reshape(x):
    """An element-wise op may come before or after a reshape."""
    shaped = op.reshape(x)
    yield op.neg(shaped)
    return op.reshape(op.neg(x), like=shaped)


@rule
def transposed_difference(x, y):
    """Transposing both operands of a difference transposes it, where neither broadcasts."""
    moved = op.transpose(op.sub(x, y))
    yield moved
    if x.type != y.type:
        return decline("one broadcasts")
    return op.sub(op.transpose(x, like=moved), op.transpose(y, like=moved))


@rule(keeps="rounding")  # sums along another axis are added up in another order
def softmax_of_a_transpose(x):
    """The axis of a softmax moves with a transpose."""
    moved = op.transpose(x)
    soft = op.softmax(moved)
    yield soft
    return op.transpose(op.softmax(x, axis=moved.perm[soft.axis]), like=moved)


@rule
def joined_negatives(x, y):
    """Negating comes before or after joining."""
    joined = op.concat(op.neg(x), op.neg(y))
    yield joined
    return op.neg(op.concat(x, y, like=joined))


@rule
def joined_in_two_steps(x, y, z, a):
    """Joining two and then a third is joining three."""
    yield op.concat(op.concat(x, y, axis=a), z, axis=a)
    return op.concat(x, y, z, axis=a)


@rule
def border_of_negatives(x):
    """The border of the negative is the negative border, whose zero has a sign."""
    border = op.pad(x)
    yield op.neg(border)
    if border.fill == 0 or str(x.type.element)[0] != "f":
        return decline("the sign of zero would change")
    return op.pad(op.neg(x), like=border, fill=-border.fill)


@rule
def rectified_border(x):
    """A border that is not negative stays what it is when rectified."""
    border = op.pad(x)
    yield op.relu(border)
    return op.pad(op.relu(x), like=border) if border.fill >= 0 else decline("a border of negatives")


@rule
def merge_borders(x):
    """Two borders of one value are one, where neither crops."""
    inner = op.pad(x)
    outer = op.pad(inner)
    yield outer
    if inner.fill != outer.fill or min(*inner.pads, *outer.pads) < 0:
        return decline("two values, or one crops")
    if not inner.mode == outer.mode == "constant":
        return decline("what is around depends on what is inside")
    return op.pad(x, pads=tuple(p + q for p, q in zip(inner.pads, outer.pads, strict=True)), fill=inner.fill)


@rule
def no_border(x):
    """A border of no entries is none."""
    border = op.pad(x)
    yield border
    return decline("there is a border") if any(border.pads) else x


@rule
def flatten_a_matrix(x):
    """A matrix is flat already."""
    flat = op.flatten(x)
    yield flat
    return x if x.type == flat.type else decline("not flat")


@rule
def squeeze_what_was_inserted(x, a):
    """An axis that was inserted can be taken out again."""
    yield op.squeeze(op.unsqueeze(x, axes=a), axes=a)
    return x


@rule
def place_before_rectifying(x):
    """The greatest entry stays in its place when all are doubled."""
    place = op.arg_max(op.identity(x))
    yield place
    return op.arg_max(x, like=place)


@rule
def place_along_a_moved_axis(x):
    """The place of the greatest entry is looked for along the axis that was moved."""
    moved = op.transpose(x)
    place = op.arg_max(moved)
    yield place
    if not place.keep_dims:
        return decline("the axis goes")
    return op.transpose(op.arg_max(x, like=place, axis=moved.perm[place.axis]), like=moved)


@rule
def reduction_without_its_axes(x):
    """A reduction that keeps its axes, squeezed, is one that does not."""
    greatest = op.reduce_max(x)
    squeezed = op.squeeze(greatest)
    yield squeezed
    if not greatest.keep_dims or greatest.axes is None or squeezed.axes is None:
        return decline("other axes")
    rank = len(x.shape)
    if {axis % rank for axis in greatest.axes} != {axis % rank for axis in squeezed.axes}:
        return decline("other axes")
    return op.reduce_max(x, axes=greatest.axes, keep_dims=False)


@rule
def scatter_over_itself(x, i, u):
    """The same scatter twice is one, unless it adds."""
    scattered = op.scatter_nd(op.scatter_nd(x, i, u), i, u)
    yield scattered
    return op.scatter_nd(x, i, u) if scattered.reduction == "none" else decline("it adds")
