"""Edge values of inputs: every batch has all of an element type, where a fault would show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Stream, Tensor, op
from graphrewrite.testing.generation.edges import edges_of, least_of, limits_of
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.types import NAMES, SMALL_FLOATS, USUAL_NAMES, Quantised, element_dtype, hold

FORMATS = [
    FixedPoint(True, 8, 4),
    FixedPoint(False, 1),
    FixedPoint(False, 8, 8),
    FixedPoint(True, 24, 6),
    FixedPoint(True, 32),
    FixedPoint(True, 48, 24),
]
QUANTISED = [Quantised("i8", 0.5, 3), Quantised("u4", 0.25)]
WHOLE = [name for name in NAMES if element_dtype(name).kind != "f"]
FLOATS = [name for name in USUAL_NAMES if element_dtype(name).kind == "f"]


def batch_of(element, *, shape=("N", 3), moderate=False, seed=0):
    graph = Graph("g")
    kind = Stream(element, shape[1:]) if shape[0] is None else Tensor(element, shape)
    graph.output("y", graph.input("x", kind))
    return batch_for(graph, seed, moderate=moderate)["x"]


@pytest.mark.parametrize("element", [*WHOLE, *FORMATS, *QUANTISED], ids=str)
@pytest.mark.parametrize("seed", [0, 7])
def test_whole_numbers_have_zero_and_both_ends_with_their_neighbours(element, seed):
    low, high = limits_of(element)
    found = set(batch_of(element, seed=seed).ravel().tolist())
    assert {0, low, high} <= found
    assert {number for number in (low + 1, high - 1, 1, -1) if low <= number <= high} <= found
    assert all(low <= number <= high for number in found)


@pytest.mark.parametrize("element", FLOATS)
def test_floats_have_zeros_ends_subnormals_infinities_and_nan(element):
    batch = batch_of(element)
    kind = np.finfo(np.float32 if element == "bf16" else element_dtype(element))
    assert np.isnan(batch).any()
    assert {math.inf, -math.inf} <= set(batch.ravel().tolist())
    assert {*limits_of(element)} <= set(batch.ravel().tolist())
    assert np.signbit(batch[batch == 0]).any()
    assert not np.signbit(batch[batch == 0]).all()
    assert ((batch != 0) & (np.abs(batch) < kind.tiny)).any()
    assert hold(element, batch).tobytes() == batch.tobytes()


def test_moderate_floats_stay_near_zero():
    for seed in range(4):
        assert np.abs(batch_of("f32", moderate=True, seed=seed)).max() <= 8


def test_where_a_graph_rounds_floats_there_are_ties_and_what_saturates_and_no_nan():
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 2)))
    graph.output("y", op.to_fixed(x, element=FixedPoint(True, 8, 4)))
    batch = batch_for(graph, 0)["x"]
    found = set(batch.ravel().tolist())
    assert np.isfinite(batch).all()
    assert {1 / 32, -1 / 32, 3 / 32, 127 / 16, 127.5 / 16, 8.0, -8.0, -128.5 / 16} <= found


def test_where_a_graph_shifts_mantissas_there_are_ties():
    graph = Graph("g")
    x = graph.input("x", Tensor(FixedPoint(True, 16), ("N", 2)))
    graph.output("y", op.requantise(x, shift=(3, 5), element=FixedPoint(True, 8)))
    found = set(batch_for(graph, 0)["x"].ravel().tolist())
    assert {4, -4, 12, -12, 16, -16, 48, -48} <= found


def test_shifts_by_more_places_than_there_are_have_no_ties():
    few = {"numbers": False, "near": False}
    assert edges_of("i8", (), (3, 2**40), **few).tolist() == edges_of("i8", (), (3,), **few).tolist()


def test_a_batch_of_a_stream_has_them_too():
    found = batch_of(FixedPoint(True, 8), shape=(None, 2, 3))
    assert found.shape[1:] == (2, 3)
    assert {-128, 127, 0} <= set(found.ravel().tolist())


def test_each_edge_value_is_there_once_and_zero_first():
    for element in (*NAMES, *FORMATS, *QUANTISED):
        found = edges_of(element, (), (), numbers=False, near=False)
        assert found[0] == 0 or element == "f8e8m0"  # which has no zero
        assert len({array.tobytes() for array in found}) == len(found)


@pytest.mark.parametrize("element", SMALL_FLOATS)
def test_small_floats_have_their_ends_and_nan(element):
    found = edges_of(element, (), (), numbers=False, near=False)
    kind = SMALL_FLOATS[element]
    assert {kind.greatest, kind.least, 1.0} <= set(found.tolist())
    assert np.isnan(found).any() == kind.nan
    assert np.isinf(found).any() == kind.infinite


def test_the_first_row_is_zero_and_edge_values_of_two_inputs_meet():
    graph = Graph("g")
    kind = Tensor("i8", ("N",))
    graph.output("z", op.add(graph.input("x", kind), graph.input("y", kind)))
    pairs = set()
    for seed in range(40):
        batch = batch_for(graph, seed)
        assert batch["x"][0] == batch["y"][0] == 0
        pairs |= set(zip(batch["x"].tolist(), batch["y"].tolist(), strict=True))
    assert {(-128, -128), (-128, 127), (127, -128), (127, 127), (-128, -1)} <= pairs


def test_an_input_without_a_batch_has_each_edge_value_over_some_batches():
    graph = Graph.parse("graph g\nx = input() : f32[2]\nz = input() : f32[]\ny = output(x)\nw = output(z)")
    for name, also in (("x", None), ("z", "x")):
        batches = [batch_for(graph, seed) for seed in range(256)]
        edges = set(edges_of("f32", (), (), numbers=False, near=False).tolist())
        found = {number for batch in batches for number in batch[name].ravel().tolist()}
        assert {str(number) for number in edges} <= {str(number) for number in found}
        if also is not None:
            pairs = {(str(batch[name].item()), str(batch[also][0])) for batch in batches}
            assert len(pairs) > len(edges)


def test_just_below_zero_and_one_are_edge_values():
    found = edges_of("f32", (), (), numbers=True, near=False)
    assert {np.nextafter(np.float32(1), np.float32(0)), np.nextafter(np.float32(0), np.float32(-1))} <= set(found)


@pytest.mark.parametrize("element", FLOATS)
def test_some_rows_have_neighbours_near_an_end_and_numbers_at_which_functions_level_off(element):
    rows = [row[row > 0] for seed in range(8) for row in batch_of(element, seed=seed).astype(np.float64)]
    rows = [np.unique(row[np.isfinite(row)]) for row in rows]
    low, high = least_of(element), limits_of(element)[1]
    assert any((row > 0.49 * high).sum() > 1 for row in rows)
    assert any((row < 16 * low).sum() > 1 for row in rows)
    assert any(((row > 20) & (row < 65)).sum() > 1 for row in rows)
    assert max(np.abs(batch_of(element, seed=seed, moderate=True)).max() for seed in range(8)) <= 8


def test_an_input_without_a_batch_has_them_in_some_batches():
    found = [batch_of("f32", shape=(3,), seed=seed) for seed in range(0, 64, 2)]
    assert any(np.isfinite(row).all() and (np.abs(row) > 1e37).all() and len({*row.tolist()}) > 1 for row in found)


@pytest.mark.parametrize(("element", "step"), [("f32", 2.0**-23), ("f64", 2.0**-52), ("f16", 2.0**-10)])
def test_the_next_floats_of_a_number_of_the_graph_are_there(element, step):
    found = {*edges_of(element, (), (), (4.0,), numbers=True, near=False).tolist()}
    assert {4.0, 4 * (1 + step), 4 * (1 - step), 0.5 - step / 4} <= found
