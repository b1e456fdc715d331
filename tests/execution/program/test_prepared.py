"""Calls whose constants are known give the bits of the ops' functions, in every run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.prepared import prepared
from tests.support.program_graphs import by_functions


@given(st.data())
def test_products_have_the_bits_of_the_functions(data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    inner, outer = (data.draw(st.integers(1, 40)) for _ in range(2))
    element, dtype = data.draw(st.sampled_from([("f32", np.float32), ("f64", np.float64), ("i32", np.int32)]))
    how = {name: data.draw(st.sampled_from((1.0, 1.0, 2.0))) for name in ("alpha", "beta")}
    is_turned = data.draw(st.booleans())
    g = Graph("g")
    x = g.input("x", Tensor(element, ("N", inner)))
    w = (3 * random.normal(size=(outer, inner))).astype(dtype)
    b = [(3 * random.normal(size=outer)).astype(dtype)] * data.draw(st.integers(0, 1))
    g.output("y", op.linear(x, w, *b))
    g.output("z", op.gemm(x, w if is_turned else w.T, *b, trans_b=is_turned, **how))
    program = compile_graph(g)
    for rows in (1, 31, 32, 70, 70):
        inputs = {"x": (3 * random.normal(size=(rows, inner))).astype(dtype)}
        wanted = by_functions(g, inputs, ["y", "z"])
        assert {name: a.tobytes() for name, a in program(inputs).items()} == {n: a.tobytes() for n, a in wanted.items()}


@pytest.mark.parametrize("is_known", [True, False])
def test_only_constant_weights_are_prepared(is_known: bool) -> None:
    g = Graph("g")
    g.output("y", op.linear(g.input("x", Tensor("f32", ("N", 3))), np.ones((2, 3), np.float32)))
    constants = {"constant_1": (g.nodes["constant_1"]["value"],)} if is_known else {}
    assert (prepared(Call.of(g, "linear_1"), constants) is not None) == is_known


@pytest.mark.parametrize("batch", [1, 5])
def test_norms_and_limits_are_prepared_once_and_right_again(batch: int) -> None:
    random = np.random.default_rng(0)
    g = Graph("g")
    y = op.conv(g.input("x", Tensor("f32", ("N", 3, 40, 40))), random.normal(size=(4, 3, 1, 1)).astype(np.float32))
    gain, shift, mean, var = np.abs(random.normal(size=(4, 4))).astype(np.float32)
    y = op.clip(op.relu(op.batch_norm(y, gain, shift, mean, var)), low=0.5, high=2.0)
    g.output("y", op.clip(op.neg(y), low=-1.0))
    program = compile_graph(g)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(batch, 3, 40, 40)).astype(np.float32)
        wanted = by_functions(g, {"x": x}, ["y"])["y"]
        for _ in range(2):
            assert program({"x": x})["y"].tobytes() == wanted.tobytes()
