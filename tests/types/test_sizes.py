"""Symbolic sizes: what an expression means is kept by its normal form, laws of the form, and limits."""

from __future__ import annotations

import contextlib
import copy
import math
import operator
import pickle
import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import (
    Size,
    as_size,
    evaluate_size,
    is_at_most,
    product,
    size_max,
    size_min,
    substitute,
    symbols,
)

NAMES = ("H", "K", "N", "seq")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
NUMBERS = st.integers(-9, 12)
LEAVES = st.one_of(st.sampled_from(NAMES), NUMBERS.map(lambda n: f"({n})"))
BINDINGS = st.fixed_dictionaries({name: st.integers(0, 40) for name in NAMES})


def _compound(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sums = st.builds("({} {} {})".format, parts, st.sampled_from("+-*"), parts)
    quotients = st.builds("({} {} {})".format, parts, st.sampled_from(["//", "%"]), st.integers(1, 8))
    by_symbols = st.builds("({} // {})".format, parts, parts)
    extremes = st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts)
    return st.one_of(sums, quotients, sums, extremes, by_symbols)


EXPRESSIONS = st.recursive(LEAVES, _compound, max_leaves=7)
PLAIN = st.recursive(
    LEAVES, lambda parts: st.builds("({} {} {})".format, parts, st.sampled_from("+-*"), parts), max_leaves=5
)


def brute(text: str, values: dict[str, int]) -> int | None:
    """Python's own result; None where it is none."""
    try:
        return eval(text, {"__builtins__": {}, "min": min, "max": max}, dict(values))
    except ZeroDivisionError:
        return None


def size_of(text: str) -> int | Size:
    """The normal form, for expressions that are not too large."""
    try:
        return as_size(text)
    except TypeMismatchError as error:
        assume("divided by 0" in str(error) or "at most" in str(error) or "takes 1 to" in str(error))
        assume(False)
        raise


@given(EXPRESSIONS, st.lists(BINDINGS, min_size=3, max_size=3))
def test_a_normal_form_has_the_values_of_its_expression(text, bindings):
    size = size_of(text)
    for values in bindings:
        wanted = brute(text, values)
        if wanted is not None:
            assert evaluate_size(size, values) == wanted
            assert brute(str(size), values) == wanted


@given(EXPRESSIONS)
def test_a_normal_form_is_that_of_its_text(text):
    size = size_of(text)
    assert as_size(str(size)) == size
    assert type(size) is int or all(name in NAMES for name in symbols(size))


@given(EXPRESSIONS, EXPRESSIONS, st.sampled_from(sorted(OPERATORS)))
def test_arithmetic_of_sizes_is_that_of_their_texts(a, b, sign):
    first, second = size_of(a), size_of(b)
    assume(isinstance(first, Size) or isinstance(second, Size))
    together = size_of(f"({a}) {sign} ({b})")
    assert OPERATORS[sign](first, second) == together


@given(EXPRESSIONS, EXPRESSIONS, BINDINGS)
def test_an_expression_in_place_of_a_name_means_what_it_says(text, other, values):
    size, inner = size_of(text), size_of(other)
    together = size_of(text.replace("N", f"({other})"))
    replaced = substitute(size, {"N": inner})
    number = brute(other, values)
    wanted = None if number is None else brute(text, {**values, "N": number})
    if wanted is not None and number >= 0:
        assert evaluate_size(replaced, values) == wanted
        assert evaluate_size(together, values) == wanted


@given(EXPRESSIONS, EXPRESSIONS, st.lists(BINDINGS, min_size=5, max_size=5))
def test_what_is_certain_of_an_order_holds(a, b, bindings):
    certain = is_at_most(size_of(a), size_of(b))
    for values in bindings:
        one, other = brute(a, values), brute(b, values)
        if certain is not None and one is not None and other is not None:
            assert (one <= other) == certain


@given(PLAIN, PLAIN, st.lists(BINDINGS, min_size=8, max_size=8))
def test_sums_of_products_are_equal_exactly_if_their_values_are(a, b, bindings):
    if size_of(a) != size_of(b):
        assert any(brute(a, values) != brute(b, values) for values in [*bindings, *_GENERIC])


_GENERIC = [dict(zip(NAMES, numbers, strict=True)) for numbers in [(101, 1009, 10007, 100003), (103, 1013, 10009, 7)]]


@given(EXPRESSIONS, PLAIN, st.integers(1, 9), st.integers(1, 9))
def test_laws_of_division(a, b, m, n):
    x, y = size_of(a), size_of(b)
    assume(isinstance(x, Size))
    assert (m * x) // m == x
    assert (x + m * y) // m == x // m + y
    assert (n * x) // (n * m) == x // m
    assert x % m == x - x // m * m
    assert (x * m) % m == 0


@given(PLAIN, st.integers(1, 9), st.integers(1, 9), NUMBERS)
def test_quotients_of_quotients_are_one(a, m, n, shift):
    x = size_of(a)
    assume(isinstance(x, Size))
    assert (x // m + shift) // n == (x + m * shift) // (m * n)
    assert -(-x // m) == (x + m - 1) // m
    assert x // 2 + (x + 1) // 2 == x


@given(EXPRESSIONS, EXPRESSIONS, st.integers(1, 5))
def test_laws_of_extremes(a, b, m):
    x, y = size_of(a), size_of(b)
    for least in (size_min, size_max):
        try:
            both = least(x, y)
            assert both == least(y, x)
            assert least(x, x) == x
            assert least(m * x, m * y) == m * both
            assert least(x + 3, y + 3) == both + 3
        except TypeMismatchError:  # too large
            assume(False)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("seq*2+1", "2*seq + 1"),
        ("heads*N", "N*heads"),
        ("5-N", "5 - N"),
        ("(H-1)//2 + 1", "(H + 1)//2"),
        ("((H+1)//2 + 1)//2", "(H + 3)//4"),
        ("-(-H//3)", "(H + 2)//3"),
        ("2*H//3", "(2*H)//3"),
        ("-(H//2)", "-(H//2)"),
        ("H - H//2", "(H + 1)//2"),
        ("N%4", "N - 4*(N//4)"),
        ("N*heads*64 // (N*heads)", 64),
        ("(N*M + K)//N", "K//N + M"),
        ("min(N, N+1)", "N"),
        ("min(seq, 512)", "min(512, seq)"),
        ("max(0, N - 3) + 3", "max(3, N)"),
        ("min(min(a, b) + 1, c)", "min(a + 1, b + 1, c)"),
        ("min(N, max(N, M))", "N"),
        ("min(3, N)//5", 0),
        ("?2 + ?1", "?1 + ?2"),
        ("min", "min"),
        ("007", 7),
    ],
)
def test_normal_forms(written, normal):
    assert as_size(written) == normal
    assert type(as_size(written)) is (Size if isinstance(normal, str) else int)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("2*(seq", r"a '\)' is missing at its end"),
        ("", "a size is missing at its end"),
        ("2 3", "'3' is not expected at character 3"),
        ("a + b$", "'b\\$' is no name at character 5"),
        ("N**2", "is no name at character 3"),
        ("1.5", "'1.5' is no name"),
        ("N//(M - M)", "divided by 0"),
        ("?x1", "no name"),
        ("?0", "no name"),
        ("min(N, )", "no name"),
        ("9" * 20, "more than 19 digits"),
        ("*".join(["N"] * 40), "at most 64 terms of 16 factors"),
        ("*".join(["(a + b + c + d + e)"] * 100), "at most 64 terms"),
        ("(" * 100 + "N" + ")" * 100, "parentheses are more than 50 deep"),
        ("*".join(["9" * 18] * 3), "below 2\\*\\*63"),
        ("min(" + ", ".join("abcdefghijk") + ")", "1 to 8 sizes"),
        ("N + " * 1000 + "N", "at most 2000 characters"),
    ],
)
def test_what_is_no_size_is_refused(wrong, message):
    with pytest.raises(TypeMismatchError, match=message):
        as_size(wrong)


def test_hostile_sizes_take_no_time():
    start = time.process_time()
    for part in ("min(a,", "max(min(a, b),", "(a - b)//(", "(a + c*b)//3*(b - "):
        for deep in (2, 5, 9, 45):
            for end in ("b", "c//2", "5"):
                with contextlib.suppress(TypeMismatchError):
                    as_size(part * deep + end + ")" * deep)
    assert time.process_time() - start < 10


def test_sizes_calculate_with_numbers_of_numpy_and_are_no_text():
    n = Size("N")
    assert np.int64(3) * n == "3*N"
    assert n * np.int64(3) == "3*N"
    assert math.prod((2, n, 3)) == "6*N"
    assert sum((n, n, 1)) == "2*N + 1"
    assert [repr(one) for one in (n - n, n // n, n * 0, n % 1)] == ["0", "1", "0", "0"]
    assert n == "N"
    assert hash(n) == hash("N")
    assert "axis " + n == "axis N"
    assert product(("N", 2, "M")) == "2*M*N"
    for unordered in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeMismatchError, match="ask is_at_most"):
            unordered(n, 3)
    with pytest.raises(TypeMismatchError, match="is the number 0"):
        Size("N - N")


@given(EXPRESSIONS)
def test_sizes_are_copied_and_pickled(text):
    size = size_of(text)
    for other in (copy.copy(size), copy.deepcopy(size), pickle.loads(pickle.dumps(size))):
        assert other == size
        assert type(other) is type(size)
