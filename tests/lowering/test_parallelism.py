"""Foldings: each worth having, chosen within the budget, and never slower for more multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate
from graphrewrite.hdl import predict
from graphrewrite.hdl.netlist import netlist
from graphrewrite.lowering import ParallelismError, from_onnx, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.parallelism import foldings
from tests.lowering.networks import mlp, residual_cnn, weights

sizes = st.integers(1, 40)


@pytest.fixture(scope="module")
def integer() -> Graph:
    return to_integer(quantise(from_onnx(residual_cnn()), weights(20, 1, 6, 6, scale=1.0)))


@pytest.fixture(scope="module")
def dense() -> Graph:
    return to_integer(quantise(from_onnx(mlp(8, 6, 4)), weights(20, 8, scale=1.0)))


def layers(stream: Graph) -> dict[str, tuple[int, int]]:
    return {
        stream.nodes[n]["origin"][0]: (stream.attributes(n)["pe"], stream.attributes(n)["simd"])
        for n in stream.in_order()
        if stream.nodes[n]["type"] == "matvec"
    }


def multipliers(stream: Graph) -> int:
    return sum(part.resources.multipliers for part in netlist(stream).instances.values())


@given(sizes, sizes)
def test_foldings_are_those_worth_having(outputs: int, inputs: int) -> None:
    found = foldings(outputs, inputs)
    for folding in found:
        assert outputs % folding.pe == inputs % folding.simd == 0
        assert folding.multipliers == folding.pe * folding.simd
        assert folding.multipliers * folding.steps == outputs * inputs
    counts = [folding.multipliers for folding in found]
    assert counts[0] == 1
    assert counts[-1] == outputs * inputs
    assert counts == sorted(set(counts))
    every = {
        pe * simd for pe in range(1, outputs + 1) for simd in range(1, inputs + 1) if outputs % pe == inputs % simd == 0
    }
    assert set(counts) == every


@pytest.mark.parametrize("parallelism", ["full", "folded", 1, 4, 10**9])
def test_every_folding_gives_the_same_values(integer: Graph, parallelism: str | int) -> None:
    x = partition(integer).encode({"x": weights(5, 1, 6, 6, seed=9, scale=2.0)})
    full, other = to_stream(integer), to_stream(integer, parallelism=parallelism)
    assert evaluate(full, x).keys() == evaluate(other, x).keys()
    for name, values in evaluate(full, x).items():
        np.testing.assert_array_equal(values, evaluate(other, x)[name])


def test_names_and_numbers_limit_each_layer(dense: Graph) -> None:
    assert layers(to_stream(dense, parallelism="full")) == {"fc1": (6, 8), "fc2": (4, 6)}
    assert layers(to_stream(dense, parallelism="folded")) == {"fc1": (1, 1), "fc2": (1, 1)}
    for limit in (1, 2, 5, 12):
        assert all(pe * simd <= limit for pe, simd in layers(to_stream(dense, parallelism=limit)).values())
    assert layers(to_stream(dense, parallelism={"fc1": "folded"})) == {"fc1": (1, 1), "fc2": (4, 6)}
    mixed = layers(to_stream(dense, parallelism={"fc2": "full", "default": 4}))
    assert mixed["fc2"] == (4, 6)
    assert mixed["fc1"][0] * mixed["fc1"][1] <= 4


@pytest.mark.parametrize("name", ["integer", "dense"])
def test_more_multipliers_are_never_slower(name: str, request: pytest.FixtureRequest) -> None:
    graph = request.getfixturevalue(name)
    least = len(layers(to_stream(graph)))
    intervals, spent = [], []
    for budget in (least, least + 1, 8, 13, 21, 40, 80, 200, 1000):
        stream = to_stream(graph, max_multipliers=budget)
        assert multipliers(stream) <= budget
        spent.append(sum(pe * simd for pe, simd in layers(stream).values()))
        assert spent[-1] <= budget
        intervals.append(predict(stream, 6).interval)
    assert intervals == sorted(intervals, reverse=True)
    assert spent == sorted(spent)
    assert intervals[-1] == predict(to_stream(graph), 6).interval


def test_a_budget_keeps_to_the_limit_of_each_layer(dense: Graph) -> None:
    found = layers(to_stream(dense, parallelism=3, max_multipliers=100))
    assert all(pe * simd <= 3 for pe, simd in found.values())


def test_the_graph_is_left_alone(integer: Graph) -> None:
    before = integer.copy()
    to_stream(integer, parallelism=2, max_multipliers=20)
    assert integer == before


class TestErrors:
    def test_a_budget_too_small(self, dense: Graph) -> None:
        with pytest.raises(ParallelismError, match="1 multipliers cannot serve 2 layers; the smallest budget is 2"):
            to_stream(dense, max_multipliers=1)

    def test_a_name_that_is_no_layer(self, dense: Graph) -> None:
        with pytest.raises(ParallelismError, match=r"'fc3', which is no layer; did you mean 'fc[12]'"):
            to_stream(dense, parallelism={"fc3": 2})

    @pytest.mark.parametrize("wanted", ["half", 0, -1, 1.5, True, None])
    def test_what_is_no_parallelism(self, dense: Graph, wanted: object) -> None:
        with pytest.raises(ParallelismError, match=r"neither 'full', 'folded' nor a number of multipliers from 1"):
            to_stream(dense, parallelism=wanted)
        with pytest.raises(ParallelismError, match="for 'fc1' is neither"):
            to_stream(dense, parallelism={"fc1": wanted})
