"""Symbolic sizes in an evaluation: what inputs say, what they contradict, and numbers in attributes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, define_op, evaluate, op
from graphrewrite.errors import EvaluationError
from graphrewrite.execution import compile_graph
from graphrewrite.types import Dimension, Size


@define_op(infer=lambda x, *, shape: Tensor(x.element, tuple(shape)))
def shaped(x, *, shape: tuple[Dimension, ...]):
    """A reshape that takes numbers only."""
    assert all(type(size) is int for size in shape)
    return np.reshape(x, shape)


@define_op(infer=lambda x, *, end: Tensor(x.element, (x.shape[0], end)))
def first(x, *, end: Dimension):
    """The first entries of each row."""
    return x[:, :end]


@define_op(infer=lambda x: Tensor("f32", (Size.unknown(),)))
def positive(x):
    """What is greater than 0."""
    return x[x > 0]


def graph(*types: tuple[object, ...]) -> Graph:
    g = Graph("g")
    for i, shape in enumerate(types):
        g.output(f"y_{i}", g.input(f"x_{i}", Tensor("f32", shape)))
    return g


def of(*shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {f"x_{i}": np.ones(shape, np.float32) for i, shape in enumerate(shapes)}


@pytest.mark.parametrize(
    ("types", "shapes", "message"),
    [
        ([("N", 2), ("N", 3)], [(4, 2), (5, 3)], r"'x_1' is f32\[N,3\].*\[5, 3\]: N is 4 in the input 'x_0'"),
        ([("seq",), ("2*seq + 1",)], [(4,), (8,)], "'x_1'.* would be 9, as seq is 4 in the input 'x_0'"),
        ([("2*seq + 1",), ("seq",)], [(8,), (4,)], "'x_0'.* would be 9, as seq is 4 in the input 'x_1'"),
        ([("N", "N")], [(4, 5)], "N is 4 in the input 'x_0'"),
        ([("2*N",)], [(7,)], r"no whole numbers make 2\*N be 7"),
        ([("N + 3",)], [(2,)], "N would be -1"),
        ([("N*M",), ("N",)], [(7,), (2,)], r"no whole numbers make M\*N be 7"),
        ([("(H + 1)//2",), ("H",)], [(7,), (12,)], "would be 6, as H is 12"),
    ],
)
def test_shapes_that_contradict_each_other_are_refused(types, shapes, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(graph(*types), of(*shapes))


@pytest.mark.parametrize(
    ("types", "shapes"),
    [
        ([("N", 2), ("N", 3)], [(0, 2), (0, 3)]),
        ([("2*seq + 1",), ("seq",)], [(9,), (4,)]),
        ([("(H + 1)//2",)], [(7,)]),
        ([("N*M",), ("K*M",)], [(7,), (5,)]),
        ([("min(512, seq)",), ("seq",)], [(512,), (600,)]),
    ],
)
def test_shapes_that_agree_are_taken(types, shapes):
    assert [a.shape for a in evaluate(graph(*types), of(*shapes)).values()] == shapes


@given(st.integers(0, 40), st.integers(0, 5))
def test_attributes_get_numbers(rows, length):
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", "2*seq")))
    g.output("y", shaped(x, shape=("2*N*seq",)))
    g.output("z", shaped(x, shape=("2*seq", "N")))
    array = np.arange(rows * 2 * length, dtype=np.float32).reshape(rows, 2 * length)
    for many in (False, True):
        found = compile_graph(g, instructions=many)({"x": array})
        assert found["y"].tolist() == array.ravel().tolist()
        assert found["z"].shape == (2 * length, rows)


def test_unknown_sizes_are_those_of_the_result():
    g = Graph("g")
    x = positive(g.input("x", Tensor("f32", ("N",))))
    y = positive(op.neg(g.value("x")))
    g.output("y", shaped(op.relu(x), shape=(x.type.shape[0], 1)))
    g.output("z", shaped(y, shape=(1, y.type.shape[0])))
    found = evaluate(g, {"x": [1, -2, 3, -4, 5]})
    assert (found["y"].shape, found["z"].shape) == ((3, 1), (1, 2))


def test_unknown_sizes_of_constants_are_found_as_well():
    g = Graph("g")
    x = positive(g.constant(np.float32([1, -2, 3])))
    g.output("y", shaped(x, shape=(x.type.shape[0], 1)))
    assert evaluate(g, {})["y"].tolist() == [[1], [3]]


def test_an_unknown_size_is_found_before_what_names_it_without_reading_it():
    g = Graph("g")
    x, c = g.input("x", Tensor("f64", ("N", 3))), g.input("c", Tensor("bool", ("N",)))
    kept = op.compress(x, c, axis=0)
    ones = op.expand(g.constant(np.ones((1, 1))), shape=(kept.type.shape[0], 3))
    tripled = op.concat(ones, ones, ones, axis=1)
    # Of several outputs each needs the size, in every order of their walks, and where less memory is needed at a time.
    g.output("first", op.reduce_sum(tripled, axes=(1,)))
    g.output("second", op.sin(kept) * ones)
    found = evaluate(g, {"x": np.zeros((4, 3)), "c": np.array([True, False, True, True])})
    assert (found["first"].tolist(), found["second"].shape) == ([[9], [9], [9]], (3, 3))


def test_a_size_that_nothing_determines_is_named():
    g = Graph("g")
    g.output("y", shaped(g.constant(np.ones(4, np.float32)), shape=("K", 2)))
    with pytest.raises(EvaluationError, match="'shaped_1': shaped needs the size K, which no given input determines"):
        evaluate(g, {})


def test_a_cut_must_lie_inside():
    g = Graph("g")
    g.input("ids", Tensor("f32", ("N", "seq")))
    g.output("y", first(g.constant(np.ones((1, 6), np.float32)), end="seq"))
    assert evaluate(g, {"ids": np.ones((2, 4))})["y"].shape == (1, 4)
    with pytest.raises(EvaluationError, match=r"first gives .* \[1, 6\], and its type f32\[1,seq\] is f32\[1,8\] here"):
        evaluate(g, {"ids": np.ones((2, 8))})


@pytest.mark.parametrize("shape", [("N", 0), ("N", 5, 0), (0, "N", 4), ("N", "M", 0)])
def test_a_size_beside_one_of_zero_is_known_by_its_name(shape):
    g = Graph("g")
    x, other = g.input("x", Tensor("f64", ("N", 0, 1))), g.input("z", Tensor("f64", ("M",)))
    g.output("y", op.reshape(x, shape=shape, allow_zero=True))
    g.output("w", other)
    found = evaluate(g, {"x": np.empty((3, 0, 1)), "z": np.empty(2)})
    assert found["y"].shape == tuple({"N": 3, "M": 2}.get(size, size) for size in shape)
