"""Constant matrix products as networks of shifts and additions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate, rewrite
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.adder_layout import layout
from graphrewrite.hdl.arithmetic.adder_network import network
from graphrewrite.hdl.arithmetic.adder_results import Finish, row_ends
from graphrewrite.hdl.components.adder_graph import adder_graph
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.lowering.shift_add import (
    SHARE_SUMS,
    UNROLL_SHIFT_ADD,
    adders_of,
    fuse_requantise_into_adders,
    scalar_graph,
    share_pairs,
    unroll_as_adders,
)
from graphrewrite.lowering.shift_add.ops import linear_sums, shifted_sum
from graphrewrite.lowering.shift_add.signed_digits import count_digits, matrix_of, rows_of
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.types import FixedPoint, Stream, Tensor
from tests.support.matrix_products import formats, matrices, stream_products


def _naive(matrix: np.ndarray) -> int:
    """Adders without any sharing: one less than digits in each row."""
    return int(np.maximum(count_digits(matrix) - 1, 0).sum())


@given(matrices())
def test_digits_are_canonical_and_stand_for_the_matrix(matrix):
    rows = rows_of(matrix)
    assert (matrix_of(rows, matrix.shape[1]) == matrix).all()
    for row in rows:
        assert set(row.values()) <= {-1, 1}
        assert not any(term + 1 in row for term in row if (term + 1) % 64)


@given(matrices(), formats())
def test_a_network_multiplies_by_its_matrix_with_no_more_adders_than_digits_need(matrix, element):
    adders, outputs = adders_of(matrix, element)
    found = network(adders, outputs, matrix.shape[1], element)
    assert (found.weights == matrix).all()
    assert len(adders) <= _naive(matrix)


@given(matrices(), formats())
def test_what_the_rules_leave_are_additions_and_wires(matrix, element):
    graph = rewrite(scalar_graph(matrix, element), SHARE_SUMS)
    sums = [graph.attributes(node)["matrix"] for node in graph if graph.nodes[node]["type"] == "linear_sums"]
    assert len(sums) == 1
    assert count_digits(np.asarray(sums[0])).max() <= 1
    assert rewrite(graph, SHARE_SUMS) == graph


@given(matrices(), formats(), st.randoms(use_true_random=False))
def test_what_is_held_never_overflows_and_is_never_negative(matrix, element, random):
    """The natural numbers of the hardware, followed one by one."""
    adders, outputs = adders_of(matrix, element)
    bias = np.array([random.randint(-99, 99) for _ in matrix])
    found = network(adders, outputs, matrix.shape[1], element)
    for x in ([element.minimum] * matrix.shape[1], [element.maximum] * matrix.shape[1], None, None, None):
        values = x or [random.randint(element.minimum, element.maximum) for _ in range(matrix.shape[1])]
        held = [value - element.minimum for value in values]
        for added, how in zip(found.sums, found.held[len(held) :], strict=True):
            low, high = (
                (1 << found.held[n].width) - 1 - held[n] if flip else held[n]
                for n, flip in ((added.low, added.low_inverted), (added.high, added.high_inverted))
            )
            held.append(low + (high << added.shift))
            assert 0 <= held[-1] < 1 << how.width
        laid = layout(found, bias, element, 1)
        for o, ((number, shift, sign), result) in enumerate(zip(found.outputs, laid.results.tolist(), strict=True)):
            last = (1 << found.held[number].width) - 1 - held[number] if result[2] else held[number]
            total = laid.constants[o] + ((last << shift) if sign else 0)
            assert total == int(np.dot(matrix[o], values)) + bias[o]


def test_sharing_saves_most_of_the_adders_and_is_deterministic():
    matrix = np.random.default_rng(1).integers(-32, 32, (16, 16))
    element = FixedPoint(False, 6)
    adders, _ = adders_of(matrix, element)
    assert len(adders) < 0.7 * _naive(matrix)
    graphs = [rewrite(scalar_graph(matrix, element), SHARE_SUMS) for _ in range(2)]
    assert str(graphs[0]) == str(graphs[1])
    values = {f"x_{i}": np.arange(16, dtype=np.uint8) * (i + 1) % 64 for i in range(16)}
    (found,) = evaluate(graphs[0], values).values()
    assert (found == np.stack(list(values.values()), axis=1).astype(int) @ matrix.T).all()


def test_a_step_of_sharing_says_why_there_is_none():
    graph = scalar_graph(np.array([[1, 2]]), FixedPoint(True, 8))
    (sums,) = (node for node in graph if graph.nodes[node]["type"] == "linear_sums")
    assert "no pair of digits occurs more than once" in share_pairs.explain(graph, at=sums)


def test_the_scalar_ops_refuse_what_they_cannot_mean():
    fraction, whole = Tensor(FixedPoint(True, 8, 2), ("N",)), Tensor(FixedPoint(True, 8), ("N",))
    with pytest.raises(TypeMismatchError, match="has a fraction"):
        shifted_sum.infer(fraction, whole)
    with pytest.raises(TypeMismatchError, match="two left shifts"):
        shifted_sum.infer(whole, whole, shifts=(0, -1))
    with pytest.raises(TypeMismatchError, match="differ in shape"):
        shifted_sum.infer(whole, Tensor(FixedPoint(True, 8), ("N", 2)))
    with pytest.raises(TypeMismatchError, match="does not fit 1 numbers"):
        linear_sums.infer(whole, matrix=[[1, 2]], element=FixedPoint(True, 16))


def test_sums_lie_in_their_format_whatever_the_matrix_is():
    x = np.arange(-8, 8)
    for element in (FixedPoint(True, 4), FixedPoint(False, 4), FixedPoint(True, 32)):
        found = linear_sums(x, x[::-1], matrix=[[3, -2], [0, 7]], element=element)
        wanted = np.stack([3 * x - 2 * x[::-1], 7 * x[::-1]], axis=1)
        assert found.min() >= element.minimum
        assert found.max() <= element.maximum
        assert not ((found - wanted) % (1 << element.width)).any()


X = Stream(FixedPoint(True, 8), (2, 5))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"adders": [[0, 3, 0, 0, 0]]}, "adder 0 reads the numbers 0 and 3; give 0 to 1"),
        ({"adders": [[0, 1, 1, 1, 0]]}, "shift only one of its operands"),
        ({"outputs": [[9, 0, 1]]}, r"output \(9, 0, 1\)"),
        ({"outputs": [1, 2]}, r"give \[O,3\]"),
        ({"bias": [1, 2]}, r"bias \(2,\) does not fit 1 outputs"),
        ({"stages": 3}, "this network has use for 1 to 2 pipeline stages"),
        ({"element": FixedPoint(True, 8)}, "sums of -256 to 254 exceed s8f0; give s9f0 or wider"),
        ({"low": 0}, "of sums that are not shifted; give shift=0"),
        ({"shift": -1}, "shifts to the right and rounds half_even, half_up or down; give a requantise of its own"),
        ({"shift": 1, "rounding": "to_zero"}, "rounding 'to_zero'"),
        ({"shift": [1, 2]}, "2 shifts do not fit the channels"),
        ({"shift": 1, "low": 3, "high": 2}, "give low <= high"),
        ({"shift": 47, "offset": 9}, "sums of more than 48 bits"),
        ({"shift": 0, "stages": 3}, "this network has use for 1 to 2 pipeline stages"),
        ({"shift": 1, "stages": 4}, "this network has use for 1 to 3 pipeline stages"),
    ],
)
def test_the_component_refuses_what_it_cannot_compute(changed, message):
    right = {"adders": [[0, 1, 0, 0, 0]], "outputs": [[2, 0, 1]], "bias": [0], "element": FixedPoint(True, 9)}
    assert adder_graph.infer(X, **right)
    with pytest.raises(TypeMismatchError, match=message):
        adder_graph.infer(X, **{**right, **changed})


def test_folded_channels_are_refused():
    right = {"adders": [[0, 1, 0, 0, 0]], "outputs": [[2, 0, 1]], "bias": [0], "element": FixedPoint(True, 9)}
    with pytest.raises(TypeMismatchError, match="takes all at once; refold it"):
        adder_graph.infer(X.with_lanes(1), **right)


@given(stream_products())
def test_only_products_of_one_step_are_unrolled(graph):
    (product,) = (node for node in graph if graph.nodes[node]["type"] == "matvec")
    given = graph.attributes(product)
    explanation = str(unroll_as_adders.explain(graph, at=product))
    if given["groups"] == 1 and given["lanes"] in (None, len(given["weights"])):
        assert "matches" in explanation
    else:
        assert "in one step" in explanation


def test_a_product_over_a_frame_or_in_groups_stays():
    graph, element = Graph("g"), FixedPoint(True, 24)
    x = graph.input("x", Stream(FixedPoint(True, 8), (2, 3)))
    framed = matvec(x, weights=np.ones((2, 6), int), bias=[0, 0], element=element, over="frame")
    grouped = matvec(x, weights=np.ones((2, 1), int), bias=[0, 0], element=element, groups=2)
    graph.output("y", framed)
    graph.output("z", grouped)
    for node in (framed.node, grouped.node):
        assert "only products of all channels" in unroll_as_adders.explain(graph, at=node)
    assert unroll_as_adders(graph) == graph


def test_the_op_of_the_component_means_the_product():
    random = np.random.default_rng(0)
    weights, bias, x = random.integers(-9, 9, (4, 3)), random.integers(-9, 9, 4), random.integers(-8, 8, (5, 3, 2))
    element, wide = FixedPoint(True, 4), FixedPoint(True, 16)
    adders, outputs = adders_of(weights, element)
    found = adder_graph(x.astype(np.int8), adders=adders, outputs=outputs, bias=bias, element=wide)
    assert (found == matvec(x.astype(np.int8), weights=weights, bias=bias, element=wide)).all()
    assert (found == np.einsum("oi,nip->nop", weights, x) + bias[:, None]).all()


def _nearest(total: int, places: int, rounding: str) -> int:
    """A quotient as it is defined, by exact fractions."""
    quotient = Fraction(total, 2**places)
    if rounding == "half_even":
        return round(quotient)
    return math.floor(quotient + (Fraction(1, 2) if rounding == "half_up" else 0))


@given(
    st.tuples(*[st.integers(-600, 600)] * 2).map(sorted),
    st.integers(0, 8),
    st.tuples(*[st.integers(-40, 40)] * 2).map(sorted),
    st.integers(-5, 5),
    st.sampled_from(["half_even", "half_up", "down"]),
)
def test_constants_that_join_the_bias_round_and_limit_as_requantise_does(ends, places, limits, offset, rounding):
    """The bits of the hardware, for sums up to both ends."""
    finish = Finish([places], *limits, offset, rounding)
    reached = [np.array([_nearest(end, places, rounding) + offset]) for end in ends]
    (end,) = row_ends((np.array([ends[0]]), np.array([ends[1]])), (reached[0], reached[1]), finish)
    assert end.bits > end.places
    for total in {*ends, *range(ends[0], ends[1], 7), *range(max(ends[0], -40), min(ends[1], 40))}:
        held = total + end.added
        assert (-(1 << end.bits - 1) if end.signed else 0) <= held < 1 << end.bits - end.signed
        found, rest = held >> places, held & ((1 << places) - 1)
        if end.tie == 1 and rest == 0:
            found &= ~1
        elif end.tie == 2 and rest == (1 << places) - 1:
            found |= 1
        if end.limits:
            span = limits[1] - limits[0] if end.limits == 2 else found
            found = max(min(found, span), 0) + limits[0]
        assert found == min(max(_nearest(total, places, rounding) + offset, limits[0]), limits[1])


@given(matrices(), formats(), st.sampled_from(["half_even", "half_up", "down"]), st.integers(0, 9), st.booleans())
def test_a_network_rounds_what_it_sums(matrix, element, rounding, places, each):
    adders, outputs = adders_of(matrix, element)
    bias = np.arange(len(matrix)) * 5 - 8
    x = np.random.default_rng(places).integers(element.minimum, element.maximum, (9, matrix.shape[1]), endpoint=True)
    shift = [places + row % 2 for row in range(len(matrix))] if each else places
    how = {"element": FixedPoint(True, 7), "shift": shift, "low": -60, "offset": 1, "rounding": rounding}
    found = adder_graph(x.astype(element.dtype), adders=adders, outputs=outputs, bias=bias, **how)
    shifts = np.broadcast_to(shift, len(matrix)).tolist()
    for sample, results in zip(x.tolist(), found.tolist(), strict=True):
        for row, result in enumerate(results):
            total = sum(w * v for w, v in zip(matrix[row].tolist(), sample, strict=True)) + int(bias[row])
            assert result == min(max(_nearest(total, shifts[row], rounding) + 1, -60), 63)


def _rounded(*, twice: bool = False, **given: object) -> tuple[Graph, str]:
    graph = Graph("g")
    x = enter(graph.input("x", Tensor(FixedPoint(True, 8), ("N", 2))))
    total = matvec(x, weights=[[5, -3], [7, 9]], bias=[1, -4], element=FixedPoint(True, 13))
    narrow = requantise(total, **{"shift": 3, "element": FixedPoint(False, 6), **given})
    if twice:
        narrow = requantise(narrow, shift=1, element=FixedPoint(False, 4))
    graph.output("z", leave(narrow))
    return unroll_as_adders(graph), narrow.node


def test_a_rounded_product_is_one_component():
    graph, _ = _rounded(low=0)
    fused = rewrite(graph, UNROLL_SHIFT_ADD)
    kinds = [fused.nodes[node]["type"] for node in fused]
    assert kinds.count("adder_graph") == 1
    assert "stream_requantise" not in kinds
    values = {"x": np.random.default_rng(0).integers(-128, 128, (50, 2)).astype(np.int8)}
    assert (evaluate(fused, values)["z"] == evaluate(graph, values)["z"]).all()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"shift": -1}, "shift -1"),
        ({"shift": [0, -2]}, "shift -2"),
        ({"rounding": "to_zero"}, "rounding 'to_zero'"),
    ],
)
def test_what_no_network_rounds_stays_a_component(given, reason):
    graph, narrow = _rounded(**given)
    assert reason in fuse_requantise_into_adders.explain(graph, at=narrow)
    assert rewrite(graph, UNROLL_SHIFT_ADD) == graph


def test_sums_that_others_read_and_rounded_ones_are_not_rounded_again():
    graph, last = _rounded(twice=True)
    fused = rewrite(graph, UNROLL_SHIFT_ADD)
    assert [fused.nodes[node]["type"] for node in fused].count("stream_requantise") == 1
    assert "rounded already" in fuse_requantise_into_adders.explain(fused, at=last)
    graph, _ = _rounded()
    (sums,) = (node for node in graph if graph.nodes[node]["type"] == "adder_graph")
    graph.output("sums", leave(graph.value(sums)))
    assert rewrite(graph, UNROLL_SHIFT_ADD) == graph


@pytest.mark.parametrize("shapes", [((3, 2), (3, 2)), ((3,), (4,)), ((), ()), ((3, 2), (3,))])
def test_sums_are_of_numbers_one_a_sample(shapes: tuple[tuple[int, ...], ...]) -> None:
    g = Graph("g")
    xs = [g.input(f"x{i}", Tensor(FixedPoint(True, 4), shape)) for i, shape in enumerate(shapes)]
    with pytest.raises(TypeMismatchError, match="sums are made of scalars"):
        linear_sums(*xs, matrix=[[1, 2]], element=FixedPoint(True, 8))
