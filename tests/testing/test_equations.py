"""Equations of sums of products that generated graphs have: of many kinds, each of which rules get wrong."""

from __future__ import annotations

from contextlib import suppress

from graphrewrite import decline, op, rule
from graphrewrite.testing import check
from graphrewrite.testing.generation.demand import Unfit, seeded
from graphrewrite.testing.generation.instance import plan_instance


@rule
def summed_alone(x, y):
    """Wrong: a letter that one operand alone has is summed as well."""
    product = op.einsum(x, y)
    yield product
    left, _, right = product.equation.partition("->")
    one, _, other = left.partition(",")
    alone = [letter for letter in one if letter not in other + right]
    if not alone or "." in left or len(set(one)) < len(one):
        return decline("none is", at=product)
    first = op.slice(x, starts=(0,), ends=(1,), axes=(one.index(alone[0]),))
    return op.einsum(first, y, equation=product.equation)


@rule
def of_one(x):
    """Wrong: any sum of one operand is that operand."""
    summed = op.einsum(x)
    yield summed
    return x if summed.type == x.type else decline("another type", at=summed)


def equations(subject):
    found = set()
    for turn in range(200):
        with suppress(Unfit):
            plan = plan_instance(subject.pattern, seeded(turn))
            found |= {tuple(case.attributes["equation"].split("->")) for case in plan.cases.values()}
    return {each for each in found if len(each) == 2 and "." not in each[0]}


def test_letters_of_one_operand_are_summed_repeated_and_in_another_order():
    found = equations(of_one)
    assert len(found) > 20
    assert any(len(right) < len(left) and [*right] != sorted(right) for left, right in found)
    assert any(len(set(left)) < len(left) for left, _ in found)


def test_letters_of_two_operands_are_those_of_one_alone_too():
    pairs = [(*left.split(","), right) for left, right in equations(summed_alone) if "," in left]
    assert any(set(one) - set(other) - set(right) for one, other, right in pairs)
    assert any(set(other) - set(one) - set(right) for one, other, right in pairs)
    assert any(set(one) & set(other) & set(right) for one, other, right in pairs)


def test_rules_that_get_them_wrong_are_refuted():
    assert [check(each, seed=0).verdict for each in (summed_alone, of_one)] == ["refuted"] * 2
