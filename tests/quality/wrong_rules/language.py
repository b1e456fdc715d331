"""Faults in the use of the pattern language: operands, options, runs, groups, several results."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, define_op, op, rule


@rule
def other_type(x):
    """The result has another type."""
    yield op.arg_max(x)
    return x


@rule
def raises(x):
    """An input has no value."""
    yield op.relu(x)
    return x.value


@rule(shared="keep")
def endless(x):
    """The replacement holds the pattern."""
    yield op.relu(x)
    return op.relu(op.identity(x))


@rule
def option_forgotten(x):
    """One of two sub-patterns is forgotten."""
    yield op.relu(op.neg(x) | op.identity(x))
    return op.relu(x)


@rule
def second_op_forgotten(x, y):
    """One of two ops is forgotten."""
    yield op.neg((op.maximum | op.minimum)(x, y))
    return op.minimum(op.neg(x), op.neg(y))


@rule
def attributes_forgotten(xs):
    """The attributes of an op are not passed on."""
    inner = rule.any_op(*xs)
    yield op.identity(inner)
    return inner.op(*xs)


@rule
def operands_in_another_order(xs, y, zs):
    """Operands of a variadic op change places."""
    joined = op.concat(*xs, op.identity(y), *zs)
    yield joined
    return op.concat(*zs, y, *xs, like=joined)


@rule
def operand_dropped(xs, y):
    """One of several operands is dropped."""
    joined = op.concat(*xs, op.identity(y))
    yield joined
    return op.concat(*xs, like=joined) if len(xs) > 1 else decline("nothing is left")


@rule
def number_of_links_forgotten(x):
    """An odd number of negations does not cancel."""
    yield rule.repeated(x, op.neg)
    return x


@rule(keeps="rounding")
def links_forgotten(x):
    """All links of a run but the last are forgotten."""
    run = rule.repeated(x, lambda below, c: below - c, least=2)
    yield run
    rest = run.c[-1]
    difference = x - rest
    return difference if difference.type == run.links[-1].type else decline("another link broadcasts")


@rule
def siblings_merged_that_differ(x):
    """Readers of one value that read another one as well are not equal."""
    differences = rule.every(x, lambda w: x - w)
    yield differences
    if len({node.type for node in differences.nodes}) > 1:
        return decline("of several types")
    first = op.add(x, op.neg(differences.w[0]))
    return [first for _ in differences.nodes]


@rule
def siblings_in_another_order(x):
    """Readers of one value get each other's replacement."""
    differences = rule.every(x, lambda w: x - w)
    yield differences
    if len({node.type for node in differences.nodes}) > 1:
        return decline("of several types")
    return [op.add(x, op.neg(w)) for w in reversed(differences.w)]


@define_op(results=2, infer=lambda x: (x, x))
def signs(x):
    """The absolute value, and its negative."""
    return np.abs(x), -np.abs(x)


@rule
def results_exchanged(x):
    """The two results of a node change places."""
    size, negative = signs(x)
    yield size, negative
    return op.neg(op.abs(x)), op.abs(x)


@rule
def second_result_taken_for_the_first(x):
    """A reader of the second result gets the first one."""
    _, negative = signs(x)
    yield op.relu(negative)
    return op.relu(op.abs(x))


@rule
def roots_exchanged(x, y):
    """Two roots change places."""
    yield op.maximum(x, y), op.minimum(x, y)
    if x.type != y.type:
        return decline("of two types")
    return op.minimum(y, op.identity(x)), op.maximum(y, op.identity(x))


COUNT = iter(range(10**9))


@rule
def different_every_time(x):
    """The result depends on what was rewritten before."""
    yield op.neg(x)
    return op.sub(-0.0, x) if next(COUNT) % 2 else op.mul(x, -1)


@rule
def attribute_of_the_inner_node(x, a, b):
    """Of two attributes, the wrong one is passed on."""
    outer = op.softmax(op.softmax(x, axis=a), axis=b)
    yield op.relu(outer)
    return op.maximum(op.softmax(op.softmax(x, axis=b), axis=a), 0)


@rule
def third_operand_moved(x, y, z, a):
    """What comes behind a nested variadic op comes into it."""
    yield op.concat(op.concat(x, y, axis=a), z, axis=a)
    return op.concat(x, z, y, axis=a)


@rule
def commuted(x, y):
    """An op that is not commutative is matched in either order."""
    yield (op.sub | op.add)(op.neg(x), y)
    return op.sub(y, x)


@rule
def one_of_two_readers(x):
    """A value that several nodes read is changed for all of them."""
    kept = op.neg(x)
    yield op.relu(kept), op.abs(kept)
    return op.relu(x), op.abs(x)


@rule
def negation_ignored(x, y):
    """What a pattern says that it is not is taken for what it is."""
    other = ~op.neg(y)
    yield op.sub(x, other)
    return op.add(x, other)
