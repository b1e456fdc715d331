"""Symbolic entries of arrays compute what numbers in their place would."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphrewrite.lowering.exchange.symbols import Symbol, UndecidedError, greater, lesser, settled
from graphrewrite.types import Size, evaluate_size

LEAVES = st.sampled_from([("N", "N"), ("M", "M"), *[(n, n) for n in (1, 2, 3, 8, 0.5, 2.0, 0.25)]])
BINARY = {
    "add": (operator.add, operator.add),
    "sub": (operator.sub, operator.sub),
    "mul": (operator.mul, operator.mul),
    "div": (operator.truediv, lambda a, b: Fraction(a) / Fraction(b)),
    "mod": (operator.mod, operator.mod),
    "min": (lesser, min),
    "max": (greater, max),
}
UNARY = {"floor": floor, "ceil": ceil, "neg": operator.neg}
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(sorted(BINARY)), parts, parts), st.tuples(st.sampled_from(sorted(UNARY)), parts)
    ),
    max_leaves=6,
)


def value(tree, leaf, which):
    """The value of a tree, with symbols or with numbers."""
    if len(tree) == 3:
        return BINARY[tree[0]][which](value(tree[1], leaf, which), value(tree[2], leaf, which))
    if tree[0] in UNARY:
        return UNARY[tree[0]](value(tree[1], leaf, which))
    return leaf(tree[0])


COMPARISONS = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq)


@settings(max_examples=100)  # each takes no time
@given(TREES, st.fixed_dictionaries({"N": st.integers(1, 30), "M": st.integers(1, 30)}))
def test_they_compute_as_numbers_do(tree, bound):
    try:
        found = value(tree, lambda x: Symbol(Size(x)) if isinstance(x, str) else x, 0)
    except (ArithmeticError, ValueError):  # it says that it does not know
        return
    try:
        wanted = value(tree, lambda x: Fraction(bound.get(x, x)), 1)
    except ZeroDivisionError:
        assume(False)
    if isinstance(found, Symbol):
        found = Fraction(evaluate_size(found.size, bound), found.divisor)
    assert found == pytest.approx(float(wanted)) if isinstance(found, float) else found == wanted


@settings(max_examples=50)
@given(TREES, TREES, st.lists(st.fixed_dictionaries({"N": st.integers(1, 9), "M": st.integers(1, 9)}), min_size=3))
def test_what_they_decide_holds_for_all_sizes(one, other, bounds):
    try:
        a, b = (value(t, lambda x: Symbol(Size(x)) if isinstance(x, str) else x, 0) for t in (one, other))
        decided = {compare: compare(a, b) for compare in COMPARISONS}
    except (ArithmeticError, ValueError):
        return
    for bound in bounds:
        try:
            c, d = (value(t, lambda x, bound=bound: Fraction(bound.get(x, x)), 1) for t in (one, other))
        except ZeroDivisionError:
            continue
        if not isinstance(a, float) and not isinstance(b, float):
            assert {compare: compare(c, d) for compare in COMPARISONS} == decided


def test_most_are_known():
    n = Symbol(Size("N"))
    assert str(floor(n * 0.5) * 2) == "2*(N//2)"
    assert str((n * 6) / 3) == "2*N"
    assert n - n == 0
    assert str(5 - n) == "5 - N"
    assert [7 % Symbol(Size("N") * 0 + 4), (n * 4 + 3) % 4, (n * n) / n == n, (4 * n) % n] == [3, 3, True, 0]
    assert [n >= 0, n + 1 <= n, n < n, n >= n, 2 * n == n * 2] == [True, False, False, True, True]
    assert (n == -1) is False
    assert (n + 1 > n) is True
    with pytest.raises(UndecidedError, match="whether N is 1"):
        _ = n == 1
    with pytest.raises(UndecidedError, match="rounded number"):
        _ = n * (1 / 3)
    with pytest.raises(ValueError, match=r"\(N\)/2 is no whole number"):
        _ = (n / 2).whole


def test_arrays_of_integers_hold_whole_numbers():
    array = np.array([Symbol(Size("N"), 2), 2.5, 3], object)
    assert list(map(str, settled(array, np.dtype(np.int64)))) == ["N//2", "2", "3"]
    assert settled(array[1:], np.dtype(np.int64)).dtype == np.int64
