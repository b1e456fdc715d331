"""The integer level beside sums of products, against Python's own integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.errors import EvaluationError, TypeMismatchError

formats = st.builds(FixedPoint, st.booleans(), st.integers(1, 12), st.just(0))
ROUNDINGS = {
    "half_even": round,
    "half_up": lambda exact: math.floor(exact + Fraction(1, 2)),
    "down": math.floor,
    "to_zero": math.trunc,
}


def numbers(kind: FixedPoint) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(kind.minimum, kind.maximum), min_size=1, max_size=6)


@given(st.data(), formats, formats)
def test_results_grow_as_far_as_they_have_to(data, one, other):
    shifts = (data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3)))
    graph = Graph("g")
    x, y = graph.input("x", Tensor(one, ("N", 1))), graph.input("y", Tensor(other, ("M",)))
    graph.output("d", op.integer_sub(x, y, shifts=shifts))
    graph.output("p", op.integer_mul(x, y))
    a, b = data.draw(numbers(one)), data.draw(numbers(other))
    found = evaluate(graph, {"x": [[v] for v in a], "y": b})
    assert found["d"].tolist() == [[(v << shifts[0]) - (w << shifts[1]) for w in b] for v in a]
    assert found["p"].tolist() == [[v * w for w in b] for v in a]
    for name, kind in (("d", "integer_sub_1"), ("p", "integer_mul_1")):
        ends = evaluate(graph, {"x": [[one.minimum], [one.maximum]], "y": [other.minimum, other.maximum]})[name]
        element = graph.result_type(kind).element
        assert element == FixedPoint.holding(int(ends.min()), int(ends.max()))


def test_a_format_that_is_too_narrow_is_refused_with_one_that_is_not():
    x = Tensor(FixedPoint(True, 8), ("N",))
    with pytest.raises(TypeMismatchError, match=r"from -16256 to 16384, beyond s8f0; give s16f0"):
        op.integer_mul.infer(x, x, element=FixedPoint(True, 8))
    with pytest.raises(TypeMismatchError, match="one per operand and not negative"):
        op.integer_sub.infer(x, x, shifts=(-1, 0))


@given(
    st.lists(st.integers(-128, 127), min_size=1),
    st.integers(1, 1 << 20),
    st.integers(0, 30),
    st.integers(-9, 9),
    st.sampled_from(sorted(ROUNDINGS)),
    formats,
    st.booleans(),
)
def test_rescaling_rounds_as_it_says(values, multiplier, shift, offset, rounding, element, saturate):
    found = op.rescale(
        np.array(values, np.int8),
        multiplier=multiplier,
        shift=shift,
        offset=offset,
        rounding=rounding,
        element=element,
        saturate=saturate,
    )
    for value, got in zip(values, found.tolist(), strict=True):
        exact = ROUNDINGS[rounding](Fraction(value * multiplier, 1 << shift)) + offset
        if saturate:
            assert got == min(max(exact, element.minimum), element.maximum)
        else:
            assert (got - exact) % (1 << element.width) == 0
            assert element.minimum <= got <= element.maximum


def test_each_channel_may_have_a_table():
    x = np.arange(-4, 8, dtype=np.int8).reshape(1, 2, 3, 2)
    tables = np.array([[5, 6, 7], [-1, -2, -3]])
    found = op.lookup(x, tables, low=1)
    for channel, table in enumerate(tables):
        np.testing.assert_array_equal(found[:, channel], op.lookup(x[:, channel], table, low=1))
    kind = Tensor(FixedPoint(True, 4), ("N", 3))
    with pytest.raises(
        TypeMismatchError, match=r"2 tables do not fit the channels of s4f0\[N,3\]; give one, or one per"
    ):
        op.lookup.infer(kind, Tensor("i8", (2, 9)))


@given(st.lists(st.integers(-128, 127), min_size=1), st.lists(st.integers(-9, 9), min_size=1), st.integers(-130, 130))
def test_a_table_is_asked_for_each_number(values, table, low):
    found = op.lookup(np.array(values, np.int8), np.array(table), low=low)
    assert found.tolist() == [table[min(max(v - low, 0), len(table) - 1)] for v in values]


@pytest.mark.parametrize("low", [-(2**63), -3, -1, 0, 1, 3, 2**63 - 2])
def test_a_table_is_asked_for_numbers_far_beyond_its_ends(low):
    values = [
        number + by for number in (-(2**63), 0, 2**63 - 1) for by in (-1, 0, 1) if -(2**63) <= number + by < 2**63
    ]
    found = op.lookup(np.array(values, np.int64), np.array([5, 7]), low=low)
    assert found.tolist() == [5 if v <= low else 7 for v in values]


@given(
    st.lists(st.lists(st.integers(-128, 127), min_size=2, max_size=2), min_size=1),
    st.lists(st.integers(-128, 127), min_size=1, max_size=4),
    st.booleans(),
)
def test_thresholds_that_are_reached_are_counted(values, levels, by_channel):
    rows = [levels, [level // 2 for level in levels]] if by_channel else [levels]
    found = op.integer_threshold(np.array(values, np.int8), np.array(rows, np.int8))
    wanted = [[sum(v >= t for t in rows[c % len(rows)]) for c, v in enumerate(each)] for each in values]
    assert found.tolist() == wanted


@pytest.mark.parametrize("node", ["register(x)", "delay(x, cycles=3)"])
def test_state_is_neither_folded_nor_evaluated(node):
    graph = Graph.parse(f"graph g\nx = input() : f32[N,2]\nr = {node}\ny = output(r)")
    assert graph.op("r").stateful
    with pytest.raises(EvaluationError, match="evaluate_sequence"):
        evaluate(graph, {"x": [[1, 2]]})
