"""Foldings: all that divide, chosen within interval and budget, and never slower for more multipliers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate
from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl import cosimulate, emit, predict
from graphrewrite.hdl.arithmetic.matrix_products import fold_of
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import (
    FoldingReport,
    LoweringError,
    ParallelismError,
    from_onnx,
    partition,
    quantise,
    to_integer,
    to_stream,
)
from graphrewrite.lowering.folding.matrix_foldings import divisors, foldings
from tests.support.lowering_networks import mlp, residual_cnn, weights
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

sizes = st.integers(1, 40)


@pytest.fixture(scope="module")
def integer() -> Graph:
    return to_integer(quantise(from_onnx(residual_cnn()), weights(20, 1, 6, 6, scale=1.0)))


@pytest.fixture(scope="module")
def dense() -> Graph:
    return to_integer(quantise(from_onnx(mlp(8, 6, 4)), weights(20, 8, scale=1.0)))


def layers(stream: Graph) -> dict[str, tuple[int, int]]:
    """Lanes in and out of each layer, by the name of its origin."""
    return {
        part.origin[0]: (part.site.operands[0].lanes, part.site.results[0].lanes)
        for part in netlist(stream).instances.values()
        if part.component.op.name == "matvec"
    }


def made(graph: Graph, **options: object) -> tuple[Graph, FoldingReport]:
    found: list[FoldingReport] = []
    return to_stream(graph, reports=found, **options), found[0]


def reported(graph: Graph, **options: object) -> FoldingReport:
    return made(graph, **options)[1]


@given(st.integers(1, 10**4))
def test_divisors_divide(number: int) -> None:
    assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


@given(sizes, sizes, st.integers(1, 6), st.integers(1, 3))
def test_foldings_are_all_that_the_component_takes(rows: int, columns: int, groups: int, positions: int) -> None:
    outputs, inputs = rows * groups, columns * groups
    found = foldings(outputs, inputs, groups)
    for folding in found:
        assert folding.multipliers * folding.steps == rows * columns * groups
        fold = fold_of(outputs, inputs, groups, folding.lanes_in, folding.lanes_out)
        assert (fold.steps, fold.terms * folding.lanes_out) == (folding.steps, folding.multipliers)
    lanes = {(f.lanes_in, f.lanes_out) for f in found}
    assert len(lanes) == len(found)
    for pair in ((a, b) for a in divisors(inputs) for b in divisors(outputs)):
        if pair not in lanes:
            with pytest.raises(TypeMismatchError, match="do not fit"):
                fold_of(outputs, inputs, groups, *pair)
    assert (found[0].multipliers, found[-1].steps) == (1, 1)
    whole = foldings(outputs, inputs * positions, widest=inputs)
    assert {f.lanes_in for f in whole} == {d for d in divisors(inputs * positions) if inputs % d == 0}


@pytest.mark.parametrize("parallelism", ["full", "folded", 1, 4, 10**9])
def test_every_folding_gives_the_same_values(integer: Graph, parallelism: str | int) -> None:
    x = partition(integer).encode({"x": weights(5, 1, 6, 6, seed=9, scale=2.0)})
    full, other = to_stream(integer), to_stream(integer, parallelism=parallelism)
    assert evaluate(full, x).keys() == evaluate(other, x).keys()
    for name, values in evaluate(full, x).items():
        np.testing.assert_array_equal(values, evaluate(other, x)[name])


def test_names_and_numbers_limit_each_layer(dense: Graph) -> None:
    assert layers(to_stream(dense, parallelism="full")) == {"fc1": (8, 6), "fc2": (6, 4)}
    assert layers(to_stream(dense, parallelism="folded")) == {"fc1": (1, 1), "fc2": (1, 1)}
    for limit in (1, 2, 5, 12):
        assert all(math.prod(pair) <= limit for pair in layers(to_stream(dense, parallelism=limit)).values())
    assert layers(to_stream(dense, parallelism={"fc1": "folded"})) == {"fc1": (1, 1), "fc2": (6, 4)}
    mixed = layers(to_stream(dense, parallelism={"fc2": "full", "default": 4}))
    assert mixed["fc2"] == (6, 4)
    assert math.prod(mixed["fc1"]) <= 4


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("name", ["dense", "integer"])
def test_more_multipliers_are_never_slower(name: str, request: pytest.FixtureRequest) -> None:
    graph = request.getfixturevalue(name)
    least = len(layers(to_stream(graph)))
    promised, spent = [], []
    for budget in (least, least + 1, 8, 13, 21, 40, 80, 200, 1000):
        found = reported(graph, max_multipliers=budget)
        assert found.price.multipliers <= budget
        assert found.price.multipliers == sum(layer.multipliers for layer in found.layers.values())
        spent.append(found.price.multipliers)
        promised.append(found.price.interval)
    assert promised == sorted(promised, reverse=True)
    assert spent == sorted(spent)
    assert promised[-1] == reported(graph).price.interval


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("name", ["dense", "integer"])
def test_an_interval_is_met_with_few_multipliers(name: str, request: pytest.FixtureRequest) -> None:
    graph = request.getfixturevalue(name)
    for interval in (70, 100, 200, 400, 10**6):
        stream, found = made(graph, interval=interval)
        assert found.price.interval <= interval
        assert predict(stream, 40).interval == found.price.interval
        # What a budget of so many multipliers reaches is no longer, and one multiplier less does not suffice.
        again = reported(graph, max_multipliers=found.price.multipliers)
        assert again.price.interval <= interval
        if found.price.multipliers > len(found.layers):
            assert reported(graph, max_multipliers=found.price.multipliers - 1).price.interval > interval


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("name", ["dense", "integer"])
def test_a_latency_is_met_with_few_multipliers(name: str, request: pytest.FixtureRequest) -> None:
    graph = request.getfixturevalue(name)
    least = predict(to_stream(graph), 1).empty_latency
    spent = []
    for latency in some_of((least, 2 * least, 5 * least), 2):
        stream, found = made(graph, latency=latency)
        assert predict(stream, 1).empty_latency <= latency
        spent.append(found.price.multipliers)
        # As good as the best interval whose latency is short enough.
        for other, priced in (made(graph, interval=t) for t in range(least, 3 * latency, latency)):
            if priced.price.multipliers < found.price.multipliers:
                assert predict(other, 1).empty_latency > latency
    assert spent == sorted(spent, reverse=True)


def test_a_latency_beside_an_interval_and_a_budget(dense: Graph) -> None:
    alone = reported(dense, latency=30).price
    short = to_stream(dense, latency=30, interval=alone.interval // 2)
    assert (predict(short, 40).interval <= alone.interval // 2, predict(short, 1).empty_latency <= 30) == (True, True)
    assert predict(to_stream(dense, latency=30, stages=3), 1).empty_latency <= 30
    richer: list[FoldingReport] = []
    stream = to_stream(dense, latency=30, max_multipliers=2 * alone.multipliers, reports=richer)
    assert predict(stream, 1).empty_latency <= 30
    assert alone.multipliers < richer[0].price.multipliers <= 2 * alone.multipliers
    assert richer[0].price.interval < alone.interval


@pytest.mark.ghdl
def test_a_latency_is_that_of_ghdl(dense: Graph) -> None:
    design = emit(to_stream(dense, latency=20), frames=2)
    assert design.description["latency"] <= 20
    report = cosimulate(design)
    assert report.equal, str(report)


def test_the_report_names_the_slowest_and_the_next_step(dense: Graph) -> None:
    found = reported(dense, max_multipliers=10)
    assert found.bottleneck in found.layers
    assert found.layers[found.bottleneck].cycles == found.price.interval
    assert found.shorter is not None
    assert found.shorter.interval < found.price.interval
    assert found.shorter.multipliers > 10
    assert reported(dense, max_multipliers=found.shorter.multipliers).price.interval == found.shorter.interval
    assert str(found.shorter.multipliers) in str(found).splitlines()[1]
    assert reported(dense).shorter is None


def test_memory_is_a_budget_too(dense: Graph) -> None:
    least = reported(dense, max_multipliers=2).price
    assert reported(dense, max_memory_bits=least.memory_bits).price.memory_bits <= least.memory_bits
    with pytest.raises(ParallelismError, match="5 bits of memory cannot serve 2 layers; the smallest budget is"):
        to_stream(dense, max_memory_bits=5)


def test_a_budget_keeps_to_the_limit_of_each_layer(dense: Graph) -> None:
    found = layers(to_stream(dense, parallelism=3, max_multipliers=100))
    assert all(math.prod(pair) <= 3 for pair in found.values())


def test_stages_change_latency_and_no_value(dense: Graph) -> None:
    x = partition(dense).encode({"x": weights(5, 8, seed=9, scale=2.0)})
    plain, deep = to_stream(dense, parallelism=8), to_stream(dense, parallelism=8, stages=4)
    assert predict(deep, 4).empty_latency > predict(plain, 4).empty_latency
    assert predict(deep, 4).interval == predict(plain, 4).interval
    for name, values in evaluate(plain, x).items():
        np.testing.assert_array_equal(values, evaluate(deep, x)[name])


def test_the_graph_is_left_alone(integer: Graph) -> None:
    before = integer.copy()
    to_stream(integer, parallelism=2, max_multipliers=20)
    assert integer == before


class TestErrors:
    def test_a_budget_too_small(self, dense: Graph) -> None:
        with pytest.raises(ParallelismError, match="1 multipliers cannot serve 2 layers; the smallest budget is 2"):
            to_stream(dense, max_multipliers=1)

    def test_an_interval_too_short(self, dense: Graph) -> None:
        shortest = reported(dense).price.interval
        with pytest.raises(ParallelismError, match=f"an interval of 0 cycles; the shortest is {shortest}"):
            to_stream(dense, interval=0)
        with pytest.raises(ParallelismError, match="at an interval of 10 cycles; the smallest budget is"):
            to_stream(dense, interval=10, max_multipliers=3)

    def test_a_latency_too_short(self, dense: Graph) -> None:
        with pytest.raises(
            ParallelismError, match=r"of 4 cycles; the least is 5; the slowest components: fc1, relu1 \("
        ):
            to_stream(dense, latency=4)
        with pytest.raises(ParallelismError, match="at a latency of 7 cycles; the smallest budget is"):
            to_stream(dense, latency=7, max_multipliers=9)

    def test_a_name_that_is_no_layer(self, dense: Graph) -> None:
        with pytest.raises(ParallelismError, match=r"'fc3', which is not a layer; did you mean 'fc[12]'"):
            to_stream(dense, parallelism={"fc3": 2})

    @pytest.mark.parametrize("wanted", ["half", 0, -1, 1.5, True, None])
    def test_what_is_no_parallelism(self, dense: Graph, wanted: object) -> None:
        with pytest.raises(ParallelismError, match=r"neither 'full', 'folded' nor a number of multipliers from 1"):
            to_stream(dense, parallelism=wanted)
        with pytest.raises(ParallelismError, match="for 'fc1' is neither"):
            to_stream(dense, parallelism={"fc1": wanted})

    @pytest.mark.parametrize("name", ["interval", "latency", "max_multipliers", "max_memory_bits"])
    @pytest.mark.parametrize("wrong", ["3", 1.5, float("nan"), True])
    def test_limits_that_are_no_whole_numbers(self, dense: Graph, name: str, wrong: Any) -> None:
        with pytest.raises(ParallelismError, match=f"{name}=.*: give a whole number, from 1"):
            to_stream(dense, **{name: wrong})

    def test_stages(self, dense: Graph) -> None:
        for wrong in ("2", 0, 1.5, float("nan")):
            with pytest.raises(LoweringError, match=r"stages=.*: give a number of pipeline stages, from 1"):
                to_stream(dense, stages=wrong)  # type: ignore[arg-type]  # that is the point
        assert to_stream(dense, stages=10**12) == to_stream(dense, stages=64)

    def test_components_that_are_not_given(self, dense: Graph) -> None:
        with pytest.raises(LoweringError, match=r"no component computes .*; give components=\(\*COMPONENTS, yours\)"):
            to_stream(dense, components=())
