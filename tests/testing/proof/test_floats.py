"""Floats are IEEE's: what moves or turns bits is proved for all of them, what rounds where z3 decides it."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Constant, Graph, decline, op, rule
from graphrewrite.testing import prove
from graphrewrite.testing.proof.examination import distinct
from graphrewrite.testing.proof.floating import FLOATING, as_float, bits_of_float
from graphrewrite.testing.proof.number import Number
from tests.support.profiles import some_seeds

z3 = pytest.importorskip("z3")


@rule
def rectified_twice_negated(x):
    yield op.relu(op.neg(op.neg(x)))
    return op.relu(x)


@rule
def absolute_of_a_negative(x):
    yield op.abs(op.neg(x))
    return op.abs(x)


@rule
def sum_turned(x, y):
    yield op.add(op.neg(x), y)
    return op.add(y, op.neg(x)) if x.type == y.type else decline("a broadcast")


@rule
def factor_of_one(x, c: Constant):
    product = op.mul(x, c)
    yield product
    return x if (c.value == 1).all() and product.type == x.type else decline("another factor")


@pytest.mark.parametrize(
    "right",
    [
        rectified_twice_negated,
        absolute_of_a_negative,
        sum_turned,
        pytest.param(factor_of_one, marks=pytest.mark.slow(cases=0)),  # z3 multiplies doubles
    ],
)
def test_a_right_rule_of_floats_is_proved(right):
    proof = prove(right, elements={"float"}, instances=6)
    assert proof, str(proof)


@pytest.mark.parametrize("element", ["bf16", "f8e4m3fn", "f8e5m2", "f4e2m1"])
def test_floats_that_are_only_chosen_are_not_rounded(element):
    graph = Graph.parse(f"graph g\nx = input() : {element}[N]\na = neg(x)\nb = neg(a)\nc = relu(b)\ny = output(c)")
    assert prove(rectified_twice_negated, [graph]).verdict == "proved"


@rule
def zero_added(x, c: Constant):
    """Minus zero and zero is zero."""
    total = op.add(x, c)
    yield total
    return x if (c.value == 0).all() and total.type == x.type else decline("another number")


@rule
def difference_turned(x, y):
    """Of equal numbers both differences are 0.0."""
    yield op.neg(op.sub(x, y))
    return op.sub(y, x)


@rule
def sums_regrouped(x, y, z):
    """Sums round."""
    yield op.add(op.add(x, y), z)
    return op.add(x, op.add(y, z)) if x.type == y.type == z.type else decline("a broadcast")


@pytest.mark.slow(cases=2)
@pytest.mark.parametrize("wrong", [zero_added, difference_turned, sums_regrouped])
def test_a_wrong_rule_of_floats_is_refuted(wrong):
    proof = prove(wrong, elements={"float"}, instances=12, effort=1_000_000)
    assert proof.verdict == "refuted", str(proof)
    assert proof.counterexample is not None


SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 6e-8, 65504.0, 0.1)


@pytest.mark.parametrize("seed", some_seeds())
def test_what_is_computed_is_what_numpy_computes(seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(np.float16)
    for ufunc, meaning in FLOATING.items():
        x, y = (np.asarray(rng.choice(SPECIAL), kind) for _ in range(2))
        operands = (x, y)[: ufunc.nin]
        numbers = [Number(0, 0, z3.BitVecVal(int(v.view("u2")), 16), opaque="f16") for v in operands]
        if ufunc is np.signbit and np.isnan(x):
            continue
        with np.errstate(all="ignore"):
            wanted = ufunc(*operands)
        found = meaning(*numbers, kind)
        if wanted.dtype == bool:
            term = found.low if found.is_known else z3.simplify(found.term).as_signed_long()
            assert bool(term) == wanted, ufunc
        elif np.isnan(wanted):
            assert z3.is_true(z3.simplify(z3.fpIsNaN(as_float(found, kind)))), ufunc
        elif wanted or ufunc.nin == 1:
            bits = z3.simplify(bits_of_float(found, kind)).as_long()
            assert bits == int(wanted.view("u2")), (ufunc, operands)


def test_zeros_of_both_signs_are_rectified_the_same_way_twice():
    @rule
    def relu_of_relu(x):
        yield op.relu(op.relu(x))
        return op.relu(x)

    proof = prove(relu_of_relu, elements={"float"}, instances=6)
    assert proof, str(proof)


@pytest.mark.parametrize("extreme", [np.maximum, np.minimum])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_takes_the_same_zero_everywhere(extreme, dtype):
    """Proofs rest on it: of two zeros always the first one, or the second one, or the one of one sign."""
    for a, b in ((-0.0, 0.0), (0.0, -0.0)):
        taken = {
            bool(sign)
            for size in (*range(1, 20), 31, 33, 64, 65, 100, 257)
            for step in (1, 2, 3)
            for other in (dtype(b), np.full(size * step, b, dtype)[::step])
            for sign in np.signbit(extreme(np.full(size * step, a, dtype)[::step], other)).reshape(-1)
        }
        assert len(taken) == 1


def test_of_equal_questions_about_different_entries_one_is_asked():
    limit, other, first, second = z3.BitVecs("clip.low other x[0] x[1]", 8)
    asked = [first < limit, second < limit, second < other]
    assert distinct(asked, (), {"clip.low", "other"}) == [asked[0], asked[2]]
    assert distinct(asked, [first > 0], {"clip.low", "other"}) == asked
    assert distinct(asked, [first > 0, second > 0], {"clip.low", "other"}) == [asked[0], asked[2]]
    assert distinct(asked, [first > 0, second > 0, first < second], {"clip.low", "other"}) == asked
    assert distinct([*asked, True]) == [True]


def test_of_entries_that_are_bound_to_others_each_is_asked():
    """One question stands for another only if all that holds of the first may be said of the second."""
    first, second, third = z3.BitVecs("x[0] x[1] x[2]", 8)
    asked = [first < second, second < third]
    assert distinct(asked) == [asked[0]]
    assert distinct(asked, [first > 0, second > 0, third > 0]) == asked
