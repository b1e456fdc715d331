"""Every op of the library has instances with each number of operands that it takes, and leaves its defaults in them."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from graphrewrite import Tensor, rule
from graphrewrite import op as ops
from graphrewrite.op import LIBRARY
from graphrewrite.op.symbolic import CURRENT
from graphrewrite.rewriting.pattern import Pattern, Tracing, Variable
from graphrewrite.testing.generation.arrays import constant_array
from graphrewrite.testing.generation.demand import seeded
from graphrewrite.testing.generation.experience import forms
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.kinds import Kind
from graphrewrite.types import NAMES, contradiction
from tests.support.profiles import some_of

DRAWS, LEAST = 60, 6
COUNTS = [
    (name, count)
    for name, op in LIBRARY.items()
    if name not in ("input", "output", "constant")
    and op.level != "memory"
    and op.results  # of others, attributes say how many there are
    for count in range(max(op.required, int(op.variadic)), len(op.operands) + 2 * op.variadic + 1)
]
ATTRIBUTES = {
    "depth_to_space": ("block_size", "mode"),
    "space_to_depth": ("block_size", "mode"),
    "conv": ("groups", "pads", "strides", "dilations"),
    "max_pool": ("ceil_mode", "pads", "dilations"),
    "average_pool": ("ceil_mode", "count_include_pad"),
    "resize": ("mode", "antialias", "nearest_mode"),
    "arg_max": ("select_last_index", "keep_dims"),
    "cum_sum": ("exclusive", "reverse"),
    "top_k": ("largest", "k", "axis"),
}
"""Attributes that were hardly ever anything but what they are by default, or in nearly all instances."""


def pattern_of(name, count):
    """The pattern of one op, with variables for its operands and for attributes without a default."""
    op, tracing = LIBRARY[name], Tracing()
    operands = [Variable(tracing, f"x{i}") for i in range(count)]
    needed = {k: Variable(tracing, k) for k, v in op.attributes.items() if v is inspect.Parameter.empty}
    token = CURRENT.set(tracing)
    try:
        node = tracing.make_node((op,), tuple(operands), needed)
    finally:
        CURRENT.reset(token)
    tracing.closed = True
    return Pattern.of(node, (*operands, *needed.values()), tracing.terms, ValueError)


def drawn(pattern, seed):
    plan = plan_instance(pattern, seeded(seed))
    (case,) = plan.cases.values()
    return case


@pytest.mark.parametrize(("name", "count"), some_of(COUNTS, 8))
def test_an_op_has_instances_with_each_number_of_operands(name, count):
    assert len(drawn(pattern_of(name, count), 0).types) == count


def test_no_operand_is_missing_that_the_op_needs():
    @rule
    def optional(x, w, r, b=None, h=None, c=None, p=None, lengths=None):
        """Of eight operands the last may be missing."""
        yield ops.lstm(x, w, r, b, h, c, p, lengths)
        return x

    @rule
    def any_number(xs):
        """All that it needs are there."""
        yield ops.lstm(*xs)
        return xs[0]

    for each in (optional, any_number):
        counts = {len(drawn(each.pattern, seed).types) for seed in range(10)}
        assert counts == {7, 8}


@pytest.mark.parametrize("name", some_of(list(ATTRIBUTES), 3))
def test_attributes_leave_what_they_mostly_are(name):
    pattern, op = pattern_of(name, LIBRARY[name].required), LIBRARY[name]
    found = [op.attributes | drawn(pattern, seed).attributes for seed in range(DRAWS)]
    for key in ATTRIBUTES[name]:
        default = op.attributes[key]
        usual = [default, 1 if default is inspect.Parameter.empty else default]
        if isinstance(default, tuple):
            usual = [default[:1] * count for count in range(9)]
        assert sum(each[key] not in usual for each in found) >= LEAST, key


@pytest.mark.parametrize("element", NAMES)
def test_constants_are_numbers_of_their_element_type(element):
    kind = Tensor(element, (40,))
    for style in range(8):
        assert contradiction(kind, constant_array(kind, style)) is None
        assert (constant_array(kind, style, positive=True) >= 0).all()
    assert len({*constant_array(kind, 7).tolist()}) > 1


def test_each_of_several_ops_is_drawn_whatever_it_gives():
    @rule
    def any_of(xs):
        """A rule over ops that give numbers, places or truth."""
        found = (ops.maximum | ops.sign | ops.less | ops.is_inf | ops.arg_max)(*xs)
        yield found
        return found

    found = Counter(node.op.name for seed in range(DRAWS) for node in plan_instance(any_of.pattern, seeded(seed)).cases)
    assert len(found) == 5
    assert min(found.values()) >= 4


def test_a_zero_point_may_be_of_floats_of_8_bits_which_an_attribute_says_as_well():
    found = {
        form.case.types[2].element: dict(form.case.attributes)
        for form in forms(ops.quantize_linear, 3, Kind("float", 2))
    }
    assert {"i8", "u8", "i4", "f8e4m3fn"} <= found.keys()
    assert found["f8e4m3fn"] == {"element": "f8e4m3fn"}
    assert found["i8"] == {}


@rule
def greatest_of_copies(x, n):
    """Copies stand side by side, and are reduced."""
    yield ops.reduce_max(ops.reshape(ops.tile(x, repeats=n)), axes=(2,), keep_dims=False)
    return x


@rule
def part_of_repeated(x):
    """A part of what is repeated is added up."""
    yield ops.reduce_sum(ops.reshape(ops.slice(ops.expand(x))), keep_dims=False)
    return x


@pytest.mark.parametrize("member", [greatest_of_copies, part_of_repeated], ids=lambda member: member.name)
def test_what_stands_below_a_reduction_has_other_axes_than_it(member):
    plans = [plan_instance(member.pattern, seeded(turn)) for turn in range(DRAWS)]
    ranks = {len(kind.shape) for plan in plans for kind in plan.types.values()}
    assert {2, 3, 4} <= ranks, "the reduction alone would need three axes"


@rule
def both_conditions(c, d, xs, t, e):
    """Graphs of a choice are any, as are the values that it takes."""
    yield ops.cond(ops.logical_and(c, d), *xs, then=t, otherwise=e)
    return ops.cond(ops.logical_and(d, c), *xs, then=t, otherwise=e)


def test_a_choice_by_what_is_computed_has_instances():
    plan = plan_instance(both_conditions.pattern, seeded(0))
    assert {node.op for node in plan.reading.nodes} == {ops.cond, ops.logical_and}
