"""Constants near to those at which a rule fires: they fit their types, and are reached in all ways."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from graphrewrite import Constant, FixedPoint, Graph, Tensor, decline, op, rule
from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.facts import finite, never_zero, nonnegative, nonpositive, whole
from graphrewrite.rewriting.match import MatchedValue
from graphrewrite.rewriting.pattern import Where
from graphrewrite.testing import check
from graphrewrite.testing.generation.builder import Builder
from graphrewrite.testing.generation.constant_changes import change_constant, open_constants, pinned
from graphrewrite.testing.generation.demand import Unfit, seeded
from graphrewrite.testing.generation.indices import limits_of_operand
from graphrewrite.testing.generation.instance import plan_instance
from graphrewrite.testing.generation.known_values import known_source
from graphrewrite.testing.mentioning import values_mentioned
from graphrewrite.types import out_of_range


@rule
def added(x, c: Constant):
    yield op.add(x, c)
    return op.add(c, x)


def plan_of(array):
    """A plan of the rule whose constant has some entries."""
    kind = Tensor({"f": "f32", "i": "i8", "u": "u8"}[array.dtype.kind], array.shape)
    for turn in range(9999):
        plan = plan_instance(added.pattern, seeded(turn))
        (leaf,) = open_constants(plan)
        if plan.types[leaf] == kind:
            return replace(plan, arrays={leaf: array}), leaf
    raise AssertionError(kind)


def changes(array, count=400, **options):
    plan, leaf = plan_of(array)
    for turn in range(count):
        with suppress(Unfit):
            changed = change_constant(plan, seeded(turn), **options)
            assert changed.arrays[leaf].shape == changed.types[leaf].shape
            assert out_of_range(changed.types[leaf].element, changed.arrays[leaf]) is None
            yield changed.arrays[leaf]


def test_integers_are_changed_one_by_one_exchanged_and_go_on():
    found = {tuple(array.tolist()) for array in changes(np.array([0, 1], np.int8))}
    assert {(0, 2), (1, 0), (0, 0), (1, 1), (0, 1, 2), (0,), (0, 1, 1)} <= found
    assert (0, 1) not in found


@pytest.mark.parametrize("entries", [[127, -128], [127, 127]])
def test_at_the_ends_of_a_type_they_stay_within_it(entries):
    assert any(array.size == 2 for array in changes(np.array(entries, np.int8)))


def test_floats_reach_the_ends_of_their_type_unless_they_are_to_be_moderate():
    array = np.array([0.5, 0.25], np.float32)
    with np.errstate(all="ignore"):
        sizes = np.concatenate([np.abs(each[each != 0]) for each in changes(array)])
        moderate = np.concatenate([np.abs(each[each != 0]) for each in changes(array, moderate=True)])
    assert np.isfinite(sizes).all()
    assert sizes.min() < 2.0**-140 < 2.0**120 < sizes.max()
    assert moderate.min() >= 2.0**-5
    assert moderate.max() <= 4


def test_the_entries_of_a_graph_are_those_of_the_plan_from_then_on():
    for turn in range(40):
        plan = plan_instance(added.pattern, seeded(turn))
        builder = Builder(seeded(turn), ())
        graph = builder.finish(builder.build(plan))
        (leaf,) = open_constants(plan)
        held = pinned(plan, builder.built).arrays[leaf]
        assert any(data["type"] == "constant" and data["value"] is held for _, data in graph.nodes(data=True))


@pytest.mark.parametrize("element", ["i8", "i32", "f32", "f64", FixedPoint(True, 8, 2)], ids=str)
def test_what_is_known_of_a_value_meets_the_condition(element):
    kind, met = Tensor(element, ("N", 2)), 0
    for condition in (nonnegative, nonpositive, never_zero, finite, whole):
        for turn in range(12):
            source = known_source(kind, Where(condition, condition.reason), (4,), seeded(turn))
            if source is None:
                continue
            graph = Graph("g")
            value = graph.input("x", source.kind)
            for name, attributes in source.steps:
                value = graph.add(LIBRARY[name], [value], attributes)
            assert value.type == kind
            assert condition(MatchedValue(graph, value.node))
            met += 1
    assert met >= 12


def test_only_code_that_asks_what_is_known_gets_values_of_which_something_is():
    assert values_mentioned(lambda x: x.fact().high <= 300).limits == (300,)
    assert values_mentioned(nonnegative).limits == ()
    assert values_mentioned(lambda x: len(x.shape) == 4).limits is None


def test_a_rule_that_asks_for_a_fact_fires_on_more_than_constants():
    @rule
    def drop_relu(x):
        yield op.relu(x)
        return x if nonnegative(x) else decline("it may be negative")

    evidence = check(drop_relu, seed=0).evidence["drop_relu"]
    assert sum(evidence.constants.get("x", {}).values()) < evidence.compared


def test_permutations_stay_such_and_become_ones_that_do_not_undo_themselves():
    found = [array for array in changes(np.array([1, 0], np.int8)) if sorted(array) == [*range(array.size)]]
    assert {array.size for array in found} >= {2, 3, 4, 5}
    assert any((array[array] != np.arange(array.size)).any() for array in found)
    backwards = [array for array in found if array.size > 3 and array[0] == array.size - 1 and array[-1] == 0]
    assert any((np.diff(array) != -1).any() for array in backwards)


@rule
def gathers_composed_the_wrong_way(x, i: Constant, j: Constant):
    """Wrong: of two permutations the first one is not looked up by the second one."""
    first = op.gather(x, i)
    second = op.gather(first, j)
    yield second
    if first.axis != second.axis or i.value.ndim != 1 or second.type != x.type:
        return decline("other axes, or something is left out")
    if any(sorted(each.value.tolist()) != [*range(i.value.size)] for each in (i, j)):
        return decline("no permutations")
    return op.gather(x, j.value[i.value], axis=first.axis)


def test_two_permutations_are_met_that_do_not_commute():
    assert check(gathers_composed_the_wrong_way, seed=0).verdict == "refuted"


@rule
def picked(x, i):
    yield op.gather_nd(x, i)
    return op.gather_nd(x, i)


def test_indices_that_need_not_be_constants_lie_within_their_axes_too():
    kinds = set()
    for turn in range(60):
        builder = Builder(seeded(turn), ())
        with suppress(Unfit):
            graph = builder.finish(builder.build(plan_instance(picked.pattern, seeded(turn))))
            (node,) = (node for node in graph if graph.nodes[node]["type"] == "gather_nd")
            _, indices = graph.operands(node)
            data, attributes = graph.nodes[indices.node], graph.attributes(node)
            types = [graph.result_type(*operand) for operand in graph.operands(node)]
            limits = limits_of_operand(op.gather_nd, 1, types, attributes)
            assert limits is not None
            kinds.add(data["type"])
            if data["type"] == "constant" and data["value"].size and limits[1] >= 0:
                assert limits[0] <= data["value"].min() <= data["value"].max() <= limits[1]
    assert kinds == {"constant", "input"}


@rule
def powers_multiplied(x, a: Constant, b: Constant):
    """Wrong: of squares, roots are those of absolute values."""
    yield op.pow(op.pow(x, a), b)
    if a.shape or b.shape or x.type.element != "f32" or a.type.element != "f32" or b.type.element != "f32":
        return decline("no single numbers", at=a)
    return op.pow(x, a.value * b.value)


def test_exponents_are_those_that_code_asks_for():
    assert check(powers_multiplied, seed=0).verdict == "refuted"
