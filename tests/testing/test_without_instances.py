"""Rules whose patterns nothing fits, and patterns that only a search in the right order finds instances of."""

import numpy as np
import pytest

from graphrewrite import Constant, Graph, Tensor, decline, op, rule
from graphrewrite.errors import RuleError
from graphrewrite.op import LIBRARY
from graphrewrite.testing import check
from graphrewrite.testing.generation.demand import Unfit, seeded
from graphrewrite.testing.generation.instance import has_instance, plan_instance

_UNREADABLE = frozenset({"output", "cond", "loop", "scan", "split"})
"""Ops that no pattern takes, or only with an attribute that says how many results they have."""


@rule
def contradicts_itself(x):
    yield op.linear(op.is_nan(x), x)
    return x


def test_a_rule_without_instances_never_fires_and_the_report_says_why():
    report = check(contradicts_itself, seed=0)
    assert report.verdict == "never fired"
    assert "no graph that contains linear(is_nan(x), x) was found" in str(report)


def pattern_with(name, position, inner):
    """The pattern of an op one of whose operands is computed."""
    chosen = LIBRARY[name]
    count = max(chosen.required, 1 + position)
    names = [f"x{i}" for i in range(count)]
    operands = ", ".join(f"op.{inner}({x})" if i == position else x for i, x in enumerate(names))
    scope = {"op": op}
    exec(f"def made({', '.join(names)}):\n    yield op.{name}({operands})\n    return x{position}", scope)
    return rule(scope["made"]).pattern


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(n for n, o in LIBRARY.items() if o.operands and o.level != "memory" and n not in _UNREADABLE)
)
def test_any_operand_of_any_op_can_be_computed(name):
    chosen = LIBRARY[name]
    for position in range(len(chosen.operands) if not chosen.variadic else 2):
        assert any(has_instance(pattern_with(name, position, inner)) for inner in ("neg", "identity")), position


def test_plans_of_conditions_on_floats_have_floats():
    @rule
    def masked(mask, x):
        yield op.where(mask, x, 0.0)
        return x

    found = set()
    for seed in range(40):
        try:
            plan = plan_instance(masked.pattern, seeded(seed))
        except Unfit:
            continue
        found.add(plan.cases[plan.reading.nodes[0]].types[1].element)
    assert {"f32", "bool"} <= found


def test_a_number_takes_the_elements_with_which_its_op_takes_it():
    graph = Graph("g")
    mask, x = graph.input("mask", Tensor("bool", ("N", 3))), graph.input("x", Tensor("f32", ("N", 3)))
    assert op.where(mask, x, 0.0).type == op.where(mask, 0, x).type == x.type

    @rule
    def other_way_round(mask, x, y):
        yield op.where(mask, x, op.neg(y))
        return op.where(mask, x, op.mul(y, -1)) if y.type.element == "f32" else decline("no float")

    assert check(other_way_round, seed=0).verdict == "preserved"


@rule
def joined_blocks(x, y):
    yield op.concat(op.depth_to_space(x), op.depth_to_space(y))
    return x


@rule
def product_of_given_shapes(x, y):
    yield op.matmul(op.reshape(x, shape=(4, 6)), op.reshape(y, shape=(6, 2)))
    return x


@rule
def squares_multiplied(x, y):
    yield op.matmul(op.matmul(op.transpose(x), x), op.matmul(y, op.transpose(y)))
    return x


@rule
def shared_keys(q, k, v):
    yield op.attention(q, op.reshape(op.expand(k)), op.reshape(op.expand(v)))
    return q


@rule
def stored_alike(x, y, s: Constant, z: Constant | None = None):
    yield op.concat(op.quantize_linear(x, s, z), op.quantize_linear(y, s, z))
    return x


@rule
def slice_in_place(region, x):
    yield op.into(region, x, of="slice")
    return x


@rule
def gradient_of_a_product(g, x, y):
    yield op.matmul.vjp(g, x, y)
    return g


@pytest.mark.parametrize(
    "member",
    [
        joined_blocks,
        product_of_given_shapes,
        squares_multiplied,
        shared_keys,
        stored_alike,
        slice_in_place,
        gradient_of_a_product,
    ],
    ids=lambda member: member.name,
)
def test_values_that_meet_are_made_to_fit(member):
    assert has_instance(member.pattern)


def test_operands_of_any_number_may_all_be_computed_alike():
    @rule
    def join_before_rectifying(x, others):
        joined = op.concat(op.relu(x), *others)
        yield joined
        if not others or any(other.op_name != "relu" for other in others):
            return decline("one of them is not rectified")
        return op.concat(x, *others, like=joined)

    assert check(join_before_rectifying, seed=0).verdict == "refuted"


_DOUBLE = Graph.parse("graph double\nx = input() : f32[N]\ny = add(x, x)\nz = output(y)")
_NEGATIVE = Graph.parse("graph negative\nx = input() : f32[N]\ny = neg(x)\nz = output(y)")
_SUM = Graph.parse("graph sum\ns = input() : f32[2]\nx = input() : f32[2]\ny = add(s, x)\nz = output(y)\nw = output(x)")


def test_graphs_in_attributes_say_what_the_op_takes():
    @rule
    def chosen(condition, x):
        yield op.cond(condition, op.neg(x), then=_DOUBLE, otherwise=_NEGATIVE)
        return op.where(condition, -x - x, x) if condition.type.shape == () else decline("one condition")

    @rule
    def summed(s, x):
        sums, copies = op.scan(s, x, body=_SUM)
        yield sums, copies
        return copies, sums

    assert check(chosen, seed=0).verdict == "preserved"
    assert check(summed, seed=0).verdict == "refuted"


def test_graphs_in_attributes_may_be_any():
    @rule
    def first_branch(condition, xs, t, e):
        yield op.cond(op.logical_not(condition), *xs, then=t, otherwise=e)
        return op.cond(condition, *xs, then=t, otherwise=e)

    assert check(first_branch, seed=0).verdict == "refuted"


def test_results_of_an_unknown_number_cannot_be_unpacked_and_the_error_names_the_rule():
    with pytest.raises(RuleError, match=r"rule 'both'.*how many results cond has depends on attributes"):

        @rule
        def both(condition, x, t, e):
            first, second = op.cond(condition, x, then=t, otherwise=e)
            yield first, second
            return second, first


def test_as_an_operand_an_op_with_graphs_has_one_result():
    @rule
    def drop_sign(condition, x, t, e):
        yield op.neg(op.cond(condition, x, then=t, otherwise=e))
        return x

    two = Graph.parse("graph two\nx = input() : f32[2]\nn = neg(x)\ny = output(n)\nz = output(x)")
    graph = Graph("g")
    condition, x = graph.input("c", Tensor("bool", ())), graph.input("x", Tensor("f32", (2,)))
    first, _ = op.cond(condition, x, then=two, otherwise=two)
    graph.output("y", op.neg(first))
    assert not drop_sign.find(graph)
    assert "has 2 results, and the pattern needs one" in str(drop_sign.explain(graph, at="neg_1"))


@rule
def ignored_nan(x, c: Constant):
    "The greater of a number and NaN is NaN."
    greater = op.maximum(x, c)
    yield greater
    is_nan = c.type.element in ("f32", "f64") and np.isnan(c.value).all()
    return x if is_nan and greater.type == x.type else decline("numbers")


def test_constants_have_values_that_are_no_numbers():
    assert any(check(ignored_nan, seed=seed).verdict == "refuted" for seed in range(4))
