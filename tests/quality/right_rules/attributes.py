"""Right rules beside those that forget an attribute."""

from __future__ import annotations

from graphrewrite import op, rule


@rule
def negated_blocks(x):
    """Moving entries and negating them may change places."""
    moved = op.depth_to_space(x)
    yield op.neg(moved)
    return op.depth_to_space(op.neg(x), like=moved)


@rule
def axes_turned_twice(x):
    """Two permutations are one."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(inner.perm[axis] for axis in outer.perm))


@rule
def place_in_a_sum(x):
    """A greatest entry is the least one of the negated entries."""
    found = op.arg_min(op.neg(op.neg(x)))
    yield found
    return op.arg_min(x, axis=found.axis, keep_dims=found.keep_dims, select_last_index=found.select_last_index)
