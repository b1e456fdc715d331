"""What a rule's own code mentions and does decides where it is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import Constant, FixedPoint, Graph, decline, op, rule
from graphrewrite.testing import check
from graphrewrite.testing.generation.comparing import compared
from graphrewrite.testing.generation.demand import seeded
from graphrewrite.testing.generation.exploring import explored
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.leading import towards
from graphrewrite.testing.generation.richness import plainness, units
from graphrewrite.testing.generation.steering import mentioned_by, steer
from graphrewrite.testing.generation.varying import in_each_layout
from graphrewrite.testing.mentioning import values_mentioned
from tests.support.profiles import default_examples

LIMIT = 23
FORMAT = FixedPoint(True, 8, 3)


def _bound():
    return 0.375


@rule
def limit_at_a_number(x):
    """Wrong of one limit."""
    clip = op.clip(x, low=0)
    yield clip
    return op.relu(x) if clip.high == LIMIT else decline("another limit")


@rule
def size_off_by_one(x):
    """Wrong of one size."""
    total = op.reduce_sum(x)
    yield total
    if x.shape[-1] != 14:
        return decline("another size")
    return op.neg(total) if total.type == x.type else decline("another type")


@rule
def entry_of_a_constant(x, c: Constant):
    """Wrong of a number in a constant."""
    yield op.add(x, c)
    return op.sub(x, c) if (c.value == _bound()).any() else decline("not there")


@rule
def mode_of_an_op(x):
    """Wrong of a mode that few graphs have."""
    border = op.pad(x)
    yield op.neg(border)
    return op.relu(border) if border.mode == "reflect" else decline("another mode")


@rule
def way_among_others(x, y):
    """Wrong on one of the ways through it, on which it fires seldom, and never elsewhere."""
    yield op.sub(x, y)
    if x.type.element == "f64" and len(x.shape) == 3:
        return op.sub(y, x)
    return op.add(x, op.neg(y))


WRONG = (limit_at_a_number, entry_of_a_constant, mode_of_an_op, way_among_others, size_off_by_one)


@pytest.mark.slow(cases=4)  # the last one takes longer than the others together
@pytest.mark.parametrize("fault", WRONG, ids=lambda fault: fault.name)
def test_what_the_code_mentions_is_tried(fault):
    assert check(fault, seed=7).verdict == "refuted"  # of the last one, which needs two sizes, two seeds in ten miss it


def test_values_of_code_of_helpers_of_the_module_and_of_defaults():
    def decide(node, most=31, *, of=FORMAT):
        table = np.array([5, 7])
        return table.sum() < most and LIMIT + _bound() and node.kind in {"wide", "narrow"} and of

    found = values_mentioned(decide)
    assert {31, LIMIT, 0.375, 5, 7} <= set(found.numbers)
    assert {"wide", "narrow", FORMAT} <= set(found.others)
    assert {"kind"} <= found.attributes


def test_what_stands_above_the_yield_is_the_pattern_and_no_message_is_a_value():
    found = values_mentioned(limit_at_a_number.function)
    assert found.numbers == (LIMIT,)
    assert found.others == ()


@rule
def four_numbers_at_once(x):
    """Fires only where four attributes are what it says, of which it asks in one comparison."""
    once = op.rescale(x)
    twice = op.rescale(once)
    yield twice
    if (once.multiplier, twice.multiplier, once.shift, twice.shift) != (-7, 3, 4, 1):
        return decline("other numbers")
    return op.rescale(op.rescale(x, like=once), multiplier=5, like=twice)


@rule
def there_and_back(x):
    """Fires only where attributes and formats are in a certain relation."""
    wide = op.requantise(x)
    back = op.requantise(wide)
    yield back
    if not isinstance(wide.shift, int) or not isinstance(back.shift, int) or wide.shift >= 0:
        return decline("not to the left")
    if wide.shift + back.shift or back.element != x.type.element:
        return decline("not back")
    return op.requantise(x, shift=1, like=back)


@pytest.mark.parametrize("seldom", [four_numbers_at_once, there_and_back], ids=lambda seldom: seldom.name)
@pytest.mark.parametrize("seed", range(2))
def test_what_is_compared_with_attributes_is_met(seldom, seed):
    with default_examples():
        assert check(seldom, seed=seed).verdict == "refuted"


FOLLOWED = """
import gc
from graphrewrite import FixedPoint
from graphrewrite.testing.generation.exploring import telling_plans
from graphrewrite.types import tensor
from tests.testing.test_steering import there_and_back
telling_plans(there_and_back)
gc.collect()  # errors on the way hold what they were about
known = [kind for kind in list(tensor._TENSORS.values()) if isinstance(kind.element, FixedPoint)]
assert known
assert {type(kind.element) for kind in known} == {FixedPoint}
numbers = [n for kind in known for n in (kind.element.width, kind.element.fraction, *kind.shape)]
assert {type(n) for n in numbers if isinstance(n, int)} == {int}
"""


def test_values_that_are_followed_get_nowhere_else():
    """In a process of its own, in which no other test holds any."""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", FOLLOWED], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True)


@pytest.mark.parametrize(
    ("ask", "wanted"),
    [
        (lambda x, r: r.shift == 9, (("shift",), 9)),
        (lambda x, r: 12 - r.shift <= 4, (("shift",), 8)),
        (lambda x, r: r.shift - x.type.element.width > 1, (("type", "element", "width"), 0)),
        (lambda x, r: r.low is not None and r.low == r.high, (("low",), None)),
        (lambda x, r: r.element != x.type.element, (("element",), FixedPoint(True, 16, 2))),
        (lambda x, r: x.shape == (3, 5), (("type", 1), 5)),
        (lambda x, r: 2 * x.shape[0] + 1 == 15, (("type", 0), 7)),
    ],
)
def test_a_comparison_says_what_a_number_would_have_to_be(ask, wanted):
    @rule
    def asking(x):
        """Asks for something."""
        narrow = op.requantise(x)
        yield narrow
        return x if ask(x, narrow) else decline("no")

    graph = Graph.parse("""
graph g
x = input() : s16f2[3,4]
r = requantise(x, shift=2, element=s8f0, low=-3) : s8f0[3,4]
y = output(r)
""")
    found = compared(asking, graph, next(asking.matches_at(graph, "r")))
    assert wanted in [(each.path, each.wanted) for each in found]


@rule
def constant_far_below(x, c: Constant):
    """Wrong of constants that hardly any draw has."""
    total = op.add(x, c)
    yield total
    return op.sub(x, c) if total.type == x.type and (c.value <= -54321.5).all() else decline("not so low")


def test_entries_of_constants_are_what_they_are_compared_with():
    graph = Graph.parse("graph g\nx = input() : f32[3]\nc = constant(value=2.0) : f32[]\ns = add(x, c)\ny = output(s)")
    (found,) = [
        each
        for each in compared(constant_far_below, graph, next(constant_far_below.matches_at(graph, "s")))
        if each.path == ("value",)
    ]
    assert found.node == "c"
    assert found.wanted == -54321.5
    plans = [plan_instance(constant_far_below.pattern, seeded(seed)) for seed in range(9)]
    plan = next(each for each in plans if all(kind.element == "f32" for kind in each.types.values()))
    (leaf,) = [leaf for leaf in plan.types if leaf.constant]
    entries = {float(towards(plan, found, leaf, seeded(seed)).arrays[leaf].max()) for seed in range(9)}
    assert {-54321.5, -54322.5} <= entries


@rule
def turned_by_its_own(x):
    """Wrong of permutations that do not undo themselves, and silent on why it declines."""
    turned = op.transpose(x)
    yield turned
    return op.transpose(x, perm=np.argsort(turned.perm)) if len(turned.perm) == 3 else decline("")


@pytest.mark.parametrize("fault", [there_and_back, turned_by_its_own], ids=lambda fault: fault.name)
def test_what_is_found_beforehand_does_something(fault):
    found = explored(fault)
    assert found.seldom
    hidden = {id(plan): plainness(plan) + units(plan) for plan in found.plans}
    often = [hidden[id(plan)] for plan in found.plans]  # those that show more stand there several times
    assert sum(often) / len(often) < sum(hidden.values()) / len(hidden)
    assert check(fault, seed=3).verdict == "refuted"


@rule
def slice_of_a_slice(x):
    """Right where nothing is left for a step to leave out."""
    inner = op.slice(x)
    outer = op.slice(inner)
    yield outer
    return decline("never")


def test_of_a_slice_enough_is_left_for_slices_with_steps():
    plans = [plan_instance(slice_of_a_slice.pattern, seeded(seed)) for seed in range(100)]
    of_outer = [plan.cases[plan.reading.nodes[-1]] for plan in plans]
    steps = {
        (size, abs(step))
        for case in of_outer
        for axis, step in zip(case.attributes["axes"] or (), case.attributes["steps"] or (), strict=False)
        if isinstance(size := case.types[0].shape[axis], int)
    }
    assert any(size > step > 1 and size % step for size, step in steps)


@rule
def factor_of_channels(x, w: Constant, c: Constant):
    """Never fires."""
    yield op.mul(op.conv(x, w), c)
    return decline("never")


def test_axes_of_images_of_each_layout_hide_one_another():
    plans = [plan_instance(factor_of_channels.pattern, seeded(seed)) for seed in range(8)]
    found = [each for plan in plans for each in in_each_layout(plan, seeded(0))]
    images = [plan.cases[plan.reading.nodes[0]].results[0] for plan in found]
    hiding = {image.layout for image in images if len({*image.shape[1:]}) == 1 < image.shape[1]}
    assert {"NCW", "NWC", "NCHW", "NHWC"} <= hiding


@rule
def sum_of_constants(x, a: Constant, b: Constant):
    """Right where it does not wrap."""
    yield op.less(op.sub(x, a), b)
    return op.less(x, op.add(a, b))


def test_constants_are_large_together():
    plan = next(p for p in map(seeded_plan, range(99)) if {t.element for t in p.types.values()} == {"i64"})
    drawn = [steer(plan, seeded(seed), mentioned_by(sum_of_constants)).arrays for seed in range(150)]
    assert any(len(found) == 2 and all((abs(array) > 1 << 30).all() for array in found.values()) for found in drawn)


def seeded_plan(seed):
    return plan_instance(sum_of_constants.pattern, seeded(seed))


@pytest.mark.parametrize("element", ["u8", "u32", "f16", "bool"])
def test_a_condition_may_ask_for_an_element_type_that_few_graphs_have(element: str):
    def twice(x):
        yield op.identity(op.identity(x))
        return op.identity(x)

    twice.__annotations__["x"] = rule.where(lambda x: str(x.type.element) == element, "of that type")
    plan = plan_instance(rule(twice).pattern, seeded(0))
    assert {str(kind.element) for kind in plan.types.values()} == {element}


def test_conditions_mention_values_as_code_does():
    @rule
    def short(x: rule.where(lambda x: x.type.element in ("i16", "u16"), "short"), a: rule.where(lambda a: a > 12, "")):
        yield op.softmax(x, axis=a)
        return x

    assert {"i16", "u16"} <= set(mentioned_by(short).elements)
    assert 12 in mentioned_by(short).numbers


@rule
def scaled(x, c: Constant):
    """Right, and never without effect."""
    yield op.mul(x, c)
    return op.mul(c, x)


def test_one_entry_of_a_constant_changes_alone():
    plans = [
        steer(plan_instance(scaled.pattern, seeded(seed)), seeded(seed), mentioned_by(scaled)) for seed in range(99)
    ]
    plan = next(plan for plan in plans if any(array.size > 2 for array in plan.arrays.values()))
    (before,) = plan.arrays.values()
    found = [next(iter(steer(plan, seeded(seed), mentioned_by(scaled)).arrays.values()), before) for seed in range(400)]
    counts = [int((array != before).sum()) for array in found if array.shape == before.shape]
    assert counts.count(1) > 5


@rule
def comparisons_forgotten(x):
    """Wrong: what is compared with a threshold need not be less."""
    trees = op.tree_ensemble(x)
    yield trees
    return op.tree_ensemble(x, like=trees, comparisons=None) if trees.comparisons is not None else decline("none")


def test_attributes_that_are_arrays_change_like_others():
    assert check(comparisons_forgotten, seed=0).verdict == "refuted"
