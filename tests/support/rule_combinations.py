"""Forms of the pattern language in and beside each other; what stands below the yields does not matter."""

from __future__ import annotations

from graphrewrite import Constant, Rule, Tensor, define_op, op, rule
from graphrewrite.errors import TypeMismatchError


def _half(x):
    if isinstance(x.shape[-1], str) or x.shape[-1] % 2:
        raise TypeMismatchError("the last axis is not even")
    return (Tensor(x.element, (*x.shape[:-1], x.shape[-1] // 2)),) * 2


@define_op(results=2, infer=_half)
def halves(x):
    """The first and the second half of the last axis."""
    middle = x.shape[-1] // 2
    return x[..., :middle], x[..., middle:]


@rule
def nothing_reads_it(x):
    top = op.relu(x)
    yield top, ~rule.any_op(top)
    return rule.decline("never")


@rule
def forbidden_with_a_free_variable(x, y):
    top = op.relu(x)
    yield top, ~op.add(top, y)
    return rule.decline("never")


@rule
def chain_on_a_choice(x):
    yield rule.repeated(op.neg(x) | op.abs(x), op.relu)
    return rule.decline("never")


@rule
def chain_of_no_links(x):
    yield op.abs(rule.repeated(x, op.neg, least=0))
    return rule.decline("never")


@rule
def chain_of_layers(x):
    yield rule.repeated(x, lambda below, w, b: op.relu(op.linear(below, w, b)), least=2)
    return rule.decline("never")


@rule
def chain_with_a_variable_of_the_rule(x, c):
    yield rule.repeated(op.mul(x, c), lambda below: op.add(below, c))
    return rule.decline("never")


@rule
def group_of_a_node(x):
    yield rule.every(op.neg(x), op.relu)
    return rule.decline("never")


@rule
def group_of_layers(x):
    yield rule.every(x, lambda w, b: op.linear(x, w, b))
    return rule.decline("never")


@rule
def group_of_convolutions(x):
    yield rule.every(x, lambda w: op.conv(x, w))
    return rule.decline("never")


@rule
def group_of_two_nodes_each(x):
    yield rule.every(x, lambda w: op.relu(op.add(x, w)), least=3)
    return rule.decline("never")


@rule
def group_with_an_attribute(x):
    yield rule.every(x, lambda p: op.transpose(x, perm=p))
    return rule.decline("never")


@rule
def diamond(x):
    top = op.neg(x)
    yield op.add(op.relu(top), op.abs(top))
    return rule.decline("never")


@rule
def roots_that_share_nothing(x, y):
    yield op.relu(x), op.sigmoid(y)
    return rule.decline("never")


@rule
def roots_of_two_types(x):
    yield op.relu(x), op.arg_max(x)
    return rule.decline("never")


@rule
def root_that_another_reads(x):
    inner = op.neg(x)
    yield inner, op.relu(inner)
    return rule.decline("never")


@rule
def one_attribute_twice(x, p):
    yield op.transpose(op.transpose(x, perm=p), perm=p)
    return rule.decline("never")


@rule
def several_ops_with_an_optional_operand(x, w, b=None):
    yield op.relu((op.conv | op.linear)(x, w, b))
    return rule.decline("never")


@rule
def condition_on_each_of_many(xs: rule.where(lambda v: v.type.element == "f32", "of f32")):
    yield op.relu(op.concat(*xs, axis=1))
    return rule.decline("never")


@rule
def one_variable_for_many_twice(xs, c: Constant):
    yield op.add(op.concat(*xs, axis=1), op.mul(op.concat(*xs, axis=1), c))
    return rule.decline("never")


@rule
def any_op_with_an_attribute(x):
    yield rule.any_op(x, axis=1)
    return rule.decline("never")


@rule
def both_halves(x):
    first, second = halves(x)
    yield op.concat(second, first, axis=1)
    return rule.decline("never")


@rule
def all_results(x):
    both = halves(op.neg(x))
    yield both
    return rule.decline("never")


@rule
def literal_or_node(x):
    yield op.mul(x, 1 | op.neg(x))
    return rule.decline("never")


@rule
def not_the_same(x):
    yield op.add(op.neg(x), ~x)
    return rule.decline("never")


@rule
def condition_that_few_values_meet(x: rule.where(lambda v: v.shape[1:] == (3, 3), "three by three")):
    yield op.relu(x)
    return rule.decline("never")


@rule
def condition_that_no_default_meets(x):
    yield op.leaky_relu(x, alpha=rule.where(lambda a: a < 0, "a slope below zero"))
    return rule.decline("never")


COMBINATIONS = [found for found in list(vars().values()) if isinstance(found, Rule)]
