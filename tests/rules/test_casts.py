"""Casts in a row."""

from __future__ import annotations

import pytest

from graphrewrite import op
from graphrewrite.rules import RULES
from tests.support.rewritten import left


@pytest.mark.parametrize(
    ("kind", "elements", "wanted"),
    [
        ("f16[N]", ("f32", "f64"), ["cast"]),
        ("f16[N]", ("f32", "f16"), []),
        ("f32[N]", ("f64", "f16"), ["cast"]),
        ("f32[N]", ("f16", "f32"), ["cast", "cast"]),
        ("i8[N]", ("f32", "i32"), ["cast"]),
        ("i32[N]", ("f32", "i32"), ["cast", "cast"]),
        ("i64[N]", ("i32", "i8"), ["cast"]),
        ("i64[N]", ("i8", "i32"), ["cast", "cast"]),
        ("u8[N]", ("i16", "f32"), ["cast"]),
        ("i16[N]", ("f32", "i8"), ["cast", "cast"]),
        ("bool[N]", ("f32", "bool"), []),
        ("f32[N]", ("i32", "f32"), ["cast", "cast"]),
        ("i8[N]", ("i32", "f64"), ["cast"]),
        ("f8e4m3fn[N]", ("f8e4m3fn", "f32"), ["cast"]),
        ("f8e5m2[N]", ("f8e5m2", "f32"), ["cast", "cast"]),  # the first one limits infinities
    ],
)
def test_one_of_two_casts_is_enough(kind, elements, wanted):
    first, second = elements
    assert left(lambda x: op.cast(op.cast(x, element=first), element=second), [kind], RULES) == wanted


def test_a_value_known_to_be_small_may_go_through_a_smaller_type():
    body = lambda x: op.cast(op.cast(op.clip(op.round(x), low=1.0, high=9.0), element="i32"), element="u8")  # noqa: E731
    assert left(body, ["f32[N]"], RULES).count("cast") == 2  # it may be NaN
